//! Columns of type void, as Spark has them: NULL in every row, in no file, and refused where no file could tell their rows.

use crate::local::{ID, Local, now_ms};
use crate::support::{committed, source};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StructArray};
use arrow_schema::{DataType, Field};
use lakebed_data::{TextTypes, json_row, source_columns};
use lakebed_table::{CommitOptions, CompactRequest, ScanRequest, Table};
use lakebed_transaction::{Column, ColumnType};
use serde_json::{Value, json};
use std::sync::Arc;

fn field(name: &str, data_type: Value, id: i64) -> Value {
    let metadata = json!({"delta.columnMapping.id": id, "delta.columnMapping.physicalName": format!("c-{name}")});
    json!({"name": name, "type": data_type, "nullable": true, "metadata": metadata})
}

fn structure(fields: &[Value]) -> Value {
    json!({"type": "struct", "fields": fields})
}

/// A table without rows.
async fn table_of(local: &Local, fields: &[Value], properties: &Value) -> Table {
    let features = json!(["columnMapping", "deletionVectors"]);
    let writer = json!(["columnMapping", "deletionVectors", "changeDataFeed"]);
    let protocol = json!({"protocol": {
        "minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": writer
    }});
    let metadata = json!({"metaData": {
        "id": ID, "format": {"provider": "parquet", "options": {}}, "schemaString": structure(fields).to_string(),
        "partitionColumns": [], "configuration": properties
    }});
    local.commit(0, &[protocol.to_string(), metadata.to_string()], now_ms());
    local.open().await
}

fn numbers(numbers: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(numbers.to_vec()))
}

/// Rows without the void columns.
fn rows(ids: &[i64]) -> RecordBatch {
    let a = Arc::new(Field::new("a", DataType::Int64, true));
    let s: ArrayRef = Arc::new(StructArray::from(vec![(a, numbers(ids))]));
    RecordBatch::try_from_iter_with_nullable([("id", numbers(ids), true), ("s", s, true)]).unwrap()
}

async fn scanned(table: &Table) -> Vec<Value> {
    let batches = table.scan(table.snapshot(), &ScanRequest::default()).unwrap().all().await.unwrap();
    let row = |batch: &RecordBatch, at| serde_json::from_str(&json_row(batch, at).unwrap()).unwrap();
    let mut rows: Vec<Value> =
        batches.iter().flat_map(|batch| (0..batch.num_rows()).map(|at| row(batch, at))).collect();
    rows.sort_by_key(|row| row["id"].as_i64());
    rows
}

/// The statistics of every file that the log ever named.
fn stats(local: &Local) -> Vec<String> {
    let logs = local.names("_delta_log").into_iter().filter(|name| name.ends_with(".json"));
    let texts: Vec<String> = logs.map(|name| std::fs::read_to_string(local.path(&name)).unwrap()).collect();
    let actions = texts.iter().flat_map(|text| text.lines()).map(|line| serde_json::from_str::<Value>(line).unwrap());
    let stats: Vec<String> = actions.filter_map(|action| Some(action["add"]["stats"].as_str()?.to_owned())).collect();
    assert!(stats.len() >= 4, "{stats:?}");
    stats
}

#[tokio::test]
async fn a_column_of_type_void_is_null_in_every_row_and_in_no_file() {
    let options = CommitOptions::default();
    for properties in [
        json!({}),
        json!({"delta.enableChangeDataFeed": "true", "delta.enableDeletionVectors": "true"}),
        json!({"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "5"}),
    ] {
        let local = Local::new();
        let s = structure(&[field("v", json!("void"), 3), field("a", json!("long"), 4)]);
        let fields = [field("id", json!("long"), 1), field("v", json!("void"), 2), field("s", s, 5)];
        let mut table = table_of(&local, &fields, &properties).await;
        committed(&table.append(source(rows(&[1, 2])), &options).await.unwrap());
        // A column of nulls may be given.
        let nulls = arrow_array::new_null_array(&DataType::Null, 1);
        let with_nulls = RecordBatch::try_from_iter_with_nullable([("id", numbers(&[3]), true), ("V", nulls, true)]);
        committed(&table.append(source(with_nulls.unwrap()), &options).await.unwrap());
        let given = RecordBatch::try_from_iter([("id", numbers(&[4])), ("v", numbers(&[4]))]).unwrap();
        let error = table.append(source(given), &options).await.unwrap_err().to_string();
        assert!(error.contains("column v"), "{error}");
        committed(&table.update(&["id = id + 10".to_owned()], Some("id = 2"), &options).await.unwrap());
        committed(&table.compact(&CompactRequest::default(), &options).await.unwrap());
        let expected = [
            json!({"id": 1, "v": null, "s": {"v": null, "a": 1}}),
            json!({"id": 3, "v": null, "s": null}),
            json!({"id": 12, "v": null, "s": {"v": null, "a": 2}}),
        ];
        assert_eq!(scanned(&local.open().await).await, expected, "{properties}");
        let mapped = properties.get("delta.columnMapping.mode").is_some();
        let name = |name: &str| if mapped { format!("c-{name}") } else { name.to_owned() };
        let data = local.names("").into_iter().filter(|name| name.ends_with(".parquet") && !name.contains('/'));
        for file in data {
            let columns = source_columns(local.path(&file).to_str().unwrap(), TextTypes::Guessed).unwrap();
            let long = |of: &str| Column::new(name(of), ColumnType::Long, true);
            let s = Column::new(name("s"), ColumnType::Struct(vec![long("a")]), true);
            assert_eq!(columns, [long("id"), s], "{properties}");
        }
        for stats in stats(&local) {
            assert!(!stats.contains(&format!("\"{}\"", name("v"))), "{properties}: {stats}");
        }
    }
}

/// Spark refuses to write such tables, too: a list of nothing but NULLs has a length that nothing would hold.
#[tokio::test]
async fn what_no_file_could_tell_is_refused() {
    let list = json!({"type": "array", "elementType": "void", "containsNull": true});
    let map = json!({"type": "map", "keyType": "string", "valueType": "void", "valueContainsNull": true});
    let hollow = structure(&[field("v", json!("void"), 3)]);
    let deep = structure(&[field("a", json!("long"), 3), field("l", list.clone(), 4)]);
    for (odd, named) in [(list, "odd"), (map, "odd"), (hollow, "odd"), (deep, "odd.l")] {
        let local = Local::new();
        let fields = [field("id", json!("long"), 1), field("odd", odd, 2)];
        let mut table = table_of(&local, &fields, &json!({})).await;
        let ids = RecordBatch::try_from_iter([("id", numbers(&[1]))]).unwrap();
        let error = table.append(source(ids), &CommitOptions::default()).await.unwrap_err().to_string();
        assert!(error.contains(&format!("column {named} has the type void")), "{error}");
        assert_eq!(local.open().await.version().get(), 0);
    }
    let local = Local::new();
    let mut table = table_of(&local, &[field("nothing", json!("void"), 1)], &json!({})).await;
    let nulls = arrow_array::new_null_array(&DataType::Null, 2);
    let rows = RecordBatch::try_from_iter_with_nullable([("nothing", nulls, true)]).unwrap();
    let error = table.append(source(rows), &CommitOptions::default()).await.unwrap_err().to_string();
    assert!(error.contains("column nothing has the type void"), "{error}");
}
