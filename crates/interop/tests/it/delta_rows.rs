//! Rows of one file that several writers change at once, counted by deltalake.

use crate::support::delta::{create, plain_rows, printed, scan, source};
use crate::support::rows::Rows;
use crate::support::{Python, Texts, committed, open, plainly};
use lakebed_table::{CommitOptions, CompactRequest, Compaction};

/// Eight writers delete and update rows of one file by deletion vectors, while a ninth compacts: none is planned twice, and deltalake
/// reads the rows that are left.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rows_of_one_file_are_changed_at_once() {
    const WRITERS: i64 = 8;
    const EACH: i64 = 8;
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    let vectors = Texts::from([("delta.enableDeletionVectors".to_owned(), "true".to_owned())]);
    let mut table = create(&path, false, vectors).await;
    let rows = plain_rows(0..WRITERS * EACH, 0);
    committed(&table.append(source(&rows), &plainly()).await.unwrap());
    let once = || CommitOptions { plannings_max: 1, ..plainly() };
    let mut tasks = Vec::new();
    for writer in 0..WRITERS {
        let path = path.clone();
        tasks.push(tokio::spawn(async move {
            let mut table = open(&path).await;
            for at in 0..EACH {
                let predicate = format!("id = {}", at * WRITERS + writer);
                let report = if at % 2 == 0 {
                    table.update(&["w = 1".to_owned()], Some(&predicate), &once()).await.unwrap()
                } else {
                    table.delete(&predicate, &once()).await.unwrap()
                };
                committed(&report);
            }
        }));
    }
    let mut compactor = open(&path).await;
    let request = CompactRequest { compaction: Compaction::Minor, ..CompactRequest::default() };
    for _ in 0..3 {
        let _ = compactor.compact(&request, &plainly()).await.unwrap();
        compactor.refresh().await.unwrap();
    }
    for task in tasks {
        task.await.unwrap();
    }
    let updated = |id: &i64| (id / WRITERS) % 2 == 0;
    let expected: Rows =
        rows.into_iter().filter(|(id, _)| updated(id)).map(|(id, (s, _))| (id, (s, Some(1)))).collect();
    let table = open(&path).await;
    assert_eq!(scan(&table, table.snapshot()).await, expected);
    let read = python.run("delta_query.py", &[path.to_str().unwrap()]).await;
    assert_eq!(read["version"].as_u64(), Some(table.version().get()));
    assert_eq!(printed(&read["rows"]), expected);
}
