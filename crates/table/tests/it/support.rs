//! Tables to test on, and small steps that both formats can do.

use crate::log::{Log, read_log};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use bytes::Bytes;
use lakebed_lance::proto::table::{DataFile, DataFragment};
use lakebed_lance::transaction::{Head, append, new_fragment};
use lakebed_naming::{Uuid, Version};
use lakebed_storage::{MemoryStore, Store};
use lakebed_table::{
    Batches, CommitOptions, NewTable, OpenOptions, Prepared, Report, ScanRequest, Table, TableError, TableFormat,
};
use lakebed_transaction::{Column, ColumnType, Outcome, RowSet};
use prost::Message as _;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub(crate) const BOTH: [TableFormat; 2] = [TableFormat::Delta, TableFormat::Lance];

static NEXT: AtomicU64 = AtomicU64::new(1);

/// A number that no other call in this process gets.
pub(crate) fn unique() -> u64 {
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// An id that no other call in this process gets, in the form of a UUID.
pub(crate) fn unique_id() -> Uuid {
    let mut bytes = [7; 16];
    bytes[..8].copy_from_slice(&unique().to_be_bytes());
    Uuid::from_random(bytes)
}

/// An empty place in memory, named as tables of the format are named.
pub(crate) fn place(format: TableFormat) -> Arc<dyn Store> {
    let folder = match format {
        TableFormat::Delta => "table",
        TableFormat::Lance => "table.lance",
    };
    Arc::new(MemoryStore::named(&format!("table-tests-{}", unique())).below(folder).unwrap())
}

/// A handle that learns nothing from others, as in a process of its own.
pub(crate) fn isolated() -> OpenOptions {
    OpenOptions { isolated: true, ..OpenOptions::default() }
}

/// Plan once, and give up soon.
pub(crate) fn once() -> CommitOptions {
    CommitOptions { plannings_max: 1, timeout: Duration::from_secs(20), ..CommitOptions::default() }
}

/// Give up after some milliseconds.
pub(crate) fn impatient() -> CommitOptions {
    CommitOptions { timeout: Duration::from_millis(60), ..once() }
}

pub(crate) fn columns() -> Vec<Column> {
    vec![Column::new("id", ColumnType::Long, false), Column::new("p", ColumnType::String, true)]
}

/// A new table without rows, through an isolated handle.
pub(crate) async fn created(store: &Arc<dyn Store>, definition: &NewTable) -> Table {
    let (table, report) =
        Table::create_store(Arc::clone(store), &isolated(), definition, &CommitOptions::default()).await.unwrap();
    assert!(matches!(report.outcome, Outcome::Committed { .. }), "{report:?}");
    table.unwrap()
}

/// A table with the rows 1, 2 and 3 in one file.
pub(crate) async fn three_rows(format: TableFormat) -> (Arc<dyn Store>, Table) {
    let store = place(format);
    let mut table = created(&store, &NewTable::new(format, columns())).await;
    let report = add(&mut table, &[1, 2, 3]).await;
    assert_eq!(committed(&report), table.version().get());
    (store, table)
}

/// A handle of its own on whatever stands in the store.
pub(crate) async fn opened(store: &Arc<dyn Store>) -> Table {
    Table::open_store(Arc::clone(store), &isolated()).await.unwrap()
}

pub(crate) fn committed(report: &Report) -> u64 {
    let Outcome::Committed { version, .. } = &report.outcome else {
        panic!("expected a commit, got {:?}", report.outcome)
    };
    version.get()
}

/// Rows with these ids and no partition.
pub(crate) fn batch(ids: &[i64]) -> RecordBatch {
    batch_of(&ids.iter().map(|id| (*id, None)).collect::<Vec<_>>())
}

pub(crate) fn batch_of(rows: &[(i64, Option<&str>)]) -> RecordBatch {
    let schema = Schema::new(vec![Field::new("id", DataType::Int64, false), Field::new("p", DataType::Utf8, true)]);
    let ids = Int64Array::from_iter_values(rows.iter().map(|row| row.0));
    let texts = StringArray::from_iter(rows.iter().map(|row| row.1));
    RecordBatch::try_new(Arc::new(schema), vec![Arc::new(ids), Arc::new(texts)]).unwrap()
}

/// A source of one batch that can be asked again.
pub(crate) fn source(batch: RecordBatch) -> impl FnMut() -> Result<Batches, TableError> {
    move || Ok(Box::new(std::iter::once(Ok(batch.clone()))))
}

/// Appends one file (Delta) or fragment (Lance) with as many rows as there are ids.
pub(crate) async fn try_add(table: &mut Table, ids: &[i64], options: &CommitOptions) -> Result<Report, TableError> {
    match table.format() {
        TableFormat::Delta => table.append(source(batch(ids)), options).await,
        TableFormat::Lance => {
            let fragment = written_fragment(table.store(), ids.len() as u64).await;
            table.append_fragments(vec![fragment], options).await
        }
    }
}

pub(crate) async fn add(table: &mut Table, ids: &[i64]) -> Report {
    try_add(table, ids, &CommitOptions::default()).await.unwrap()
}

/// A fragment whose data file stands in the store; nobody reads what is in it.
pub(crate) async fn written_fragment(store: &Arc<dyn Store>, rows: u64) -> DataFragment {
    let name = format!("part-{}.lance", unique());
    store.put(&format!("data/{name}"), Bytes::from_static(b"rows")).await.unwrap();
    let file = DataFile {
        path: name,
        fields: vec![0, 1],
        column_indices: vec![0, 1],
        file_major_version: 2,
        file_minor_version: 2,
        file_size_bytes: 4,
        base_id: None,
    };
    new_fragment(file, rows)
}

/// Deletes one row of [`three_rows`], which is in its only file.
pub(crate) async fn try_remove(table: &mut Table, id: i64, options: &CommitOptions) -> Result<Report, TableError> {
    match table.format() {
        TableFormat::Delta => table.delete(&format!("id = {id}"), options).await,
        TableFormat::Lance => {
            let position = u64::try_from(id - 1).unwrap();
            let rows = BTreeMap::from([(0, RowSet::from_iter([position]))]);
            // By its place alone: the rows of the data files here are no real ones.
            table.delete_rows(rows, &format!("row {id}"), options).await
        }
    }
}

pub(crate) async fn set(table: &mut Table, key: &str, value: &str, options: &CommitOptions) -> Report {
    table.set_properties(BTreeMap::from([(key.to_owned(), value.to_owned())]), Vec::new(), options).await.unwrap()
}

/// An append of one file of rows, prepared on the table's version under an id of the caller's. The file stands.
pub(crate) async fn prepared_add(table: &Table, id: Uuid, rows: u64) -> Prepared {
    match table.format() {
        TableFormat::Delta => {
            let path = format!("part-{}.parquet", unique());
            table.store().put(&path, Bytes::from_static(b"rows")).await.unwrap();
            prepared_delta(table.version(), id, "WRITE", &[add_action(&path, rows, true)])
        }
        TableFormat::Lance => {
            let fragment = written_fragment(table.store(), rows).await;
            let head = Head { read_version: Some(table.version()), id, properties: BTreeMap::new() };
            Prepared::LanceTransaction(append(head, vec![fragment]).encode_to_vec().into())
        }
    }
}

/// Actions as an engine prepares them, with its own `commitInfo`.
pub(crate) fn prepared_delta(read: Version, id: Uuid, operation: &str, actions: &[String]) -> Prepared {
    let info = format!(
        r#"{{"commitInfo":{{"operation":"{operation}","txnId":"{id}","readVersion":{},"operationParameters":{{}}}}}}"#,
        read.get()
    );
    let lines: Vec<_> = std::iter::once(info).chain(actions.iter().cloned()).collect();
    Prepared::DeltaActions(lines.join("\n").into())
}

pub(crate) fn add_action(path: &str, rows: u64, data_change: bool) -> String {
    format!(
        r#"{{"add":{{"path":"{path}","partitionValues":{{}},"size":4,"modificationTime":1,"dataChange":{data_change},"stats":"{{\"numRecords\":{rows}}}"}}}}"#
    )
}

pub(crate) fn remove_action(path: &str, data_change: bool) -> String {
    format!(
        r#"{{"remove":{{"path":"{path}","deletionTimestamp":1,"dataChange":{data_change},"extendedFileMetadata":true,"partitionValues":{{}},"size":4}}}}"#
    )
}

/// The ids that a scan of the newest version gives, sorted (Delta).
pub(crate) async fn ids(store: &Arc<dyn Store>) -> Vec<i64> {
    let table = opened(store).await;
    let mut ids = Vec::new();
    for batch in table.scan(table.snapshot(), &ScanRequest::default()).unwrap().all().await.unwrap() {
        ids.extend_from_slice(batch.column_by_name("id").unwrap().as_primitive::<Int64Type>().values());
    }
    ids.sort_unstable();
    ids
}

/// Reads the log on its own, and holds a fresh handle against it: nothing is missing, and both see the same.
pub(crate) async fn sound(store: &Arc<dyn Store>, format: TableFormat) -> Log {
    let log = read_log(store, format).await;
    log.assert_whole(store).await;
    let table = opened(store).await;
    assert_eq!(table.format(), format);
    assert_eq!(table.version().get(), log.newest());
    let summary = table.snapshot().summary().unwrap();
    assert_eq!(summary.num_rows, Some(log.rows()), "{format}: rows of version {}", log.newest());
    assert_eq!(summary.num_files, log.files().len() as u64, "{format}: files of version {}", log.newest());
    log
}

/// The objects that a Lance version names in its own table.
pub(crate) fn read_back(snapshot: &lakebed_lance::Snapshot) -> Vec<String> {
    let mut names: Vec<String> = snapshot.transaction_file().iter().map(ToString::to_string).collect();
    for fragment in snapshot.fragments() {
        names.extend(fragment.files.iter().map(|file| snapshot.data_object(file).unwrap().to_string()));
        names.extend(snapshot.deletion_object(fragment).unwrap().iter().map(ToString::to_string));
    }
    names
}
