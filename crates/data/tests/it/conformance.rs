//! Tables that real clients wrote.

use lakebed_transaction::{Column, ColumnType};
use serde_json::Value;
use std::path::PathBuf;

/// The folder of one set, or a line that says why there is none.
pub(crate) fn set(name: &str) -> Option<PathBuf> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance");
    let root = std::env::var_os("LAKEBED_CONFORMANCE").map_or(beside, PathBuf::from);
    let folder = root.join(name);
    if !folder.is_dir() {
        println!("skipped: no conformance data at {}", folder.display());
        return None;
    }
    Some(folder)
}

/// An `add` of a table's log.
#[derive(Debug)]
pub(crate) struct Add {
    pub(crate) path: String,
    pub(crate) stats: Option<String>,
    pub(crate) partition_columns: Vec<String>,
    pub(crate) columns: Vec<Column>,
    pub(crate) configuration: Value,
}

/// Every `add` in the JSON commits, with the schema that holds there.
pub(crate) fn adds(table: &std::path::Path) -> Vec<Add> {
    let mut names: Vec<PathBuf> = std::fs::read_dir(table.join("_delta_log"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .collect();
    names.sort();
    let (mut columns, mut partition_columns, mut configuration) = (Vec::new(), Vec::new(), Value::Null);
    let mut found = Vec::new();
    for name in names {
        let text = std::fs::read_to_string(name).unwrap();
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            let action: Value = serde_json::from_str(line).unwrap();
            if let Some(metadata) = action.get("metaData") {
                let schema: Value = serde_json::from_str(metadata["schemaString"].as_str().unwrap()).unwrap();
                columns = fields(&schema);
                let names = metadata["partitionColumns"].as_array().unwrap();
                partition_columns = names.iter().map(|name| name.as_str().unwrap().to_owned()).collect();
                configuration = metadata["configuration"].clone();
            }
            if let Some(add) = action.get("add") {
                found.push(Add {
                    path: add["path"].as_str().unwrap().to_owned(),
                    stats: add.get("stats").and_then(Value::as_str).map(str::to_owned),
                    partition_columns: partition_columns.clone(),
                    columns: columns.clone(),
                    configuration: configuration.clone(),
                });
            }
        }
    }
    found
}

fn fields(schema: &Value) -> Vec<Column> {
    let field = |field: &Value| {
        Column::new(field["name"].as_str().unwrap(), column_type(&field["type"]), field["nullable"].as_bool().unwrap())
    };
    schema["fields"].as_array().unwrap().iter().map(field).collect()
}

fn column_type(spelled: &Value) -> ColumnType {
    if let Some(name) = spelled.as_str() {
        return match name {
            "boolean" => ColumnType::Boolean,
            "byte" => ColumnType::Byte,
            "short" => ColumnType::Short,
            "integer" => ColumnType::Integer,
            "long" => ColumnType::Long,
            "float" => ColumnType::Float,
            "double" => ColumnType::Double,
            "date" => ColumnType::Date,
            "timestamp" => ColumnType::Timestamp,
            "timestamp_ntz" => ColumnType::TimestampNtz,
            "string" => ColumnType::String,
            "binary" => ColumnType::Binary,
            other => match other.strip_prefix("decimal(").and_then(|rest| rest.strip_suffix(')')) {
                Some(rest) => {
                    let (precision, scale) = rest.split_once(',').unwrap();
                    ColumnType::Decimal {
                        precision: precision.trim().parse().unwrap(),
                        scale: scale.trim().parse().unwrap(),
                    }
                }
                None => ColumnType::Other(other.to_owned()),
            },
        };
    }
    let part = |name: &str, spelled: &Value, nullable: &Value| {
        Box::new(Column::new(name, column_type(spelled), nullable.as_bool().unwrap_or(false)))
    };
    match spelled["type"].as_str().unwrap() {
        "struct" => ColumnType::Struct(fields(spelled)),
        "array" => ColumnType::Array(part("element", &spelled["elementType"], &spelled["containsNull"])),
        _ => ColumnType::Map(
            part("key", &spelled["keyType"], &Value::Bool(false)),
            part("value", &spelled["valueType"], &spelled["valueContainsNull"]),
        ),
    }
}
