//! The public suite on the backend, and tables of both formats on it.

use lakebed_storage::{Create, Store, suite};
use lakebed_table::{CommitOptions, NewTable, OpenOptions, Prepared, Table, TableFormat};
use lakebed_transaction::{Column, ColumnType, Outcome};
use std::path::Path;
use std::sync::Arc;
use storage_outside::Journal;

type Failed = Box<dyn std::error::Error + Send + Sync>;

const WRITERS: u64 = 4;
const COMMITS: u64 = 5;

#[tokio::test(flavor = "multi_thread")]
async fn the_public_suite_and_the_race_pass() {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(Journal::open(&folder.path().join("journal")).unwrap());
    let report = suite::run(&store).await.unwrap();
    assert!(report.checks.len() > 20, "{:?}", report.checks);
    let race = suite::race(&store, 32, 20).await.unwrap();
    assert_eq!((race.rounds, race.unclear), (20, 0));
}

/// Every commit of every writer stands, also for whoever opens the file again.
#[tokio::test(flavor = "multi_thread")]
async fn tables_of_both_formats_live_in_it() {
    for (format, first) in [(TableFormat::Delta, 0), (TableFormat::Lance, 1)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table");
        let version = carry(&path, format).await.unwrap();
        assert_eq!(version, first + WRITERS * COMMITS);
        let store: Arc<dyn Store> = Arc::new(Journal::open(&path).unwrap());
        let table = Table::open_store(store, &OpenOptions::default()).await.unwrap();
        assert_eq!(table.version().get(), version);
        let summary = table.snapshot().summary().unwrap();
        match format {
            TableFormat::Delta => assert_eq!(summary.num_files, WRITERS * COMMITS),
            TableFormat::Lance => assert_eq!(summary.properties["3-4"], "here"),
        }
    }
}

/// Wherever a crash cuts the file, what was answered before is there, and the rest is not.
#[tokio::test]
async fn a_cut_file_keeps_what_was_answered() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let journal = Journal::open(&path).unwrap();
    assert_eq!(journal.create("a", "first".into()).await.unwrap(), Create::Created);
    let answered = std::fs::metadata(&path).unwrap().len();
    assert_eq!(journal.create("b", "second".into()).await.unwrap(), Create::Created);
    assert!(Journal::open(&path).is_err(), "one process has the file");
    drop(journal);
    let whole = std::fs::read(&path).unwrap();
    for cut in answered as usize..whole.len() {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let journal = Journal::open(&path).unwrap();
        assert_eq!(journal.get("a").await.unwrap(), Some("first".into()), "{cut}");
        assert_eq!(journal.create("b", "again".into()).await.unwrap(), Create::Created, "{cut}");
    }
}

/// Creates a table in a journal and lets writers commit to it at once, each with a handle of its own; the version at the end.
async fn carry(path: &Path, format: TableFormat) -> Result<u64, Failed> {
    let store: Arc<dyn Store> = Arc::new(Journal::open(path)?);
    // Handles that learn nothing from each other, as in processes of their own.
    let open = OpenOptions { isolated: true, ..OpenOptions::default() };
    let definition = NewTable::new(format, vec![Column::new("id", ColumnType::Long, false)]);
    let created = Table::create_store(Arc::clone(&store), &open, &definition, &CommitOptions::default()).await?;
    created.0.ok_or("there is a table already")?.settle().await;
    let mut writers = Vec::new();
    for writer in 0..WRITERS {
        let table = Table::open_store(Arc::clone(&store), &open).await?;
        writers.push(tokio::spawn(write(table, writer)));
    }
    for writer in writers {
        writer.await??;
    }
    Ok(Table::open_store(store, &open).await?.version().get())
}

async fn write(mut table: Table, writer: u64) -> Result<(), Failed> {
    for number in 0..COMMITS {
        let options = CommitOptions::default();
        let name = format!("{writer}-{number}");
        let report = match table.format() {
            TableFormat::Delta => table.commit_prepared(added(&name), &options).await?,
            TableFormat::Lance => table.set_properties([(name, "here".to_owned())].into(), Vec::new(), &options).await?,
        };
        if !matches!(report.outcome, Outcome::Committed { .. }) {
            return Err(format!("not committed: {:?}", report.outcome).into());
        }
        table.refresh().await?;
    }
    // Work that follows commits still has the store, and with it the file.
    match table.settle().await.pop() {
        Some(problem) => Err(problem.to_string().into()),
        None => Ok(()),
    }
}

/// A blind append of one file, which an engine would have written before.
fn added(name: &str) -> Prepared {
    let reads = r#"{"reads":{},"operation":"WRITE","parameters":{"mode":"Append","partitionBy":"[]"}}"#;
    let add = format!(
        r#"{{"add":{{"path":"{name}.parquet","partitionValues":{{}},"size":1,"modificationTime":1,"dataChange":true}}}}"#
    );
    Prepared::DeltaActions(format!("{reads}\n{add}\n").into())
}
