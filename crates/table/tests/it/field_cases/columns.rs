//! Columns that come along with rows, and what the table knew of the others.

use crate::local::{ID, Local, now_ms};
use crate::support::{committed, source};
use arrow_array::{Int64Array, RecordBatch, StringArray};
use lakebed_table::CommitOptions;
use lakebed_transaction::{Column, ColumnType};
use serde_json::{Value, json};
use std::sync::Arc;

/// A schema as Spark writes it, with metadata of every kind in its fields; without the brackets that end it.
const FIELDS: &str = r#"{"type":"struct","fields":[{"name":"id","type":"long","nullable":true,"metadata":{"x.rule":"y","comment":"the \"id\" of ü","big":123456789012345678901234567890,"nested":{"b":[1,{"a":null}],"a":0.10}}},{"name":"twice","type":"long","nullable":true,"metadata":{"delta.generationExpression":"id * 2"}}"#;

/// Field case 106: an append that brings a column leaves every byte of the other fields as it is, generation expressions among them.
#[tokio::test]
async fn case_106_a_merged_schema_keeps_what_fields_held() {
    let schema = format!("{FIELDS}]}}");
    let metadata = json!({"metaData": {
        "id": ID, "format": {"provider": "parquet", "options": {}}, "schemaString": schema, "partitionColumns": [], "configuration": {}
    }});
    let local = Local::new();
    let protocol = r#"{"protocol":{"minReaderVersion":1,"minWriterVersion":4}}"#.to_owned();
    local.commit(0, &[protocol, metadata.to_string()], now_ms());
    let mut table = local.open().await;
    let long = |name: &str| Column::new(name, ColumnType::Long, true);
    let columns = [long("id"), long("twice"), Column::new("z", ColumnType::String, true)];
    let numbers = |numbers: [i64; 2]| Arc::new(Int64Array::from(numbers.to_vec())) as arrow_array::ArrayRef;
    let texts = Arc::new(StringArray::from(vec!["a", "b"])) as arrow_array::ArrayRef;
    let rows = RecordBatch::try_from_iter_with_nullable([
        ("id", numbers([1, 2]), true),
        ("twice", numbers([2, 4]), true),
        ("z", texts, true),
    ]);
    let report = table.append_merging(source(rows.unwrap()), &columns, &CommitOptions::default()).await.unwrap();
    assert_eq!(committed(&report), 1);
    let written = std::fs::read_to_string(local.path("_delta_log/00000000000000000001.json")).unwrap();
    let merged: Vec<Value> = written.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let merged = merged.iter().find_map(|action| action.get("metaData")).unwrap();
    let z = r#"{"name":"z","type":"string","nullable":true,"metadata":{}}"#;
    assert_eq!(merged["schemaString"], format!("{FIELDS},{z}]}}"));
    assert_eq!(merged["id"], ID);
}
