//! Local files as a store whose answers survive a power cut.

mod disk;
mod list;
mod temporary;

use crate::name::{check_folder, check_name};
use crate::redact::Told;
use crate::{Create, Listed, MoveIfAbsent, Store, StoreError};
use async_trait::async_trait;
use bytes::Bytes;
use std::fmt;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

/// Up to this size, handing work to another thread costs more than doing it.
const QUICK_BYTES_MAX: u64 = 256 * 1_024;

/// What an answered write survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// A power cut: the file and its folder are fsynced before the answer.
    #[default]
    Full,
    /// A crash of the process, not of the machine. Much faster.
    None,
}

impl FromStr for Durability {
    type Err = StoreError;

    /// `full` or `none`.
    fn from_str(text: &str) -> Result<Self, StoreError> {
        match text {
            "full" => Ok(Self::Full),
            "none" => Ok(Self::None),
            other => Err(StoreError::Unusable {
                url: format!("durability {other:?}"),
                problem: "it is not known".to_owned(),
                advice: "use full or none".to_owned(),
            }),
        }
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "full",
            Self::None => "none",
        })
    }
}

/// Files below one folder.
///
/// # How a create works
/// The bytes go to a temporary file in the object's own folder, which is fsynced, hard-linked to the object's name, and made
/// durable by an fsync of the folder. The link is what decides: the kernel lets one of many succeed, and nobody ever sees
/// half an object. On Linux the temporary file has no name (`O_TMPFILE`) where the file system has such files; elsewhere it
/// is called `.tmp-…` and unlinked at the end. Folders are made when first needed and fsynced up to the first one that was there.
/// A process that is killed leaves at most such a file, which [`Store::strays`] shows to a cleanup.
/// With [`Durability::None`] the fsyncs are left out.
///
/// On a file system without hard links (FAT, exFAT, SMB, some FUSE) the temporary file is renamed to the object's name by a call that
/// replaces nothing (Linux: `renameat2` with `RENAME_NOREPLACE`), which the kernel decides as it does a link. Where there is neither,
/// the first create is refused.
///
/// If something fails after the link, the answer is [`Create::Unknown`]: the object is visible, perhaps not yet for good.
/// The same holds between link and fsync when the machine stops there: readers may have seen what is then lost.
///
/// # Names
/// A name is the file's path below the root, byte for byte. `.tmp-…` and `…#<digits>` (the temporary files of
/// `object_store`) are left out of listings and refused for writing. Files whose names are not UTF-8 or hold control
/// characters are left out too. Where the file system does not tell names apart by case, neither does the store. Links to files count as files; linked folders below the root are not listed.
///
/// Deletes are not fsynced: after a power cut a removed object may be back.
///
/// # Threads
/// File work runs on tokio's blocking threads. With [`Durability::None`] objects of up to 256 KiB are written and read by
/// the calling thread instead, because on a local disk the handover takes longer than the work; choose
/// [`Durability::Full`] for a folder on a slow network mount.
#[derive(Clone)]
pub struct LocalStore {
    inner: Arc<Inner>,
}

struct Inner {
    root: String,
    folder: PathBuf,
    durability: Durability,
    linkless: disk::Linkless,
}

impl LocalStore {
    /// The store below `folder`, which need not exist yet; a relative one is taken from the current folder now.
    ///
    /// # Errors
    /// The path is empty or cannot be made absolute.
    pub fn new(folder: impl AsRef<Path>, durability: Durability) -> Result<Self, StoreError> {
        let given = folder.as_ref();
        let folder = std::path::absolute(given).map_err(|error| StoreError::Unusable {
            url: given.display().to_string(),
            problem: error.to_string(),
            advice: "name a folder".to_owned(),
        })?;
        let root = match url::Url::from_file_path(&folder) {
            Ok(url) => url.to_string(),
            Err(()) => folder.display().to_string(),
        };
        Ok(Self { inner: Arc::new(Inner { root, folder, durability, linkless: disk::Linkless::default() }) })
    }

    /// The folder, absolute.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.inner.folder
    }

    /// What an answered write survives.
    #[must_use]
    pub fn durability(&self) -> Durability {
        self.inner.durability
    }

    fn path(&self, name: &str) -> Result<PathBuf, StoreError> {
        check_name(name)?;
        Ok(self.inner.folder.join(name))
    }

    fn path_to_write(&self, name: &str) -> Result<PathBuf, StoreError> {
        let path = self.path(name)?;
        let file = name.rsplit('/').next().unwrap_or(name);
        if disk::is_temporary(file) {
            return Err(StoreError::Unusable {
                url: format!("{}: {name}", self.inner.root),
                problem: "names like .tmp-… and …#1 are kept for temporary files".to_owned(),
                advice: "choose another name".to_owned(),
            });
        }
        Ok(path)
    }

    fn failed(&self, name: &str, error: io::Error) -> StoreError {
        failed(&self.inner.root, name, error)
    }

    fn answer(&self, name: &str, made: io::Result<disk::Made>) -> Result<Create, StoreError> {
        match made {
            Ok(disk::Made::Created) => Ok(Create::Created),
            Ok(disk::Made::Exists) => Ok(Create::Exists),
            Ok(disk::Made::Unclear(error)) => Ok(Create::Unknown(error.to_string())),
            Ok(disk::Made::NoLinks(error)) => Err(StoreError::Unusable {
                url: self.inner.root.clone(),
                problem: format!(
                    "no hard link could be made ({error}), and the system has no rename that replaces nothing here"
                ),
                advice: "use a folder that may be written, on a file system with hard links, or keep the table's commits in \
                         an external index (--index sqlite:PATH)"
                    .to_owned(),
            }),
            Ok(disk::Made::Nothing(error)) => Err(self.failed(name, error)),
            // The thread that did the work is gone; how far it came is not known.
            Err(error) => Ok(Create::Unknown(error.to_string())),
        }
    }

    fn is_quick(&self, size_bytes: u64) -> bool {
        self.inner.durability == Durability::None && size_bytes <= QUICK_BYTES_MAX
    }

    /// Runs file work about `size_bytes` where it costs least.
    async fn run<T: Send + 'static>(
        &self,
        size_bytes: usize,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        if self.is_quick(u64::try_from(size_bytes).unwrap_or(u64::MAX)) { work() } else { blocking(work).await }
    }
}

impl fmt::Debug for LocalStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalStore")
            .field("root", &self.inner.root)
            .field("durability", &self.inner.durability)
            .finish()
    }
}

#[async_trait]
impl Store for LocalStore {
    fn root(&self) -> &str {
        &self.inner.root
    }

    async fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        let path = self.path(name)?;
        if self.is_quick(0) {
            match disk::read_up_to(&path, QUICK_BYTES_MAX).map_err(|error| self.failed(name, error))? {
                disk::Quick::Done(found) => return Ok(found),
                disk::Quick::TooLarge => {}
            }
        }
        blocking(move || disk::read(&path)).await.map_err(|error| self.failed(name, error))
    }

    async fn get_range(&self, name: &str, range: Range<u64>) -> Result<Option<Bytes>, StoreError> {
        let path = self.path(name)?;
        self.run(usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX), move || {
            disk::read_range(&path, range)
        })
        .await
        .map_err(|error| self.failed(name, error))
    }

    async fn head(&self, name: &str) -> Result<Option<Listed>, StoreError> {
        let path = self.path(name)?;
        let found = self.run(0, move || disk::stat(&path)).await.map_err(|error| self.failed(name, error))?;
        Ok(found.map(|stat| stat.named(name.to_owned())))
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<Listed>, StoreError> {
        let folder = check_folder(prefix)?;
        let (root, prefix, after) =
            (self.inner.folder.clone(), folder.to_owned(), after.unwrap_or_default().to_owned());
        blocking(move || list::list(&root, &prefix, &after, limit))
            .await
            .map_err(|error| self.failed(prefix_shown(folder), error))
    }

    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        let (path, durability) = (self.path_to_write(name)?, self.inner.durability);
        self.run(bytes.len(), move || disk::put(&path, &bytes, durability))
            .await
            .map_err(|error| self.failed(name, error))
    }

    async fn create(&self, name: &str, bytes: Bytes) -> Result<Create, StoreError> {
        let (path, inner) = (self.path_to_write(name)?, Arc::clone(&self.inner));
        let size_bytes = bytes.len();
        let made = move || Ok(disk::create(&path, &bytes, inner.durability, &inner.linkless));
        self.answer(name, self.run(size_bytes, made).await)
    }

    async fn copy(&self, from: &str, to: &str) -> Result<(), StoreError> {
        let (source, target, durability) = (self.path(from)?, self.path_to_write(to)?, self.inner.durability);
        let copied = blocking(move || disk::copy(&source, &target, durability)).await;
        match copied.map_err(|error| self.failed(to, error))? {
            Some(()) => Ok(()),
            None => Err(StoreError::Absent { root: self.inner.root.clone(), name: from.to_owned() }),
        }
    }

    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        let path = self.path(name)?;
        self.run(0, move || disk::remove(&path)).await.map_err(|error| self.failed(name, error))
    }

    fn local_folder(&self) -> Option<&Path> {
        Some(&self.inner.folder)
    }

    async fn strays(&self) -> Result<Vec<Listed>, StoreError> {
        let root = self.inner.folder.clone();
        blocking(move || list::temporaries(&root)).await.map_err(|error| self.failed(prefix_shown(""), error))
    }

    async fn delete_all(&self, names: &[String]) -> Result<(), StoreError> {
        let mut paths = Vec::with_capacity(names.len());
        for name in names {
            paths.push(self.path(name)?);
        }
        let removed = blocking(move || {
            let mut first = None;
            for (at, path) in paths.iter().enumerate() {
                if let Err(error) = disk::remove(path) {
                    first.get_or_insert((at, error));
                }
            }
            Ok(first)
        });
        match removed.await.map_err(|error| self.failed("several objects", error))? {
            None => Ok(()),
            Some((at, error)) => Err(self.failed(names.get(at).map_or("several objects", String::as_str), error)),
        }
    }
}

/// By `renameat2` with `RENAME_NOREPLACE` on Linux, by a hard link and an unlink where there is no such call. With [`Durability::Full`]
/// the folder is fsynced; the object's bytes are those of a put, which are durable already.
#[async_trait]
impl MoveIfAbsent for LocalStore {
    async fn move_if_absent(&self, from: &str, to: &str) -> Result<Create, StoreError> {
        let (source, target, durability) = (self.path(from)?, self.path_to_write(to)?, self.inner.durability);
        let moved = self.run(0, move || Ok(disk::move_new(&source, &target, durability))).await;
        self.answer(to, moved)
    }
}

fn failed(root: &str, name: &str, error: io::Error) -> StoreError {
    let (root, name) = (root.to_owned(), name.to_owned());
    if error.kind() == io::ErrorKind::PermissionDenied {
        StoreError::Denied { root, name, detail: error.to_string() }
    } else {
        StoreError::Failed { root, name, source: Box::new(error) }
    }
}

fn prefix_shown(prefix: &str) -> &str {
    if prefix.is_empty() { "the listing of the root" } else { prefix }
}

/// Runs file work on tokio's blocking threads, or right here where there is no runtime to stall.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    match tokio::runtime::Handle::try_current() {
        Ok(runtime) => match runtime.spawn_blocking(work).await {
            Ok(answer) => answer,
            Err(gone) => Err(io::Error::other(Told(format!("the file thread ended early: {gone}")))),
        },
        Err(_) => work(),
    }
}
