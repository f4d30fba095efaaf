//! Writers that outgrow one machine: each writes its file, one process commits all of them, once.
//!
//! `cargo run -p lakebed-table --example distributed`

use arrow_array::record_batch;
use lakebed_data::{WriteOptions, write_parquet};
use lakebed_storage::{Store, StoreOptions};
use lakebed_table::{
    ApplicationBatch, CommitOptions, NewDataFile, NewTable, OpenOptions, Prepared, ScanRequest, Table, TableFormat,
};
use lakebed_transaction::{Column, ColumnType, Outcome};
use std::error::Error;
use std::sync::Arc;

const URL: &str = "memory://distributed/trips";

fn columns() -> Vec<Column> {
    vec![Column::new("id", ColumnType::Integer, true)]
}

/// A worker: writes a file of rows and answers with its description, as text.
async fn work(store: Arc<dyn Store>, worker: i32) -> Result<String, Box<dyn Error>> {
    let first = worker * 3;
    let batch = record_batch!(("id", Int32, [first, first + 1, first + 2]))?;
    let file = write_parquet(&[batch], &columns(), &WriteOptions::default())?;
    // A name of its own for each attempt: one that died leaves a file that no version names.
    let path = format!("part-{worker}-attempt-1.parquet");
    let written = NewDataFile::new(&path, file.bytes.len() as u64).with_stats_json(Some(file.stats_json));
    store.put(&path, file.bytes).await?;
    Ok(serde_json::to_string(&written)?)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let (open, commit) = (OpenOptions::default(), CommitOptions::default());
    let definition = NewTable::new(TableFormat::Delta, columns());
    let (table, _) = Table::create(URL, &open, &definition, &commit).await?;
    let table = table.ok_or("the table is there already")?;

    // The driver begins the transaction on the version that the job reads, and collects what the workers wrote.
    let mut transaction = table.begin("WRITE");
    transaction.application(&ApplicationBatch::new("nightly", 1))?;
    let store = lakebed_storage::open(URL, &StoreOptions::new())?;
    for worker in 0..4 {
        transaction.add(&serde_json::from_str(&work(Arc::clone(&store), worker).await?)?)?;
    }
    let bytes = transaction.to_bytes()?;

    // Whoever commits needs the bytes alone. Given twice, it lands once.
    let mut table = Table::open(URL, &open).await?;
    let first = table.commit_prepared(Prepared::from_bytes(TableFormat::Delta, bytes.clone()), &commit).await?;
    let Outcome::Committed { version, .. } = first.outcome else { return Err("it was not committed".into()) };
    let again = table.commit_prepared(Prepared::from_bytes(TableFormat::Delta, bytes), &commit).await?;
    println!("committed at version {version}; given again: {:?}", again.outcome);
    println!("asked by its id: {:?}", table.outcome_of(&transaction.id()).await?);

    let batches = table.scan(table.snapshot(), &ScanRequest::default())?.all().await?;
    let rows: usize = batches.iter().map(|batch| batch.num_rows()).sum();
    println!("{rows} rows");
    assert_eq!((rows, table.version()), (12, version));
    Ok(())
}

#[test]
fn it_runs() {
    assert_eq!(main().map_err(|error| error.to_string()), Ok(()));
}
