//! Logs of Delta tables among names of strangers, and hints that lie.

use crate::local::{Local, add, classic, commit, first, now_ms, version_at};
use crate::support::{columns, committed, created, isolated, opened, place, prepared_add, set, three_rows, unique_id};
use async_trait::async_trait;
use bytes::Bytes;
use lakebed_storage::testing::{Counting, Operation};
use lakebed_storage::{Create, Listed, Store, StoreError};
use lakebed_table::VersionSpec::AtMs;
use lakebed_table::{CommitOptions, NewTable, Table, TableFormat};
use std::ops::Range;
use std::sync::Arc;

const HINT: &str = "_delta_log/_last_checkpoint";

/// A log of the versions from `from` to `to`, a file each.
fn log(from: u64, to: u64) -> Local {
    let local = Local::new();
    for version in from..=to {
        let lines = if version == 0 { first("") } else { vec![add(&format!("f{version}.parquet"))] };
        local.commit(version, &lines, 1_000 + version as i64 * 100);
    }
    local
}

/// Field cases 42, 43 and 44: files in folders of the log, strangers' files and a staged name in the log's root are no versions, by
/// number and by time; the next commit takes the next number.
#[tokio::test]
async fn cases_42_to_44_names_of_strangers_are_no_versions() {
    let local = log(0, 2);
    let uuid = "0f2c6a1e-0000-4000-8000-000000000001";
    let strangers = [
        "_delta_log/.tmp/00000000000000000003.json".to_owned(),
        format!("_delta_log/_commits/00000000000000000003.{uuid}.json"),
        format!("_delta_log/_staged_commits/00000000000000000003.{uuid}.json"),
        format!("_delta_log/00000000000000000003.{uuid}.json"),
        "_delta_log/_vendor_state/0.zip".to_owned(),
        "_delta_log/.DS_Store".to_owned(),
        "_delta_log/0.json".to_owned(),
        "_delta_log/3.json".to_owned(),
        "_delta_log/00000000000000000003.json.crc".to_owned(),
        "_delta_log/000000000000000000003.json".to_owned(),
    ];
    for name in &strangers {
        local.put(name, b"no commit", 5_000);
    }
    let mut table = local.open().await;
    assert_eq!((table.version().get(), table.snapshot().summary().unwrap().num_files), (2, 2));
    assert_eq!(version_at(&table, AtMs(1_150)).await.unwrap(), 1);
    assert!(version_at(&table, AtMs(1_201)).await.unwrap_err().to_string().contains("after the newest version"));
    assert_eq!(table.history(None).await.unwrap().len(), 3);
    let next = prepared_add(&table, unique_id(), 1).await;
    assert_eq!(committed(&table.commit_prepared(next, &CommitOptions::default()).await.unwrap()), 3);
    assert_eq!(local.open().await.version().get(), 3);
    assert!(strangers.iter().all(|name| std::fs::read(local.path(name)).unwrap() == b"no commit"));
}

/// Field case 54: a hint of ten megabytes of spaces, and one that is a folder's worth of nesting, are no hints.
#[tokio::test]
async fn case_54_a_hint_of_any_size_hides_nothing() {
    let (store, mut table) = three_rows(TableFormat::Delta).await;
    committed(&set(&mut table, "delta.checkpointInterval", "100", &CommitOptions::default()).await);
    table.checkpoint().await.unwrap();
    for bad in [" ".repeat(10 << 20), "[".repeat(1 << 20), format!("{}{{\"version\":9}}", " ".repeat(1 << 20))] {
        store.put(HINT, bad.into()).await.unwrap();
        assert_eq!(opened(&store).await.version().get(), 2);
    }
}

/// Field case 55: the hinted checkpoint is gone. Commit 0 or another whole checkpoint is a start; the tail of a log is none.
#[tokio::test]
async fn case_55_a_hint_at_nothing_needs_a_proven_start() {
    let whole = log(0, 6);
    whole.put(HINT, br#"{"version":4,"size":7}"#, now_ms());
    assert_eq!(whole.open().await.snapshot().summary().unwrap().num_files, 6);

    let tail = log(4, 6);
    tail.put(HINT, br#"{"version":4,"size":7}"#, now_ms());
    let error = Table::open_store(tail.store(), &isolated()).await.unwrap_err().to_string();
    assert!(error.contains("the log starts at 4") && error.contains("no usable checkpoint"), "{error}");

    let older = log(0, 2);
    older.open().await.checkpoint().await.unwrap();
    for version in 3..=6 {
        older.commit(version, &[add(&format!("f{version}.parquet"))], now_ms());
    }
    std::fs::remove_file(older.path(&commit(0))).unwrap();
    std::fs::remove_file(older.path(&commit(1))).unwrap();
    assert!(older.has(&classic(2)));
    older.put(HINT, br#"{"version":4,"size":7}"#, now_ms());
    let table = older.open().await;
    assert_eq!((table.version().get(), table.snapshot().summary().unwrap().num_files), (6, 6));
}

/// Field case 123: twelve thousand versions with a checkpoint near the end, and twenty thousand temporary files that another client
/// left behind: opening, looking again and committing list one page.
#[tokio::test]
async fn case_123_what_the_dead_left_is_not_listed() {
    let store = place(TableFormat::Delta);
    let mut table = created(&store, &NewTable::new(TableFormat::Delta, columns())).await;
    committed(&set(&mut table, "delta.checkpointInterval", "100000", &CommitOptions::default()).await);
    let entry = r#"{"commitInfo":{"operation":"WRITE","txnId":"x"}}"#;
    for version in 2..11_993_u64 {
        store.put(&commit(version), entry.into()).await.unwrap();
    }
    table.refresh().await.unwrap();
    assert_eq!(table.checkpoint().await.unwrap().get(), 11_992);
    for version in 11_993..12_000 {
        store.put(&commit(version), entry.into()).await.unwrap();
    }
    for number in 0..20_000 {
        store.put(&format!("_delta_log/_commit_{number:032x}.json.tmp"), "half".into()).await.unwrap();
    }
    let counted = Arc::new(Counting::new(Arc::clone(&store)));
    let through: Arc<dyn Store> = Arc::<Counting>::clone(&counted);
    let mut opened = opened(&through).await;
    assert_eq!(opened.version().get(), 11_999);
    let requests = counted.take();
    // The hint, the checkpoint and seven commits.
    assert_eq!((requests.count(Operation::List), requests.count(Operation::Get)), (1, 9), "{requests:?}");
    assert!(!opened.refresh().await.unwrap());
    assert_eq!(counted.take().count(Operation::List), 1);
    store.put(&commit(12_000), entry.into()).await.unwrap();
    let next = prepared_add(&opened, unique_id(), 1).await;
    assert_eq!(committed(&opened.commit_prepared(next, &CommitOptions::default()).await.unwrap()), 12_001);
    let lists = counted.take().count(Operation::List);
    assert!((1..=2).contains(&lists), "{lists} listings for a commit behind a rival");
}

/// A store of which the credentials let nothing.
#[derive(Debug)]
struct Closed(Arc<dyn Store>);

impl Closed {
    fn denied<T>(&self, name: &str) -> Result<T, StoreError> {
        let (root, detail) = (self.root().to_owned(), "403 Forbidden".to_owned());
        Err(StoreError::Denied { root, name: name.to_owned(), detail })
    }
}

#[async_trait]
impl Store for Closed {
    fn root(&self) -> &str {
        self.0.root()
    }

    async fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        self.denied(name)
    }

    async fn get_range(&self, name: &str, _: Range<u64>) -> Result<Option<Bytes>, StoreError> {
        self.denied(name)
    }

    async fn head(&self, name: &str) -> Result<Option<Listed>, StoreError> {
        self.denied(name)
    }

    async fn list(&self, prefix: &str, _: Option<&str>, _: usize) -> Result<Vec<Listed>, StoreError> {
        self.denied(prefix)
    }

    async fn put(&self, name: &str, _: Bytes) -> Result<(), StoreError> {
        self.denied(name)
    }

    async fn create(&self, name: &str, _: Bytes) -> Result<Create, StoreError> {
        self.denied(name)
    }

    async fn copy(&self, _: &str, to: &str) -> Result<(), StoreError> {
        self.denied(to)
    }

    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.denied(name)
    }
}

/// Field case 138: who may not look is not told that there is no table.
#[tokio::test]
async fn case_138_a_place_that_may_not_be_read_is_no_empty_place() {
    let (store, _) = three_rows(TableFormat::Delta).await;
    let denied: Arc<dyn Store> = Arc::new(Closed(Arc::clone(&store)));
    let Err(error) = Table::open_store(denied, &isolated()).await else { panic!("it opened") };
    let text = error.to_string();
    assert!(text.contains(store.root()) && text.contains("denied") && !text.contains("no table"), "{text}");
}

/// Field case 142: commits that are staged and not ratified fill no gap, and where they alone stand above, they are no versions.
#[tokio::test]
async fn case_142_staged_commits_fill_no_gap() {
    let staged = "_delta_log/_staged_commits/00000000000000000004.0f2c6a1e-0000-4000-8000-000000000001.json";
    let local = log(0, 3);
    local.put(staged, add("staged.parquet").as_bytes(), now_ms());
    let table = local.open().await;
    assert_eq!((table.version().get(), table.snapshot().summary().unwrap().num_files), (3, 3));
    local.commit(5, &[add("f5.parquet")], now_ms());
    let error = Table::open_store(local.store(), &isolated()).await.unwrap_err().to_string();
    assert!(error.contains("has no commit 4") && error.contains("catalog"), "{error}");
}
