//! Tables, and their rows as JSON.

#[expect(dead_code, reason = "other tests use all of it")]
#[path = "../../../interop/tests/it/support/random.rs"]
mod random;
#[path = "../../../interop/tests/it/support/rows.rs"]
pub(crate) mod rows;
#[path = "../../../interop/tests/it/support/seeds.rs"]
mod seeds;
#[path = "../../../interop/tests/it/support/worker.rs"]
mod worker;

pub(crate) use random::Random;
pub(crate) use seeds::{ALWAYS, SEEDS, VARIABLE, seeds};
pub(crate) use worker::Worker;

use crate::python::Python;
use lakebed_lance_data::LanceDataFiles;
use lakebed_storage::{Durability, StoreOptions};
use lakebed_table::{Batches, CommitOptions, OpenOptions, Report, ScanRequest, Snapshot, Table, TableError};
use lakebed_transaction::Outcome;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Rows by their ids.
pub(crate) type Rows = BTreeMap<i64, Value>;

/// How tables are opened: with rows, and as if alone in the process.
pub(crate) fn options() -> OpenOptions {
    OpenOptions {
        store: StoreOptions::new().durability(Durability::None),
        isolated: true,
        lance_files: Some(Arc::new(LanceDataFiles)),
        ..OpenOptions::default()
    }
}

pub(crate) async fn open(path: &Path) -> Table {
    Table::open(path.to_str().unwrap(), &options()).await.unwrap()
}

pub(crate) fn plainly() -> CommitOptions {
    CommitOptions::default()
}

/// The version that a commit made.
#[track_caller]
pub(crate) fn committed(report: &Report) -> u64 {
    match &report.outcome {
        Outcome::Committed { version, .. } => version.get(),
        other @ (Outcome::Nothing { .. }
        | Outcome::Conflict(_)
        | Outcome::Exhausted { .. }
        | Outcome::Unknown { .. }) => panic!("not committed: {other:?}"),
    }
}

/// The rows that a scan finds, each as its JSON.
pub(crate) async fn scan(table: &Table, request: &ScanRequest) -> Vec<Value> {
    scan_of(table, table.snapshot(), request).await
}

/// The rows that a scan of a version finds, each as its JSON.
pub(crate) async fn scan_of(table: &Table, snapshot: &Snapshot, request: &ScanRequest) -> Vec<Value> {
    let mut rows = Vec::new();
    for batch in table.scan(snapshot, request).unwrap().all().await.unwrap() {
        for row in 0..batch.num_rows() {
            rows.push(serde_json::from_str(&lakebed_data::json_row(&batch, row).unwrap()).unwrap());
        }
    }
    rows
}

/// All rows of the newest version, by id.
pub(crate) async fn rows(path: &Path) -> Rows {
    by_id(&scan(&open(path).await, &ScanRequest::default()).await)
}

/// Rows by id; no id may be there twice.
#[track_caller]
pub(crate) fn by_id(rows: &[Value]) -> Rows {
    let found: Rows = rows.iter().map(|row| (row["id"].as_i64().unwrap(), row.clone())).collect();
    assert_eq!(found.len(), rows.len(), "an id is there twice");
    found
}

/// What pylance answers to a command on a table.
pub(crate) async fn theirs(python: &Python, command: &str, path: &Path, more: &[&str]) -> Value {
    python.on("lance_rows.py", &[command], path, more).await
}

/// The rows in an answer of pylance's.
#[track_caller]
pub(crate) fn answered(answer: &Value) -> Rows {
    by_id(answer["rows"].as_array().unwrap())
}

/// Pylance and we read exactly these rows.
pub(crate) async fn both_read(python: &Python, path: &Path, expected: &Rows) {
    assert_eq!(&answered(&theirs(python, "rows", path, &[]).await), expected, "pylance reads other rows");
    assert_eq!(&rows(path).await, expected, "we read other rows");
}

/// Rows as JSON lines, as a source for statements on a table.
pub(crate) fn source(table: &Table, rows: &[Value]) -> impl FnMut() -> Result<Batches, TableError> + use<> {
    let columns = table.row_columns(table.snapshot()).unwrap();
    let mut file = tempfile::Builder::new().suffix(".jsonl").tempfile().unwrap();
    for row in rows {
        writeln!(file, "{row}").unwrap();
    }
    move || {
        let batches = lakebed_data::open_source(file.path().to_str().unwrap(), &columns)?;
        Ok(Box::new(batches) as Batches)
    }
}

/// A row with other values.
pub(crate) fn with(row: &Value, values: Value) -> Value {
    let mut row = row.clone();
    for (key, value) in values.as_object().unwrap() {
        row[key] = value.clone();
    }
    row
}

/// A row under another id.
pub(crate) fn renumbered(row: &Value, id: i64) -> Value {
    with(row, json!({"id": id}))
}
