//! The newest commits of a table that a catalog manages, as the catalog tells them.
//!
//! Source: the protocol's catalog-managed tables. The catalog ratifies commits; until one is published under its log name, only
//! the catalog knows where it stands. What the catalog names wins over what a listing shows, and nothing above its newest
//! version counts.

use bytes::Bytes;
use lakebed_commit::ObjectName;
use lakebed_naming::Version;
use lakebed_naming::delta::{LOG_FOLDER, LogName, commit_path};
use std::collections::BTreeMap;

/// Where a ratified commit stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ratified {
    /// In this object, relative to the table's root, such as `_delta_log/_staged_commits/<version>.<uuid>.json`.
    Object(ObjectName),
    /// In the catalog itself: these are its bytes.
    Inline(Bytes),
}

/// What a catalog answers about a table: its newest version, and the commits that may not be published yet.
///
/// ```
/// use lakebed_commit::ObjectName;
/// use lakebed_delta::{LogTail, Ratified};
/// use lakebed_naming::Version;
///
/// let staged = "_delta_log/_staged_commits/00000000000000000002.0f2c6a1e-0000-4000-8000-000000000001.json";
/// let tail = LogTail::new(Version::new(2)).with(Version::new(2), Ratified::Object(ObjectName::new(staged)));
/// assert_eq!(tail.newest(), Version::new(2));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogTail {
    newest: Version,
    commits: BTreeMap<Version, Ratified>,
}

impl LogTail {
    /// The newest ratified version is this one; every commit up to it is published.
    #[must_use]
    pub const fn new(newest: Version) -> Self {
        Self { newest, commits: BTreeMap::new() }
    }

    /// Names where a ratified commit stands. One above the newest version is not taken.
    #[must_use]
    pub fn with(mut self, version: Version, ratified: Ratified) -> Self {
        if version <= self.newest {
            self.commits.insert(version, ratified);
        }
        self
    }

    /// The newest ratified version.
    #[must_use]
    pub const fn newest(&self) -> Version {
        self.newest
    }

    /// Where a commit stands, where the catalog names it.
    #[must_use]
    pub fn commit(&self, version: Version) -> Option<&Ratified> {
        self.commits.get(&version)
    }

    /// The commits that the catalog names, ascending.
    pub fn commits(&self) -> impl Iterator<Item = (Version, &Ratified)> {
        self.commits.iter().map(|(version, ratified)| (*version, ratified))
    }

    /// Whether an object of a listing counts, by its name relative to the table's root.
    #[must_use]
    pub fn counts(&self, name: &str) -> bool {
        let inside = name.strip_prefix(LOG_FOLDER).and_then(|rest| rest.strip_prefix('/'));
        let version = match inside.map(LogName::parse) {
            Some(LogName::Commit(version) | LogName::Checksum(version)) => Some(version),
            Some(LogName::Checkpoint(name)) => Some(name.version),
            Some(LogName::Compacted(range)) => Some(range.last()),
            Some(
                LogName::UnpaddedCommit(_)
                | LogName::LastCheckpoint
                | LogName::LastVacuumInfo
                | LogName::StagedCommit { .. }
                | LogName::Sidecar { .. }
                | LogName::HadoopChecksum { .. }
                | LogName::Temporary(_)
                | LogName::InFolder
                | LogName::Other,
            )
            | None => None,
        };
        version.is_none_or(|version| version <= self.newest)
    }

    /// The object to read for one that the log names.
    pub(super) fn outside(&self, name: ObjectName) -> ObjectName {
        match self.version_of(&name).and_then(|version| self.commits.get(&version)) {
            Some(Ratified::Object(object)) => object.clone(),
            Some(Ratified::Inline(_)) | None => name,
        }
    }

    /// The name in the log of an object that was read.
    pub(super) fn inside(&self, name: ObjectName) -> ObjectName {
        let staged = |ratified: &Ratified| matches!(ratified, Ratified::Object(object) if *object == name);
        let found = self.commits.iter().find(|(_, ratified)| staged(ratified));
        found.map_or(name.clone(), |(version, _)| ObjectName::new(commit_path(*version)))
    }

    fn version_of(&self, name: &ObjectName) -> Option<Version> {
        let inside = name.as_str().strip_prefix(LOG_FOLDER)?.strip_prefix('/')?;
        if let LogName::Commit(version) = LogName::parse(inside) { Some(version) } else { None }
    }
}
