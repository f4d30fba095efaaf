//! Ours follows what pylance landed meanwhile, where it can without being planned again, and is planned again where it cannot.

use crate::python::Python;
use crate::support::{Rows, answered, both_read, committed, open, plainly, renumbered, source, theirs, with};
use lakebed_table::{MergeSpec, Table};
use serde_json::json;
use std::path::Path;

async fn made(python: &Python, path: &Path, arguments: &[&str]) -> Rows {
    answered(&theirs(python, "make", path, arguments).await)
}

/// pylance's compaction says nothing of where rows went: they are found by their values, or by their ids where rows keep those.
#[tokio::test(flavor = "multi_thread")]
async fn rows_are_found_where_a_compaction_of_pylance_put_them() {
    let Some(python) = Python::find() else { return };
    for arguments in [&[][..], &["--stable"]] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.lance");
        let mut expected = made(&python, &path, arguments).await;
        let (mut deletes, mut updates) = (open(&path).await, open(&path).await);
        theirs(&python, "compact", &path, &[]).await;
        let report = deletes.delete("id IN (0, 13)", &plainly()).await.unwrap();
        committed(&report);
        assert_eq!(report.plannings, 1, "{arguments:?}");
        let report = updates.update(&["s = 'ours'".to_owned()], Some("id = 8"), &plainly()).await.unwrap();
        committed(&report);
        assert_eq!(report.plannings, 1, "{arguments:?}");
        expected.retain(|id, _| ![0, 13].contains(id));
        expected.insert(8, with(&expected[&8], json!({"s": "ours"})));
        both_read(&python, &path, &expected).await;
    }
}

/// A compaction of ours keeps the order of rows, and a deletion that began before follows them without a look.
#[tokio::test(flavor = "multi_thread")]
async fn rows_are_found_where_a_compaction_of_ours_put_them() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    let mut expected = made(&python, &path, &[]).await;
    let (mut held, mut compacts) = (open(&path).await, open(&path).await);
    committed(&compacts.compact_fragments(None, &plainly()).await.unwrap());
    let report = held.delete("id = 6 OR id = 11", &plainly()).await.unwrap();
    committed(&report);
    assert_eq!(report.plannings, 1);
    expected.retain(|id, _| ![6, 11].contains(id));
    both_read(&python, &path, &expected).await;
}

async fn upserts(table: &mut Table, expected: &Rows, id: i64, text: &str) -> u32 {
    let row = with(&renumbered(&expected[&0], id), json!({"s": text}));
    let spec = MergeSpec { on: vec!["id".to_owned()], ..MergeSpec::default() };
    let report = table.merge(source(table, &[row]), &spec, &plainly()).await.unwrap();
    committed(&report);
    report.plannings
}

/// Field case 20 on rows: the second of two that found a key absent is planned again, and the key is there once.
#[tokio::test(flavor = "multi_thread")]
async fn two_upserts_of_one_new_key_leave_one_row() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    let mut expected = made(&python, &path, &[]).await;
    let (mut one, mut two, mut other) = (open(&path).await, open(&path).await, open(&path).await);
    assert_eq!(upserts(&mut one, &expected, 900, "one").await, 1);
    assert_eq!(upserts(&mut two, &expected, 900, "two").await, 2, "it was planned again");
    assert_eq!(upserts(&mut other, &expected, 901, "other").await, 1, "another key is free");
    for (id, text) in [(900, "two"), (901, "other")] {
        expected.insert(id, with(&renumbered(&expected[&0], id), json!({"s": text})));
    }
    both_read(&python, &path, &expected).await;
    // A key that pylance wrote anew, of whose rows nothing is known but by a look.
    let (mut held, mut other) = (open(&path).await, open(&path).await);
    theirs(&python, "upsert", &path, &["--where", "id = 7"]).await;
    assert_eq!(
        upserts(&mut held, &expected, 7, "ours").await,
        1,
        "the row is followed to where it was carried, unchanged"
    );
    assert_eq!(upserts(&mut other, &expected, 8, "ours").await, 1);
    for id in [7, 8] {
        expected.insert(id, with(&renumbered(&expected[&0], id), json!({"s": "ours"})));
    }
    both_read(&python, &path, &expected).await;
}
