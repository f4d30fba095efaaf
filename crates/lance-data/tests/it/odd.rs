//! Tables of types that are seldom met, of many fragments, of old names, without a row: what a statement of ours does not name
//! stays as it was, and both go on.

use crate::python::Python;
use crate::support::{Rows, Worker, answered, both_read, committed, open, plainly, scan, source, theirs, with};
use lakebed_table::{CompactRequest, Compaction, ScanRequest, Table, VersionSpec};
use serde_json::{Value, json};
use std::path::Path;

/// Pylance reads exactly these rows; so do we, as far as the program prints their types.
async fn both(python: &Python, path: &Path, expected: &Rows) {
    assert_eq!(&answered(&theirs(python, "rows", path, &[]).await), expected);
    let table = open(path).await;
    let asked = ScanRequest { columns: Some(vec!["id".to_owned(), "s".to_owned()]), ..ScanRequest::default() };
    let mut found: Vec<(i64, Value)> =
        scan(&table, &asked).await.into_iter().map(|row| (row["id"].as_i64().unwrap(), row["s"].clone())).collect();
    found.sort_by_key(|(id, _)| *id);
    assert_eq!(found, expected.iter().map(|(id, row)| (*id, row["s"].clone())).collect::<Vec<_>>());
    let whole = table.scan(table.snapshot(), &ScanRequest::default()).unwrap().all().await.unwrap();
    assert_eq!(whole.iter().map(arrow_array::RecordBatch::num_rows).sum::<usize>(), expected.len());
}

async fn update(table: &mut Table, expected: &mut Rows, predicate: &str, meets: impl Fn(i64) -> bool, text: &str) {
    committed(&table.update(&[format!("s = '{text}'")], Some(predicate), &plainly()).await.unwrap());
    for (id, row) in expected.iter_mut().filter(|(id, _)| meets(**id)) {
        *row = with(row, json!({"s": format!("{text}"), "id": id}));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_that_nobody_named_stay_as_they_were() {
    let Some(python) = Python::find() else { return };
    for arguments in [&[][..], &["--stable"], &["--old-names"], &["--stable", "--old-names"]] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.lance");
        let made = ["--rows", "30", "--fragments", "3"].iter().chain(arguments).copied().collect::<Vec<_>>();
        let mut expected = answered(&theirs(&python, "odd", &path, &made).await);
        both(&python, &path, &expected).await;
        let mut table = open(&path).await;
        update(&mut table, &mut expected, "id % 4 = 1", |id| id % 4 == 1, "ours").await;
        both(&python, &path, &expected).await;
        committed(&table.delete("id IN (3, 14)", &plainly()).await.unwrap());
        expected.retain(|id, _| ![3, 14].contains(id));
        theirs(&python, "update", &path, &["--where", "id = 7"]).await;
        expected.insert(7, with(&expected[&7], json!({"s": "theirs"})));
        for request in [
            CompactRequest { compaction: Compaction::Minor, ..CompactRequest::default() },
            CompactRequest { cluster_by: vec!["text".to_owned()], ..CompactRequest::default() },
            CompactRequest { cluster_by: vec!["s".to_owned(), "u64".to_owned()], ..CompactRequest::default() },
        ] {
            let mut table = open(&path).await;
            committed(&table.compact(&request, &plainly()).await.unwrap());
            both(&python, &path, &expected).await;
        }
        theirs(&python, "delete", &path, &["--where", "id = 0"]).await;
        expected.remove(&0);
        both(&python, &path, &expected).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hundreds_of_fragments_and_then_no_row() {
    let Some(python) = Python::find() else { return };
    for arguments in [&[][..], &["--stable"]] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.lance");
        let made = ["--rows", "300", "--fragments", "150"].iter().chain(arguments).copied().collect::<Vec<_>>();
        let mut expected = answered(&theirs(&python, "odd", &path, &made).await);
        let mut table = open(&path).await;
        // A row of every fragment goes, then every row of some.
        committed(&table.delete("id % 2 = 0", &plainly()).await.unwrap());
        committed(&table.delete("id < 21", &plainly()).await.unwrap());
        expected.retain(|id, _| id % 2 == 1 && *id >= 21);
        both(&python, &path, &expected).await;
        update(&mut table, &mut expected, "id > 250", |id| id > 250, "ours").await;
        committed(&table.compact(&CompactRequest::default(), &plainly()).await.unwrap());
        both(&python, &path, &expected).await;
        committed(&table.truncate(None, &plainly()).await.unwrap());
        both(&python, &path, &Rows::new()).await;
        let idle = table.compact(&CompactRequest::default(), &plainly()).await.unwrap();
        assert!(matches!(idle.outcome, lakebed_transaction::Outcome::Nothing { .. }));
    }
}

/// Old clients wrote no number of rows into fragments. It is looked up in their files.
#[tokio::test(flavor = "multi_thread")]
async fn fragments_that_do_not_say_how_many_rows_they_have_are_counted() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    let mut expected = answered(&theirs(&python, "odd", &path, &["--rows", "10", "--fragments", "2"]).await);
    silence(&path);
    let mut table = open(&path).await;
    assert_eq!(table.snapshot().summary().unwrap().num_rows, None);
    let none = ScanRequest { columns: Some(Vec::new()), ..ScanRequest::default() };
    assert_eq!(scan(&table, &none).await.len(), 10);
    both(&python, &path, &expected).await;
    committed(&table.delete("id < 5", &plainly()).await.unwrap());
    committed(&table.delete("id = 7", &plainly()).await.unwrap());
    expected.retain(|id, _| *id >= 5 && *id != 7);
    both(&python, &path, &expected).await;
    update(&mut table, &mut expected, "id = 8", |id| id == 8, "ours").await;
    both(&python, &path, &expected).await;
    committed(&table.delete("TRUE", &plainly()).await.unwrap());
    both(&python, &path, &Rows::new()).await;
}

/// Takes the numbers of rows out of the newest manifest, which is version 2.
fn silence(path: &Path) {
    let name = path.join(format!("_versions/{:020}.manifest", u64::MAX - 2));
    let mut file = lakebed_lance::manifest::decode("2", &std::fs::read(&name).unwrap().into()).unwrap();
    file.manifest.fragments.iter_mut().for_each(|fragment| fragment.physical_rows = 0);
    std::fs::write(name, lakebed_lance::manifest::encode(&mut file).unwrap()).unwrap();
}

/// The ids that pylance reads, in order.
async fn ids(worker: &mut Worker, path: &Path) -> Vec<i64> {
    let read = worker.ask(&json!({"do": "read", "table": path, "at": null, "where": null, "fresh": true})).await;
    read["rows"].as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect()
}

/// Values that overlays hold are not read here. Columns without them are, and rows are deleted.
#[tokio::test(flavor = "multi_thread")]
async fn columns_beside_overlays_are_read() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    python.on("lance_operations.py", &[], folder.path(), &Vec::<String>::new()).await;
    let mut worker = Worker::start(&python, "lance_worker.py");
    for name in ["overlays.lance", "overlays_stable.lance"] {
        let path = folder.path().join(name);
        let mut expected = ids(&mut worker, &path).await;
        assert!(expected.contains(&2) && expected.contains(&41), "{expected:?}");
        let mut table = open(&path).await;
        let only = ScanRequest { columns: Some(vec!["id".to_owned()]), ..ScanRequest::default() };
        let mut found: Vec<i64> = scan(&table, &only).await.iter().map(|row| row["id"].as_i64().unwrap()).collect();
        found.sort_unstable();
        assert_eq!(found, expected);
        let whole = table.scan(table.snapshot(), &ScanRequest::default()).unwrap().all().await;
        let refused = whole.unwrap_err().to_string();
        assert!(refused.contains("data overlays (of fragment 0"), "{refused}");
        assert!(table.update(&["s = 'x'".to_owned()], Some("id = 41"), &plainly()).await.is_err());
        committed(&table.delete("id IN (2, 41)", &plainly()).await.unwrap());
        expected.retain(|id| ![2, 41].contains(id));
        assert_eq!(ids(&mut worker, &path).await, expected);
    }
}

/// JSON lies in the data files in a binary form of its own. It is text for both, whoever wrote it.
#[tokio::test(flavor = "multi_thread")]
async fn json_is_text_for_both() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    let mut expected = answered(&theirs(&python, "json", &path, &[]).await);
    assert_eq!((&expected[&0]["j"], &expected[&2]["within"]["j"]), (&json!(r#"{"a":1}"#), &json!(r#"[1,"ü"]"#)));
    both_read(&python, &path, &expected).await;
    let mut table = open(&path).await;
    let new = json!({"id": 7, "j": r#"{"b":[true,null]}"#, "within": {"j": "2.5", "n": 1}});
    committed(&table.append(source(&table, std::slice::from_ref(&new)), &plainly()).await.unwrap());
    expected.insert(7, new);
    both_read(&python, &path, &expected).await;
    committed(&table.update(&[r#"j = '{"c":{}}'"#.to_owned()], Some("id < 2"), &plainly()).await.unwrap());
    for id in [0, 1] {
        expected.insert(id, with(&expected[&id], json!({"j": r#"{"c":{}}"#})));
    }
    both_read(&python, &path, &expected).await;
    committed(&table.compact(&CompactRequest::default(), &plainly()).await.unwrap());
    both_read(&python, &path, &expected).await;
    let wrong = json!({"id": 8, "j": "{", "within": null});
    let refused = table.append(source(&table, &[wrong]), &plainly()).await.unwrap_err().to_string();
    assert!(refused.contains("JSON"), "{refused}");
    both_read(&python, &path, &expected).await;
}

/// A file that either names otherwise than the other would be a branch whose files a cleanup does not spare.
#[tokio::test(flavor = "multi_thread")]
async fn branches_with_names_beyond_ascii_are_known_to_both() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    theirs(&python, "make", &path, &[]).await;
    let mut worker = Worker::start(&python, "lance_worker.py");
    let made = worker.ask(&json!({"do": "branch", "table": path, "name": "é/x", "version": 1})).await;
    assert!(made["error"].is_null(), "{made}");
    let table = open(&path).await;
    table.create_branch("ä/ö", VersionSpec::Number(2), &plainly()).await.unwrap();
    let names: Vec<String> = table.branches().await.unwrap().into_iter().map(|branch| branch.name).collect();
    assert_eq!(names, ["ä/ö", "é/x"]);
    let lines = worker.ask(&json!({"do": "lines", "table": path})).await;
    let mut seen: Vec<&String> = lines["branches"].as_object().unwrap().keys().collect();
    seen.sort_unstable();
    assert_eq!(seen, ["ä/ö", "é/x"]);
}
