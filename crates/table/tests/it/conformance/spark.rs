//! Every version of the tables that Spark wrote: rows and row ids.

use super::{cells, copy, folder, open, rows_of};
use lakebed_data::json_row;
use lakebed_table::{ROW_COMMIT_VERSION, ROW_ID, ScanRequest, Snapshot, Table, TableError, VersionSpec};
use lakebed_transaction::{Column, ColumnType};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Tables whose rows are not read, each with the feature that the refusal must name.
const REFUSED: &[(&str, &str)] = &[("variant_shredded", "variantShredding")];

/// A table with Spark's answers, in a copy of its own where it needs one.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) root: PathBuf,
    pub(super) expected: Value,
    _copy: Option<tempfile::TempDir>,
}

pub(super) fn cases() -> Vec<Case> {
    let Some(root) = folder("delta-spark") else { return Vec::new() };
    rows_of(&root.join("INVENTORY.tsv")).into_iter().map(|row| case(&root, &row[0])).collect()
}

fn case(root: &Path, name: &str) -> Case {
    let expected = std::fs::read(root.join(format!("{name}.expected.json"))).unwrap();
    let expected: Value = serde_json::from_slice(&expected).unwrap();
    if name != "clone_shallow" {
        return Case { name: name.to_owned(), root: root.join(name), expected, _copy: None };
    }
    // Its log names files of another table absolutely, from where the copy stands.
    let copies = tempfile::tempdir().unwrap();
    for part in [name, "clone_shallow.source"] {
        copy(&root.join(part), &copies.path().join(part));
    }
    let log = copies.path().join(name).join("_delta_log");
    for entry in std::fs::read_dir(log).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "json") {
            let text = std::fs::read_to_string(&path).unwrap();
            std::fs::write(path, text.replace("@@ROOT@@", copies.path().to_str().unwrap())).unwrap();
        }
    }
    Case { name: name.to_owned(), root: copies.path().join(name), expected, _copy: Some(copies) }
}

/// The columns that Spark pads when it reads.
fn padded(snapshot: &Snapshot) -> Vec<String> {
    let Snapshot::Delta(delta) = snapshot else { panic!("a Delta table") };
    let is_padded = |metadata: &serde_json::Map<String, Value>| {
        metadata.get("__CHAR_VARCHAR_TYPE_STRING").and_then(Value::as_str).is_some_and(|text| text.starts_with("char"))
    };
    let fields = delta.snapshot.schema().fields.iter();
    fields.filter(|field| is_padded(&field.metadata)).map(|field| field.name.clone()).collect()
}

async fn scanned(table: &Table, snapshot: &Snapshot, request: &ScanRequest) -> Result<Vec<Value>, TableError> {
    let mut rows = Vec::new();
    for batch in table.scan(snapshot, request)?.all().await? {
        rows.extend((0..batch.num_rows()).map(|row| serde_json::from_str(&json_row(&batch, row).unwrap()).unwrap()));
    }
    Ok(rows)
}

/// Rows in JSON, each in one spelling, sorted.
pub(super) fn columns_spelled(rows: &[Value], columns: &[Column], padded: &[String]) -> Vec<String> {
    let mut all: Vec<_> = rows.iter().map(|row| cells::spelled(row, columns, padded)).collect();
    all.sort();
    all
}

/// Where our rows of one version differ from Spark's; counts rows.
async fn differences(
    table: &Table,
    theirs: &Value,
    counted: &mut BTreeMap<&str, usize>,
) -> Result<Vec<String>, TableError> {
    let number = theirs["version"].as_u64().unwrap();
    let snapshot = table.at(VersionSpec::Number(number)).await?;
    let columns = snapshot.summary()?.columns;
    let padded = padded(&snapshot);
    let mut wrong = Vec::new();
    let ours = scanned(table, &snapshot, &ScanRequest::default()).await;
    if let Some(class) = theirs["rows"]["error"].as_str() {
        // A vacuum took the files that this version needs.
        let gone = ours.as_ref().err().map(ToString::to_string).unwrap_or_default();
        if !gone.contains(" is not ") || class != "FAILED_READ_FILE.FILE_NOT_EXIST" {
            wrong.push(format!("version {number}: Spark fails with {class}, ours: {gone}"));
        }
        return Ok(wrong);
    }
    let ours = ours?;
    if let Some(rows) = theirs["rows"].as_array() {
        let (ours, theirs) = (columns_spelled(&ours, &columns, &padded), columns_spelled(rows, &columns, &padded));
        if ours != theirs {
            wrong.push(format!("version {number}: ours {ours:#?}, Spark's {theirs:#?}"));
        }
    }
    if theirs["num_rows"].as_u64() != Some(ours.len() as u64) {
        wrong.push(format!("version {number}: ours has {} rows, Spark's {}", ours.len(), theirs["num_rows"]));
    }
    *counted.entry("rows").or_default() += ours.len();
    *counted.entry("versions").or_default() += 1;
    if let Some(rows) = theirs["rows_with_tracking"].as_array() {
        let request = ScanRequest { with_row_tracking: true, ..ScanRequest::default() };
        let tracked = |id: &str, version: &str| {
            let more = [id, version].map(|name| Column::new(name, ColumnType::Long, true));
            columns.iter().cloned().chain(more).collect::<Vec<_>>()
        };
        let ours = scanned(table, &snapshot, &request).await?;
        let ours = columns_spelled(&ours, &tracked(ROW_ID, ROW_COMMIT_VERSION), &padded);
        let theirs = columns_spelled(rows, &tracked("__row_id", "__row_commit_version"), &padded);
        let ours: Vec<_> = ours
            .iter()
            .map(|row| row.replace(ROW_ID, "__row_id").replace(ROW_COMMIT_VERSION, "__row_commit_version"))
            .collect();
        if ours != theirs {
            wrong.push(format!("version {number}, row ids: ours {ours:#?}, Spark's {theirs:#?}"));
        }
        *counted.entry("rows with ids").or_default() += ours.len();
    }
    Ok(wrong)
}

#[tokio::test]
async fn rows_of_every_version_are_those_that_spark_reads() {
    let mut wrong = Vec::new();
    let mut counted = BTreeMap::new();
    for case in cases() {
        let table = open(&case.root).await.unwrap();
        let refused = REFUSED.iter().find(|(name, _)| *name == case.name);
        for theirs in case.expected["versions"].as_array().unwrap() {
            // What Spark did not read because it is too old for the table's retention may have lost its files.
            if theirs.get("error").is_some() {
                continue;
            }
            let found = differences(&table, theirs, &mut counted).await;
            match (refused, found) {
                (None, Ok(found)) => wrong.extend(found.iter().map(|text| format!("{}: {text}", case.name))),
                (None, Err(error)) => wrong.push(format!("{} at {}: {error}", case.name, theirs["version"])),
                // Before any file is in that form there is nothing to refuse.
                (Some(_), Ok(_)) if theirs["num_rows"] == 0 => {}
                (Some((_, feature)), Err(error)) if error.to_string().contains(feature) => {}
                (Some((_, feature)), other) => wrong.push(format!("{}: {feature} not refused: {other:?}", case.name)),
            }
        }
    }
    println!("{counted:?}");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[tokio::test]
async fn only_the_columns_that_are_asked_for_are_read() {
    let Some(root) = folder("delta-spark") else { return };
    // The shredded column stands in no one's way who does not ask for it.
    let table = open(&root.join("variant_shredded")).await.unwrap();
    let select = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    let request = ScanRequest { columns: select(&["id"]), ..ScanRequest::default() };
    assert_eq!(scanned(&table, table.snapshot(), &request).await.unwrap().len(), 30);
    // A partition column alone: nothing of the files is needed but how many rows they have.
    let table = open(&root.join("part_int")).await.unwrap();
    let whole = scanned(&table, table.snapshot(), &ScanRequest::default()).await.unwrap();
    let request = ScanRequest { columns: select(&["k"]), ..ScanRequest::default() };
    let only = |rows: &[Value]| {
        let mut texts: Vec<_> = rows.iter().map(|row| row["k"].to_string()).collect();
        texts.sort();
        texts
    };
    assert_eq!(only(&scanned(&table, table.snapshot(), &request).await.unwrap()), only(&whole));
    // In the order asked for, with a predicate over another column, and with row ids behind.
    let table = open(&root.join("rt_basic")).await.unwrap();
    let request = ScanRequest {
        columns: select(&["s", "g"]),
        predicate: Some("id = 1".to_owned()),
        with_row_tracking: true,
        ..ScanRequest::default()
    };
    let rows = scanned(&table, table.snapshot(), &request).await.unwrap();
    assert_eq!(rows[0].to_string(), format!(r#"{{"s":"u","g":1,"{ROW_ID}":1,"{ROW_COMMIT_VERSION}":3}}"#));
    assert_eq!(rows.len(), 1);
}
