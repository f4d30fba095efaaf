//! Tables with a blob column: the other columns are read, rows are deleted and columns change; whatever would write blobs is refused by
//! name before anything is written, and pylance reads all of it afterwards.

use crate::python::Python;
use crate::support::{committed, open, plainly, renumbered, scan, source, theirs};
use lakebed_table::{
    ColumnChange, CompactRequest, Compaction, MergeSpec, Report, ScanRequest, Scope, Table, TableError,
};
use lakebed_transaction::{Column, ColumnType};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Rows as pylance has them: id, text, and length and first byte of the blob.
async fn contents(python: &Python, path: &Path) -> Vec<Value> {
    theirs(python, "contents", path, &[]).await["contents"].as_array().unwrap().clone()
}

fn of(columns: &[&str], predicate: Option<&str>) -> ScanRequest {
    let columns = columns.iter().map(|name| (*name).to_owned()).collect();
    ScanRequest { columns: Some(columns), predicate: predicate.map(str::to_owned), ..ScanRequest::default() }
}

/// Every file of a table with its length.
fn files(root: &Path) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                found.push((entry.path(), entry.metadata().unwrap().len()));
            }
        }
    }
    found.sort();
    found
}

#[track_caller]
fn refused(what: &str, result: Result<Report, TableError>) {
    let message = result.unwrap_err().to_string();
    assert!(message.contains("blob column b") && message.contains("Lance client"), "{what}: {message}");
}

async fn refuses_to_write_blobs(table: &mut Table) {
    let row = json!({"id": 9, "s": "new"});
    let rows = source(table, std::slice::from_ref(&row));
    refused("append", table.append(rows, &plainly()).await);
    let rows = source(table, std::slice::from_ref(&row));
    refused("overwrite", table.overwrite(rows, &Scope::Whole, &plainly()).await);
    let rows = source(table, &[renumbered(&row, 3)]);
    refused("overwrite", table.overwrite(rows, &Scope::Where("id = 3".to_owned()), &plainly()).await);
    refused("update", table.update(&["s = 'x'".to_owned()], Some("id = 2"), &plainly()).await);
    let rows = source(table, &[renumbered(&row, 2)]);
    let by_id = MergeSpec { on: vec!["id".to_owned()], ..MergeSpec::default() };
    refused("merge", table.merge(rows, &by_id, &plainly()).await);
    for compaction in [Compaction::Major, Compaction::Minor] {
        let request = CompactRequest { compaction, ..CompactRequest::default() };
        refused("compact", table.compact(&request, &plainly()).await);
    }
    let sorted = CompactRequest { cluster_by: vec!["s".to_owned()], ..CompactRequest::default() };
    refused("cluster", table.compact(&sorted, &plainly()).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_but_the_blobs_is_served_and_they_stay_whole() {
    let Some(python) = Python::find() else { return };
    for version in ["2.0", "2.1", "2.2"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.lance");
        let made = theirs(&python, "blobs", &path, &["--version", version]).await;
        let mut expected = made["contents"].as_array().unwrap().clone();
        assert_eq!(expected[2], json!([2, "s2", [100_000, "C"]]), "{version}");
        let mut table = open(&path).await;
        let found = scan(&table, &of(&["s", "id"], Some("id > 0 AND s <> 's4'"))).await;
        let text = |id: i64| json!({"s": format!("s{id}"), "id": id});
        assert_eq!(found, [1, 2, 3, 5].map(text), "{version}");
        for asked in [ScanRequest::default(), of(&["b"], None), of(&["id"], Some("b IS NULL"))] {
            let refused = table.scan(table.snapshot(), &asked).unwrap().all().await.unwrap_err().to_string();
            assert!(refused.contains("blob column b") && refused.contains("(id, s)"), "{version}: {refused}");
        }
        let before = files(&path);
        refuses_to_write_blobs(&mut table).await;
        assert_eq!(files(&path), before, "{version}");

        committed(&table.delete("id = 0 OR s = 's5'", &plainly()).await.unwrap());
        expected.retain(|row| ![0, 5].contains(&row[0].as_i64().unwrap()));
        assert_eq!(contents(&python, &path).await, expected, "{version}");
        let more = vec![Column::new("n", ColumnType::Integer, true)];
        let add = ColumnChange::Add { within: Vec::new(), columns: more };
        committed(&table.change_columns(&add, false, &plainly()).await.unwrap());
        let widen = ColumnChange::Widen { path: vec!["n".to_owned()], to: ColumnType::Long };
        committed(&table.change_columns(&widen, false, &plainly()).await.unwrap());
        assert_eq!(contents(&python, &path).await, expected, "{version}");
        theirs(&python, "compact", &path, &[]).await;
        assert_eq!(contents(&python, &path).await, expected, "{version}");

        // What lies in the folder of a data file belongs to it.
        let mut table = open(&path).await;
        let verified = table.verify(|_| ()).await.unwrap();
        assert!(verified.is_sound() && verified.strays.is_empty(), "{version}: {verified:#?}");
        committed(
            &table.change_columns(&ColumnChange::Drop(vec![vec!["b".to_owned()]]), false, &plainly()).await.unwrap(),
        );
        let row = json!({"id": 9, "s": "new", "n": 5});
        let rows = source(&table, std::slice::from_ref(&row));
        committed(&table.append(rows, &plainly()).await.unwrap());
        assert_eq!(scan(&table, &of(&["id", "s", "n"], Some("id > 4"))).await, [row], "{version}");
        assert_eq!(theirs(&python, "rows", &path, &[]).await["rows"].as_array().unwrap().len(), 5, "{version}");
    }
}
