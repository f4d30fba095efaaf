//! Statements of ours on tables of pylance's, and tables of ours; after each, both read what a replay on the rows' JSON says.

use crate::python::Python;
use crate::support::{
    Rows, answered, both_read, by_id, committed, open, options, plainly, renumbered, rows, source, theirs, with,
};
use lakebed_table::{CommitOptions, MergeSpec, NewTable, Scope, Table, TableFormat, VersionSpec};
use lakebed_transaction::Outcome;
use serde_json::{Value, json};
use std::collections::BTreeSet;

#[tokio::test(flavor = "multi_thread")]
async fn every_statement_leaves_what_its_replay_says() {
    let Some(python) = Python::find() else { return };
    for arguments in
        [&["--version", "2.0"][..], &["--version", "2.1"], &["--version", "2.2"], &["--version", "2.3"], &["--stable"]]
    {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("table.lance");
        let mut expected = answered(&theirs(&python, "make", &path, arguments).await);
        let mut table = open(&path).await;

        let new: Vec<Value> = [0, 1, 4, 6].iter().map(|id| renumbered(&expected[id], id + 100)).collect();
        committed(&table.append(source(&table, &new), &plainly()).await.unwrap());
        expected.extend(by_id(&new));
        both_read(&python, &path, &expected).await;

        committed(&table.delete("id IN (5, 101) OR s = 's7 ü'", &plainly()).await.unwrap());
        expected.retain(|id, _| ![5, 101, 7].contains(id));
        both_read(&python, &path, &expected).await;

        let set = ["s = 'ours'".to_owned(), "vector = NULL".to_owned(), "i32 = id * 2".to_owned()];
        let report = table.update(&set, Some("id BETWEEN 8 AND 13"), &plainly()).await.unwrap();
        committed(&report);
        assert_eq!(report.metrics["rows_updated"], 5);
        for id in [8, 9, 10, 11, 13] {
            let changed = with(&expected[&id], json!({"s": "ours", "vector": null, "i32": id * 2}));
            expected.insert(id, changed);
        }
        both_read(&python, &path, &expected).await;

        merge(&mut table, &mut expected).await;
        both_read(&python, &path, &expected).await;

        let range: Vec<Value> = vec![renumbered(&expected[&0], 300), renumbered(&expected[&4], 301)];
        let scope = Scope::Where("id >= 100".to_owned());
        committed(&table.overwrite(source(&table, &range), &scope, &plainly()).await.unwrap());
        expected.retain(|id, _| *id < 100);
        expected.extend(by_id(&range));
        both_read(&python, &path, &expected).await;

        committed(&table.compact_fragments(None, &plainly()).await.unwrap());
        both_read(&python, &path, &expected).await;
        assert_eq!(table.snapshot().fragments().len(), 1);

        committed(&table.overwrite(source(&table, &new), &Scope::Whole, &plainly()).await.unwrap());
        both_read(&python, &path, &by_id(&new)).await;
        committed(&table.truncate(None, &plainly()).await.unwrap());
        both_read(&python, &path, &Rows::new()).await;
    }
}

/// Two rows that are there take some values, one row is new.
async fn merge(table: &mut Table, expected: &mut Rows) {
    let given = [json!({"id": 2, "s": "merged"}), json!({"id": 104, "s": null}), json!({"id": 200, "s": "new"})];
    let spec = MergeSpec { on: vec!["id".to_owned()], ..MergeSpec::default() };
    let report = table.merge(source(table, &given), &spec, &plainly()).await.unwrap();
    committed(&report);
    assert_eq!((report.metrics["rows_updated"], report.metrics["rows_inserted"]), (2, 1));
    for row in &given[..2] {
        let id = row["id"].as_i64().unwrap();
        let merged = with(&expected[&id], row.clone());
        expected.insert(id, merged);
    }
    let mut new = expected[&0].clone();
    new.as_object_mut().unwrap().values_mut().for_each(|value| *value = Value::Null);
    expected.insert(200, with(&new, given[2].clone()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_of_ours_is_read_and_changed_by_pylance() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    let text = "id long not null, s string, day date, at timestamp, wall timestamp_ntz, dec decimal(12,3), bytes binary, \
                list array<struct<x: int, y: string>>, pairs map<string, int>, nested struct<a: struct<b: double>, c: array<long>>";
    let new = NewTable::new(TableFormat::Lance, lakebed_sql::parse_columns(text).unwrap());
    let created = Table::create(path.to_str().unwrap(), &options(), &new, &plainly()).await.unwrap();
    let mut table = created.0.unwrap();
    let rows = [
        json!({"id": 1, "s": "x", "day": "2024-01-02", "at": "2024-01-02T03:04:05.000006Z", "wall": "2024-01-02T03:04:05.000000",
               "dec": "1.500", "bytes": "AP8=", "list": [{"x": 1, "y": null}, null], "pairs": null,
               "nested": {"a": {"b": 0.5}, "c": [1, null]}}),
        json!({"id": 2, "s": null, "day": null, "at": null, "wall": null, "dec": null, "bytes": null, "list": [],
               "pairs": null, "nested": {"a": null, "c": null}}),
        json!({"id": 3, "s": "", "day": null, "at": null, "wall": null, "dec": "-0.001", "bytes": "", "list": null,
               "pairs": null, "nested": null}),
    ];
    committed(&table.append(source(&table, &rows), &plainly()).await.unwrap());
    let mut expected = by_id(&rows);
    both_read(&python, &path, &expected).await;
    let kinds = theirs(&python, "rows", &path, &[]).await["columns"].clone();
    assert_eq!(kinds["nested"], "struct<a: struct<b: double>, c: list<item: int64>>");
    assert_eq!((&kinds["at"], &kinds["dec"]), (&json!("timestamp[us, tz=UTC]"), &json!("decimal128(12, 3)")));

    theirs(&python, "update", &path, &["--where", "id = 2"]).await;
    expected.insert(2, with(&expected[&2], json!({"s": "theirs"})));
    theirs(&python, "delete", &path, &["--where", "id = 3"]).await;
    expected.remove(&3);
    both_read(&python, &path, &expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stable_row_ids_stay_with_their_rows() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    theirs(&python, "make", &path, &["--stable"]).await;
    let before = ids(&python, &path).await;
    let mut table = open(&path).await;
    committed(&table.update(&["s = 'moved'".to_owned()], Some("id IN (1, 12, 15)"), &plainly()).await.unwrap());
    assert_eq!(ids(&python, &path).await, before);
    committed(&table.compact_fragments(None, &plainly()).await.unwrap());
    assert_eq!(ids(&python, &path).await, before);
}

/// The row ids by the values of `id`, as pylance reads them.
async fn ids(python: &Python, path: &std::path::Path) -> Value {
    theirs(python, "ids", path, &[]).await["ids"].clone()
}

/// Field case 119: a compaction that loses every race takes its output with it each time, and wins once the others rest.
#[tokio::test(flavor = "multi_thread")]
async fn a_compaction_that_loses_every_race_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    let new = NewTable::new(TableFormat::Lance, lakebed_sql::parse_columns("id long not null, v long").unwrap());
    let mut table = Table::create(path.to_str().unwrap(), &options(), &new, &plainly()).await.unwrap().0.unwrap();
    for first in [0_i64, 10, 20] {
        let some: Vec<Value> = (first..first + 10).map(|id| json!({"id": id, "v": id})).collect();
        committed(&table.append(source(&table, &some), &plainly()).await.unwrap());
    }
    // Lance's own rules carry no deletion into a compaction.
    let by_lance = CommitOptions { policy: Some("lance".to_owned()), ..plainly() };
    for round in 0..20 {
        let mut ours = open(&path).await;
        let rival =
            open(&path).await.update(&["v = v + 1".to_owned()], Some(&format!("id = {round}")), &plainly()).await;
        committed(&rival.unwrap());
        let report = ours.compact_fragments(None, &by_lance).await.unwrap();
        assert!(matches!(report.outcome, Outcome::Conflict(_)), "round {round}: {report:?}");
        assert!(report.metrics["objects_discarded"] > 0, "round {round}: {report:?}");
        assert_eq!(on_disk(&path), named(&path).await, "round {round}");
    }
    let mut ours = open(&path).await;
    committed(&ours.compact_fragments(None, &plainly()).await.unwrap());
    assert_eq!(ours.snapshot().fragments().len(), 1);
    assert_eq!(on_disk(&path), named(&path).await);
    let expected: Vec<Value> = (0..30).map(|id| json!({"id": id, "v": id + i64::from(id < 20)})).collect();
    assert_eq!(rows(&path).await, by_id(&expected));
}

/// The data files that lie there.
fn on_disk(path: &std::path::Path) -> BTreeSet<String> {
    let files = std::fs::read_dir(path.join("data")).unwrap();
    files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
}

/// The data files that any version names.
async fn named(path: &std::path::Path) -> BTreeSet<String> {
    let table = open(path).await;
    let mut named = BTreeSet::new();
    for version in 1..=table.version().get() {
        let snapshot = table.at(VersionSpec::Number(version)).await.unwrap();
        named.extend(snapshot.fragments().into_iter().flat_map(|fragment| fragment.files));
    }
    named
}

/// Field case 112: rows of a fragment that an upsert wrote are upserted again; no id is live twice, and none changes.
#[tokio::test(flavor = "multi_thread")]
async fn case_112_ids_of_rows_that_move_twice_stay_their_own() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    theirs(&python, "make", &path, &["--stable"]).await;
    let before = ids(&python, &path).await;
    let spec = MergeSpec { on: vec!["id".to_owned()], ..MergeSpec::default() };
    for (given, by_us) in [(0..3, true), (0..2, true), (0..2, false), (0..3, true)] {
        if by_us {
            let mut table = open(&path).await;
            let rows: Vec<Value> = given.map(|id| json!({"id": id, "s": format!("moved {id}")})).collect();
            committed(&table.merge(source(&table, &rows), &spec, &plainly()).await.unwrap());
        } else {
            theirs(&python, "upsert", &path, &["--where", &format!("id < {}", given.end)]).await;
        }
        assert_eq!(ids(&python, &path).await, before);
    }
    let mut table = open(&path).await;
    committed(&table.delete("id = 9", &plainly()).await.unwrap());
    let left: Vec<Value> = before.as_array().unwrap().iter().filter(|pair| pair[0] != json!(9)).cloned().collect();
    assert_eq!(ids(&python, &path).await, Value::from(left.clone()));
    let unique: std::collections::BTreeSet<i64> = left.iter().map(|pair| pair[1].as_i64().unwrap()).collect();
    assert_eq!(unique.len(), left.len());
}
