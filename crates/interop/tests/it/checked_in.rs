//! The small tables beside the code, which the real clients wrote, opened through the facade.

use crate::support::{list, open, texts};
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use lakebed_table::{ScanRequest, Snapshot, Table, VersionSpec};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// The folders of all producers of a format.
fn producers(format: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance").join(format);
    let mut found: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    found
}

fn expected(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Every file below a folder with its size: reading must not change it.
fn everything(folder: &Path) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(everything(&path));
        } else {
            let size = path.metadata().unwrap().len();
            found.push((path, size));
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn the_lance_tables_open_at_every_version() {
    let mut tables = 0;
    for producer in producers("lance") {
        for entry in std::fs::read_dir(&producer).unwrap() {
            let folder = entry.unwrap().path();
            lance_table(&folder.join("table.lance"), &expected(&folder.join("expected.json"))).await;
            tables += 1;
        }
    }
    assert!(tables >= 4, "{tables} tables");
}

async fn lance_table(path: &Path, expected: &Value) {
    let before = everything(path);
    let table = open(path).await;
    let name = &expected["fixture"];
    assert_eq!(Some(table.version().get()), expected["latest_version"].as_u64(), "{name}");
    for version in list(&expected["versions"]) {
        let number = version["version"].as_u64().unwrap();
        let snapshot = table.at(VersionSpec::Number(number)).await.unwrap();
        let summary = snapshot.summary().unwrap();
        let place = format!("{name} version {number}");
        assert_eq!(summary.num_rows, version["num_rows"].as_u64(), "{place}");
        assert_eq!(summary.num_deleted_rows, version["total_deletions"].as_u64(), "{place}");
        assert_eq!(summary.properties, texts(&version["config"]), "{place}");
        let schema: Value = summary.schema.iter().map(|(name, kind, nullable)| json!([name, kind, nullable])).collect();
        assert_eq!(schema, version["schema"], "{place}");
        assert_eq!(fragments(&snapshot), fragments_expected(version), "{place}");
        let indices: Vec<_> = list(&version["indices"]).iter().map(|index| index["name"].as_str().unwrap()).collect();
        assert_eq!(snapshot.indices().iter().map(|index| index.name.as_str()).collect::<Vec<_>>(), indices, "{place}");
    }
    let history = table.history(None).await.unwrap();
    for (ours, theirs) in history.iter().rev().zip(list(&expected["versions"])) {
        assert_eq!(Some(ours.version.get()), theirs["version"].as_u64(), "{name}");
        // pylance cannot name the transaction of every version.
        if let Some(uuid) = theirs["transaction_uuid"].as_str() {
            assert_eq!(ours.transaction_id.as_deref(), Some(uuid), "{name} version {}", ours.version);
        }
    }
    assert_eq!(history.len(), list(&expected["versions"]).len(), "{name}");
    assert_eq!(everything(path), before, "{name}: reading wrote something");
}

fn fragments(snapshot: &Snapshot) -> Value {
    snapshot.fragments().into_iter().map(|one| json!([one.id, one.physical_rows, one.num_deleted, one.files])).collect()
}

fn fragments_expected(version: &Value) -> Value {
    list(&version["fragments"])
        .iter()
        .map(|one| {
            let files: Vec<_> = list(&one["data_files"]).iter().map(|file| file["path"].clone()).collect();
            json!([one["id"], one["physical_rows"], one["num_deletions"], files])
        })
        .collect()
}

#[tokio::test]
async fn the_delta_tables_open_at_every_version() {
    let mut tables = 0;
    for producer in producers("delta") {
        for (file, _) in everything(&producer) {
            let Some(name) = file.file_name().unwrap().to_str().unwrap().strip_suffix(".expected.json") else {
                continue;
            };
            let expected = expected(&file);
            let path = producer.join(name).join(expected["table_subdir"].as_str().unwrap());
            delta_table(&path, &expected).await;
            tables += 1;
        }
    }
    assert!(tables >= 4, "{tables} tables");
}

async fn delta_table(path: &Path, expected: &Value) {
    let before = everything(path);
    let table = open(path).await;
    let name = &expected["table"];
    let summary = table.snapshot().summary().unwrap();
    assert_eq!(Some(table.version().get()), expected["version"].as_u64(), "{name}");
    assert_eq!(summary.table_id.as_deref(), expected["table_id"].as_str(), "{name}");
    let partitions: Value = summary.partition_columns.iter().map(|one| json!(one)).collect();
    assert_eq!(partitions, expected["partition_columns"], "{name}");
    let paths: Value = table.snapshot().files().iter().map(|file| json!(file.path)).collect();
    assert_eq!(paths, expected["replay"]["files"], "{name}");
    let versions = expected["versions"].as_object().unwrap();
    assert_eq!(versions.len() as u64, table.version().get() + 1, "{name}");
    for (number, version) in versions {
        let snapshot = table.at(VersionSpec::Number(number.parse().unwrap())).await.unwrap();
        let summary = snapshot.summary().unwrap();
        let place = format!("{name} version {number}");
        assert_eq!(Some(summary.num_files), version["num_files"].as_u64(), "{place}");
        assert_eq!(summary.num_rows, version["num_rows"].as_u64(), "{place}");
        assert_eq!(summary.properties, texts(&version["configuration"]), "{place}");
        let columns: Vec<&String> = version["rows"].as_object().unwrap().keys().collect();
        assert_eq!(rows(&table, &snapshot, &columns).await, rows_expected(&version["rows"]), "{place}");
    }
    assert_eq!(everything(path), before, "{name}: reading wrote something");
}

/// Rows as lists of JSON values in the order of the named columns, sorted by `id`, which comes first.
async fn rows(table: &Table, snapshot: &Snapshot, columns: &[&String]) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    for batch in table.scan(snapshot, &ScanRequest::default()).unwrap().all().await.unwrap() {
        for at in 0..batch.num_rows() {
            rows.push(columns.iter().map(|name| cell(batch.column_by_name(name).unwrap(), at)).collect::<Vec<_>>());
        }
    }
    rows.sort_by_key(|row| row[0].as_i64());
    rows
}

fn rows_expected(columns: &Value) -> Vec<Vec<Value>> {
    let columns: Vec<&[Value]> = columns.as_object().unwrap().values().map(list).collect();
    (0..columns[0].len()).map(|at| columns.iter().map(|column| column[at].clone()).collect()).collect()
}

fn cell(array: &ArrayRef, at: usize) -> Value {
    if array.is_null(at) {
        return Value::Null;
    }
    if let Some(ints) = array.as_primitive_opt::<Int32Type>() {
        json!(ints.value(at))
    } else if let Some(longs) = array.as_primitive_opt::<Int64Type>() {
        json!(longs.value(at))
    } else if let Some(doubles) = array.as_primitive_opt::<Float64Type>() {
        json!(doubles.value(at))
    } else if let Some(days) = array.as_primitive_opt::<Date32Type>() {
        json!(days.value_as_date(at).unwrap().to_string())
    } else {
        json!(array.as_string::<i32>().value(at))
    }
}
