//! What a listing of `_delta_log/` offers.

use std::collections::{BTreeMap, BTreeSet};

use super::checkpoint::{CheckpointForm, CheckpointName};
use super::log_name::LogName;
use super::segment::{CommitFile, LogSegment};
use crate::{NameError, Version, VersionRange};

/// An object of the log, with its size.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LogFile {
    /// The name relative to `_delta_log/`.
    pub name: String,
    /// The size in bytes, as the listing said.
    pub size_bytes: u64,
}

/// How a complete checkpoint is laid out. Ordered as Spark prefers them at one version: the greatest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CheckpointKind {
    /// One Parquet file under the classic name.
    Classic,
    /// All parts of a multi-part checkpoint.
    MultiPart,
    /// A uuid-named top-level file, which may name sidecars.
    V2,
}

/// A complete checkpoint: what its name promises is all there. Whether its bytes are sound only reading tells.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Checkpoint {
    /// The version whose state it holds.
    pub version: Version,
    /// How it is laid out.
    pub kind: CheckpointKind,
    /// Its files, in the order of their parts: one, unless it is multi-part.
    pub files: Vec<LogFile>,
}

/// A multi-part checkpoint of which parts are missing or empty. It is never used.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct IncompleteCheckpoint {
    /// The version whose state it would hold.
    pub version: Version,
    /// How many parts it should have.
    pub parts_total: u32,
    /// How many parts are there and not empty.
    pub parts_found: u32,
}

/// A compacted log: one object that may stand for a run of commits.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Compacted {
    /// The commits that it stands for.
    pub range: VersionRange,
    /// The object.
    pub file: LogFile,
}

/// What a listing of `_delta_log/` offers, whatever the order of its names and however often one occurs.
///
/// Checkpoint files and compacted logs of zero bytes are left out: a crashed writer leaves them. A commit of zero bytes does
/// count, since its creation was the commit.
///
/// The listing need not be whole: one that starts at a checkpoint's version (see [`super::list_after`]) plans every version
/// from there on. If it answers [`NameError::NoStart`], list the whole log before believing it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogListing {
    commits: BTreeMap<Version, u64>,
    /// Newest first, at one version the preferred first.
    checkpoints: Vec<Checkpoint>,
    incomplete: Vec<IncompleteCheckpoint>,
    compacted: BTreeMap<VersionRange, LogFile>,
    checksums: BTreeSet<Version>,
    unpadded: BTreeSet<(Version, String)>,
}

impl LogListing {
    /// Reads pairs of a name relative to `_delta_log/` and the object's size in bytes.
    pub fn new<I, N>(files: I) -> Self
    where
        I: IntoIterator<Item = (N, u64)>,
        N: AsRef<str>,
    {
        let mut listing = Self {
            commits: BTreeMap::new(),
            checkpoints: Vec::new(),
            incomplete: Vec::new(),
            compacted: BTreeMap::new(),
            checksums: BTreeSet::new(),
            unpadded: BTreeSet::new(),
        };
        let mut checkpoint_files: BTreeMap<(CheckpointName, String), u64> = BTreeMap::new();
        for (name, size_bytes) in files {
            let name = name.as_ref();
            match LogName::parse(name) {
                LogName::Commit(version) => keep_larger(&mut listing.commits, version, size_bytes),
                LogName::UnpaddedCommit(version) => {
                    listing.unpadded.insert((version, name.to_owned()));
                }
                LogName::Checkpoint(parsed) if size_bytes > 0 => {
                    keep_larger(&mut checkpoint_files, (parsed, name.to_owned()), size_bytes);
                }
                LogName::Compacted(range) if size_bytes > 0 => {
                    let file =
                        listing.compacted.entry(range).or_insert_with(|| LogFile { name: name.to_owned(), size_bytes });
                    file.size_bytes = file.size_bytes.max(size_bytes);
                }
                LogName::Checksum(version) => {
                    listing.checksums.insert(version);
                }
                LogName::Checkpoint(_)
                | LogName::Compacted(_)
                | LogName::LastCheckpoint
                | LogName::LastVacuumInfo
                | LogName::StagedCommit { .. }
                | LogName::Sidecar { .. }
                | LogName::HadoopChecksum { .. }
                | LogName::Temporary(_)
                | LogName::InFolder
                | LogName::Other => {}
            }
        }
        listing.gather_checkpoints(checkpoint_files);
        listing
    }

    fn gather_checkpoints(&mut self, files: BTreeMap<(CheckpointName, String), u64>) {
        let mut multi_part: BTreeMap<(Version, u32), Vec<LogFile>> = BTreeMap::new();
        for ((CheckpointName { version, form }, name), size_bytes) in files {
            let file = LogFile { name, size_bytes };
            let kind = match form {
                CheckpointForm::Classic => CheckpointKind::Classic,
                CheckpointForm::Uuid { .. } => CheckpointKind::V2,
                CheckpointForm::MultiPart(part) => {
                    // The map yields the parts of one total in order, each once.
                    multi_part.entry((version, part.total())).or_default().push(file);
                    continue;
                }
            };
            self.checkpoints.push(Checkpoint { version, kind, files: vec![file] });
        }
        for ((version, parts_total), mut files) in multi_part {
            let parts_found = u32::try_from(files.len()).unwrap_or(u32::MAX);
            if parts_found == parts_total {
                files.sort();
                self.checkpoints.push(Checkpoint { version, kind: CheckpointKind::MultiPart, files });
            } else {
                self.incomplete.push(IncompleteCheckpoint { version, parts_total, parts_found });
            }
        }
        // Names decide between equals, so that the answer does not depend on the order of the listing.
        self.checkpoints.sort_by(|a, b| {
            (b.version, b.kind, b.files.len(), &b.files).cmp(&(a.version, a.kind, a.files.len(), &a.files))
        });
    }

    /// The newest commit; `None` without commits.
    #[must_use]
    pub fn newest_commit(&self) -> Option<Version> {
        self.commits.last_key_value().map(|(version, _)| *version)
    }

    /// The newest version: of the newest commit or, above it, of a complete checkpoint (whose commit may be cleaned away).
    #[must_use]
    pub fn newest(&self) -> Option<Version> {
        self.newest_commit().max(self.checkpoints.first().map(|checkpoint| checkpoint.version))
    }

    /// The lowest commit; `None` without commits.
    #[must_use]
    pub fn first_commit(&self) -> Option<Version> {
        self.commits.first_key_value().map(|(version, _)| *version)
    }

    /// The oldest version that the listing can rebuild: 0 where commit 0 is there, else that of the oldest complete checkpoint.
    #[must_use]
    pub fn oldest_readable(&self) -> Option<Version> {
        let zero = Version::new(0);
        if self.commits.contains_key(&zero) {
            return Some(zero);
        }
        self.checkpoints.last().map(|checkpoint| checkpoint.version)
    }

    /// Whether the version's commit is there.
    #[must_use]
    pub fn has_commit(&self, version: Version) -> bool {
        self.commits.contains_key(&version)
    }

    /// The commits, ascending.
    pub fn commits(&self) -> impl DoubleEndedIterator<Item = CommitFile> + '_ {
        commit_files(self.commits.iter())
    }

    /// The complete checkpoints, newest first; at one version V2, then multi-part, then classic, as Spark prefers them.
    #[must_use]
    pub fn checkpoints(&self) -> &[Checkpoint] {
        &self.checkpoints
    }

    /// The complete checkpoints that may start a read of `at`, in the order of [`LogListing::checkpoints`]. A reader that
    /// finds one damaged goes on to the next with [`LogListing::plan_from`], and at last replays from commit 0.
    pub fn candidates(&self, at: Version) -> impl Iterator<Item = &Checkpoint> {
        self.checkpoints.iter().filter(move |checkpoint| checkpoint.version <= at)
    }

    /// Multi-part checkpoints that lack parts, ascending.
    #[must_use]
    pub fn incomplete_checkpoints(&self) -> &[IncompleteCheckpoint] {
        &self.incomplete
    }

    /// The compacted logs, ascending by their first commit, then by their last.
    pub fn compacted(&self) -> impl Iterator<Item = Compacted> + '_ {
        self.compacted.iter().map(|(range, file)| Compacted { range: *range, file: file.clone() })
    }

    /// Whether the version has a checksum file.
    #[must_use]
    pub fn has_checksum(&self, version: Version) -> bool {
        self.checksums.contains(&version)
    }

    /// Names that would be commits if their digits were padded to 20, ascending by version. They are not used.
    pub fn unpadded(&self) -> impl Iterator<Item = (Version, &str)> {
        self.unpadded.iter().map(|(version, name)| (*version, name.as_str()))
    }

    /// The commits that are missing between the lowest and the newest commit, ascending. A gap below a checkpoint is harmless
    /// to newer versions: [`LogListing::plan`] decides.
    #[must_use]
    pub fn gaps(&self) -> Vec<VersionRange> {
        match (self.first_commit(), self.newest_commit()) {
            (Some(first), Some(last)) => self.missing(first, last),
            (Some(_) | None, Some(_) | None) => Vec::new(),
        }
    }

    /// The objects that rebuild version `at` (the newest when `None`): the newest complete checkpoint at or below it, and every
    /// commit above that.
    ///
    /// # Errors
    ///
    /// - [`NameError::NoTable`]: there is neither a commit nor a complete checkpoint.
    /// - [`NameError::NotReached`]: `at` lies above the newest version.
    /// - [`NameError::Gap`]: commits are missing, and which.
    /// - [`NameError::NoStart`]: no checkpoint at or below `at`, and the log does not start at 0.
    pub fn plan(&self, at: Option<Version>) -> Result<LogSegment, NameError> {
        let at = self.reached(at)?;
        self.plan_from(self.candidates(at).next(), Some(at))
    }

    /// As [`LogListing::plan`], from a given checkpoint of [`LogListing::candidates`], or from commit 0 when `None`.
    ///
    /// # Errors
    ///
    /// Those of [`LogListing::plan`]; a checkpoint above `at` is [`NameError::NoStart`].
    pub fn plan_from(&self, start: Option<&Checkpoint>, at: Option<Version>) -> Result<LogSegment, NameError> {
        let at = self.reached(at)?;
        let no_start =
            || NameError::NoStart { at, first_commit: self.first_commit(), oldest_readable: self.oldest_readable() };
        let first = match start {
            None if !self.has_commit(Version::new(0)) => return Err(no_start()),
            Some(checkpoint) if checkpoint.version > at => return Err(no_start()),
            None => Some(Version::new(0)),
            Some(checkpoint) => checkpoint.version.next(),
        };
        let mut segment =
            LogSegment { version: at, checkpoint: start.cloned(), commits: Vec::new(), compacted: Vec::new() };
        let Some(first) = first.filter(|first| *first <= at) else { return Ok(segment) };
        let missing = self.missing(first, at);
        if !missing.is_empty() {
            let stands_in = |version: Version| missing.iter().any(|range| range.contains(version));
            let unpadded =
                self.unpadded().filter(|(version, _)| stands_in(*version)).map(|(_, name)| name.to_owned()).collect();
            return Err(NameError::Gap { at, missing, unpadded });
        }
        segment.commits = commit_files(self.commits.range(first..=at)).collect();
        segment.compacted =
            self.compacted().filter(|log| first <= log.range.first() && log.range.last() <= at).collect();
        Ok(segment)
    }

    fn reached(&self, at: Option<Version>) -> Result<Version, NameError> {
        let newest = self.newest().ok_or(NameError::NoTable)?;
        match at {
            Some(at) if at > newest => Err(NameError::NotReached { at, newest }),
            Some(at) => Ok(at),
            None => Ok(newest),
        }
    }

    /// The versions without a commit from `first` to `last`; as many steps as there are commits, however far apart they are.
    fn missing(&self, first: Version, last: Version) -> Vec<VersionRange> {
        let mut missing = Vec::new();
        let mut expected = Some(first);
        if first > last {
            return missing;
        }
        for version in self.commits.range(first..=last).map(|(version, _)| *version) {
            if let (Some(from), Some(to)) = (expected, version.previous()) {
                missing.extend(VersionRange::new(from, to));
            }
            expected = version.next();
        }
        if let Some(from) = expected {
            missing.extend(VersionRange::new(from, last));
        }
        missing
    }
}

fn commit_files<'a>(
    entries: impl DoubleEndedIterator<Item = (&'a Version, &'a u64)>,
) -> impl DoubleEndedIterator<Item = CommitFile> {
    entries.map(|(version, size_bytes)| CommitFile { version: *version, size_bytes: *size_bytes })
}

fn keep_larger<K: Ord>(sizes: &mut BTreeMap<K, u64>, key: K, size_bytes: u64) {
    let size = sizes.entry(key).or_insert(size_bytes);
    *size = (*size).max(size_bytes);
}
