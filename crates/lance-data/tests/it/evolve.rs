//! Columns that are added, dropped, renamed and widened, by themselves and along with rows; both read every version right.

use crate::python::Python;
use crate::support::{Rows, answered, both_read, by_id, committed, open, plainly, scan, theirs, with};
use lakebed_table::{ColumnChange, Evolution, ScanRequest, Table, VersionSpec};
use lakebed_transaction::ColumnType;
use serde_json::{Map, Value, json};
use std::io::Write;
use std::path::Path;

fn path(text: &str) -> Vec<String> {
    text.split('.').map(str::to_owned).collect()
}

async fn change(table: &mut Table, change: ColumnChange) -> u64 {
    committed(&table.change_columns(&change, false, &plainly()).await.unwrap())
}

fn added(within: &str, columns: &str) -> ColumnChange {
    let within = if within.is_empty() { Vec::new() } else { path(within) };
    ColumnChange::Add { within, columns: lakebed_sql::parse_columns(columns).unwrap() }
}

/// Every row with another set of keys.
fn each(rows: &mut Rows, change: impl Fn(&mut Map<String, Value>)) {
    rows.values_mut().for_each(|row| change(row.as_object_mut().unwrap()));
}

#[tokio::test(flavor = "multi_thread")]
async fn columns_come_go_and_grow() {
    let Some(python) = Python::find() else { return };
    for arguments in
        [&["--version", "2.0"][..], &["--version", "2.1"], &["--version", "2.2"], &["--version", "2.3"], &["--stable"]]
    {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("table.lance");
        let mut expected = answered(&theirs(&python, "make", &place, arguments).await);
        let before = expected.clone();
        let mut table = open(&place).await;
        let first = table.version().get();

        change(&mut table, added("", "note string, flags array<int>")).await;
        each(&mut expected, |row| row.extend([("note".to_owned(), Value::Null), ("flags".to_owned(), Value::Null)]));
        both_read(&python, &place, &expected).await;
        committed(&table.update(&["note = 'n'".to_owned()], Some("id IN (1, 15)"), &plainly()).await.unwrap());
        for id in [1, 15] {
            expected.insert(id, with(&expected[&id], json!({"note": "n"})));
        }
        both_read(&python, &place, &expected).await;

        change(&mut table, ColumnChange::Rename { path: path("s"), name: "text".to_owned() }).await;
        each(&mut expected, |row| {
            let value = row.remove("s").unwrap();
            row.insert("text".to_owned(), value);
        });
        change(&mut table, ColumnChange::Drop(vec![path("flag"), path("f32")])).await;
        each(&mut expected, |row| {
            row.remove("flag");
            row.remove("f32");
        });
        both_read(&python, &place, &expected).await;

        change(&mut table, ColumnChange::Widen { path: path("i32"), to: ColumnType::Long }).await;
        both_read(&python, &place, &expected).await;
        assert_eq!(theirs(&python, "rows", &place, &[]).await["columns"]["i32"], json!("int64"));

        // What was deleted stays deleted, and versions of before have the columns of before.
        assert_eq!(by_id(&scan_at(&table, first).await), before);
        theirs(&python, "compact", &place, &[]).await;
        both_read(&python, &place, &expected).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_of_structs_come_go_and_grow() {
    let Some(python) = Python::find() else { return };
    for version in ["2.1", "2.2"] {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("table.lance");
        let mut expected = answered(&theirs(&python, "make", &place, &["--version", version]).await);
        let mut table = open(&place).await;
        change(&mut table, ColumnChange::Widen { path: path("struct.x"), to: ColumnType::Long }).await;
        change(&mut table, ColumnChange::Rename { path: path("struct.y"), name: "why".to_owned() }).await;
        change(
            &mut table,
            ColumnChange::Widen { path: path("dec"), to: ColumnType::Decimal { precision: 20, scale: 4 } },
        )
        .await;
        each(&mut expected, |row| {
            if let Some(inner) = row["struct"].as_object_mut() {
                let value = inner.remove("y").unwrap();
                inner.insert("why".to_owned(), value);
            }
            if let Some(text) = row["dec"].as_str() {
                row["dec"] = json!(format!("{text}00"));
            }
        });
        both_read(&python, &place, &expected).await;
        let kinds = theirs(&python, "rows", &place, &[]).await["columns"].clone();
        assert_eq!(kinds["struct"], "struct<x: int64, why: string>");
        assert_eq!(kinds["dec"], "decimal128(20, 4)");
        change(&mut table, ColumnChange::Drop(vec![path("struct.x"), path("structs.element.v")])).await;
        each(&mut expected, |row| {
            if let Some(inner) = row["struct"].as_object_mut() {
                inner.remove("x");
            }
            for element in row["structs"].as_array_mut().into_iter().flatten() {
                element.as_object_mut().unwrap().remove("v");
            }
        });
        both_read(&python, &place, &expected).await;
        change(&mut table, added("struct", "z long")).await;
        each(&mut expected, |row| {
            if let Some(inner) = row["struct"].as_object_mut() {
                inner.insert("z".to_owned(), Value::Null);
            }
        });
        both_read(&python, &place, &expected).await;
        committed(&table.update(&["s = 'x'".to_owned()], Some("id = 1"), &plainly()).await.unwrap());
        expected.insert(1, with(&expected[&1], json!({"s": "x"})));
        both_read(&python, &place, &expected).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_fit_is_refused_and_changes_nothing() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("table.lance");
    theirs(&python, "make", &place, &[]).await;
    theirs(&python, "index", &place, &["--column", "i16"]).await;
    let mut table = open(&place).await;
    let version = table.version();
    let widen = |at: &str, to: ColumnType| ColumnChange::Widen { path: path(at), to };
    for (change, named) in [
        (added("", "S long"), "a column s already"),
        (added("", "n long not null"), "NOT NULL"),
        (added("list", "n long"), "list is no struct"),
        (added("nowhere", "n long"), "no column nowhere"),
        (ColumnChange::Drop(vec![path("list.element")]), "list is no struct"),
        (ColumnChange::Drop(vec![path("struct.q")]), "no column struct.q"),
        (ColumnChange::Rename { path: path("s"), name: "a.b".to_owned() }, "no dot"),
        (widen("i32", ColumnType::Short), "cannot go from"),
        (widen("u32", ColumnType::Long), "cannot go from"),
        (widen("i16", ColumnType::Long), "index i16_idx"),
    ] {
        let error = table.change_columns(&change, false, &plainly()).await.unwrap_err().to_string();
        assert!(error.contains(named), "{change:?}: {error}");
    }
    assert_eq!(open(&place).await.version(), version);
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_bring_columns_along() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("table.lance");
    let mut expected = answered(&theirs(&python, "make", &place, &[]).await);
    let mut table = open(&place).await;
    let columns = lakebed_sql::parse_columns("id long, note string, struct struct<x: int, z: double>").unwrap();
    let rows = [
        json!({"id": 100, "note": "new", "struct": {"x": 1, "z": 0.5}}),
        json!({"id": 101, "note": null, "struct": null}),
    ];
    write(&mut table, &rows, &columns, Evolution::Merge).await;
    let empty: Value = expected[&0].as_object().unwrap().keys().map(|key| (key.clone(), Value::Null)).collect();
    each(&mut expected, |row| {
        row.insert("note".to_owned(), Value::Null);
        if let Some(inner) = row["struct"].as_object_mut() {
            inner.insert("z".to_owned(), Value::Null);
        }
    });
    let mut first = rows[0].clone();
    first["struct"]["y"] = Value::Null;
    expected.insert(100, with(&empty, first));
    expected.insert(101, with(&empty, rows[1].clone()));
    both_read(&python, &place, &expected).await;

    let columns = lakebed_sql::parse_columns("note string, id int").unwrap();
    let rows = [json!({"note": "all", "id": 7})];
    write(&mut table, &rows, &columns, Evolution::Replace).await;
    both_read(&python, &place, &by_id(&rows)).await;
    assert_eq!(theirs(&python, "rows", &place, &[]).await["columns"], json!({"note": "string", "id": "int32"}));
}

async fn write(table: &mut Table, rows: &[Value], columns: &[lakebed_transaction::Column], evolution: Evolution) {
    let to = table.evolved_columns(evolution, columns).unwrap();
    let mut file = tempfile::Builder::new().suffix(".jsonl").tempfile().unwrap();
    rows.iter().for_each(|row| writeln!(file, "{row}").unwrap());
    let source = || {
        let batches = lakebed_data::open_source(file.path().to_str().unwrap(), &to)?;
        Ok(Box::new(batches) as lakebed_table::Batches)
    };
    let report = match evolution {
        Evolution::Merge => table.append_merging(source, columns, &plainly()).await,
        Evolution::Replace => table.overwrite_replacing(source, columns, &plainly()).await,
    };
    committed(&report.unwrap());
}

async fn scan_at(table: &Table, version: u64) -> Vec<Value> {
    let snapshot = table.at(VersionSpec::Number(version)).await.unwrap();
    let mut rows = Vec::new();
    for batch in table.scan(&snapshot, &ScanRequest::default()).unwrap().all().await.unwrap() {
        rows.extend((0..batch.num_rows()).map(|row| lakebed_data::json_row(&batch, row).unwrap()));
    }
    rows.iter().map(|text| serde_json::from_str(text).unwrap()).collect()
}

/// A change of columns made on a version that an append followed is made again on the newest.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_lost_is_made_again() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let place: &Path = &folder.path().join("table.lance");
    theirs(&python, "make", place, &[]).await;
    let mut held = open(place).await;
    let mut expected = answered(&theirs(&python, "append", place, &["--rows", "4"]).await);
    let report = held
        .change_columns(&ColumnChange::Widen { path: path("i32"), to: ColumnType::Long }, false, &plainly())
        .await
        .unwrap();
    committed(&report);
    assert_eq!(report.plannings, 2);
    both_read(&python, place, &expected).await;
    let mut held = open(place).await;
    expected = answered(&theirs(&python, "update", place, &["--where", "id = 1"]).await);
    change(&mut held, ColumnChange::Rename { path: path("s"), name: "text".to_owned() }).await;
    each(&mut expected, |row| {
        let value = row.remove("s").unwrap();
        row.insert("text".to_owned(), value);
    });
    both_read(&python, place, &expected).await;
    let rows = scan(&open(place).await, &ScanRequest::default()).await;
    assert_eq!(rows.len(), expected.len());
}
