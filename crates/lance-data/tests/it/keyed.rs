//! Merges into tables with a primary key: of two writers that insert one key, the second finds it there.

use crate::python::Python;
use crate::support::{answered, both_read, committed, open, plainly, source, theirs};
use lakebed_table::{MergeSpec, Table};
use serde_json::{Value, json};
use std::path::Path;

async fn keyed(python: &Python, path: &Path) -> u64 {
    theirs(python, "keyed", path, &[]).await["version"].as_u64().unwrap()
}

async fn merge(table: &mut Table, id: i64, s: &str) -> lakebed_table::Report {
    let spec = MergeSpec { on: vec!["id".to_owned()], ..MergeSpec::default() };
    let rows = source(table, &[json!({"id": id, "s": s})]);
    table.merge(rows, &spec, &plainly()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_two_insert_is_there_once() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = &folder.path().join("table.lance");
    let held = keyed(&python, path).await.to_string();
    // Ours over theirs, over ours, and theirs over ours.
    let (mut first, mut second) = (open(path).await, open(path).await);
    theirs(&python, "insert-key", path, &["--held", &held, "--key", "100"]).await;
    let report = merge(&mut first, 100, "ours").await;
    committed(&report);
    assert_eq!((report.plannings, report.metrics["rows_updated"], report.metrics["rows_inserted"]), (2, 1, 0));
    let report = merge(&mut second, 100, "second").await;
    committed(&report);
    assert_eq!((report.plannings, report.metrics["rows_updated"]), (2, 1));
    let mut table = open(path).await;
    let before = table.version().get().to_string();
    committed(&merge(&mut table, 200, "ours").await);
    let answer = theirs(&python, "insert-key", path, &["--held", &before, "--key", "200"]).await;
    let mut expected: Vec<Value> = (0..5).map(|id| json!({"id": id, "s": format!("s{id}")})).collect();
    expected.extend([json!({"id": 100, "s": "second"}), json!({"id": 200, "s": "theirs"})]);
    assert_eq!(answer["rows"], Value::from(expected));
    both_read(&python, path, &answered(&answer)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn different_keys_do_not_wait_for_each_other() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = &folder.path().join("table.lance");
    let held = keyed(&python, path).await.to_string();
    let mut table = open(path).await;
    theirs(&python, "insert-key", path, &["--held", &held, "--key", "300"]).await;
    let report = merge(&mut table, 301, "ours").await;
    committed(&report);
    assert_eq!((report.plannings, report.metrics["rows_inserted"]), (1, 1));
    let answer = theirs(&python, "insert-key", path, &["--held", &held, "--key", "302"]).await;
    let ids: Vec<i64> = answered(&answer).into_keys().collect();
    assert_eq!(ids, [0, 1, 2, 3, 4, 300, 301, 302]);
    both_read(&python, path, &answered(&answer)).await;
}
