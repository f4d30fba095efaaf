//! The file that an object is before it has its name.

use super::Durability;
use super::disk::{make_folders, parent, sync_parent};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// How the names of temporary files begin.
pub(super) const TEMPORARY: &str = ".tmp-";

/// A cleanup may remove a folder between its making and its use, and a forked process shares our names: try again, but not for ever.
const TRIES: u32 = 8;

/// A name of this process that no other one shares; random once, so that a temporary name costs a counter only.
#[expect(clippy::disallowed_methods, reason = "this crate is the edge where names for temporary files are drawn")]
static PROCESS: LazyLock<String> = LazyLock::new(|| uuid::Uuid::new_v4().simple().to_string());
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A file that is gone when dropped, whatever happened to it. Where the system has files without a name it has none, so that
/// not even a kill leaves it behind, and a create is one change of the folder instead of three.
pub(super) struct Temporary {
    file: File,
    /// Its name, while it has one of its own.
    path: Option<PathBuf>,
}

impl Temporary {
    /// A temporary file with these bytes that will be linked to `target`, and the folders above it where they are missing.
    pub(super) fn to_link(target: &Path, durability: Durability, bytes: &[u8]) -> io::Result<Self> {
        let unnamed = in_folder(target, durability, || unnamed::open(parent(target)))?;
        match unnamed {
            Some(file) => Self { file, path: None }.filled(bytes),
            None => Self::to_rename(target, durability, bytes),
        }
    }

    /// A temporary file with these bytes that can be renamed to `target`, and the folders above it where they are missing.
    pub(super) fn to_rename(target: &Path, durability: Durability, bytes: &[u8]) -> io::Result<Self> {
        Self::named(target, durability)?.filled(bytes)
    }

    fn filled(mut self, bytes: &[u8]) -> io::Result<Self> {
        self.file.write_all(bytes)?;
        Ok(self)
    }

    /// The file, to write more to it.
    pub(super) const fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Whether it has no name of its own.
    pub(super) const fn is_unnamed(&self) -> bool {
        self.path.is_none()
    }

    fn named(target: &Path, durability: Durability) -> io::Result<Self> {
        in_folder(target, durability, || {
            let path =
                target.with_file_name(format!("{TEMPORARY}{}-{:x}", *PROCESS, NEXT.fetch_add(1, Ordering::Relaxed)));
            let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
            Ok(Self { file, path: Some(path) })
        })
    }

    /// Its bytes survive a power cut, if its name does.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// Gives it the name, unless an object has it.
    pub(super) fn link(&mut self, target: &Path) -> io::Result<()> {
        match &self.path {
            Some(path) => fs::hard_link(path, target),
            None => unnamed::link(&self.file, target),
        }
    }

    /// Gives it the name instead of its own, unless an object has it: where there are no hard links.
    pub(super) fn rename_new(&mut self, target: &Path) -> io::Result<()> {
        if let Some(path) = &self.path {
            rename_new(path, target)?;
            self.path = None;
        }
        Ok(())
    }

    /// Gives it the name, whoever had it.
    pub(super) fn replace(mut self, target: &Path, durability: Durability) -> io::Result<()> {
        if durability == Durability::Full {
            self.sync()?;
        }
        if let Some(path) = &self.path {
            fs::rename(path, target)?;
            self.path = None;
        }
        match durability {
            Durability::Full => sync_parent(target),
            Durability::None => Ok(()),
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // What is left behind is hidden from listings; there is nothing better to do here.
            drop(fs::remove_file(path));
        }
    }
}

/// Makes something in the target's folder, and the folder where it is missing.
fn in_folder<T>(target: &Path, durability: Durability, make: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let mut last = io::Error::other("no temporary file could be made");
    for _ in 0..TRIES {
        match make() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                make_folders(parent(target), durability)?;
                last = error;
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => last = error,
            made => return made,
        }
    }
    Err(last)
}

/// Renames a file, unless something has the name. The kernel decides, as for a link (`renameat2(2)`: `RENAME_NOREPLACE`, which FAT,
/// exFAT, SMB and others have that know no hard links).
#[cfg(target_os = "linux")]
pub(super) fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
}

/// Elsewhere there is no such call.
#[cfg(not(target_os = "linux"))]
pub(super) fn rename_new(_from: &Path, _to: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Files without a name, as Linux has them (`open(2)`: `O_TMPFILE`; most local file systems, not NFS).
#[cfg(target_os = "linux")]
mod unnamed {
    use rustix::fs::{AtFlags, CWD, Mode, OFlags};
    use rustix::io::Errno;
    use std::fs::File;
    use std::io;
    use std::os::fd::AsRawFd as _;
    use std::path::Path;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// A file gets its first name through the link that stands for it here, which needs no privilege (`linkat(2)`).
    const OPEN_FILES: &str = "/proc/self/fd";

    /// Whether the kernel links a file that is named by nothing but its descriptor, which saves a walk through [`OPEN_FILES`]: since Linux
    /// 6.10 for whoever opened it, before that for the privileged. Elsewhere it says that there is no such file.
    static LINKS_DESCRIPTORS: AtomicBool = AtomicBool::new(true);

    static CAN_LINK: LazyLock<bool> = LazyLock::new(|| Path::new(OPEN_FILES).is_dir());

    /// `None` where the file system or the system has no such files.
    pub(super) fn open(folder: &Path) -> io::Result<Option<File>> {
        if !*CAN_LINK {
            return Ok(None);
        }
        let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
        match rustix::fs::openat(CWD, folder, flags, Mode::from_raw_mode(0o666)) {
            Ok(opened) => Ok(Some(opened.into())),
            // An old kernel takes the flag for an attempt to write to the folder.
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOSYS) => Ok(None),
            Err(errno) => Err(errno.into()),
        }
    }

    pub(super) fn link(file: &File, target: &Path) -> io::Result<()> {
        let may_refuse = |errno: &Errno| matches!(*errno, Errno::NOENT | Errno::INVAL | Errno::PERM | Errno::NOSYS);
        let is_tried = LINKS_DESCRIPTORS.load(Ordering::Relaxed);
        if is_tried {
            match rustix::fs::linkat(file, "", CWD, target, AtFlags::EMPTY_PATH) {
                Err(errno) if may_refuse(&errno) => {}
                linked => return Ok(linked?),
            }
        }
        let source = format!("{OPEN_FILES}/{}", file.as_raw_fd());
        rustix::fs::linkat(CWD, source, CWD, target, AtFlags::SYMLINK_FOLLOW)?;
        if is_tried {
            LINKS_DESCRIPTORS.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    #[cfg(test)]
    mod tests {
        use super::{LINKS_DESCRIPTORS, link, open};
        use std::io::{ErrorKind, Write as _};
        use std::sync::atomic::Ordering;

        #[test]
        fn a_name_is_given_once_whether_or_not_descriptors_are_linked() {
            let folder = tempfile::tempdir().unwrap();
            for (name, by_descriptor) in [("one", true), ("two", false)] {
                LINKS_DESCRIPTORS.store(by_descriptor, Ordering::Relaxed);
                // Where the file system has no such files, there is nothing to link.
                let Some(mut file) = open(folder.path()).unwrap() else { return };
                file.write_all(name.as_bytes()).unwrap();
                let target = folder.path().join(name);
                link(&file, &target).unwrap();
                assert_eq!(std::fs::read_to_string(&target).unwrap(), name);
                let other = open(folder.path()).unwrap().unwrap();
                assert_eq!(link(&other, &target).unwrap_err().kind(), ErrorKind::AlreadyExists);
                let nowhere = folder.path().join("missing/one");
                assert_eq!(link(&other, &nowhere).unwrap_err().kind(), ErrorKind::NotFound);
            }
        }
    }
}

/// Elsewhere every file has a name.
#[cfg(not(target_os = "linux"))]
mod unnamed {
    use std::fs::File;
    use std::io;
    use std::path::Path;

    /// Never one.
    #[expect(clippy::unnecessary_wraps, reason = "the same face as where there are such files")]
    pub(super) fn open(_folder: &Path) -> io::Result<Option<File>> {
        Ok(None)
    }

    /// Never called: there is no such file.
    pub(super) fn link(_file: &File, _target: &Path) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
