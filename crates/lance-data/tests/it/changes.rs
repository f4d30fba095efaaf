//! The rows that came and went between versions of a table.

use crate::python::Python;
use crate::support::{answered, committed, open, plainly, theirs};
use lakebed_table::{Table, VersionSpec};
use serde_json::json;

/// Version, what became of the row, and its id and `s`.
type Change = (u64, &'static str, i64, Option<String>);

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_what_each_statement_did() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    let made = theirs(&python, "make", &path, &[]).await;
    let (from, rows) = (made["version"].as_u64().unwrap(), answered(&made));
    let old = |id: i64| rows[&id]["s"].as_str().map(str::to_owned);
    theirs(&python, "update", &path, &["--where", "id = 1"]).await;
    theirs(&python, "upsert", &path, &["--where", "id IN (6, 7)"]).await;
    theirs(&python, "delete", &path, &["--where", "id >= 18"]).await;
    let mut table = open(&path).await;
    let ours = committed(&table.update(&["s = 'ours'".to_owned()], Some("id = 2"), &plainly()).await.unwrap());
    committed(&table.compact_fragments(None, &plainly()).await.unwrap());
    let theirs = Some("theirs".to_owned());
    // The upsert wrote back what it had read, and a compaction moves rows only.
    let expected = [
        (from + 1, "delete", 1, old(1)),
        (from + 1, "insert", 1, theirs),
        (from + 3, "delete", 18, old(18)),
        (from + 3, "delete", 19, old(19)),
        (ours, "delete", 2, old(2)),
        (ours, "insert", 2, Some("ours".to_owned())),
    ];
    assert_eq!(changes(&table, from).await, expected);
    assert_eq!(table.version().get(), from + 5);
}

async fn changes(table: &Table, from: u64) -> Vec<Change> {
    let mut changes = table.changes(VersionSpec::Number(from), VersionSpec::Newest).await.unwrap();
    let mut found = Vec::new();
    while let Some(changed) = changes.next().await.unwrap() {
        for row in 0..changed.batch.num_rows() {
            let text = lakebed_data::json_row(&changed.batch, row).unwrap();
            let row: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_ne!(row["id"], json!(null));
            let s = row["s"].as_str().map(str::to_owned);
            found.push((changed.version.get(), changed.change.name(), row["id"].as_i64().unwrap(), s));
        }
    }
    found
}
