//! SQLite.

use crate::suites::{index_holds, reservations_race, store_holds};
use lakebed_index::SqliteIndex;
use lakebed_storage::{CommitIndex, Entry, Reserve};
use std::sync::Arc;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sqlite_holds() {
    let folder = tempfile::tempdir().unwrap();
    let index: Arc<dyn CommitIndex> = Arc::new(SqliteIndex::open(folder.path().join("index.db")).unwrap());
    index_holds(&index, ["log/1", "log/2"]).await;
    store_holds(&index, 10).await;
    reservations_race(&index, "log/1", 20).await;
}

/// Each client has a connection of its own, as in processes of their own.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_connections_reserve_one_name_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.db");
    for round in 0..10 {
        let mut running = tokio::task::JoinSet::new();
        for task in 0..32 {
            let path = path.clone();
            running.spawn(async move {
                let index = SqliteIndex::open(path).unwrap();
                let (name, staged) = (format!("log/{round}"), format!("log/{round}-{task}"));
                index.reserve("s3://b/t", &Entry { name, staged, size_bytes: 1, confirmed: false }).await.unwrap()
            });
        }
        let answers = running.join_all().await;
        assert_eq!(answers.iter().filter(|answer| **answer == Reserve::Reserved).count(), 1, "{answers:?}");
    }
}

#[tokio::test]
async fn rows_outlive_the_client() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.db");
    let ours = Entry { name: "a".to_owned(), staged: "a-1".to_owned(), size_bytes: 3, confirmed: false };
    assert_eq!(SqliteIndex::open(&path).unwrap().reserve("k", &ours).await.unwrap(), Reserve::Reserved);
    assert_eq!(SqliteIndex::open(&path).unwrap().get("k", "a").await.unwrap(), Some(ours));
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.db");
    std::fs::write(&path, [7; 5_000]).unwrap();
    let error = SqliteIndex::open(&path).unwrap_err().to_string();
    assert!(error.contains("index.db") && error.contains("not a database"), "{error}");
}
