//! One row as JSON.

use crate::DataError;
use crate::calendar::{date_text, micros_text};
use crate::number::{java_double, plain_decimal};
use crate::schema::scalar_at;
use crate::variant;
use arrow_array::cast::AsArray;
use arrow_array::types::Float32Type;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lakebed_transaction::Scalar;

/// Integers up to this magnitude are numbers in JSON: a double holds them all.
const SAFE_INTEGER: u64 = 1 << 53;

/// A row as a JSON object, keys in the order of the schema.
///
/// ```
/// let rows = arrow_array::record_batch!(("id", Int64, [9007199254740993])).unwrap();
/// assert_eq!(lakebed_data::json_row(&rows, 0)?, r#"{"id":"9007199254740993"}"#);
/// # Ok::<(), lakebed_data::DataError>(())
/// ```
///
/// # Errors
/// As [`write_json_row`].
pub fn json_row(batch: &RecordBatch, row: usize) -> Result<String, DataError> {
    let mut out = String::new();
    write_json_row(batch, row, &mut out)?;
    Ok(out)
}

/// Appends a row as a JSON object. A row beyond the batch is all NULL.
///
/// # Errors
/// [`DataError::UnsupportedType`] for a type that [`arrow_schema`](crate::arrow_schema) does not make.
pub fn write_json_row(batch: &RecordBatch, row: usize, out: &mut String) -> Result<(), DataError> {
    let fields = batch.schema_ref().fields().iter().map(|field| field.name().as_str());
    write_object(fields.zip(batch.columns()), row, out)
}

fn write_object<'a>(
    fields: impl Iterator<Item = (&'a str, &'a ArrayRef)>,
    row: usize,
    out: &mut String,
) -> Result<(), DataError> {
    out.push('{');
    for (at, (name, array)) in fields.enumerate() {
        if at > 0 {
            out.push(',');
        }
        push_text(name, out);
        out.push(':');
        write_cell(name, array, row, out)?;
    }
    out.push('}');
    Ok(())
}

fn push_text(text: &str, out: &mut String) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

/// One value; `name` is for messages.
#[expect(clippy::wildcard_enum_match_arm, reason = "Arrow's enum is not ours; the rest are scalars or refused")]
pub(super) fn write_cell(name: &str, array: &ArrayRef, row: usize, out: &mut String) -> Result<(), DataError> {
    if row >= array.len() || array.is_null(row) || *array.data_type() == DataType::Null {
        out.push_str("null");
        return Ok(());
    }
    match array.data_type() {
        DataType::Struct(fields) if variant::is_variant(fields) => {
            let damaged = || DataError::UnsupportedType {
                column: name.to_owned(),
                type_name: "variant (its bytes are none)".to_owned(),
            };
            variant::write_json(array.as_struct(), row, out).ok_or_else(damaged)
        }
        DataType::Struct(fields) => {
            let names = fields.iter().map(|field| field.name().as_str());
            write_object(names.zip(array.as_struct().columns()), row, out)
        }
        DataType::List(_) => {
            let values = array.as_list::<i32>().value(row);
            out.push('[');
            for at in 0..values.len() {
                if at > 0 {
                    out.push(',');
                }
                write_cell(name, &values, at, out)?;
            }
            out.push(']');
            Ok(())
        }
        DataType::Map(_, _) => write_map(name, array, row, out),
        // Its shortest digits differ from those of the same value as a double.
        DataType::Float32 if array.as_primitive::<Float32Type>().value(row).is_finite() => {
            out.push_str(&number(array.as_primitive::<Float32Type>().value(row)));
            Ok(())
        }
        other => match scalar_at(array, row) {
            Some(scalar) => {
                write_scalar(&scalar, out);
                Ok(())
            }
            None => Err(DataError::UnsupportedType { column: name.to_owned(), type_name: other.to_string() }),
        },
    }
}

fn write_map(name: &str, array: &ArrayRef, row: usize, out: &mut String) -> Result<(), DataError> {
    let entries = array.as_map().value(row);
    let (Some(keys), Some(values)) = (entries.columns().first(), entries.columns().get(1)) else {
        return Err(DataError::UnsupportedType { column: name.to_owned(), type_name: array.data_type().to_string() });
    };
    out.push('{');
    for at in 0..entries.len() {
        if at > 0 {
            out.push(',');
        }
        let mut key = String::new();
        write_cell(name, keys, at, &mut key)?;
        // A JSON key is a string whatever the key's type.
        if key.starts_with('"') {
            out.push_str(&key)
        } else {
            push_text(&key, out)
        }
        out.push(':');
        write_cell(name, values, at, out)?;
    }
    out.push('}');
    Ok(())
}

fn number(value: impl serde::Serialize) -> String {
    serde_json::to_string(&value).unwrap_or_else(|_| "null".to_owned())
}

fn write_scalar(scalar: &Scalar, out: &mut String) {
    match scalar {
        Scalar::Null => out.push_str("null"),
        Scalar::Boolean(value) => out.push_str(if *value { "true" } else { "false" }),
        Scalar::Int(value) if value.unsigned_abs() <= SAFE_INTEGER => out.push_str(&value.to_string()),
        Scalar::Int(value) => push_text(&value.to_string(), out),
        Scalar::Float(value) if value.is_finite() => out.push_str(&number(value)),
        Scalar::Float(_)
        | Scalar::Decimal { .. }
        | Scalar::Date(_)
        | Scalar::Timestamp(_)
        | Scalar::TimestampNtz(_)
        | Scalar::String(_)
        | Scalar::Binary(_) => push_text(&text(scalar), out),
    }
}

/// A value as text, as it stands in a JSON string or a cell of CSV; NULL is empty.
pub(super) fn text(scalar: &Scalar) -> String {
    match scalar {
        Scalar::Null => String::new(),
        Scalar::Boolean(value) => value.to_string(),
        Scalar::Int(value) => value.to_string(),
        Scalar::Float(value) if value.is_finite() => number(value),
        Scalar::Float(value) => java_double(*value),
        Scalar::Decimal { unscaled, scale } => plain_decimal(*unscaled, *scale),
        Scalar::Date(days) => date_text(*days),
        Scalar::Timestamp(micros) => format!("{}Z", micros_text(*micros)),
        Scalar::TimestampNtz(micros) => micros_text(*micros),
        Scalar::String(text) => text.to_string(),
        Scalar::Binary(bytes) => STANDARD.encode(bytes),
    }
}
