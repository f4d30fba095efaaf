//! Many writers of one table: everybody's commits are there, each once.

use crate::log::{Log, read_log};
use crate::support::{BOTH, add, columns, committed, created, ids, isolated, place, sound, try_add, try_remove};
use lakebed_storage::{Durability, Store, StoreOptions, open};
use lakebed_table::{CommitOptions, NewTable, OpenOptions, Table, TableFormat};
use std::collections::BTreeSet;
use std::sync::Arc;

const WRITERS: i64 = 8;
const COMMITS: i64 = 25;

/// Half of the writers share what they know, the others live as if in processes of their own.
async fn race(store: Arc<dyn Store>, format: TableFormat) {
    let first = created(&store, &NewTable::new(format, columns())).await.version().get();
    let writers: Vec<_> = (0..WRITERS).map(|writer| tokio::spawn(write(Arc::clone(&store), writer))).collect();
    let mut acknowledged = Vec::new();
    for writer in writers {
        acknowledged.extend(writer.await.unwrap());
    }
    let commits = u64::try_from(WRITERS * COMMITS).unwrap();
    let log = sound(&store, format).await;
    assert_eq!(log.newest(), first + commits, "{format}: as many versions as commits");
    assert_eq!(log.rows(), commits, "{format}: as many rows as commits");
    assert_eq!(log.files().len() as u64, commits, "{format}");
    // The right entry at every version that was acknowledged; and nothing but those.
    let mut versions = BTreeSet::new();
    for (version, id) in &acknowledged {
        assert_eq!(log.versions_of(id), vec![*version], "{format}: {id}");
        assert!(versions.insert(*version), "{format}: version {version} was promised twice");
    }
    assert_eq!(versions, (first + 1..=first + commits).collect(), "{format}");
    keeps_everything(&log);
    if format == TableFormat::Delta {
        assert_eq!(ids(&store).await, (0..WRITERS * COMMITS).collect::<Vec<_>>());
    }
}

async fn write(store: Arc<dyn Store>, writer: i64) -> Vec<(u64, String)> {
    let options = if writer % 2 == 0 { OpenOptions::default() } else { isolated() };
    let mut table = Table::open_store(store, &options).await.unwrap();
    let mut acknowledged = Vec::new();
    for commit in 0..COMMITS {
        let report = try_add(&mut table, &[writer * COMMITS + commit], &CommitOptions::default()).await.unwrap();
        acknowledged.push((committed(&report), report.transaction_id.as_str().to_owned()));
        tokio::task::yield_now().await;
    }
    assert_eq!(table.settle().await, Vec::<String>::new());
    acknowledged
}

/// Appends take nothing out, so every version holds all files of the one before.
fn keeps_everything(log: &Log) {
    let states: Vec<_> = log.0.values().collect();
    for pair in states.windows(2) {
        assert_eq!(pair[1].files.len(), pair[0].files.len() + 1);
        assert!(pair[0].files.keys().all(|file| pair[1].files.contains_key(file)));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn in_memory_nobody_is_lost_and_nobody_is_doubled() {
    for format in BOTH {
        race(place(format), format).await;
    }
}

/// Writers that all take rows out of one file: each of them meets what the others left of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn deletes_of_one_file_by_many_are_all_there() {
    for format in BOTH {
        let store = place(format);
        let mut table = created(&store, &NewTable::new(format, columns())).await;
        committed(&add(&mut table, &(1..=48).collect::<Vec<_>>()).await);
        let read = table.version().get();
        let writers: Vec<_> = (0..6).map(|writer| tokio::spawn(remove(Arc::clone(&store), writer))).collect();
        let mut acknowledged = Vec::new();
        for writer in writers {
            acknowledged.extend(writer.await.unwrap());
        }
        let log = sound(&store, format).await;
        assert_eq!((log.newest(), log.rows()), (read + 30, 48 - 30), "{format}");
        for (version, id) in &acknowledged {
            assert_eq!(log.versions_of(id), vec![*version], "{format}");
        }
        if format == TableFormat::Delta {
            let left = |id: &i64| (id - 1) % 8 >= 5;
            assert_eq!(ids(&store).await, (1..=48).filter(left).collect::<Vec<_>>());
        }
    }
}

/// Removes five of the eight rows that are this writer's.
async fn remove(store: Arc<dyn Store>, writer: i64) -> Vec<(u64, String)> {
    let options = if writer % 2 == 0 { OpenOptions::default() } else { isolated() };
    let patient = CommitOptions { plannings_max: 10_000, ..CommitOptions::default() };
    let mut table = Table::open_store(store, &options).await.unwrap();
    let mut acknowledged = Vec::new();
    for row in 0..5 {
        let report = try_remove(&mut table, writer * 8 + row + 1, &patient).await.unwrap();
        acknowledged.push((committed(&report), report.transaction_id.as_str().to_owned()));
    }
    acknowledged
}

async fn race_on_disk(durability: Durability) {
    for format in BOTH {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.lance");
        let store = open(path.to_str().unwrap(), &StoreOptions::new().durability(durability)).unwrap();
        race(Arc::clone(&store), format).await;
        assert_eq!(read_log(&store, format).await.rows(), 200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn on_disk_nobody_is_lost_and_nobody_is_doubled() {
    race_on_disk(Durability::None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn on_disk_with_full_durability_nobody_is_lost_and_nobody_is_doubled() {
    race_on_disk(Durability::Full).await;
}
