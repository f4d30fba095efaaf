//! Appends by who does not learn of the table's files.

use crate::local::{Local, add, classic, commit, first, now_ms};
use crate::support::{
    batch, batch_of, columns, committed, created, ids, isolated, opened, place, remove_action, source,
};
use arrow_array::{Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use lakebed_storage::Store;
use lakebed_storage::testing::{Counting, Operation};
use lakebed_table::{Appender, ColumnChange, CommitOptions, NewTable, Table, TableFormat};
use lakebed_transaction::{Column, ColumnType, Outcome};
use parquet::file::reader::{FileReader as _, SerializedFileReader};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Arc;

async fn appender(store: &Arc<dyn Store>) -> Appender {
    Appender::open_store(Arc::clone(store), &isolated()).await.unwrap()
}

fn longs(ids: Vec<i64>) -> RecordBatch {
    let schema = Schema::new(vec![Field::new("id", DataType::Int64, true)]);
    RecordBatch::try_new(Arc::new(schema), vec![Arc::new(Int64Array::from(ids))]).unwrap()
}

/// The checkpoint with every page of the columns about files made unreadable; how many columns that were.
fn without_file_columns(bytes: &[u8]) -> (Vec<u8>, usize) {
    let reader = SerializedFileReader::new(Bytes::copy_from_slice(bytes)).unwrap();
    let (mut damaged, mut columns) = (bytes.to_vec(), 0);
    for column in reader.metadata().row_groups().iter().flat_map(|group| group.columns()) {
        if matches!(column.column_path().parts()[0].as_str(), "add" | "remove") {
            let (start, length) = column.byte_range();
            let (start, length) = (usize::try_from(start).unwrap(), usize::try_from(length).unwrap());
            damaged[start..start + length].fill(0xff);
            columns += 1;
        }
    }
    (damaged, columns)
}

/// Of a checkpoint of many files an append decodes no column about files: there may stand anything in them.
#[tokio::test]
async fn an_appender_decodes_nothing_about_files() {
    const FILES: usize = 5_000;
    let local = Local::new();
    let mut lines = first("");
    lines.push(r#"{"txn":{"appId":"a","version":7}}"#.to_owned());
    lines.extend((0..FILES).map(|at| add(&format!("f{at}.parquet"))));
    local.commit(0, &lines, now_ms());
    local.open().await.checkpoint().await.unwrap();
    local.commit(1, &[add("tail.parquet")], now_ms());
    fs::remove_file(local.path(&commit(0))).unwrap();
    let whole = fs::read(local.path(&classic(0))).unwrap();
    let (damaged, columns) = without_file_columns(&whole);
    assert!(columns > 10);
    fs::write(local.path(&classic(0)), damaged).unwrap();
    assert!(Table::open_store(local.store(), &isolated()).await.is_err(), "who wants the files sees the damage");

    let counting = Arc::new(Counting::new(local.store()));
    let mut appender = appender(&(Arc::clone(&counting) as Arc<dyn Store>)).await;
    assert_eq!(appender.version().get(), 1);
    assert_eq!(committed(&appender.append(source(longs(vec![1, 2])), &CommitOptions::default()).await.unwrap()), 2);
    assert_eq!(committed(&appender.append(source(longs(vec![3])), &CommitOptions::default()).await.unwrap()), 3);
    let requests = counting.take();
    let read = requests.names(Operation::Get);
    assert_eq!(read.iter().collect::<BTreeSet<_>>().len(), read.len(), "each object is read once: {read:?}");
    assert_eq!(requests.count(Operation::List), 1);

    // With the columns back, the table is what it was and the two commits on top.
    fs::write(local.path(&classic(0)), whole).unwrap();
    let table = local.open().await;
    let summary = table.snapshot().summary().unwrap();
    assert_eq!((summary.version.get(), summary.num_files), (3, FILES as u64 + 3));
    assert_eq!(summary.num_rows, Some(FILES as u64 + 1 + 3));
    assert_eq!(summary.app_transactions, BTreeMap::from([("a".to_owned(), 7)]));
}

/// What a checkpoint of the second version keeps beside itself are files only, so none of it is fetched.
#[tokio::test]
async fn sidecars_are_not_fetched() {
    let store = place(TableFormat::Delta);
    let properties = BTreeMap::from([("delta.checkpointPolicy".to_owned(), "v2".to_owned())]);
    let definition = NewTable::new(TableFormat::Delta, columns()).with_properties(properties);
    let mut table = created(&store, &definition).await;
    for id in 0..4 {
        let _ = table.append(source(batch(&[id])), &CommitOptions::default()).await.unwrap();
    }
    table.checkpoint().await.unwrap();
    let counting = Arc::new(Counting::new(Arc::clone(&store)));
    let mut appender = appender(&(Arc::clone(&counting) as Arc<dyn Store>)).await;
    assert_eq!(committed(&appender.append(source(batch(&[9])), &CommitOptions::default()).await.unwrap()), 5);
    let requests = counting.take();
    let read = requests.names(Operation::Get);
    assert!(read.iter().any(|name| name.contains("checkpoint")), "{read:?}");
    assert!(read.iter().all(|name| !name.contains("_sidecars")), "{read:?}");
    assert_eq!(ids(&store).await, [0, 1, 2, 3, 9]);
}

/// A commit without what differs between any two commits: times, ids, names, and which files the encoder made how large.
fn comparable(bytes: &[u8]) -> Vec<Value> {
    let text = std::str::from_utf8(bytes).unwrap();
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for line in &mut lines {
        for (kind, keys) in
            [("commitInfo", &["timestamp", "inCommitTimestamp", "txnId"][..]), ("add", &["path", "modificationTime"])]
        {
            let Some(action) = line.get_mut(kind).and_then(Value::as_object_mut) else { continue };
            keys.iter().for_each(|key| drop(action.remove(*key)));
        }
    }
    lines
}

/// Its commits are those that a table's own handle would write: numbered rows, own times, mapped and partitioned columns.
#[tokio::test]
async fn commits_are_those_of_a_table() {
    for properties in [
        &[][..],
        &[("delta.enableRowTracking", "true"), ("delta.enableInCommitTimestamps", "true")],
        &[("delta.columnMapping.mode", "name"), ("delta.enableDeletionVectors", "true")],
        &[("delta.enableChangeDataFeed", "true"), ("delta.isolationLevel", "WriteSerializable")],
    ] {
        let stores = [place(TableFormat::Delta), place(TableFormat::Delta)];
        let own = |pair: &(&str, &str)| (pair.0.to_owned(), pair.1.to_owned());
        let definition = NewTable::new(TableFormat::Delta, columns())
            .with_partition_columns(vec!["p".to_owned()])
            .with_properties(properties.iter().map(own).collect());
        let mut table = created(&stores[0], &definition).await;
        // The same columns down to their random names.
        let entry = stores[0].get(&commit(0)).await.unwrap().unwrap();
        stores[1].put(&commit(0), entry).await.unwrap();
        let mut appender = appender(&stores[1]).await;
        for at in 1..=3 {
            let rows = batch_of(&[(at, Some("x")), (at + 10, None), (at + 20, Some("y"))]);
            let options = CommitOptions::default();
            let theirs = table.append(source(rows.clone()), &options).await.unwrap();
            let ours = appender.append(source(rows), &options).await.unwrap();
            assert_eq!((&ours.outcome, &ours.metrics), (&theirs.outcome, &theirs.metrics));
            let version = commit(committed(&ours));
            let [wanted, made] = [&stores[0], &stores[1]];
            let (wanted, made) = (wanted.get(&version).await.unwrap(), made.get(&version).await.unwrap());
            assert_eq!(comparable(&made.unwrap()), comparable(&wanted.unwrap()), "{properties:?}");
        }
        assert_eq!(ids(&stores[1]).await, ids(&stores[0]).await);
    }
}

/// What others do in between is followed, whatever policy judges: files that go, and applications; new columns are refused.
#[tokio::test]
async fn what_lands_in_between_is_followed_or_refused() {
    for policy in [None, Some("precise"), Some("delta-serializable"), Some("delta-write-serializable")] {
        let store = place(TableFormat::Delta);
        let mut table = created(&store, &NewTable::new(TableFormat::Delta, columns())).await;
        let options = CommitOptions { policy: policy.map(str::to_owned), ..CommitOptions::default() };
        let _ = table.append(source(batch(&[1, 2, 3])), &options).await.unwrap();
        let mut appender = appender(&store).await;
        let _ = table.delete("id = 2", &CommitOptions::default()).await.unwrap();
        let _ = table.append(source(batch(&[4])), &CommitOptions::default()).await.unwrap();
        assert_eq!(committed(&appender.append(source(batch(&[5])), &options).await.unwrap()), 4, "{policy:?}");
        assert_eq!(committed(&appender.append(source(batch(&[6])), &options).await.unwrap()), 5, "{policy:?}");
        assert_eq!(ids(&store).await, [1, 3, 4, 5, 6], "{policy:?}");

        let mut table = opened(&store).await;
        let files = table.snapshot().files();
        let more = Column::new("more", ColumnType::Long, true);
        let change = ColumnChange::Add { within: Vec::new(), columns: vec![more] };
        let _ = table.change_columns(&change, false, &CommitOptions::default()).await.unwrap();
        let refused = appender.append(source(batch(&[7])), &options).await.unwrap();
        assert!(matches!(refused.outcome, Outcome::Conflict(_)), "{policy:?}: {refused:?}");
        // What was written for it is gone again.
        assert_eq!(refused.metrics.get("objects_discarded"), Some(&1));
        assert_eq!(opened(&store).await.snapshot().files(), files);
    }
}

/// A checkpoint that is due is written behind the commit, of all the files.
#[tokio::test]
async fn a_checkpoint_that_is_due_is_written() {
    let store = place(TableFormat::Delta);
    let properties = BTreeMap::from([("delta.checkpointInterval".to_owned(), "3".to_owned())]);
    let _ = created(&store, &NewTable::new(TableFormat::Delta, columns()).with_properties(properties)).await;
    let mut appender = appender(&store).await;
    for id in 1..=7 {
        let _ = appender.append(source(batch(&[id])), &CommitOptions::default()).await.unwrap();
        assert!(appender.settle().await.is_empty());
    }
    for version in 1..=7 {
        assert_eq!(store.head(&classic(version)).await.unwrap().is_some(), version % 3 == 0, "version {version}");
    }
    for version in 0..=5 {
        store.delete(&commit(version)).await.unwrap();
    }
    assert_eq!(ids(&store).await, [1, 2, 3, 4, 5, 6, 7]);
}

/// No line is lost that says something beside a file, wherever it stands, and a commit that cannot be read is not passed over.
#[tokio::test]
async fn other_lines_are_all_read() {
    let local = Local::new();
    local.commit(0, &first(""), now_ms());
    let both = r#"{"add":{"path":"x"},"txn":{"appId":"b","version":3}}"#.to_owned();
    let domain = r#"{"domainMetadata":{"domain":"d","configuration":"{}","removed":false}}"#.to_owned();
    local.commit(1, &[both, remove_action("y", true), domain], now_ms());
    let appender = appender(&local.store()).await;
    assert_eq!(appender.version().get(), 1);
    local.put(&commit(2), b"{\"add\":", now_ms());
    let error = Appender::open_store(local.store(), &isolated()).await.unwrap_err().to_string();
    assert!(error.contains("00000000000000000002.json"), "{error}");
}

/// Where no table is, the answer is that of opening one.
#[tokio::test]
async fn no_table_is_no_table() {
    let local = Local::new();
    let own = Appender::open_store(local.store(), &isolated()).await.unwrap_err().to_string();
    assert_eq!(own, Table::open_store(local.store(), &isolated()).await.unwrap_err().to_string());
}
