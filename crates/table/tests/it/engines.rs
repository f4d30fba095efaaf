//! Engines that bring their own files: the transaction travels as bytes and lands once.

use crate::support::{
    BOTH, add, batch, columns, committed, created, isolated, once, opened, place, sound, source, three_rows, try_add,
    written_fragment,
};
use bytes::Bytes;
use lakebed_commit::Found;
use lakebed_storage::Store;
use lakebed_table::{
    Appender, ApplicationBatch, CommitOptions, NewDataFile, NewTable, Prepared, Table, TableError, TableFormat,
    Transaction,
};
use lakebed_transaction::Outcome;
use std::sync::Arc;

async fn file(store: &Arc<dyn Store>, path: &str, rows: u64) -> NewDataFile {
    store.put(path, Bytes::from_static(b"rows")).await.unwrap();
    NewDataFile::new(path, 4).with_stats_json(Some(format!(r#"{{"numRecords":{rows}}}"#)))
}

/// What two workers wrote, as one transaction.
async fn two_files(store: &Arc<dyn Store>, table: &Table) -> Transaction {
    let mut transaction = table.begin("WRITE");
    for (path, rows) in [("a b.parquet", 10), ("c%.parquet", 5)] {
        match table.format() {
            // What a worker sends is text.
            TableFormat::Delta => {
                let sent = serde_json::to_string(&file(store, path, rows).await).unwrap();
                transaction.add(&serde_json::from_str(&sent).unwrap()).unwrap();
            }
            TableFormat::Lance => {
                transaction.add_fragments([written_fragment(store, rows).await]).unwrap();
            }
        }
    }
    transaction
}

#[tokio::test]
async fn a_transaction_travels_as_bytes_and_lands_once() {
    for format in BOTH {
        let (store, mut rival) = three_rows(format).await;
        let table = opened(&store).await;
        let transaction = two_files(&store, &table).await;
        assert_eq!((transaction.format(), transaction.read_version()), (format, table.version()));
        let bytes = transaction.to_bytes().unwrap();
        let asked = table.outcome_of(&transaction.id()).await.unwrap();
        assert!(matches!(asked, Found::InNone { .. }), "{format}: {asked:?}");
        committed(&add(&mut rival, &[4]).await);
        let at = table.version().get() + 2;
        for _ in 0..3 {
            let prepared = Prepared::from_bytes(format, bytes.clone());
            let report = opened(&store).await.commit_prepared(prepared, &once()).await.unwrap();
            assert_eq!((committed(&report), report.transaction_id), (at, transaction.id()), "{format}");
        }
        let log = sound(&store, format).await;
        assert_eq!((log.newest(), log.rows()), (at, 3 + 1 + 15), "{format}");
        let asked = table.outcome_of(&transaction.id()).await.unwrap();
        assert!(matches!(asked, Found::Committed(version) if version.get() == at), "{format}: {asked:?}");
    }
}

/// Where a cleanup left a hole above it, nobody can tell whether it was committed.
#[tokio::test]
async fn what_was_seen_below_a_hole_lands_no_second_time() {
    let (store, mut rival) = three_rows(TableFormat::Delta).await;
    let actions = concat!(
        r#"{"commitInfo":{"operation":"WRITE","txnId":"given-twice"}}"#,
        "\n",
        r#"{"add":{"path":"a.parquet","partitionValues":{},"size":9,"modificationTime":0,"dataChange":true}}"#
    );
    let prepared = || Prepared::from_bytes(TableFormat::Delta, Bytes::from_static(actions.as_bytes()));
    let at = committed(&opened(&store).await.commit_prepared(prepared(), &once()).await.unwrap());
    for id in [4, 5] {
        committed(&add(&mut rival, &[id]).await);
    }
    let mut table = opened(&store).await;
    store.delete(&format!("_delta_log/{:020}.json", at + 1)).await.unwrap();
    let report = table.commit_prepared(prepared(), &once()).await.unwrap();
    let is_unknown = matches!(report.outcome, Outcome::Unknown { .. });
    assert!(is_unknown && report.transaction_id.as_str() == "given-twice", "{:?}", report.outcome);
}

/// Files that go and a predicate that was read are judged: an append of rows that meet the predicate is in the way.
#[tokio::test]
async fn what_an_engine_read_is_judged() {
    for read in ["id < 0", "id > 3"] {
        let (store, mut rival) = three_rows(TableFormat::Delta).await;
        let mut table = opened(&store).await;
        let mut transaction = table.begin("DELETE");
        let path = table.snapshot().files()[0].path.clone();
        transaction.remove(&path).unwrap().read_where(read);
        committed(&add(&mut rival, &[4]).await);
        let report = table.commit_prepared(transaction.prepared().unwrap(), &once()).await.unwrap();
        let rows = sound(&store, TableFormat::Delta).await.rows();
        if read == "id < 0" {
            assert_eq!((committed(&report), rows), (3, 1));
        } else {
            assert!(matches!(report.outcome, Outcome::Conflict(_)), "{report:?}");
            assert_eq!(rows, 4);
        }
    }
    let (store, _) = three_rows(TableFormat::Delta).await;
    let table = opened(&store).await;
    let error = table.begin("DELETE").remove("nobody.parquet").unwrap_err();
    assert!(error.to_string().contains("nobody.parquet") && error.to_string().contains("version 1"), "{error}");
    let misplaced = file(&store, "d.parquet", 1).await.with_partition_value("q", None);
    assert!(matches!(table.begin("WRITE").add(&misplaced), Err(TableError::Invalid { .. })));
    assert!(table.begin("WRITE").add_fragments([]).is_err());
    let (_, lance) = three_rows(TableFormat::Lance).await;
    assert!(lance.begin("WRITE").add(&misplaced).is_err());
    assert!(lance.begin("WRITE").application(&ApplicationBatch::new("etl", 1)).is_err());
}

#[tokio::test]
async fn partition_values_go_by_the_names_of_the_columns() {
    let store = place(TableFormat::Delta);
    let definition = NewTable::new(TableFormat::Delta, columns())
        .with_partition_columns(vec!["p".to_owned()])
        .with_properties([("delta.columnMapping.mode".to_owned(), "name".to_owned())].into());
    let mut table = created(&store, &definition).await;
    let mut transaction = table.begin("WRITE");
    let written = file(&store, "x.parquet", 2).await.with_partition_value("P", Some("north".to_owned()));
    transaction.add(&written).unwrap();
    committed(&table.commit_prepared(transaction.prepared().unwrap(), &once()).await.unwrap());
    assert_eq!(table.snapshot().files()[0].partition_values["p"], Some("north".to_owned()));
}

fn of(version: i64) -> CommitOptions {
    CommitOptions { application: Some(ApplicationBatch::new("etl", version)), ..once() }
}

/// A streaming writer that gives a batch again, after a restart too, writes nothing; batches of others do not count.
#[tokio::test]
async fn a_batch_of_rows_lands_once() {
    let (store, mut table) = three_rows(TableFormat::Delta).await;
    assert_eq!(table.application_version("etl"), None);
    committed(&try_add(&mut table, &[4], &of(7)).await.unwrap());
    assert_eq!(table.settle().await, Vec::<String>::new());
    let before = store.list("", None, 1_000).await.unwrap().len();
    for given in [7, 3] {
        let report = try_add(&mut opened(&store).await, &[4], &of(given)).await.unwrap();
        assert!(matches!(report.outcome, Outcome::Nothing { version } if version.get() == 2), "{report:?}");
    }
    assert_eq!(store.list("", None, 1_000).await.unwrap().len(), before, "not even a data file was written");
    committed(&try_add(&mut table, &[5], &of(8)).await.unwrap());
    let other = CommitOptions { application: Some(ApplicationBatch::new("other", 1)), ..once() };
    committed(&try_add(&mut table, &[6], &other).await.unwrap());
    // A batch without rows counts too: who restarts goes on behind it.
    committed(&table.append(source(batch(&[])), &of(9)).await.unwrap());
    // So does an appender, which knows nothing of files.
    let mut appender = Appender::open_store(Arc::clone(&store), &isolated()).await.unwrap();
    let report = appender.append(source(batch(&[7])), &of(9)).await.unwrap();
    assert!(matches!(report.outcome, Outcome::Nothing { .. }), "{report:?}");
    committed(&appender.append(source(batch(&[7])), &CommitOptions { application: None, ..of(0) }).await.unwrap());
    let fresh = opened(&store).await;
    assert_eq!((fresh.application_version("etl"), fresh.application_version("other")), (Some(9), Some(1)));
    assert_eq!(sound(&store, TableFormat::Delta).await.rows(), 7);
    for text in ["id = 1", "id = 2"] {
        let report = table.delete(text, &of(9)).await.unwrap();
        assert!(matches!(report.outcome, Outcome::Nothing { .. }), "every statement keeps the promise: {report:?}");
    }
}

/// Two writers of one application with one batch: the second is refused, and finds the batch there when it looks again.
#[tokio::test]
async fn of_two_writers_with_one_batch_one_writes() {
    let (store, mut first) = three_rows(TableFormat::Delta).await;
    let mut second = Table::open_store(Arc::clone(&store), &isolated()).await.unwrap();
    committed(&try_add(&mut first, &[4], &of(1)).await.unwrap());
    let report = try_add(&mut second, &[4], &of(1)).await.unwrap();
    assert!(matches!(report.outcome, Outcome::Conflict(_)), "{report:?}");
    assert!(report.metrics["objects_discarded"] == 1, "its file is removed: {report:?}");
    second.refresh().await.unwrap();
    let report = try_add(&mut second, &[4], &of(1)).await.unwrap();
    assert!(matches!(report.outcome, Outcome::Nothing { .. }), "{report:?}");
    let log = sound(&store, TableFormat::Delta).await;
    assert_eq!((log.newest(), log.rows()), (2, 4));
}
