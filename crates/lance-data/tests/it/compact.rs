//! Compactions of ours, and what is left of rows, ids and indices behind them, as both read it.

use crate::python::Python;
use crate::support::{Rows, answered, both_read, committed, open, plainly, scan, theirs, with};
use lakebed_table::{CompactRequest, Compaction, Prepared, ScanRequest, Table};
use serde_json::{Value, json};
use std::path::Path;

fn minor() -> CompactRequest {
    CompactRequest { compaction: Compaction::Minor, ..CompactRequest::default() }
}

/// The version that a compaction made, and how many fragments it left alone for an index.
async fn compact(table: &mut Table, request: &CompactRequest) -> (u64, u64) {
    let report = table.compact(request, &plainly()).await.unwrap();
    (committed(&report), report.metrics["fragments_covered"])
}

/// Id, rows and deleted rows of each fragment, as pylance counts them.
async fn fragments(python: &Python, path: &Path) -> Value {
    theirs(python, "rows", path, &[]).await["fragments"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_minor_one_keeps_deleted_rows_and_their_order() {
    let Some(python) = Python::find() else { return };
    for arguments in [&[][..], &["--stable"]] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.lance");
        let mut expected = answered(&theirs(&python, "make", &path, arguments).await);
        let mut table = open(&path).await;
        let before = scan(&table, &ScanRequest::default()).await;
        let from = table.version().get();
        compact(&mut table, &minor()).await;
        assert_eq!(fragments(&python, &path).await, json!([[2, 20, 2]]));
        // Ids are reserved first, for the name of the deletion file.
        assert_eq!(table.version().get(), from + 2);
        assert_eq!(scan(&table, &ScanRequest::default()).await, before);
        both_read(&python, &path, &expected).await;
        // Both go on from there.
        theirs(&python, "delete", &path, &["--where", "id = 0"]).await;
        expected.remove(&0);
        let mut table = open(&path).await;
        committed(&table.delete("id = 19", &plainly()).await.unwrap());
        expected.remove(&19);
        both_read(&python, &path, &expected).await;
        assert_eq!(fragments(&python, &path).await, json!([[2, 20, 4]]));
        compact(&mut table, &CompactRequest::default()).await;
        assert_eq!(fragments(&python, &path).await, json!([[3, 16, 0]]));
        both_read(&python, &path, &expected).await;
        let idle = table.compact(&CompactRequest::default(), &plainly()).await.unwrap();
        assert!(matches!(idle.outcome, lakebed_transaction::Outcome::Nothing { .. }));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_fragments_with_rows_that_meet_a_predicate() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    theirs(&python, "make", &path, &[]).await;
    theirs(&python, "append", &path, &["--rows", "4"]).await;
    let expected = answered(&theirs(&python, "append", &path, &["--rows", "4"]).await);
    let mut table = open(&path).await;
    let request = CompactRequest { predicate: Some("id >= 20".to_owned()), ..CompactRequest::default() };
    compact(&mut table, &request).await;
    assert_eq!(fragments(&python, &path).await, json!([[0, 10, 1], [1, 10, 1], [4, 8, 0]]));
    both_read(&python, &path, &expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn clustering_puts_rows_in_order_and_knows_when_it_is_done() {
    let Some(python) = Python::find() else { return };
    for arguments in [&[][..], &["--stable"]] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.lance");
        let expected = answered(&theirs(&python, "make", &path, arguments).await);
        let mut table = open(&path).await;
        let versions = versions(&table).await;
        let request = CompactRequest { cluster_by: vec!["s".to_owned()], ..CompactRequest::default() };
        compact(&mut table, &request).await;
        both_read(&python, &path, &expected).await;
        let found = scan(&table, &ScanRequest::default()).await;
        let texts: Vec<Option<&str>> = found.iter().map(|row| row["s"].as_str()).collect();
        assert!(texts.is_sorted(), "{texts:?}");
        let idle = table.compact(&request, &plainly()).await.unwrap();
        assert!(matches!(idle.outcome, lakebed_transaction::Outcome::Nothing { .. }), "{idle:?}");
        if !arguments.is_empty() {
            // Rows whose ids stay also keep the versions that wrote them.
            assert_eq!(self::versions(&table).await, versions);
        }
        let several =
            CompactRequest { cluster_by: vec!["i32".to_owned(), "s".to_owned()], ..CompactRequest::default() };
        compact(&mut table, &several).await;
        both_read(&python, &path, &expected).await;
        theirs(&python, "update", &path, &["--where", "id = 1"]).await;
        both_read(&python, &path, &with_text(&expected, 1, "theirs")).await;
    }
}

fn with_text(rows: &Rows, id: i64, text: &str) -> Rows {
    let mut rows = rows.clone();
    let row = with(&rows[&id], json!({"s": text}));
    rows.insert(id, row);
    rows
}

/// The version that wrote each row, by id.
async fn versions(table: &Table) -> Vec<(i64, Option<u64>)> {
    let request = ScanRequest { columns: Some(vec!["id".to_owned()]), ..ScanRequest::default() };
    let scanned = table.scan_with_versions(table.snapshot(), &request).await.unwrap();
    let mut found = Vec::new();
    for batch in scanned.all().await.unwrap() {
        for row in 0..batch.num_rows() {
            let row: Value = serde_json::from_str(&lakebed_data::json_row(&batch, row).unwrap()).unwrap();
            found.push((row["id"].as_i64().unwrap(), row["_version"].as_u64()));
        }
    }
    found.sort_unstable();
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_tell_which_version_wrote_them() {
    let Some(python) = Python::find() else { return };
    for stable in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.lance");
        // Written by versions 1 and 2. Version 4 added a column with values, which changed every row; a fragment does not say so
        // where rows have no versions of their own.
        theirs(&python, "make", &path, if stable { &["--stable"] } else { &[] }).await;
        let mut table = open(&path).await;
        let updated =
            committed(&table.update(&["s = 'ours'".to_owned()], Some("id IN (2, 15)"), &plainly()).await.unwrap());
        let expected: Vec<(i64, Option<u64>)> = (0..20)
            .filter(|id| ![3, 12].contains(id))
            .map(|id| {
                (
                    id,
                    Some(match id {
                        2 | 15 => updated,
                        _ if stable => 4,
                        0..10 => 1,
                        _ => 2,
                    }),
                )
            })
            .collect();
        assert_eq!(versions(&table).await, expected);
        let request = ScanRequest {
            predicate: Some("id > 13".to_owned()),
            columns: Some(vec!["s".to_owned()]),
            limit: Some(2),
            ..ScanRequest::default()
        };
        let found = table.scan_with_versions(table.snapshot(), &request).await.unwrap().all().await.unwrap();
        let rows: usize = found.iter().map(arrow_array::RecordBatch::num_rows).sum();
        assert_eq!((rows, found[0].schema().field(1).name().as_str()), (2, "_version"));
        let (after, _) = compact(&mut table, &CompactRequest::default()).await;
        let moved = expected.into_iter().map(|(id, version)| (id, if stable { version } else { Some(after) }));
        assert_eq!(versions(&table).await, moved.collect::<Vec<_>>());
    }
}

/// What a query with indices finds and what a look at all rows finds; `asks`: an index is asked.
async fn same_by_index(python: &Python, path: &Path, predicate: &str, asks: bool) -> Vec<i64> {
    let answer = theirs(python, "query", path, &["--where", predicate]).await;
    assert!(!asks || answer["plan"].as_str().unwrap().contains("ScalarIndexQuery"), "{}", answer["plan"]);
    assert_eq!(answer["indexed"], answer["scanned"], "{predicate}");
    answer["indexed"].as_array().unwrap().iter().map(|id| id.as_i64().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn indices_find_rows_where_compactions_put_them() {
    let Some(python) = Python::find() else { return };
    for (kind, column) in [("BTREE", "id"), ("BITMAP", "s"), ("ZONEMAP", "id")] {
        for arguments in [&[][..], &["--stable"]] {
            for request in [minor(), CompactRequest::default()] {
                let what = format!("{kind} {arguments:?} {request:?}");
                // Where rows keep their ids, an index of addresses gives up fragments whose rows moved.
                let follows = arguments.is_empty() || kind == "BITMAP";
                let folder = tempfile::tempdir().unwrap();
                let path = folder.path().join("table.lance");
                let mut expected = answered(&theirs(&python, "make", &path, arguments).await);
                theirs(&python, "index", &path, &["--column", column, "--kind", kind]).await;
                let predicate = if column == "id" {
                    "id IN (2, 3, 11, 12, 17, 21)"
                } else {
                    "s IN ('s2 ü', 's3 ü', 's17 ü', 's21 ü')"
                };
                let mut table = open(&path).await;
                let (_, covered) = compact(&mut table, &request).await;
                assert_eq!(covered, 0, "{what}");
                both_read(&python, &path, &expected).await;
                let found = same_by_index(&python, &path, predicate, follows).await;
                assert_eq!(found, if column == "id" { vec![2, 11, 17] } else { vec![2, 17] }, "{what}");
                // Fragments that the index does not cover are not joined with those that it does.
                theirs(&python, "append", &path, &["--rows", "6"]).await;
                expected = answered(&theirs(&python, "append", &path, &["--rows", "6"]).await);
                let mut table = open(&path).await;
                compact(&mut table, &request).await;
                both_read(&python, &path, &expected).await;
                same_by_index(&python, &path, predicate, follows).await;
                // Both change rows that moved, and pylance brings its index up to date.
                committed(&table.update(&["i8 = 1".to_owned()], Some("id = 2"), &plainly()).await.unwrap());
                theirs(&python, "delete", &path, &["--where", "id = 17"]).await;
                let found = same_by_index(&python, &path, predicate, follows).await;
                assert!(found.contains(&2) && !found.contains(&17), "{what}: {found:?}");
                theirs(&python, "optimize", &path, &[]).await;
                same_by_index(&python, &path, predicate, true).await;
                let mut table = open(&path).await;
                compact(&mut table, &CompactRequest::default()).await;
                same_by_index(&python, &path, predicate, follows).await;
                theirs(&python, "compact", &path, &[]).await;
                same_by_index(&python, &path, predicate, false).await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_under_an_index_of_addresses_are_not_put_in_order() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    let expected = answered(&theirs(&python, "make", &path, &[]).await);
    theirs(&python, "index", &path, &[]).await;
    let mut table = open(&path).await;
    let request = CompactRequest { cluster_by: vec!["s".to_owned()], ..CompactRequest::default() };
    let report = table.compact(&request, &plainly()).await.unwrap();
    assert_eq!(report.metrics["fragments_covered"], 2);
    assert!(matches!(report.outcome, lakebed_transaction::Outcome::Nothing { .. }));
    both_read(&python, &path, &expected).await;
}

/// Field case 115: an index that was built before rows changed where they stand does not answer for their fragments.
#[tokio::test(flavor = "multi_thread")]
async fn case_115_an_index_does_not_cover_what_changed_while_it_was_built() {
    let Some(python) = Python::find() else { return };
    for arguments in [&[][..], &["--stable"]] {
        let folder = tempfile::tempdir().unwrap();
        let (path, aside) = (folder.path().join("table.lance"), folder.path().join("aside.lance"));
        theirs(&python, "make", &path, arguments).await;
        let before = files(&path, "_transactions");
        copy(&path, &aside);
        theirs(&python, "index", &aside, &["--column", "s"]).await;
        let mut built = files(&aside, "_transactions");
        built.retain(|name| !before.contains(name));
        assert_eq!(built.len(), 1, "{built:?}");
        copy(&aside.join("_indices"), &path.join("_indices"));
        let expected = answered(&theirs(&python, "rewrite", &path, &["--where", "id = 1"]).await);
        assert_eq!(expected[&1]["s"], json!("theirs"));

        let message = std::fs::read(aside.join("_transactions").join(&built[0])).unwrap();
        let mut table = open(&path).await;
        let prepared = Prepared::LanceTransaction(message.into());
        committed(&table.commit_prepared(prepared, &plainly()).await.unwrap());
        for (predicate, ids) in [("s = 'theirs'", vec![1]), ("s = 's1 ü'", vec![]), ("s = 's11 ü'", vec![11])] {
            assert_eq!(same_by_index(&python, &path, predicate, true).await, ids, "{arguments:?} {predicate}");
        }
        both_read(&python, &path, &expected).await;
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let there = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &there);
        } else {
            std::fs::copy(entry.path(), there).unwrap();
        }
    }
}

/// Field case 119: a compaction that loses leaves nothing behind.
#[tokio::test(flavor = "multi_thread")]
async fn case_119_a_compaction_that_loses_leaves_nothing() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    theirs(&python, "make", &path, &[]).await;
    for request in [minor(), CompactRequest::default()] {
        let mut held = open(&path).await;
        let id = if request.compaction == Compaction::Minor { 1 } else { 4 };
        let expected = answered(&theirs(&python, "delete", &path, &["--where", &format!("id = {id}")]).await);
        let before = (files(&path, "data"), files(&path, "_deletions"));
        // Lance's own rules carry no deletion into a compaction.
        let by_lance = lakebed_table::CommitOptions { policy: Some("lance".to_owned()), ..plainly() };
        let once = lakebed_table::CommitOptions { plannings_max: 1, ..by_lance.clone() };
        let report = held.compact(&request, &once).await.unwrap();
        assert!(matches!(report.outcome, lakebed_transaction::Outcome::Conflict(_)), "{report:?}");
        assert!(report.metrics["objects_discarded"] > 0);
        assert_eq!((files(&path, "data"), files(&path, "_deletions")), before);
        both_read(&python, &path, &expected).await;
        // Planned again it lands.
        let mut held = open(&path).await;
        theirs(&python, "append", &path, &["--rows", "1"]).await;
        theirs(&python, "delete", &path, &["--where", &format!("id = {}", id + 10)]).await;
        let report = held.compact(&request, &by_lance).await.unwrap();
        committed(&report);
        assert_eq!(report.plannings, 2);
    }
}

/// Rows that pylance deletes under a compaction are deleted where the compaction puts them.
#[tokio::test(flavor = "multi_thread")]
async fn a_compaction_follows_deletions() {
    let Some(python) = Python::find() else { return };
    for request in [minor(), CompactRequest::default()] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.lance");
        theirs(&python, "make", &path, &[]).await;
        let mut held = open(&path).await;
        theirs(&python, "delete", &path, &["--where", "id IN (1, 4)"]).await;
        let expected = answered(&theirs(&python, "append", &path, &["--rows", "1"]).await);
        let report = held.compact(&request, &plainly()).await.unwrap();
        committed(&report);
        assert_eq!(report.plannings, 1);
        both_read(&python, &path, &expected).await;
        let expected = answered(&theirs(&python, "delete", &path, &["--where", "id = 2"]).await);
        both_read(&python, &path, &expected).await;
    }
}

fn files(path: &Path, folder: &str) -> Vec<String> {
    let found = std::fs::read_dir(path.join(folder)).unwrap();
    let mut names: Vec<String> = found.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
