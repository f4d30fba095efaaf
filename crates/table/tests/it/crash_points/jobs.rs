//! What the process does that dies, and what its table may be afterwards.

use crate::support::{add, columns, committed, created, isolated, opened, sound};
use lakebed_index::SqliteIndex;
use lakebed_storage::{Durability, Indexed, LocalStore, Store};
use lakebed_table::{CommitOptions, CompactRequest, NewTable, Table, TableFormat};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

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
}

pub(super) const JOBS: [Job; 7] = [
    Job::Create(Delta),
    Job::Create(Lance),
    Job::Append(Delta),
    Job::Append(Lance),
    Job::Indexed(Delta),
    Job::Indexed(Lance),
    Job::Compact,
];

/// A version and the rows in it; `None` where there is no table.
pub(super) type State = Option<(u64, u64)>;

impl Job {
    pub(super) fn name(self) -> String {
        format!("{self:?}")
    }

    const fn format(self) -> TableFormat {
        match self {
            Self::Create(format) | Self::Append(format) | Self::Indexed(format) => format,
            Self::Compact => Delta,
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
            Self::Create(_) | Self::Append(_) | Self::Compact => Arc::new(local(folder)),
        }
    }

    /// A checkpoint at every commit, so that one falls under the knife too.
    fn definition(self) -> NewTable {
        let properties = match self.format() {
            Delta => BTreeMap::from([("delta.checkpointInterval".to_owned(), "1".to_owned())]),
            Lance => BTreeMap::new(),
        };
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
            Self::Append(_) | Self::Indexed(_) | Self::Compact => opened(&store).await,
        };
        match self {
            Self::Create(_) => {}
            Self::Append(_) | Self::Indexed(_) => {
                committed(&add(&mut table, &[7]).await);
            }
            Self::Compact => {
                committed(&table.compact(&CompactRequest::default(), &options).await.unwrap());
            }
        }
        println!("ACKNOWLEDGED");
        assert_eq!(table.settle().await, Vec::<String>::new());
        table.refresh().await.unwrap();
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
        if self == Self::Compact {
            committed(&add(&mut table, &[3]).await);
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
        }
    }

    /// The state as it is, from a reading of the log that is not ours; and everything that it needs is there.
    pub(super) async fn state(self, store: &Arc<dyn Store>) -> (u64, u64) {
        let log = sound(store, self.format()).await;
        (log.newest(), log.rows())
    }

    /// What whoever comes next does first where there is no table: create it.
    pub(super) async fn taken_up(self, store: &Arc<dyn Store>) {
        if Table::open_store(Arc::clone(store), &isolated()).await.is_err() {
            created(store, &self.definition()).await;
        }
    }

    /// Calls without which the job was not done durably, or not at all.
    pub(super) const fn must_call(self) -> &'static [&'static str] {
        match self {
            Self::Create(_) | Self::Append(_) | Self::Compact => &["linkat", "fsync"],
            Self::Indexed(_) => &["rename", "fsync", "pwrite64"],
        }
    }
}
