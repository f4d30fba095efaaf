//! What the process does that dies, and what its table may be afterwards.

use super::{DAY, age};
use crate::lance_names::to_old_names;
use crate::log::{Log, read_log};
use crate::support::{add, columns, committed, created, isolated, opened, sound, try_remove};
use lakebed_index::SqliteIndex;
use lakebed_storage::{Durability, Indexed, LocalStore, Store};
use lakebed_table::{CommitOptions, CompactRequest, NewTable, Table, TableFormat, VersionSpec};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use TableFormat::{Delta, Lance};

/// What a child does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Job {
    Create(TableFormat),
    /// One append, which also writes a checkpoint on Delta.
    Append(TableFormat),
    /// The same where an index decides: stage, reserve, finalise, confirm.
    Indexed(TableFormat),
    /// Two files become one.
    Compact,
    /// Old commits below a checkpoint go.
    CleanLog,
    /// Commits are joined.
    CompactLog,
    /// Files that nobody needs go; on Lance old versions, too.
    Vacuum(TableFormat),
    /// Manifests get names of the newer scheme.
    Migrate,
}

pub(super) const JOBS: [Job; 12] = [
    Job::Create(Delta),
    Job::Create(Lance),
    Job::Append(Delta),
    Job::Append(Lance),
    Job::Indexed(Delta),
    Job::Indexed(Lance),
    Job::Compact,
    Job::CleanLog,
    Job::CompactLog,
    Job::Vacuum(Delta),
    Job::Vacuum(Lance),
    Job::Migrate,
];

/// A version and the rows in it; `None` where there is no table.
pub(super) type State = Option<(u64, u64)>;

impl Job {
    pub(super) fn name(self) -> String {
        format!("{self:?}")
    }

    const fn format(self) -> TableFormat {
        match self {
            Self::Create(format) | Self::Append(format) | Self::Indexed(format) | Self::Vacuum(format) => format,
            Self::Compact | Self::CleanLog | Self::CompactLog => Delta,
            Self::Migrate => Lance,
        }
    }

    /// The table in the folder, with every change made durable.
    pub(super) fn store(self, folder: &Path) -> Arc<dyn Store> {
        let local = |folder: &Path| LocalStore::new(folder, Durability::Full).unwrap();
        match self {
            Self::Indexed(_) => {
                let index = SqliteIndex::open(folder.join("index.db")).unwrap();
                Arc::new(Indexed::new(Arc::new(local(&folder.join("table"))), Arc::new(index)))
            }
            Self::Create(_)
            | Self::Append(_)
            | Self::Compact
            | Self::CleanLog
            | Self::CompactLog
            | Self::Vacuum(_)
            | Self::Migrate => Arc::new(local(folder)),
        }
    }

    /// A checkpoint at every commit, so that one falls under the knife too.
    fn definition(self) -> NewTable {
        let properties: &[(&str, &str)] = match self {
            Self::CleanLog => &[("delta.checkpointInterval", "2"), ("delta.logRetentionDuration", "interval 1 days")],
            Self::CompactLog => &[("delta.checkpointInterval", "100")],
            Self::Create(Delta) | Self::Append(Delta) | Self::Indexed(Delta) | Self::Compact | Self::Vacuum(Delta) => {
                &[("delta.checkpointInterval", "1")]
            }
            Self::Create(Lance) | Self::Append(Lance) | Self::Indexed(Lance) | Self::Vacuum(Lance) | Self::Migrate => {
                &[]
            }
        };
        let properties: BTreeMap<String, String> =
            properties.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        NewTable::new(self.format(), columns()).with_properties(properties)
    }

    pub(super) async fn run(self, store: Arc<dyn Store>) {
        let options = CommitOptions::default();
        let mut table = match self {
            Self::Create(_) => {
                let (table, report) =
                    Table::create_store(store, &isolated(), &self.definition(), &options).await.unwrap();
                committed(&report);
                println!("ACKNOWLEDGED");
                table.unwrap()
            }
            Self::Append(_)
            | Self::Indexed(_)
            | Self::Compact
            | Self::CleanLog
            | Self::CompactLog
            | Self::Vacuum(_)
            | Self::Migrate => opened(&store).await,
        };
        match self {
            Self::Create(_) => {}
            Self::Append(_) | Self::Indexed(_) => {
                committed(&add(&mut table, &[7]).await);
            }
            Self::Compact => {
                committed(&table.compact(&CompactRequest::default(), &options).await.unwrap());
            }
            Self::CleanLog | Self::CompactLog | Self::Vacuum(_) | Self::Migrate => {
                assert!(self.upkeep(&mut table).await > 0);
            }
        }
        println!("ACKNOWLEDGED");
        assert_eq!(table.settle().await, Vec::<String>::new());
        table.refresh().await.unwrap();
    }

    /// Does the upkeep; how many objects went, or were written or renamed. Nothing is done where the job is a commit.
    async fn upkeep(self, table: &mut Table) -> u64 {
        match self {
            Self::CleanLog => table.clean_log(false).await.unwrap().objects.len() as u64,
            Self::CompactLog => u64::from(table.compact_log().await.unwrap().is_some()),
            Self::Vacuum(Delta) => {
                table.vacuum(Some(Duration::from_millis(1)), true, false).await.unwrap().files.len() as u64
            }
            Self::Vacuum(Lance) => table.vacuum(None, false, false).await.unwrap().files.len() as u64,
            Self::Migrate => table.migrate_naming().await.unwrap(),
            Self::Create(_) | Self::Append(_) | Self::Indexed(_) | Self::Compact => 0,
        }
    }

    /// A folder as the child finds it.
    pub(super) async fn prepared(self) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        if let Self::Create(_) = self {
            return folder;
        }
        let store = self.store(folder.path());
        let mut table = created(&store, &self.definition()).await;
        committed(&add(&mut table, &[1, 2]).await);
        match self {
            Self::Create(_) | Self::Append(_) | Self::Indexed(_) => {}
            Self::Compact | Self::CompactLog => {
                committed(&add(&mut table, &[3]).await);
            }
            Self::CleanLog => {
                committed(&add(&mut table, &[3]).await);
                committed(&add(&mut table, &[4]).await);
                assert_eq!(table.settle().await, Vec::<String>::new());
                age(folder.path(), 3 * DAY);
            }
            Self::Vacuum(_) => {
                committed(&try_remove(&mut table, 1, &CommitOptions::default()).await.unwrap());
                committed(&add(&mut table, &[3]).await);
                assert_eq!(table.settle().await, Vec::<String>::new());
                age(folder.path(), 30 * DAY);
            }
            Self::Migrate => {
                committed(&add(&mut table, &[3]).await);
                to_old_names(&store, 3).await;
            }
        }
        assert_eq!(table.settle().await, Vec::<String>::new());
        folder
    }

    /// States before the child, and after it.
    pub(super) fn states(self) -> [State; 2] {
        let first = u64::from(self.format() == Lance);
        match self {
            Self::Create(_) => [None, Some((first, 0))],
            Self::Append(_) | Self::Indexed(_) => [Some((first + 1, 2)), Some((first + 2, 3))],
            Self::Compact => [Some((2, 3)), Some((3, 3))],
            Self::CleanLog => [Some((3, 4)); 2],
            Self::CompactLog => [Some((2, 3)); 2],
            Self::Vacuum(_) => [Some((first + 3, 2)); 2],
            Self::Migrate => [Some((3, 3)); 2],
        }
    }

    /// What each version holds before the child comes, from a reading of the log that is not ours; nothing where there is no table.
    pub(super) async fn before(self, folder: &Path) -> Log {
        if let Self::Create(_) = self {
            return Log(BTreeMap::new());
        }
        read_log(&self.store(folder), self.format()).await
    }

    /// The state as it is, and everything that it needs is there: from a reading of the log that is not ours where the log is whole
    /// and has the names of today, else from what that reading gave before the child came.
    pub(super) async fn state(self, store: &Arc<dyn Store>, before: &Log) -> (u64, u64) {
        match self {
            Self::CleanLog | Self::Vacuum(_) | Self::Migrate => self.kept(store, before).await,
            Self::Create(_) | Self::Append(_) | Self::Indexed(_) | Self::Compact | Self::CompactLog => {
                let log = sound(store, self.format()).await;
                (log.newest(), log.rows())
            }
        }
    }

    /// Every version that is still there is what it was before, and what it names is there (a vacuum of Delta keeps that of the newest
    /// version alone, and leaves the log as it is).
    async fn kept(self, store: &Arc<dyn Store>, before: &Log) -> (u64, u64) {
        let table = opened(store).await;
        let newest = table.version().get();
        let versions: Vec<u64> = table.history(None).await.unwrap().iter().map(|entry| entry.version.get()).collect();
        assert!(versions.contains(&newest), "{versions:?}");
        for version in &versions {
            let Some(was) = before.0.get(version) else { continue };
            let summary = table.at(VersionSpec::Number(*version)).await.unwrap().summary().unwrap();
            assert_eq!(summary.num_rows, Some(was.files.values().sum()), "rows of version {version}");
            assert_eq!(summary.num_files, was.files.len() as u64, "files of version {version}");
            if self != Self::Vacuum(Delta) || *version == before.newest() {
                before.assert_held(store, *version).await;
            }
        }
        let report = table.verify(|_| ()).await.unwrap();
        assert!(report.is_sound(), "{report:?}");
        (newest, table.snapshot().summary().unwrap().num_rows.unwrap())
    }

    /// What whoever comes next does first: create the table, or do the upkeep once more, after which none is left to do.
    pub(super) async fn taken_up(self, store: &Arc<dyn Store>) {
        if Table::open_store(Arc::clone(store), &isolated()).await.is_err() {
            created(store, &self.definition()).await;
        }
        self.upkeep(&mut opened(store).await).await;
        let left = self.upkeep(&mut opened(store).await).await;
        // What a log is compacted to is written over with the same.
        assert!(left == 0 || self == Self::CompactLog, "{self:?} is done and finds {left} more");
    }

    /// Calls without which the job was not done durably, or not at all.
    pub(super) const fn must_call(self) -> &'static [&'static str] {
        match self {
            Self::Create(_) | Self::Append(_) | Self::Compact => &["linkat", "fsync"],
            Self::Indexed(_) => &["rename", "fsync", "pwrite64"],
            Self::CleanLog | Self::Vacuum(_) => &["unlink"],
            Self::CompactLog => &["fsync", "rename"],
            Self::Migrate => &["fsync", "unlink"],
        }
    }
}
