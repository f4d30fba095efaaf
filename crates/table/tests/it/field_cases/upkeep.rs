//! Upkeep beside writers, and what it must leave alone.

use crate::compaction::{VECTORS, append, batch, of, rows, table};
use crate::isolation::under;
use crate::rebased::nobodys;
use crate::support::{committed, opened, prepared_delta, source, unique_id};
use async_trait::async_trait;
use bytes::Bytes;
use lakebed_storage::testing::{Counting, Operation};
use lakebed_storage::{Create, Listed, Store, StoreError};
use lakebed_table::{
    Change, CommitOptions, CompactRequest, Compaction, ScanRequest, Scope, Snapshot, Table, VersionSpec,
};
use lakebed_transaction::Outcome;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;

/// What others do just before an entry is created, on a thread of their own.
type Before = Arc<dyn Fn(u32) + Send + Sync>;

/// A store on which others get in between: they act before each of the first creates.
struct Interrupted {
    inner: Arc<dyn Store>,
    left: AtomicU32,
    before: Before,
}

impl fmt::Debug for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Interrupted").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl Interrupted {
    fn times(inner: Arc<dyn Store>, times: u32, before: Before) -> Arc<dyn Store> {
        Arc::new(Self { inner, left: AtomicU32::new(times), before })
    }
}

#[async_trait]
impl Store for Interrupted {
    fn root(&self) -> &str {
        self.inner.root()
    }

    async fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        self.inner.get(name).await
    }

    async fn get_range(&self, name: &str, range: Range<u64>) -> Result<Option<Bytes>, StoreError> {
        self.inner.get_range(name, range).await
    }

    async fn head(&self, name: &str) -> Result<Option<Listed>, StoreError> {
        self.inner.head(name).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<Listed>, StoreError> {
        self.inner.list(prefix, after, limit).await
    }

    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        self.inner.put(name, bytes).await
    }

    async fn create(&self, name: &str, bytes: Bytes) -> Result<Create, StoreError> {
        let left = self.left.load(Ordering::SeqCst);
        if left > 0 {
            self.left.store(left - 1, Ordering::SeqCst);
            let before = Arc::clone(&self.before);
            tokio::task::spawn_blocking(move || before(left)).await.unwrap();
        }
        self.inner.create(name, bytes).await
    }

    async fn copy(&self, from: &str, to: &str) -> Result<(), StoreError> {
        self.inner.copy(from, to).await
    }

    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.inner.delete(name).await
    }
}

async fn small_files(properties: &[(&str, &str)], count: i64) -> (Arc<dyn Store>, Table) {
    let (store, mut table) = table(false, properties).await;
    for file in 0..count {
        append(&mut table, batch((file * 10..file * 10 + 10).map(|id| (id, "a", id)))).await;
    }
    (store, table)
}

/// Field case 82: a vacuum between the moment at which a compaction has written its output and the one at which the log names it.
/// The output is young, so it stays.
#[tokio::test]
async fn a_vacuum_leaves_what_a_compaction_is_about_to_commit() {
    let (store, table) = small_files(&[], 4).await;
    let before = rows(&table).await;
    let other = Arc::clone(&store);
    let vacuum = move |_| {
        Handle::current().block_on(async {
            let store = &other;
            let unnamed = nobodys(store).await;
            assert_eq!(unnamed.len(), 1, "the output stands and nobody names it yet");
            let removed = opened(store).await.vacuum(None, false, false).await.unwrap();
            assert_eq!(removed.files, Vec::<String>::new());
        });
    };
    let mut ours = opened(&Interrupted::times(Arc::clone(&store), 1, Arc::new(vacuum))).await;
    committed(&ours.compact(&of(Compaction::Major), &CommitOptions::default()).await.unwrap());
    assert_eq!(rows(&opened(&store).await).await, before);
}

/// Field cases 83 and 86: a file that was taken out and came back by a restore is needed again, whatever the versions between say,
/// also by a cleaner whose list is older than the restore.
#[tokio::test]
async fn a_file_that_came_back_is_not_removed() {
    let (store, mut table) = small_files(&[], 2).await;
    let before = rows(&table).await;
    let pinned = table.version().get();
    let new = batch([(99, "a", 1)]);
    committed(&table.overwrite(source(new), &Scope::Whole, &CommitOptions::default()).await.unwrap());
    committed(&table.restore(VersionSpec::Number(pinned), &CommitOptions::default()).await.unwrap());
    tokio::time::sleep(Duration::from_millis(5)).await;
    let removed = table.vacuum(Some(Duration::from_millis(1)), true, false).await.unwrap();
    assert_eq!(removed.files.len(), 1, "only the file of the overwrite: {removed:?}");
    assert_eq!(rows(&opened(&store).await).await, before);
    assert!(opened(&store).await.verify(|_| ()).await.unwrap().is_sound());
}

/// The rows of every version, as text.
async fn every_version(store: &Arc<dyn Store>) -> Vec<Vec<String>> {
    let table = opened(store).await;
    let mut versions = Vec::new();
    for version in 0..=table.version().get() {
        let snapshot: Snapshot = table.at(VersionSpec::Number(version)).await.unwrap();
        let read = table.scan(&snapshot, &ScanRequest::default()).unwrap().all().await.unwrap();
        let mut rows: Vec<String> = read
            .iter()
            .flat_map(|rows| {
                (0..rows.num_rows()).map(|at| lakebed_data::json_row(rows, at).unwrap()).collect::<Vec<_>>()
            })
            .collect();
        rows.sort();
        versions.push(rows);
    }
    versions
}

/// Field case 110: whatever maintenance runs, what an old version holds never changes.
#[tokio::test]
async fn maintenance_changes_no_version() {
    let (store, mut table) = small_files(&[VECTORS, ("delta.enableRowTracking", "true")], 3).await;
    let options = CommitOptions::default();
    let mut known = every_version(&store).await;
    for round in 0_i64..12 {
        let predicate = format!("id % 7 = {}", round % 7);
        match round % 3 {
            0 => drop(table.delete(&format!("{predicate} AND id < 15"), &options).await.unwrap()),
            1 => drop(table.update(&["v = v + 1000".to_owned()], Some(&predicate), &options).await.unwrap()),
            _ => append(&mut table, batch([(1_000 + round, "b", round)])).await,
        }
        match round % 6 {
            0 => drop(table.compact(&of(Compaction::Minor), &options).await.unwrap()),
            1 => drop(table.checkpoint().await.unwrap()),
            2 => drop(table.compact(&of(Compaction::Major), &options).await.unwrap()),
            3 => drop(table.compact_log().await.unwrap()),
            4 => {
                let request = CompactRequest { cluster_by: vec!["v".to_owned()], ..of(Compaction::Major) };
                drop(table.compact(&request, &options).await.unwrap());
            }
            _ => drop(table.vacuum(None, false, false).await.unwrap()),
        }
        let now = every_version(&store).await;
        assert_eq!(now[..known.len()], known, "round {round}");
        known = now;
    }
    assert!(opened(&store).await.verify(|_| ()).await.unwrap().is_sound());
}

/// Field case 111: a rewrite and an append, over and over: one row more each time, and what others keep in the log stays.
#[tokio::test]
async fn each_cycle_adds_one_row_and_keeps_what_others_wrote() {
    let (store, mut table) = small_files(&[VECTORS, ("delta.feature.domainMetadata", "supported")], 3).await;
    let domain = r#"{"domainMetadata":{"domain":"someone.else","configuration":"{\"x\":1}","removed":false}}"#;
    let txn = r#"{"txn":{"appId":"stream","version":7}}"#;
    let entry = [domain.to_owned(), txn.to_owned()];
    let prepared = prepared_delta(table.version(), unique_id(), "Manual Update", &entry);
    committed(&table.commit_prepared(prepared, &CommitOptions::default()).await.unwrap());
    committed(&table.delete("id IN (1, 11)", &CommitOptions::default()).await.unwrap());
    let mut count = rows(&table).await.len();
    for cycle in 0_i64..10 {
        let kind = if cycle % 2 == 0 { Compaction::Minor } else { Compaction::Major };
        committed(&table.compact(&of(kind), &CommitOptions::default()).await.unwrap());
        append(&mut table, batch([(500 + cycle, "a", cycle)])).await;
        count += 1;
        assert_eq!(rows(&opened(&store).await).await.len(), count, "cycle {cycle}");
    }
    let summary = opened(&store).await.snapshot().summary().unwrap();
    assert_eq!(summary.domain_metadata.get("someone.else").map(String::as_str), Some("{\"x\":1}"));
    assert_eq!(summary.app_transactions, BTreeMap::from([("stream".to_owned(), 7)]));
}

/// Field case 119: a compaction that loses every race leaves nothing behind; and it wins once the others rest.
#[tokio::test]
async fn a_compaction_that_loses_every_race_leaves_nothing_behind() {
    let (store, _) = small_files(&[], 3).await;
    for round in 0..20 {
        let mut ours = opened(&store).await;
        let mut rival = opened(&store).await;
        let predicate = format!("id = {}", round % 30);
        committed(
            &rival.update(&["v = v + 1".to_owned()], Some(&predicate), &under("delta-serializable")).await.unwrap(),
        );
        let report = ours.compact(&of(Compaction::Major), &under("delta-serializable")).await.unwrap();
        assert!(matches!(report.outcome, Outcome::Conflict(_)), "round {round}: {report:?}");
        assert_eq!(report.metrics["objects_discarded"], 1, "round {round}");
        assert_eq!(nobodys(&store).await, Vec::<String>::new(), "round {round}");
    }
    let mut ours = opened(&store).await;
    committed(&ours.compact(&of(Compaction::Major), &under("delta-serializable")).await.unwrap());
    assert_eq!(rows(&ours).await.len(), 30);
}

/// Field case 88: the log outlives the files. Who reads changes from a version whose files a vacuum took is told where to begin
/// instead, and there every change is.
#[tokio::test]
async fn case_88_a_change_feed_that_begins_too_early_is_told_where_to_begin() {
    for properties in [&[][..], &[("delta.enableChangeDataFeed", "true"), VECTORS]] {
        let (store, mut table) = small_files(properties, 1).await;
        let options = CommitOptions::default();
        let first = table.snapshot().files()[0].path.clone();
        committed(&table.delete("id = 3", &options).await.unwrap());
        committed(&table.overwrite(source(batch([(99, "a", 1)])), &Scope::Whole, &options).await.unwrap());
        append(&mut table, batch([(100, "b", 1)])).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
        let removed = table.vacuum(Some(Duration::from_millis(1)), true, false).await.unwrap();
        assert!(removed.files.contains(&first), "{removed:?}");
        let table = opened(&store).await;
        for begin in 0..3 {
            let mut changes = table.changes(VersionSpec::Number(begin), VersionSpec::Newest).await.unwrap();
            let error = loop {
                match changes.next().await {
                    Ok(rows) => assert!(rows.is_some(), "the files of version {} are there", begin + 1),
                    Err(error) => break error.to_string(),
                }
            };
            assert!(error.contains("begin at version 3"), "from {begin}: {error}");
        }
        let mut changes = table.changes(VersionSpec::Number(3), VersionSpec::Newest).await.unwrap();
        let came = changes.next().await.unwrap().unwrap();
        assert_eq!((came.version.get(), came.change, came.batch.num_rows()), (4, Change::Insert, 1));
        assert_eq!(changes.next().await.unwrap(), None);
        // A range that ends before that has no whole part.
        let mut changes = table.changes(VersionSpec::Number(0), VersionSpec::Number(1)).await.unwrap();
        let error = changes.next().await.unwrap_err().to_string();
        assert!(error.contains(&first) && error.contains("up to version 1 are gone"), "{error}");
    }
}

/// Field case 122: fifty rivals, one just before each attempt: every version of theirs is read once.
#[tokio::test]
async fn each_rivals_version_is_read_once() {
    const RIVALS: u32 = 50;
    let (store, _) = small_files(&[], 1).await;
    let counted = Arc::new(Counting::new(Arc::clone(&store)));
    let other = Arc::clone(&store);
    let rival = move |left: u32| {
        Handle::current()
            .block_on(async { append(&mut opened(&other).await, batch([(i64::from(left) + 100, "b", 1)])).await });
    };
    let counting: Arc<dyn Store> = Arc::<Counting>::clone(&counted);
    let mut ours = opened(&Interrupted::times(counting, RIVALS, Arc::new(rival))).await;
    counted.reset();
    let report = ours.append(source(batch([(7_000, "a", 1)])), &CommitOptions::default()).await.unwrap();
    assert_eq!(committed(&report), 2 + u64::from(RIVALS));
    let requests = counted.take();
    let mut read: Vec<&str> = requests.names(Operation::Get);
    let all = read.len();
    read.sort_unstable();
    read.dedup();
    assert_eq!((read.len(), all), (RIVALS as usize, RIVALS as usize), "{requests:?}");
    assert_eq!(rows(&opened(&store).await).await.len(), 10 + RIVALS as usize + 1);
}
