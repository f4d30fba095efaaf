//! The objects that rebuild one version.

use std::collections::BTreeMap;

use super::listing::{Checkpoint, Compacted, LogFile};
use super::log_name::commit_file;
use crate::Version;

/// A commit in a listing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CommitFile {
    /// The version that it created.
    pub version: Version,
    /// The size in bytes, as the listing said.
    pub size_bytes: u64,
}

impl CommitFile {
    /// The bare name in `_delta_log/`.
    #[must_use]
    pub fn name(&self) -> String {
        commit_file(self.version)
    }
}

/// The objects that rebuild one version: at most one checkpoint, and every commit above it without a gap.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogSegment {
    /// The version that they rebuild.
    pub version: Version,
    /// Where replay starts; `None` to start from nothing at commit 0.
    pub checkpoint: Option<Checkpoint>,
    /// The commits above the checkpoint, ascending. Empty when the checkpoint is of the version itself; that version's own
    /// commit may then be gone, and with it its commit information.
    pub commits: Vec<CommitFile>,
    /// Compacted logs that lie within [`LogSegment::commits`]. They save requests and change nothing, if their writer
    /// reconciled them; [`LogSegment::commits`] alone is always enough.
    pub compacted: Vec<Compacted>,
}

/// One object of a replay that makes use of compacted logs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReplayFile {
    /// A commit.
    Commit(CommitFile),
    /// A compacted log in place of its commits.
    Compacted(Compacted),
}

impl LogSegment {
    /// The bare names of the commits, ascending.
    #[must_use]
    pub fn commit_names(&self) -> Vec<String> {
        self.commits.iter().map(CommitFile::name).collect()
    }

    /// The bare names of the checkpoint's files; empty without a checkpoint.
    #[must_use]
    pub fn checkpoint_names(&self) -> Vec<&str> {
        let files: &[LogFile] = self.checkpoint.as_ref().map_or(&[], |checkpoint| &checkpoint.files);
        files.iter().map(|file| file.name.as_str()).collect()
    }

    /// The same replay in fewer objects, ascending: at each version the compacted log that starts there and reaches farthest
    /// stands for its commits. Every version above the checkpoint is covered exactly once.
    #[must_use]
    pub fn with_compacted(&self) -> Vec<ReplayFile> {
        let mut starts: BTreeMap<Version, &Compacted> = BTreeMap::new();
        for log in &self.compacted {
            let farthest = starts.entry(log.range.first()).or_insert(log);
            if log.range.last() > farthest.range.last() {
                *farthest = log;
            }
        }
        let mut replay = Vec::new();
        let mut covered: Option<Version> = None;
        for commit in &self.commits {
            if covered.is_some_and(|covered| commit.version <= covered) {
                continue;
            }
            match starts.get(&commit.version).copied() {
                Some(log) => {
                    covered = Some(log.range.last());
                    replay.push(ReplayFile::Compacted(log.clone()));
                }
                None => replay.push(ReplayFile::Commit(*commit)),
            }
        }
        replay
    }
}
