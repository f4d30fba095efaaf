//! Eight writers delete and update rows of one fragment, each its own: every commit follows the others by a rebase, and nothing is read
//! or written again for it.

use crate::python::Python;
use crate::support::{Rows, both_read, by_id, committed, open, options, plainly, source};
use lakebed_storage::testing::{Counting, Operation};
use lakebed_storage::{Store, StoreOptions};
use lakebed_table::{NewTable, Table, TableFormat};
use lakebed_transaction::Outcome;
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

const WRITERS: i64 = 8;
/// Of each writer; every second one an update, the others deletions.
const COMMITS: i64 = 25;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_of_one_fragment_follow_each_other_by_rebases() {
    let python = Python::find();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    let columns = lakebed_sql::parse_columns("id long not null, v long").unwrap();
    let new = NewTable::new(TableFormat::Lance, columns);
    let created = Table::create(path.to_str().unwrap(), &options(), &new, &plainly()).await.unwrap();
    let mut table = created.0.unwrap();
    let rows: Vec<_> = (0..WRITERS * COMMITS * 2).map(|id| json!({"id": id, "v": id * 10})).collect();
    committed(&table.append(source(&table, &rows), &plainly()).await.unwrap());
    assert_eq!(table.snapshot().fragments().len(), 1);

    let writers: Vec<_> = (0..WRITERS).map(|writer| tokio::spawn(write(path.clone(), writer))).collect();
    let mut attempts = 0;
    for writer in writers {
        attempts += writer.await.unwrap();
    }
    let commits = u32::try_from(WRITERS * COMMITS).unwrap();
    assert!(attempts > commits, "{attempts} attempts for {commits} commits: nobody met anybody");
    println!("{commits} commits of {WRITERS} writers, {attempts} attempts");

    let mut expected: Rows = by_id(&rows);
    for id in 0..WRITERS * COMMITS {
        if is_update(id / WRITERS) {
            expected.insert(id, json!({"id": id, "v": id * 10 + 1}));
        } else {
            expected.remove(&id);
        }
    }
    assert_eq!(open(&path).await.version().get(), u64::from(commits) + 2, "one version for each");
    match python {
        Some(python) => both_read(&python, &path, &expected).await,
        None => assert_eq!(crate::support::rows(&path).await, expected),
    }
}

const fn is_update(round: i64) -> bool {
    round % 2 == 0
}

/// The commits of one writer; how many attempts they took.
async fn write(path: std::path::PathBuf, writer: i64) -> u32 {
    let counting = Arc::new(Counting::new(local(&path)));
    let store: Arc<dyn Store> = Arc::clone(&counting) as Arc<dyn Store>;
    let mut table = Table::open_store(store, &options()).await.unwrap();
    let mut attempts = 0;
    for round in 0..COMMITS {
        let id = round * WRITERS + writer;
        let _ = counting.take();
        let predicate = format!("id = {id}");
        let report = if is_update(round) {
            table.update(&["v = v + 1".to_owned()], Some(&predicate), &plainly()).await.unwrap()
        } else {
            table.delete(&predicate, &plainly()).await.unwrap()
        };
        committed(&report);
        assert_eq!(report.plannings, 1, "{predicate} was planned again");
        if let Outcome::Committed { attempts: taken, .. } = report.outcome {
            attempts += taken;
        }
        let asked = counting.take();
        let of_data = |operation| asked.names(operation).iter().filter(|name| name.starts_with("data/")).count();
        // A statement reads ranges of data files; whole ones are read by nobody but a rebase that looks at rows.
        assert_eq!(of_data(Operation::Get), 0, "{predicate}: rows were looked at");
        assert_eq!(of_data(Operation::Put), usize::from(is_update(round)), "{predicate}: rows were written again");
        table.refresh().await.unwrap();
    }
    attempts
}

fn local(path: &Path) -> Arc<dyn Store> {
    let options = StoreOptions::new().durability(lakebed_storage::Durability::None);
    lakebed_storage::open(path.to_str().unwrap(), &options).unwrap()
}
