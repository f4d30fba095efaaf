//! Values in one spelling, whatever the Arrow or JSON type that holds them.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, TimeUnit};
use lakebed_transaction::{Column, ColumnType};
use serde_json::Value;

/// The rows of batches, each in one spelling, sorted. NULL fields are left out, so that an absent column equals one of NULLs.
pub(super) fn rows(batches: &[RecordBatch]) -> Vec<String> {
    let mut rows: Vec<String> = batches
        .iter()
        .flat_map(|batch| {
            (0..batch.num_rows()).map(|row| {
                let names = batch.schema_ref().fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>();
                fields(names.iter().map(String::as_str).zip(batch.columns()), row)
            })
        })
        .collect();
    rows.sort();
    rows
}

fn fields<'a>(columns: impl Iterator<Item = (&'a str, &'a ArrayRef)>, row: usize) -> String {
    let mut cells: Vec<String> = columns
        .filter(|(_, array)| array.is_valid(row) && *array.data_type() != DataType::Null)
        .map(|(name, array)| format!("{}:{}", name.to_lowercase(), cell(array, row)))
        .collect();
    cells.sort();
    format!("{{{}}}", cells.join(","))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "Arrow's enum is not ours; a new type in a test file must be seen")]
fn cell(array: &ArrayRef, row: usize) -> String {
    if array.is_null(row) {
        return "null".to_owned();
    }
    match array.data_type() {
        DataType::Boolean => array.as_boolean().value(row).to_string(),
        DataType::Int8 => array.as_primitive::<Int8Type>().value(row).to_string(),
        DataType::Int16 => array.as_primitive::<Int16Type>().value(row).to_string(),
        DataType::Int32 => array.as_primitive::<Int32Type>().value(row).to_string(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).to_string(),
        DataType::Float32 => format!("{:?}", array.as_primitive::<Float32Type>().value(row)),
        DataType::Float64 => format!("{:?}", array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal128(_, _) => array.as_primitive::<Decimal128Type>().value_as_string(row),
        DataType::Date32 => format!("day {}", array.as_primitive::<Date32Type>().value(row)),
        DataType::Timestamp(unit, _) => format!("µs {}", micros(array, row, *unit)),
        DataType::Utf8 => format!("{:?}", array.as_string::<i32>().value(row)),
        DataType::Binary => format!("{:02x?}", array.as_binary::<i32>().value(row)),
        DataType::Struct(own) => {
            let names: Vec<&str> = own.iter().map(|field| field.name().as_str()).collect();
            fields(names.into_iter().zip(array.as_struct().columns()), row)
        }
        DataType::List(_) => {
            let values = array.as_list::<i32>().value(row);
            format!("{:?}", (0..values.len()).map(|at| cell(&values, at)).collect::<Vec<_>>())
        }
        DataType::Map(_, _) => {
            let entries = array.as_map().value(row);
            let (keys, values) = (entries.column(0), entries.column(1));
            let mut pairs: Vec<_> =
                (0..entries.len()).map(|at| format!("{}={}", cell(keys, at), cell(values, at))).collect();
            pairs.sort();
            format!("{pairs:?}")
        }
        other => panic!("{other} is not spelled here"),
    }
}

fn micros(array: &ArrayRef, row: usize, unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => panic!("no file has seconds"),
        TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().value(row) * 1_000,
        TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().value(row),
        TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().value(row).div_euclid(1_000),
    }
}

/// A row in JSON, ours or Spark's, in one spelling: both leave the same things open.
///
/// Spark's answers went through doubles where they are decimals; NULL fields may be absent in them; Spark pads CHAR(n) when it
/// reads.
pub(super) fn spelled(row: &Value, columns: &[Column], padded: &[String]) -> String {
    let cells = columns.iter().filter(|column| !row[&column.name].is_null()).map(|column| {
        let value = &row[&column.name];
        let text = value.as_str().filter(|_| padded.contains(&column.name));
        let value = text.map_or_else(|| value.clone(), |text| Value::from(text.trim_end_matches(' ')));
        format!("{}:{}", column.name, spelled_as(&value, &column.column_type))
    });
    format!("{{{}}}", cells.collect::<Vec<_>>().join(","))
}

fn spelled_as(value: &Value, column_type: &ColumnType) -> String {
    let plain = match value {
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    match column_type {
        _ if value.is_null() => "null".to_owned(),
        ColumnType::Float => format!("{:?}", plain.parse::<f32>().unwrap()),
        ColumnType::Double | ColumnType::Decimal { .. } => format!("{:?}", plain.parse::<f64>().unwrap()),
        ColumnType::Struct(columns) => spelled(value, columns, &[]),
        ColumnType::Array(element) => {
            let items = value.as_array().unwrap().iter().map(|item| spelled_as(item, &element.column_type));
            format!("[{}]", items.collect::<Vec<_>>().join(","))
        }
        ColumnType::Map(_, held) => {
            let entries = value.as_object().unwrap().iter();
            let mut pairs: Vec<_> =
                entries.map(|(key, item)| format!("{key}={}", spelled_as(item, &held.column_type))).collect();
            pairs.sort();
            format!("[{}]", pairs.join(","))
        }
        ColumnType::Boolean
        | ColumnType::Byte
        | ColumnType::Short
        | ColumnType::Integer
        | ColumnType::Long
        | ColumnType::Date
        | ColumnType::Timestamp
        | ColumnType::TimestampNtz
        | ColumnType::String
        | ColumnType::Binary
        | ColumnType::Other(_) => plain,
    }
}
