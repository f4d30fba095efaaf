//! Both change the same table in turn, and one while the other holds an older version.

use crate::python::Python;
use crate::support::{answered, both_read, committed, open, plainly, theirs, with};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn changes_in_turn_add_up() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    let mut expected = answered(&theirs(&python, "make", &path, &[]).await);
    for round in 0..3_i64 {
        let mut table = open(&path).await;
        let set = [format!("s = 'ours {round}'")];
        committed(&table.update(&set, Some(&format!("id % 4 = {round}")), &plainly()).await.unwrap());
        for (id, row) in &mut expected {
            if id % 4 == round {
                *row = with(row, json!({"s": format!("ours {round}")}));
            }
        }
        theirs(&python, "update", &path, &["--where", &format!("id % 5 = {round}")]).await;
        for (id, row) in &mut expected {
            if id % 5 == round {
                *row = with(row, json!({"s": "theirs"}));
            }
        }
        theirs(&python, "delete", &path, &["--where", &format!("id = {}", 15 + round)]).await;
        expected.remove(&(15 + round));
        both_read(&python, &path, &expected).await;
    }
    theirs(&python, "compact", &path, &[]).await;
    both_read(&python, &path, &expected).await;
    let mut table = open(&path).await;
    committed(&table.delete("id < 2", &plainly()).await.unwrap());
    expected.retain(|id, _| *id >= 2);
    both_read(&python, &path, &expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_of_other_rows_follows_theirs() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    let mut expected = answered(&theirs(&python, "make", &path, &[]).await);
    let mut held = open(&path).await;
    theirs(&python, "update", &path, &["--where", "id = 1"]).await;
    // Of the same fragment other rows: rebased, the deletion files merged.
    let report = held.update(&["s = 'ours'".to_owned()], Some("id = 2"), &plainly()).await.unwrap();
    committed(&report);
    assert_eq!(report.plannings, 1);
    expected.insert(1, with(&expected[&1], json!({"s": "theirs"})));
    expected.insert(2, with(&expected[&2], json!({"s": "ours"})));
    both_read(&python, &path, &expected).await;

    // The same row: planned again on what they wrote.
    let mut held = open(&path).await;
    theirs(&python, "update", &path, &["--where", "id = 6"]).await;
    let report = held.update(&["big = 7".to_owned()], Some("id = 6"), &plainly()).await.unwrap();
    committed(&report);
    assert_eq!(report.plannings, 2);
    expected.insert(6, with(&expected[&6], json!({"s": "theirs", "big": 7})));
    both_read(&python, &path, &expected).await;
}
