//! Reads are snapshots.

use crate::compaction::{VECTORS, append, batch, of, table};
use crate::support::{committed, isolated, opened};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use async_trait::async_trait;
use bytes::Bytes;
use lakebed_storage::{Create, Listed, Store, StoreError};
use lakebed_table::{CommitOptions, Compaction, ScanRequest, Table, TableError, VersionSpec};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

const FILES: i64 = 60;
const COMMITS: i64 = 200;

/// How long the scan takes; more on demand.
fn scan_time() -> Duration {
    let seconds = std::env::var("LAKEBED_PINNED_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(0))
}

/// A reader that takes a batch now and then while others write, compact and vacuum: it gets the rows of its version, all of them.
#[tokio::test]
async fn a_pinned_reader_sees_its_version_whatever_is_written_meanwhile() {
    let (store, mut writer) = table(false, &[VECTORS, ("delta.checkpointInterval", "25")]).await;
    for file in 0..FILES {
        append(&mut writer, batch((file * 10..file * 10 + 10).map(|id| (id, "a", id)))).await;
    }
    let reader = opened(&store).await;
    let pinned = reader.version();
    let mut scanned = reader.scan(reader.snapshot(), &ScanRequest::default()).unwrap();
    let mut seen = Vec::new();
    let began = tokio::time::Instant::now();
    for commit in 0..COMMITS {
        write(&mut writer, commit).await;
        if commit == COMMITS / 2 {
            let removed = writer.vacuum(None, false, false).await.unwrap();
            assert_eq!(removed.files, Vec::<String>::new(), "everything is younger than the retention");
        }
        let share = u32::try_from(commit + 1).unwrap();
        tokio::time::sleep_until(began + scan_time() * share / u32::try_from(COMMITS).unwrap()).await;
        if commit % 3 == 0
            && let Some(read) = scanned.next().await.unwrap()
        {
            seen.extend_from_slice(read.column_by_name("id").unwrap().as_primitive::<Int64Type>().values());
        }
    }
    assert_eq!(writer.version().get(), pinned.get() + u64::try_from(COMMITS).unwrap());
    committed(&writer.compact(&of(Compaction::Major), &CommitOptions::default()).await.unwrap());
    let removed = writer.vacuum(None, false, false).await.unwrap();
    assert_eq!(removed.files, Vec::<String>::new(), "everything is younger than the retention");
    while let Some(read) = scanned.next().await.unwrap() {
        seen.extend_from_slice(read.column_by_name("id").unwrap().as_primitive::<Int64Type>().values());
    }
    println!("a scan of {:?}, beside {COMMITS} commits, gave {} rows", began.elapsed(), seen.len());
    assert_eq!(seen.len() as i64, FILES * 10, "each row once");
    assert_eq!(seen.into_iter().collect::<BTreeSet<_>>(), (0..FILES * 10).collect());
    // So does a reader that comes later and asks for the version.
    let again = writer.at(VersionSpec::Number(pinned.get())).await.unwrap();
    let rows = writer.scan(&again, &ScanRequest::default()).unwrap().all().await.unwrap();
    assert_eq!(rows.iter().map(|rows| rows.num_rows() as i64).sum::<i64>(), FILES * 10);
    beyond_retention(&store, &mut writer, pinned.get()).await;
}

async fn write(table: &mut Table, commit: i64) {
    let options = CommitOptions::default();
    let report = match commit % 5 {
        0 => table.delete(&format!("id = {}", commit * 2), &options).await,
        1 => table.update(&["v = v + 1".to_owned()], Some(&format!("id = {}", commit + 300)), &options).await,
        2 if commit % 20 == 2 => {
            let kind = if commit % 40 == 2 { Compaction::Minor } else { Compaction::Major };
            table.compact(&of(kind), &options).await
        }
        _ => table.append(crate::support::source(batch([(10_000 + commit, "b", commit)])), &options).await,
    };
    committed(&report.unwrap());
}

/// Once a vacuum took its files, a version is refused by name, with what to do.
async fn beyond_retention(store: &Arc<dyn Store>, writer: &mut Table, pinned: u64) {
    tokio::time::sleep(Duration::from_millis(5)).await;
    let removed = writer.vacuum(Some(Duration::from_millis(1)), true, false).await.unwrap();
    assert!(!removed.files.is_empty());
    let table = opened(store).await;
    let old = table.at(VersionSpec::Number(pinned)).await.unwrap();
    let error = table.scan(&old, &ScanRequest::default()).unwrap().all().await.unwrap_err();
    assert!(matches!(error, TableError::Unavailable { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains(&format!("version {pinned}")) && text.contains("vacuum"), "{text}");
    let newest = table.scan(table.snapshot(), &ScanRequest::default()).unwrap().all().await.unwrap();
    assert!(newest.iter().map(|rows| rows.num_rows()).sum::<usize>() > 400);
}

/// A store of which the credentials let read and nothing else.
#[derive(Debug)]
struct ReadOnly(Arc<dyn Store>);

impl ReadOnly {
    fn denied<T>(&self, name: &str) -> Result<T, StoreError> {
        let (root, detail) = (self.root().to_owned(), "read only".to_owned());
        Err(StoreError::Denied { root, name: name.to_owned(), detail })
    }
}

#[async_trait]
impl Store for ReadOnly {
    fn root(&self) -> &str {
        self.0.root()
    }

    async fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        self.0.get(name).await
    }

    async fn get_range(&self, name: &str, range: Range<u64>) -> Result<Option<Bytes>, StoreError> {
        self.0.get_range(name, range).await
    }

    async fn head(&self, name: &str) -> Result<Option<Listed>, StoreError> {
        self.0.head(name).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<Listed>, StoreError> {
        self.0.list(prefix, after, limit).await
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

/// Whatever reads works where writing is not allowed; what writes says what it was refused.
#[tokio::test]
async fn reading_works_with_permission_to_read_alone() {
    let (store, mut writer) = table(false, &[VECTORS, ("delta.checkpointInterval", "3")]).await;
    for first in [0, 10, 20, 30] {
        append(&mut writer, batch((first..first + 10).map(|id| (id, "a", id)))).await;
    }
    committed(&writer.delete("id < 5", &CommitOptions::default()).await.unwrap());
    assert_eq!(writer.settle().await, Vec::<String>::new());
    let read_only: Arc<dyn Store> = Arc::new(ReadOnly(Arc::clone(&store)));
    let mut table = Table::open_store(read_only, &isolated()).await.unwrap();
    let newest = table.version().get();
    let old = table.at(VersionSpec::Number(2)).await.unwrap();
    for (snapshot, count) in [(&old, 20), (table.snapshot(), 35)] {
        let rows = table.scan_with_versions(snapshot, &ScanRequest::default()).await.unwrap().all().await.unwrap();
        assert_eq!(rows.iter().map(|rows| rows.num_rows()).sum::<usize>(), count);
        assert_eq!(snapshot.summary().unwrap().num_rows, Some(count as u64));
    }
    assert_eq!(table.history(None).await.unwrap().len() as u64, newest + 1);
    let mut changes = table.changes(VersionSpec::Number(0), VersionSpec::Newest).await.unwrap();
    while changes.next().await.unwrap().is_some() {}
    assert!(table.verify(|_| ()).await.unwrap().is_sound());
    let _ = table.statistics(None).await.unwrap();
    let _ = table.vacuum(None, false, true).await.unwrap();
    assert!(!table.refresh().await.unwrap());
    let error =
        table.append(crate::support::source(batch([(1, "a", 1)])), &CommitOptions::default()).await.unwrap_err();
    assert!(error.to_string().contains("denied"), "{error}");
    assert_eq!(opened(&store).await.version().get(), newest);
}
