//! Every committing call, dropped after every number of polls that it takes. Its store is never ready at once, before a request
//! nor behind one, so each await of the call is one of them.

use crate::compaction::of;
use crate::log::Log;
use crate::support::{
    BOTH, add, batch, committed, isolated, once, opened, prepared_add, set, sound, source, three_rows, try_add,
    try_remove, unique_id,
};
use async_trait::async_trait;
use bytes::Bytes;
use lakebed_commit::Found;
use lakebed_storage::{Create, Listed, Store, StoreError};
use lakebed_table::{
    ColumnChange, Compaction, MergeSpec, Prepared, Report, Scope, Table, TableError, TableFormat, VersionSpec,
};
use lakebed_transaction::{Column, ColumnType, Outcome, TransactionId};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::task::Poll;

/// Yields once before each request and once behind it.
#[derive(Debug)]
struct Yielding(Arc<dyn Store>);

/// Is not ready the first time that it is asked.
async fn once_not_ready() {
    let mut asked = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut asked, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

async fn slow<T>(request: impl Future<Output = T>) -> T {
    once_not_ready().await;
    let answer = request.await;
    once_not_ready().await;
    answer
}

#[async_trait]
impl Store for Yielding {
    fn root(&self) -> &str {
        self.0.root()
    }

    async fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        slow(self.0.get(name)).await
    }

    async fn get_range(&self, name: &str, range: Range<u64>) -> Result<Option<Bytes>, StoreError> {
        slow(self.0.get_range(name, range)).await
    }

    async fn head(&self, name: &str) -> Result<Option<Listed>, StoreError> {
        slow(self.0.head(name)).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<Listed>, StoreError> {
        slow(self.0.list(prefix, after, limit)).await
    }

    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        slow(self.0.put(name, bytes)).await
    }

    async fn create(&self, name: &str, bytes: Bytes) -> Result<Create, StoreError> {
        slow(self.0.create(name, bytes)).await
    }

    async fn copy(&self, from: &str, to: &str) -> Result<(), StoreError> {
        slow(self.0.copy(from, to)).await
    }

    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        slow(self.0.delete(name)).await
    }
}

/// Polls above which every call here has ended.
const POLLS_MAX: usize = 400;

/// Polls a future so many times, then drops it; what it gave, if it ended before.
async fn polled<T>(polls: usize, future: impl Future<Output = T>) -> Option<T> {
    let mut future = std::pin::pin!(future);
    for _ in 0..polls {
        if let Poll::Ready(value) = futures::poll!(&mut future) {
            return Some(value);
        }
        // What runs beside it has its turn too.
        tokio::task::yield_now().await;
    }
    None
}

type Answer = Result<Report, TableError>;

/// The committing calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Append,
    Remove,
    Set,
    Restore,
    Prepared,
    Overwrite,
    Truncate,
    Update,
    Merge,
    Compact,
    AddColumn,
}

impl Call {
    const ON_BOTH: [Self; 5] = [Self::Append, Self::Remove, Self::Set, Self::Restore, Self::Prepared];
    /// These read rows, and the Lance tables here have none in their files.
    const ON_DELTA: [Self; 6] =
        [Self::Overwrite, Self::Truncate, Self::Update, Self::Merge, Self::Compact, Self::AddColumn];

    async fn run(self, table: &mut Table, prepared: &Prepared) -> Answer {
        let options = once();
        match self {
            Self::Append => try_add(table, &[5], &options).await,
            Self::Remove => try_remove(table, 2, &options).await,
            Self::Set => {
                let properties = BTreeMap::from([("who".to_owned(), "me".to_owned())]);
                table.set_properties(properties, Vec::new(), &options).await
            }
            Self::Restore => table.restore(VersionSpec::Number(table.version().get() - 1), &options).await,
            Self::Prepared => table.commit_prepared(prepared.clone(), &options).await,
            Self::Overwrite => table.overwrite(source(batch(&[7, 8])), &Scope::Whole, &options).await,
            Self::Truncate => table.truncate(None, &options).await,
            Self::Update => table.update(&["p = 'x'".to_owned()], Some("id = 3"), &options).await,
            Self::Merge => {
                let on = vec!["id".to_owned()];
                let spec = MergeSpec { on, ..MergeSpec::default() };
                table.merge(source(batch(&[1, 9])), &spec, &options).await
            }
            Self::Compact => table.compact(&of(Compaction::Major), &options).await,
            Self::AddColumn => {
                let columns = vec![Column::new("more", ColumnType::Long, true)];
                table.change_columns(&ColumnChange::Add { within: Vec::new(), columns }, false, &options).await
            }
        }
    }

    /// The rows that are there when it landed.
    fn rows(self, before: &Log) -> u64 {
        match self {
            Self::Append | Self::Merge => before.rows() + 1,
            Self::Remove => before.rows() - 1,
            Self::Set | Self::Update | Self::Compact | Self::AddColumn => before.rows(),
            Self::Restore => rows_at(before, before.newest() - 1),
            Self::Prepared => before.rows() + 10,
            Self::Overwrite => 2,
            Self::Truncate => 0,
        }
    }
}

fn rows_at(log: &Log, version: u64) -> u64 {
    log.0[&version].files.values().sum()
}

/// Two files with four rows; Delta marks deleted ones.
async fn two_files(format: TableFormat) -> (Arc<dyn Store>, Table) {
    let (store, mut table) = three_rows(format).await;
    if format == TableFormat::Delta {
        committed(&set(&mut table, "delta.enableDeletionVectors", "true", &once()).await);
    }
    committed(&add(&mut table, &[4]).await);
    (store, table)
}

/// What the table, the handle and the answer of `outcome_of` come to. Whether the commit landed.
async fn audited(store: &Arc<dyn Store>, table: &Table, call: Call, before: &Log, what: &str) -> bool {
    let format = table.format();
    let log = sound(store, format).await;
    let landed = log.newest() > before.newest();
    assert!(log.newest() <= before.newest() + 1, "{what}: version {}", log.newest());
    assert_eq!(log.rows(), if landed { call.rows(before) } else { before.rows() }, "{what}");
    for (version, state) in &before.0 {
        assert_eq!(log.0[version].files, state.files, "{what}: version {version} is another");
    }
    // The handle holds one version, whole.
    let version = table.version().get();
    assert!(version == before.newest() || version == log.newest(), "{what}: the handle is at {version}");
    let summary = table.snapshot().summary().unwrap();
    assert_eq!(summary.num_rows, Some(rows_at(&log, version)), "{what}: the handle at {version}");
    // Who asks is told, by any handle.
    let id = TransactionId::new(log.state().id.clone());
    for asked in [table, &opened(store).await] {
        let found = asked.outcome_of(&id).await.unwrap();
        assert!(matches!(found, Found::Committed(at) if at.get() == log.newest()), "{what}: {found:?}");
    }
    let verified = opened(store).await.verify(|_| ()).await.unwrap();
    assert!(verified.is_sound(), "{what}: {verified:?}");
    landed
}

/// Drops one call after each number of polls. How often it had landed unseen.
async fn dropped_everywhere(format: TableFormat, call: Call) -> (usize, usize) {
    let mut unseen = 0;
    for polls in 0..POLLS_MAX {
        let (store, _) = two_files(format).await;
        let before = sound(&store, format).await;
        let through: Arc<dyn Store> = Arc::new(Yielding(Arc::clone(&store)));
        let mut table = Table::open_store(through, &isolated()).await.unwrap();
        let id = unique_id();
        let prepared = prepared_add(&table, id, 10).await;
        let ended = polled(polls, call.run(&mut table, &prepared)).await;
        let what = format!("{format}, {call:?} dropped after {polls} polls");
        let landed = audited(&store, &table, call, &before, &what).await;
        if call == Call::Prepared && !landed {
            let found = table.outcome_of(&TransactionId::new(id.to_string())).await.unwrap();
            assert!(matches!(found, Found::InNone { .. }), "{what}: {found:?}");
        }
        let next = before.newest() + u64::from(landed) + 1;
        assert_eq!(goes_on(&mut table).await, next, "{what}");
        assert_eq!(sound(&store, format).await.newest(), next, "{what}");
        if let Some(answer) = ended {
            assert!(landed, "{what}: {answer:?}");
            assert_eq!(committed(&answer.unwrap()), before.newest() + 1, "{what}");
            return (polls, unseen);
        }
        unseen += usize::from(landed);
    }
    panic!("{format}: {call:?} does not end in {POLLS_MAX} polls")
}

/// The handle goes on, whatever it knew: where its own unseen change of the metadata is in the way, behind a refresh.
async fn goes_on(table: &mut Table) -> u64 {
    let report = add(table, &[100]).await;
    if matches!(report.outcome, Outcome::Conflict(_)) {
        assert!(table.refresh().await.unwrap());
        return committed(&add(table, &[100]).await);
    }
    committed(&report)
}

async fn all(format: TableFormat, calls: &[Call]) {
    for call in calls {
        let (polls, unseen) = dropped_everywhere(format, *call).await;
        // Each request is two polls, and the create is one of them.
        assert!(polls >= 2 && unseen >= 1, "{format}: {call:?} took {polls} polls and landed unseen {unseen} times");
    }
}

#[tokio::test]
async fn calls_of_both_formats_landed_or_did_not() {
    for format in BOTH {
        all(format, &Call::ON_BOTH).await;
    }
}

#[tokio::test]
async fn calls_that_read_rows_landed_or_did_not() {
    all(TableFormat::Delta, &Call::ON_DELTA).await;
}
