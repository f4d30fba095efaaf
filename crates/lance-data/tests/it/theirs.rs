//! Tables that pylance writes.

use crate::python::Python;
use crate::support::{answered, both_read, open, scan, theirs};
use lakebed_table::ScanRequest;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn every_format_version_is_read_row_by_row() {
    let Some(python) = Python::find() else { return };
    for version in ["2.0", "2.1", "2.2", "2.3"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.lance");
        let made = theirs(&python, "make", &path, &["--version", version]).await;
        // Two fragments of ten rows, one deleted in each.
        assert_eq!(made["fragments"], json!([[0, 10, 1], [1, 10, 1]]), "{version}");
        let expected = answered(&made);
        assert_eq!(expected.len(), 18, "{version}");
        assert_eq!(expected[&0]["added"], json!(0), "{version}");
        both_read(&python, &path, &expected).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn predicate_projection_and_limit_find_what_pylance_finds() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    theirs(&python, "make", &path, &[]).await;
    let table = open(&path).await;
    for predicate in
        ["id > 4 AND id < 15", "f64 >= 1.25", "s IS NULL", "flag", "i8 + id > 0", "day < DATE '2024-01-04'"]
    {
        let asked = ScanRequest { predicate: Some(predicate.to_owned()), ..ScanRequest::default() };
        let ours = scan(&table, &asked).await;
        let answer = theirs(&python, "rows", &path, &["--where", predicate]).await;
        assert_eq!(Value::from(ours), answer["rows"], "{predicate}");
    }
    let narrow = ScanRequest {
        predicate: Some("vector IS NOT NULL AND i32 < -10".to_owned()),
        columns: Some(vec!["vector".to_owned(), "id".to_owned()]),
        limit: Some(2),
        ..ScanRequest::default()
    };
    // Row 12 is deleted, row 14 is NULL but for its id.
    assert_eq!(
        scan(&table, &narrow).await,
        [json!({"vector": [11.0, 11.5], "id": 11}), json!({"vector": [13.0, 13.5], "id": 13})]
    );
    let none = ScanRequest { columns: Some(Vec::new()), ..ScanRequest::default() };
    assert_eq!(scan(&table, &none).await.len(), 18);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_read_in_many_batches() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    let made = theirs(&python, "make", &path, &["--rows", "20000"]).await;
    assert_eq!(made["fragments"], json!([[0, 10000, 1], [1, 10000, 1]]));
    both_read(&python, &path, &answered(&made)).await;
}
