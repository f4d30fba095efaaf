//! Listing files in byte order without looking at more of them than asked for.

use super::disk::{is_temporary, named_at, stat};
use crate::Listed;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// No real table nests this deep; a mount that loops does.
const DEPTH_MAX: usize = 128;

/// So often a folder is read again in which files came meanwhile; beyond it they come faster than it is read, and their times decide.
const READS_MAX: u32 = 8;

/// Longer than a step of the coarse clock that gives files their times (10 ms where a kernel ticks a hundred times a second).
const CLOCK_STEP: Duration = Duration::from_millis(11);

/// The files below `root/prefix` whose names (relative to `root`) sort after `after`, the first `limit` of them.
pub(super) fn list(root: &Path, prefix: &str, after: &str, limit: usize) -> io::Result<Vec<Listed>> {
    let mut walk = Walk { after, limit, temporary: false, found: Vec::new() };
    if limit == 0 {
        return Ok(walk.found);
    }
    if prefix.is_empty() {
        walk.folder(root.to_owned(), "", 0)?;
    } else {
        let name = format!("{prefix}/");
        if walk.may_hold(&name) {
            walk.folder(root.join(prefix), &name, 0)?;
        }
    }
    Ok(walk.found)
}

/// All temporary files below `root`, of processes that are at work and of those that died.
pub(super) fn temporaries(root: &Path) -> io::Result<Vec<Listed>> {
    let mut walk = Walk { after: "", limit: usize::MAX, temporary: true, found: Vec::new() };
    walk.folder(root.to_owned(), "", 0)?;
    Ok(walk.found)
}

struct Walk<'a> {
    after: &'a str,
    limit: usize,
    /// Whether temporary files are looked for, or objects.
    temporary: bool,
    found: Vec<Listed>,
}

impl Walk<'_> {
    /// `name` is the folder's with its `/`, or empty for the root.
    fn folder(&mut self, path: PathBuf, name: &str, depth: usize) -> io::Result<()> {
        if depth > DEPTH_MAX {
            return Err(io::Error::other(format!("folders are nested more than {DEPTH_MAX} deep")));
        }
        let Some(mut names) = self.names(&path, name)? else { return Ok(()) };
        // A file that comes while a folder is read is shown or not, and one that came before it may be missing beside it. What was there
        // when a reading ended is in the next; where that shows nothing new, nothing is missing.
        for reads in 0.. {
            let Some(again) = self.names(&path, name)? else { return Ok(()) };
            let is_whole = again.is_subset(&names);
            let earlier = std::mem::replace(&mut names, again);
            if is_whole {
                break;
            }
            if reads == READS_MAX {
                let Some(settled) = self.settled(&path, name, &earlier)? else { return Ok(()) };
                names = settled;
                break;
            }
        }
        // A folder sorts as its name with the `/`, and so do all names below it: one order, at every depth. The heap
        // sorts only as far as it is emptied.
        let mut order: BinaryHeap<Reverse<String>> = names.into_iter().map(Reverse).collect();
        while let Some(Reverse(entry)) = order.pop() {
            if entry.ends_with('/') {
                let below = path.join(&entry[name.len()..entry.len() - 1]);
                self.folder(below, &entry, depth + 1)?;
            } else if let Some(stat) = stat(&path.join(&entry[name.len()..]))? {
                self.found.push(stat.named(entry));
            }
            if self.found.len() >= self.limit {
                return Ok(());
            }
        }
        Ok(())
    }

    /// What a folder holds into which files come faster than it is read: all that came no later than the last that an `earlier` reading
    /// showed. A file gets its time with its name, so that these times rise in the order in which names come; a reading that begins a
    /// step of the clock later shows them all. What came after them is left to the next listing.
    fn settled(&self, path: &Path, name: &str, earlier: &HashSet<String>) -> io::Result<Option<HashSet<String>>> {
        let file = |entry: &str| path.join(&entry[name.len()..]);
        let mut newest = None;
        for entry in earlier.iter().filter(|entry| !entry.ends_with('/')) {
            newest = newest.max(named_at(&file(entry))?);
        }
        thread::sleep(CLOCK_STEP);
        let Some(mut names) = self.names(path, name)? else { return Ok(None) };
        let later: Vec<String> =
            names.iter().filter(|entry| !entry.ends_with('/') && !earlier.contains(*entry)).cloned().collect();
        for entry in later {
            if named_at(&file(&entry))? > newest {
                names.remove(&entry);
            }
        }
        Ok(Some(names))
    }

    /// What a folder holds that is wanted; `None` where there is no folder.
    fn names(&self, path: &Path, name: &str) -> io::Result<Option<HashSet<String>>> {
        let entries = match fs::read_dir(path) {
            Ok(entries) => entries,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut names = HashSet::new();
        for entry in entries {
            names.extend(self.wanted(&entry?, name)?);
        }
        Ok(Some(names))
    }

    /// The full name of an entry that may be, or hold, something to list; folders end in `/`.
    fn wanted(&self, entry: &fs::DirEntry, above: &str) -> io::Result<Option<String>> {
        let file_name = entry.file_name();
        let Some(file_name) = file_name.to_str() else {
            return Ok(None);
        };
        if file_name.bytes().any(|byte| byte.is_ascii_control()) {
            return Ok(None);
        }
        let is_folder = match entry.file_type() {
            Ok(kind) => kind.is_dir(),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if is_folder {
            let name = format!("{above}{file_name}/");
            return Ok(self.may_hold(&name).then_some(name));
        }
        if is_temporary(file_name) != self.temporary {
            return Ok(None);
        }
        let name = format!("{above}{file_name}");
        Ok((name.as_str() > self.after).then_some(name))
    }

    /// Whether a folder may hold a name after `after`.
    fn may_hold(&self, folder: &str) -> bool {
        folder > self.after || self.after.starts_with(folder)
    }
}
