//! Batches of a streaming writer: each is in the table once, and pylance goes on over them.

use crate::python::Python;
use crate::support::{answered, both_read, by_id, committed, open, plainly, renumbered, source, theirs};
use lakebed_table::{ApplicationBatch, CommitOptions, Report, Table};
use lakebed_transaction::Outcome;
use serde_json::{Value, json};
use std::path::Path;

fn batch(app_id: &str, version: i64) -> CommitOptions {
    CommitOptions { application: Some(ApplicationBatch::new(app_id, version)), ..plainly() }
}

fn skipped(report: &Report) -> bool {
    matches!(report.outcome, Outcome::Nothing { .. })
}

async fn append(table: &mut Table, rows: &[Value], commit: &CommitOptions) -> Report {
    let rows = source(table, rows);
    table.append(rows, commit).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_is_given_twice_is_there_once() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    let mut expected = answered(&theirs(&python, "make", &path, &[]).await);
    let new = |id: i64| vec![renumbered(&expected[&0], id)];
    let (one, two, other) = (new(100), new(101), new(102));
    let mut stale = open(&path).await;
    let before = stale.version().get().to_string();
    let mut table = open(&path).await;
    committed(&append(&mut table, &one, &batch("stream", 1)).await);
    assert!(skipped(&append(&mut table, &one, &batch("stream", 1)).await));
    // Whoever holds an older version learns of it on the way.
    let report = append(&mut stale, &one, &batch("stream", 1)).await;
    assert!(matches!(report.outcome, Outcome::Conflict(_)), "{report:?}");
    assert_eq!(report.metrics["objects_discarded"], 1);
    stale.refresh().await.unwrap();
    assert!(skipped(&append(&mut stale, &one, &batch("stream", 1)).await));
    committed(&append(&mut table, &two, &batch("stream", 2)).await);
    committed(&append(&mut table, &other, &batch("other", 1)).await);
    assert!(skipped(&append(&mut table, &one, &batch("stream", 1)).await));
    expected.extend(by_id(&[one, two, other].concat()));
    both_read(&python, &path, &expected).await;

    // Pylance carries it on, whatever it does, and so do we; a handle of before follows.
    theirs(&python, "update", &path, &["--where", "id = 1", "--held", &before]).await;
    theirs(&python, "compact", &path, &[]).await;
    let mut table = open(&path).await;
    let summary = table.snapshot().summary().unwrap();
    assert_eq!(json!(summary.app_transactions), json!({"other": 1, "stream": 2}));
    for statement in ["delete", "update", "truncate"] {
        let commit = batch("stream", 2);
        let report = match statement {
            "delete" => table.delete("id = 0", &commit).await,
            "update" => table.update(&["s = 'x'".to_owned()], None, &commit).await,
            _ => table.truncate(None, &commit).await,
        };
        assert!(skipped(&report.unwrap()), "{statement}");
    }
    committed(&table.delete("id = 100", &batch("stream", 3)).await.unwrap());
    assert!(skipped(&table.delete("id = 101", &batch("stream", 3)).await.unwrap()));
    assert_eq!(crate::support::rows(&path).await.len(), expected.len() - 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_that_race_with_one_batch_one_lands() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path: &Path = &folder.path().join("table.lance");
    let made = answered(&theirs(&python, "make", path, &[]).await);
    let rows = vec![renumbered(&made[&0], 100)];
    let give = |count: usize| {
        let rows = rows.clone();
        async move {
            let mut committed = 0;
            for version in 0..5 {
                let mut table = open(path).await;
                let row = renumbered(&rows[0], 100 + version);
                let report = append(&mut table, &[row], &batch("stream", version)).await;
                committed += usize::from(matches!(report.outcome, Outcome::Committed { .. }));
            }
            (count, committed)
        }
    };
    let all = tokio::join!(give(0), give(1), give(2));
    assert_eq!(all.0.1 + all.1.1 + all.2.1, 5, "{all:?}");
    let mut expected = made;
    expected.extend((100..105).map(|id| (id, renumbered(&rows[0], id))));
    both_read(&python, path, &expected).await;
}
