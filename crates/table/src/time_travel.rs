//! Which version stood at a time.
//!
//! Source: the Delta protocol's in-commit timestamps, and how Spark looks versions up where there are none: by the times of
//! the commit files, each lifted above the one before. What a cleanup left without a base is no version any more.

use crate::load::delta::list_versions;
use crate::load::delta::{commits, log_listing};
use crate::load::lance_times_ascending;
use crate::snapshot::{DeltaVersion, Snapshot};
use crate::{Table, TableError};
use lakebed_delta::action::{Action, Metadata};
use lakebed_naming::Version;
use lakebed_storage::Listed;

/// What a time after the newest version means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Late {
    /// A mistake, as in Spark: the table may get versions of that time yet.
    Refused,
    /// The newest version.
    Newest,
}

/// A version and its time, in milliseconds since 1970.
type Timed = (Version, i64);

impl Table {
    /// The newest version that is not younger than a time.
    pub(crate) async fn version_at(&self, at_ms: i64, late: Late) -> Result<Version, TableError> {
        match &self.snapshot {
            Snapshot::Delta(held) => self.delta_version_at(held, at_ms, late).await,
            Snapshot::Lance(_) => {
                let times = lance_times_ascending(self, at_ms).await?;
                let found = times.iter().rev().find(|(_, ms)| *ms <= at_ms).map(|(version, _)| *version);
                found.ok_or_else(|| self.too_early(at_ms, times.first().copied(), times.last().copied()))
            }
        }
    }

    async fn delta_version_at(&self, newest: &DeltaVersion, at_ms: i64, late: Late) -> Result<Version, TableError> {
        let listed = list_versions(&*self.place.store, None).await?;
        let times = file_times(&listed);
        let (Some(first), Some(last)) = (times.first().copied(), times.last().copied()) else {
            return Err(self.too_early(at_ms, None, None));
        };
        let from = stamped_from(newest.snapshot.metadata());
        let stamped = times.partition_point(|(version, _)| from.is_none_or(|from| *version < from));
        let (by_file, by_stamp) = times.split_at(stamped);
        let newest = match by_stamp.last() {
            Some((version, _)) => (*version, self.in_commit_timestamp(*version).await?),
            None => last,
        };
        if at_ms >= newest.1 {
            return match late {
                Late::Refused if at_ms > newest.1 => Err(self.too_late(at_ms, first, newest)),
                Late::Refused | Late::Newest => Ok(newest.0),
            };
        }
        let enabled_ms = self.enabled_ms(by_stamp).await?;
        if enabled_ms.is_some_and(|enabled_ms| at_ms >= enabled_ms) {
            return self.by_stamp(by_stamp, at_ms).await;
        }
        // Below the switch only file times count, and only of the versions below it.
        let found = by_file.iter().rev().find(|(_, ms)| *ms <= at_ms).map(|(version, _)| *version);
        let first = by_file.first().copied().or(by_stamp.first().zip(enabled_ms).map(|(first, ms)| (first.0, ms)));
        found.ok_or_else(|| self.too_early(at_ms, first, Some(newest)))
    }

    /// The time from which on versions go by their own timestamps: that of the first one which has one and is still there.
    async fn enabled_ms(&self, by_stamp: &[Timed]) -> Result<Option<i64>, TableError> {
        match by_stamp.first() {
            Some((version, _)) => self.in_commit_timestamp(*version).await.map(Some),
            None => Ok(None),
        }
    }

    /// In-commit timestamps grow from version to version, so halving finds the place with few reads.
    async fn by_stamp(&self, versions: &[Timed], at_ms: i64) -> Result<Version, TableError> {
        let (mut low, mut high) = (0, versions.len());
        while low + 1 < high {
            let middle = usize::midpoint(low, high);
            let Some((version, _)) = versions.get(middle) else { break };
            if self.in_commit_timestamp(*version).await? <= at_ms { low = middle } else { high = middle }
        }
        versions.get(low).map(|(version, _)| *version).ok_or_else(|| self.too_early(at_ms, None, None))
    }

    async fn in_commit_timestamp(&self, version: Version) -> Result<i64, TableError> {
        let actions = self.delta_actions(version).await?;
        let stamp = actions.iter().find_map(|action| {
            if let Action::CommitInfo(info) = action { info.in_commit_timestamp_ms() } else { None }
        });
        stamp.ok_or_else(|| TableError::Unavailable {
            root: self.place.store.root().to_owned(),
            problem: format!("version {version} has no in-commit timestamp although the table promises one"),
            advice: "ask by version".to_owned(),
        })
    }

    fn too_early(&self, at_ms: i64, first: Option<Timed>, last: Option<Timed>) -> TableError {
        let problem = match (first, last) {
            (Some(first), Some(last)) => format!("no version is as old as {}; {}", utc(at_ms), range(first, last)),
            (_, _) => format!("no version is as old as {}: there is none with a time", utc(at_ms)),
        };
        self.unavailable(problem, "ask for a time in that range")
    }

    fn too_late(&self, at_ms: i64, first: Timed, last: Timed) -> TableError {
        let problem = format!("{} is after the newest version; {}", utc(at_ms), range(first, last));
        self.unavailable(problem, "ask for a time in that range, or leave it out to read the newest version")
    }

    fn unavailable(&self, problem: String, advice: &str) -> TableError {
        TableError::Unavailable { root: self.place.store.root().to_owned(), problem, advice: advice.to_owned() }
    }
}

fn utc(ms: i64) -> String {
    lakebed_sql::print_timestamp(ms.saturating_mul(1_000))
}

fn range(first: Timed, last: Timed) -> String {
    format!("there are version {} of {} to version {} of {}", first.0, utc(first.1), last.0, utc(last.1))
}

/// The versions that can be rebuilt and have their commit, with the lifted times of the files, ascending in both.
pub(crate) fn file_times(listed: &[Listed]) -> Vec<Timed> {
    let oldest = log_listing(listed).oldest_readable();
    let readable = |(version, _): &Timed| oldest.is_none_or(|oldest| *version >= oldest);
    lifted(&commits(listed).into_iter().filter(readable).collect::<Vec<_>>())
}

/// Times made strictly increasing, oldest first: a version that is not younger than the one before it counts as one
/// millisecond younger.
pub(crate) fn lifted(commits: &[Timed]) -> Vec<Timed> {
    let mut newest: Option<i64> = None;
    commits
        .iter()
        .map(|(version, ms)| {
            let ms = newest.map_or(*ms, |before| (*ms).max(before.saturating_add(1)));
            newest = Some(ms);
            (*version, ms)
        })
        .collect()
}

/// The first version whose own timestamp counts, by the newest version's metadata; `None` where file times count for all,
/// also for those that have one of their own from a time when they were switched on.
pub(crate) fn stamped_from(newest: &Metadata) -> Option<Version> {
    if !newest.in_commit_timestamps() {
        return None;
    }
    let enabled = newest.configuration.get("delta.inCommitTimestampEnablementVersion");
    Some(Version::new(enabled.and_then(|text| text.parse().ok()).unwrap_or(0)))
}
