//! The file work of [`super::LocalStore`], blocking.

use super::Durability;
use super::temporary::{TEMPORARY, Temporary, rename_new};
use crate::Listed;
use bytes::Bytes;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Ours, or one that `object_store` stages (`name#1`); either may be left behind by a crash.
pub(super) fn is_temporary(file_name: &str) -> bool {
    file_name.starts_with(TEMPORARY)
        || file_name
            .rsplit_once('#')
            .is_some_and(|(_, digits)| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// How a create ended.
pub(super) enum Made {
    Created,
    Exists,
    /// The link was made, or may have been.
    Unclear(io::Error),
    /// Certainly not created: the file system or its permissions allow neither a hard link nor a rename that replaces nothing.
    NoLinks(io::Error),
    /// Certainly not created.
    Nothing(io::Error),
}

/// How long a create may take before its file's time is set anew.
const PROMPT: Duration = Duration::from_secs(1);

/// Whether the file system of a store is known to have no hard links: then nothing is gained by trying one each time.
#[derive(Debug, Default)]
pub(super) struct Linkless(AtomicBool);

pub(super) fn create(path: &Path, bytes: &[u8], durability: Durability, linkless: &Linkless) -> Made {
    if linkless.0.load(Ordering::Relaxed) {
        return create_from(&RENAMED, path, bytes, durability).made;
    }
    let linked = match create_from(&LINKED, path, bytes, durability) {
        // Files without a name cannot be given one everywhere where they can be made (a network or a layered file system, a
        // system without `/proc`). That one was refused for certain; one with a name may still do.
        Tried { made: Made::NoLinks(_) | Made::Nothing(_), unnamed: true } => {
            create_from(&LINKED_FROM_NAME, path, bytes, durability).made
        }
        tried => tried.made,
    };
    let Made::NoLinks(refusal) = linked else { return linked };
    let renamed = create_from(&RENAMED, path, bytes, durability).made;
    if matches!(renamed, Made::NoLinks(_)) {
        // What is told is why there is no link: it is what a file system should have.
        return Made::NoLinks(refusal);
    }
    linkless.0.store(matches!(renamed, Made::Created), Ordering::Relaxed);
    renamed
}

/// Moves a file to a name that nobody has.
pub(super) fn move_new(from: &Path, to: &Path, durability: Durability) -> Made {
    let moved = match rename_new(from, to) {
        Err(error) if is_unknown_call(&error) => fs::hard_link(from, to).and_then(|()| fs::remove_file(from)),
        moved => moved,
    };
    if let Err(error) = moved {
        return unlinked(error);
    }
    match if durability == Durability::Full { sync_parent(to) } else { Ok(()) } {
        Ok(()) => Made::Created,
        Err(error) => Made::Unclear(error),
    }
}

/// A way of creating: how the temporary file is made, and how it gets the name.
struct Way {
    /// Makes it beside the given path and fills it.
    begin: fn(&Path, Durability, &[u8]) -> io::Result<Temporary>,
    publish: fn(&mut Temporary, &Path) -> io::Result<()>,
}

const LINKED: Way = Way { begin: Temporary::to_link, publish: Temporary::link };
const LINKED_FROM_NAME: Way = Way { begin: Temporary::to_rename, publish: Temporary::link };
const RENAMED: Way = Way { begin: Temporary::to_rename, publish: Temporary::rename_new };

/// How one way of creating ended, and whether it failed with a file that had no name.
struct Tried {
    made: Made,
    unnamed: bool,
}

#[expect(
    clippy::disallowed_methods,
    reason = "a file's time must say when it appeared, not when its bytes were written"
)]
fn create_from(way: &Way, path: &Path, bytes: &[u8], durability: Durability) -> Tried {
    let begun = Instant::now();
    let unlinked_yet = |made| Tried { made, unnamed: false };
    let mut temporary = match (way.begin)(path, durability, bytes) {
        Ok(temporary) => temporary,
        Err(error) => return unlinked_yet(Made::Nothing(error)),
    };
    if durability == Durability::Full {
        // Losing a race is common, and a look is a thousand times cheaper than making a file durable for nothing.
        if fs::symlink_metadata(path).is_ok() {
            return unlinked_yet(Made::Exists);
        }
        if let Err(error) = temporary.sync() {
            return unlinked_yet(Made::Nothing(error));
        }
    }
    if let Err(error) = (way.publish)(&mut temporary, path) {
        return Tried { made: unlinked(error), unnamed: temporary.is_unnamed() };
    }
    if begun.elapsed() > PROMPT {
        // The process may have slept between writing and linking. The order of two objects' times must be the order in
        // which they appeared, because a writer tells by it whether its entry came before the next one. Best effort: where
        // it fails the older time stays.
        let _ = OpenOptions::new().write(true).open(path).and_then(|file| file.set_modified(SystemTime::now()));
    }
    if durability == Durability::Full
        && let Err(error) = sync_parent(path)
    {
        return unlinked_yet(Made::Unclear(error));
    }
    unlinked_yet(Made::Created)
}

/// What a failed link says. Only what a local kernel answers before it acts counts as *certainly nothing*.
fn unlinked(error: io::Error) -> Made {
    let kind = error.kind();
    if kind == ErrorKind::AlreadyExists {
        Made::Exists
    } else if is_unknown_call(&error)
        || matches!(kind, ErrorKind::PermissionDenied | ErrorKind::TooManyLinks | ErrorKind::CrossesDevices)
    {
        Made::NoLinks(error)
    } else if matches!(
        kind,
        ErrorKind::NotFound
            | ErrorKind::NotADirectory
            | ErrorKind::InvalidFilename
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::StorageFull
            | ErrorKind::QuotaExceeded
    ) {
        Made::Nothing(error)
    } else {
        Made::Unclear(error)
    }
}

/// The kernel or the file system has no such call, or not with what was asked of it.
fn is_unknown_call(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::InvalidInput)
}

pub(super) fn put(path: &Path, bytes: &[u8], durability: Durability) -> io::Result<()> {
    Temporary::to_rename(path, durability, bytes)?.replace(path, durability)
}

/// `None` when there is no file to copy.
pub(super) fn copy(from: &Path, to: &Path, durability: Durability) -> io::Result<Option<()>> {
    let Some((mut source, _)) = open(from)? else {
        return Ok(None);
    };
    let mut temporary = Temporary::to_rename(to, durability, &[])?;
    io::copy(&mut source, temporary.file())?;
    temporary.replace(to, durability).map(Some)
}

pub(super) fn read(path: &Path) -> io::Result<Option<Bytes>> {
    let Some((mut file, size_bytes)) = open(path)? else {
        return Ok(None);
    };
    #[cfg(unix)]
    if size_bytes >= SHARED_BYTES_MIN {
        return read_shared(&file, size_bytes).map(Some);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size_bytes).map_err(io::Error::other)?);
    file.read_to_end(&mut bytes)?;
    Ok(Some(bytes.into()))
}

/// From this size on, a file is read on two threads: what a read of a cached file costs is the memory that it fills.
#[cfg(unix)]
const SHARED_BYTES_MIN: u64 = 8 << 20;

#[cfg(unix)]
fn read_shared(file: &File, size_bytes: u64) -> io::Result<Bytes> {
    use std::os::unix::fs::FileExt;

    let mut bytes = vec![0; usize::try_from(size_bytes).map_err(io::Error::other)?];
    let middle = bytes.len() / 2;
    let (first, second) = bytes.split_at_mut(middle);
    std::thread::scope(|scope| {
        let second = scope.spawn(|| file.read_exact_at(second, middle as u64));
        let first = file.read_exact_at(first, 0);
        first.and(second.join().unwrap_or_else(|_| Err(io::Error::other("a read broke off"))))
    })?;
    Ok(bytes.into())
}

/// The answer of a read that gives up on large files.
pub(super) enum Quick {
    Done(Option<Bytes>),
    TooLarge,
}

pub(super) fn read_up_to(path: &Path, size_bytes_max: u64) -> io::Result<Quick> {
    let Some((mut file, size_bytes)) = open(path)? else {
        return Ok(Quick::Done(None));
    };
    if size_bytes > size_bytes_max {
        return Ok(Quick::TooLarge);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size_bytes).map_err(io::Error::other)?);
    file.read_to_end(&mut bytes)?;
    Ok(Quick::Done(Some(bytes.into())))
}

pub(super) fn read_range(path: &Path, range: Range<u64>) -> io::Result<Option<Bytes>> {
    let Some((mut file, size_bytes)) = open(path)? else {
        return Ok(None);
    };
    let end = range.end.min(size_bytes);
    let wanted = end.saturating_sub(range.start);
    if wanted == 0 {
        return Ok(Some(Bytes::new()));
    }
    file.seek(SeekFrom::Start(range.start))?;
    let mut bytes = Vec::with_capacity(usize::try_from(wanted).map_err(io::Error::other)?);
    file.take(wanted).read_to_end(&mut bytes)?;
    Ok(Some(bytes.into()))
}

pub(super) fn stat(path: &Path) -> io::Result<Option<Stat>> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(Some(Stat::of(&metadata)?)),
        Ok(_) => Ok(None),
        Err(error) => absent(error),
    }
}

/// When a file got its name, in seconds and nanoseconds of the file system's clock; `None` where it is gone, or the system does not say.
pub(super) fn named_at(path: &Path) -> io::Result<Option<(i64, i64)>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(changed(&metadata)),
        Err(error) => absent(error),
    }
}

#[cfg(unix)]
fn changed(metadata: &fs::Metadata) -> Option<(i64, i64)> {
    use std::os::unix::fs::MetadataExt;
    Some((metadata.ctime(), metadata.ctime_nsec()))
}

#[cfg(not(unix))]
fn changed(_: &fs::Metadata) -> Option<(i64, i64)> {
    None
}

pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Ok(()) => Ok(()),
        Err(error) => absent::<()>(error).map(|_| ()),
    }
}

/// Size and time of a file.
pub(super) struct Stat {
    size_bytes: u64,
    modified_ms: i64,
}

impl Stat {
    fn of(metadata: &fs::Metadata) -> io::Result<Self> {
        let modified = metadata.modified()?;
        let modified_ms = match modified.duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms),
        };
        Ok(Self { size_bytes: metadata.len(), modified_ms })
    }

    pub(super) fn named(self, name: String) -> Listed {
        Listed { name, size_bytes: self.size_bytes, modified_ms: self.modified_ms }
    }
}

/// A folder is no object, and below a file there is none.
fn absent<T>(error: io::Error) -> io::Result<Option<T>> {
    if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory) {
        Ok(None)
    } else {
        Err(error)
    }
}

fn open(path: &Path) -> io::Result<Option<(File, u64)>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) => return absent(error),
    };
    let metadata = file.metadata()?;
    Ok(metadata.is_file().then_some((file, metadata.len())))
}

/// Makes a folder and those above it. Durable: every folder whose entries may be new is fsynced, outermost first, also
/// where somebody else made it a moment ago.
pub(super) fn make_folders(folder: &Path, durability: Durability) -> io::Result<()> {
    let missing: Vec<&Path> =
        folder.ancestors().take_while(|above| !above.as_os_str().is_empty() && !above.is_dir()).collect();
    for new in missing.into_iter().rev() {
        match fs::create_dir(new) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::AlreadyExists && new.is_dir() => {}
            Err(error) => return Err(error),
        }
        if durability == Durability::Full {
            sync_parent(new)?;
        }
    }
    Ok(())
}

pub(super) fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

#[cfg(unix)]
pub(super) fn sync_parent(path: &Path) -> io::Result<()> {
    File::open(parent(path))?.sync_all()
}

/// Elsewhere a folder cannot be opened as a file, and its entries are the file system's own business.
#[cfg(not(unix))]
pub(super) fn sync_parent(_path: &Path) -> io::Result<()> {
    Ok(())
}
