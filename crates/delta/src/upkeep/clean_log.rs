//! Which objects of the log are expired.
//!
//! Source: the protocol's metadata cleanup and the order in which Spark removes. The log is cut at a complete checkpoint, so
//! that every version from there on stays readable; nothing is removed whose going would change the time of a version that
//! stays.

use super::Retention;
use crate::{DeltaError, Snapshot};
use lakebed_commit::ObjectName;
use lakebed_naming::Version;
use lakebed_naming::delta::{Checkpoint, CheckpointKind, LOG_FOLDER, LogListing, LogName, TemporaryName, log_path};
use std::collections::{BTreeMap, BTreeSet};

const DAY_MS: i64 = 86_400_000;

/// No entry that is younger than this is removed, whatever the table says: a writer may still believe that its number is free.
const YOUNGEST_MS: i64 = 3_600_000;

/// An object of the log, as a listing shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogObject {
    /// Its name, relative to the table's root.
    pub name: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// When it was written, in milliseconds since 1970.
    pub modified_ms: i64,
}

/// What a cleanup of the log removes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogCleanup {
    /// The oldest version that stays; everything from there on is as readable as before.
    pub first_kept: Version,
    /// A table with checkpoints of the second version gets one with a classic name where the log is cut, before anything goes,
    /// so that old readers are refused by the protocol and not by a broken log. `None` where that is not needed.
    pub classic_at: Option<Version>,
    /// The checkpoints that stay and may name sidecars: read them, and tell [`LogCleanup::sidecars`] what they name.
    pub may_name_sidecars: Vec<ObjectName>,
    /// The objects to remove, in this order: whenever it stops, what is left is readable from some version on.
    pub expired: Vec<ObjectName>,
    sidecars: Vec<ObjectName>,
}

impl LogCleanup {
    /// What is expired in a listing of the whole log, by the properties of the newest version, at `now_ms`. `None`: nothing.
    ///
    /// # Errors
    /// The table's log is a catalog's to clean, or it needs a writer that knows more.
    pub fn plan(objects: &[LogObject], newest: &Snapshot, now_ms: i64) -> Result<Option<Self>, DeltaError> {
        super::allowed(newest, "a cleanup of the log")?;
        let Some(retention_ms) = Retention::of(newest.properties()).log_ms else { return Ok(None) };
        let expired_ms = midnight(now_ms.saturating_sub(retention_ms)).min(now_ms.saturating_sub(YOUNGEST_MS));
        let inside: Vec<(&str, &LogObject)> =
            objects.iter().filter_map(|object| Some((inside_log(&object.name)?, object))).collect();
        let listing = LogListing::new(inside.iter().map(|(name, object)| (*name, object.size_bytes)));
        let Some(cut) = cut(&listing, &inside, newest, expired_ms) else { return Ok(None) };
        let first_kept = cut.version;
        let mut plan = Self {
            first_kept,
            classic_at: classic_at(&listing, first_kept, newest),
            may_name_sidecars: may_name_sidecars(&listing, first_kept),
            expired: expired(&inside, first_kept, expired_ms),
            sidecars: old_sidecars(&inside, expired_ms),
        };
        if plan.expired.is_empty() {
            plan.sidecars.clear();
        }
        Ok((!plan.expired.is_empty()).then_some(plan))
    }

    /// The old sidecars that no checkpoint names any more; `named` are those that the checkpoints which stay name.
    #[must_use]
    pub fn sidecars(&self, named: &BTreeSet<ObjectName>) -> Vec<ObjectName> {
        self.sidecars.iter().filter(|name| !named.contains(*name)).cloned().collect()
    }
}

fn inside_log(name: &str) -> Option<&str> {
    name.strip_prefix(LOG_FOLDER)?.strip_prefix('/')
}

/// Spark counts in whole days of UTC.
fn midnight(ms: i64) -> i64 {
    ms.div_euclid(DAY_MS).saturating_mul(DAY_MS)
}

/// The newest complete checkpoint below which everything is expired.
fn cut<'a>(
    listing: &'a LogListing,
    objects: &[(&str, &LogObject)],
    newest: &Snapshot,
    expired_ms: i64,
) -> Option<&'a Checkpoint> {
    let protected = protected_below(newest);
    let commits = commit_times(objects);
    let times = lifted(&commits);
    let first_young = first_young(&times, expired_ms);
    let first_fresh = first_fresh(objects, expired_ms);
    listing.checkpoints().iter().find(|checkpoint| {
        let at = checkpoint.version;
        at <= newest.version()
            && at > Version::new(0)
            && protected.is_none_or(|protected| at >= protected)
            // What stood when the retention began must stay: the newest version of that time, which this one is not above.
            && first_young.is_none_or(|young| at < young)
            && first_fresh.is_none_or(|fresh| at <= fresh)
            // Where the time of the first kept commit was lifted above its predecessor's, the predecessor is its anchor.
            && commits.get(&at) == times.get(&at)
            && objects.iter().any(|(name, _)| version_of(&LogName::parse(name)).is_some_and(|version| version < at))
    })
}

/// Versions below this one may only go together with everything up to it: old readers would misread what is left.
fn protected_below(newest: &Snapshot) -> Option<Version> {
    if !newest.protocol().supports("checkpointProtection") {
        return None;
    }
    let text = newest.properties().get("delta.requireCheckpointProtectionBeforeVersion")?;
    // A text that is no number protects everything.
    Some(Version::new(text.trim().parse().unwrap_or(u64::MAX)))
}

fn commit_times(objects: &[(&str, &LogObject)]) -> BTreeMap<Version, i64> {
    let commit = |(name, object): &(&str, &LogObject)| {
        if let LogName::Commit(version) = LogName::parse(name) { Some((version, object.modified_ms)) } else { None }
    };
    objects.iter().filter_map(commit).collect()
}

/// Times as time travel counts them: each above the one before.
fn lifted(commits: &BTreeMap<Version, i64>) -> BTreeMap<Version, i64> {
    let mut before: Option<i64> = None;
    let mut times = BTreeMap::new();
    for (version, ms) in commits {
        let ms = before.map_or(*ms, |before| (*ms).max(before.saturating_add(1)));
        before = Some(ms);
        times.insert(*version, ms);
    }
    times
}

/// The lowest version whose commit is within the retention.
fn first_young(times: &BTreeMap<Version, i64>, expired_ms: i64) -> Option<Version> {
    times.iter().find(|(_, ms)| **ms > expired_ms).map(|(version, _)| *version)
}

/// The lowest version of which a checkpoint or checksum file was written within the retention.
fn first_fresh(objects: &[(&str, &LogObject)], expired_ms: i64) -> Option<Version> {
    let fresh = |(name, object): &(&str, &LogObject)| {
        let parsed = LogName::parse(name);
        let counts = matches!(parsed, LogName::Checkpoint(_) | LogName::Checksum(_));
        version_of(&parsed).filter(|_| counts && object.modified_ms > expired_ms)
    };
    objects.iter().filter_map(fresh).min()
}

/// The version by which an object goes or stays.
fn version_of(name: &LogName) -> Option<Version> {
    match name {
        LogName::Commit(version) | LogName::Checksum(version) | LogName::StagedCommit { version, .. } => Some(*version),
        LogName::Checkpoint(name) => Some(name.version),
        LogName::Compacted(range) => Some(range.first()),
        LogName::HadoopChecksum { of, .. } => version_of(&LogName::parse(of)),
        LogName::UnpaddedCommit(_)
        | LogName::LastCheckpoint
        | LogName::LastVacuumInfo
        | LogName::Sidecar { .. }
        | LogName::Temporary(_)
        | LogName::InFolder
        | LogName::Other => None,
    }
}

/// Whether an object goes, and when: what ranks lower goes before what ranks higher.
fn rank(name: &LogName, is_old: bool, first_kept: Version) -> Option<u8> {
    let below = version_of(name).is_some_and(|version| version < first_kept);
    match name {
        // A compacted log stands for commits above its start, so it goes before any commit does.
        LogName::Compacted(range) => (range.first() <= first_kept).then_some(0),
        LogName::Commit(_) => below.then_some(1),
        LogName::Checksum(_) => below.then_some(2),
        LogName::StagedCommit { .. } => (below && is_old).then_some(3),
        // A version's checkpoint goes after its commit: until then the versions above it can be read from it.
        LogName::Checkpoint(_) => below.then_some(4),
        LogName::HadoopChecksum { .. } => below.then_some(5),
        LogName::Temporary(TemporaryName::Renamed { .. } | TemporaryName::DeltaRs(_)) => is_old.then_some(6),
        // The index of Spark's DynamoDB store may still say that such a file is the commit.
        LogName::Temporary(TemporaryName::DynamoCommit { .. } | TemporaryName::LocalPut { .. })
        | LogName::UnpaddedCommit(_)
        | LogName::LastCheckpoint
        | LogName::LastVacuumInfo
        | LogName::Sidecar { .. }
        | LogName::InFolder
        | LogName::Other => None,
    }
}

fn expired(objects: &[(&str, &LogObject)], first_kept: Version, expired_ms: i64) -> Vec<ObjectName> {
    let mut expired: Vec<(bool, Version, u8, &str)> = Vec::new();
    for (name, object) in objects {
        let parsed = LogName::parse(name);
        if let Some(rank) = rank(&parsed, object.modified_ms <= expired_ms, first_kept) {
            expired.push((rank != 0, version_of(&parsed).unwrap_or(Version::new(0)), rank, name));
        }
    }
    expired.sort_unstable();
    expired.into_iter().map(|(_, _, _, name)| ObjectName::new(log_path(name))).collect()
}

fn old_sidecars(objects: &[(&str, &LogObject)], expired_ms: i64) -> Vec<ObjectName> {
    let old = |(name, object): &(&str, &LogObject)| {
        let is_sidecar = matches!(LogName::parse(name), LogName::Sidecar { .. });
        (is_sidecar && object.modified_ms <= expired_ms).then(|| ObjectName::new(log_path(name)))
    };
    objects.iter().filter_map(old).collect()
}

fn classic_at(listing: &LogListing, first_kept: Version, newest: &Snapshot) -> Option<Version> {
    let mut there = listing.checkpoints().iter().filter(|checkpoint| checkpoint.version == first_kept);
    let has_classic = there.any(|checkpoint| checkpoint.kind == CheckpointKind::Classic);
    (newest.protocol().supports("v2Checkpoint") && !has_classic).then_some(first_kept)
}

fn may_name_sidecars(listing: &LogListing, first_kept: Version) -> Vec<ObjectName> {
    let stays = |checkpoint: &&Checkpoint| checkpoint.version >= first_kept;
    let single = |checkpoint: &&Checkpoint| match checkpoint.kind {
        CheckpointKind::Classic | CheckpointKind::V2 => true,
        CheckpointKind::MultiPart => false,
    };
    let kept = listing.checkpoints().iter().filter(stays).filter(single);
    kept.flat_map(|checkpoint| &checkpoint.files).map(|file| ObjectName::new(log_path(&file.name))).collect()
}
