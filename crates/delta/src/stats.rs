//! Per-file statistics: JSON text inside a string.
//!
//! What a stored bound promises is wider than its text: timestamps are cut to milliseconds, long strings to 32
//! characters (the maximum with a tie-breaker, so it stays an upper bound), decimals of some writers went through a
//! double, and the maximum of floats may leave out NaN. The bounds given here are widened so that they always hold.

use crate::partition::{decimal_digits, parse_decimal};
use crate::schema::{ColumnMapping, StructType};
use crate::time_text::{parse_date, parse_timestamp};
use lakebed_transaction::{ColumnBounds, ColumnType, Scalar};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::sync::Arc;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Count {
    num_records: Option<i64>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Stats {
    num_records: Option<i64>,
    tight_bounds: Option<bool>,
    min_values: Option<Map<String, Value>>,
    max_values: Option<Map<String, Value>>,
    null_count: Option<Map<String, Value>>,
}

/// Rows in the file, deleted ones included; `None` where the text does not say or cannot be read.
#[must_use]
pub fn num_records(stats: &str) -> Option<u64> {
    serde_json::from_str::<Count>(stats).ok()?.num_records.and_then(|count| u64::try_from(count).ok())
}

/// Whether min and max are values that occur; false where a deletion vector may hide them.
#[must_use]
pub fn tight_bounds(stats: &str) -> bool {
    serde_json::from_str::<Stats>(stats).is_ok_and(|stats| stats.tight_bounds.unwrap_or(true))
}

/// Statistics of a file some of whose rows are deleted: the bounds hold, but are no longer values that must occur.
///
/// `rows` counts the file's rows, deleted ones included; it is put in where the text does not say or cannot be read.
///
/// ```
/// let loose = lakebed_delta::stats::loosened(Some(r#"{"numRecords":3,"minValues":{"id":1}}"#), 3);
/// assert_eq!(loose, r#"{"numRecords":3,"minValues":{"id":1},"tightBounds":false}"#);
/// ```
#[must_use]
pub fn loosened(stats: Option<&str>, rows: u64) -> String {
    let parsed = stats.and_then(|text| serde_json::from_str::<Map<String, Value>>(text).ok());
    let mut known = parsed.unwrap_or_default();
    if known.get("numRecords").and_then(Value::as_u64).is_none() {
        known.insert("numRecords".to_owned(), rows.into());
    }
    known.insert("tightBounds".to_owned(), false.into());
    Value::Object(known).to_string()
}

/// What the statistics promise of each top-level column, by logical name. A column that is not named is not known.
///
/// Statistics that cannot be read promise nothing.
#[must_use]
pub fn bounds(stats: &str, schema: &StructType, mapping: ColumnMapping) -> Vec<(Arc<str>, ColumnBounds)> {
    let Ok(stats) = serde_json::from_str::<Stats>(stats) else { return Vec::new() };
    let rows = stats.num_records.and_then(|count| u64::try_from(count).ok());
    let tight = stats.tight_bounds.unwrap_or(true);
    let mut found = Vec::new();
    for field in &schema.fields {
        let physical = field.physical_name(mapping);
        let column_type = field.data_type.column_type();
        let value = |map: &Option<Map<String, Value>>| map.as_ref().and_then(|map| map.get(physical)).cloned();
        let nulls = value(&stats.null_count).as_ref().and_then(Value::as_u64);
        let bounds = ColumnBounds {
            min: value(&stats.min_values).and_then(|text| lower(&text, &column_type)),
            max: value(&stats.max_values).and_then(|text| upper(&text, &column_type)),
            null_count: nulls.filter(|count| tight || *count == 0 || Some(*count) == rows),
        };
        if bounds.min.is_some() || bounds.max.is_some() || bounds.null_count.is_some() {
            found.push((Arc::from(field.name.as_str()), bounds));
        }
    }
    found
}

/// A bound as a value of its column; `None` where the text may have lost digits.
pub(crate) fn exact_value(value: &Value, column_type: &ColumnType) -> Option<Scalar> {
    let stored = stored(value, column_type)?;
    let rounded = matches!(&stored, Scalar::Decimal { unscaled, .. } if slack(*unscaled) > 0);
    (!rounded).then_some(stored)
}

fn lower(value: &Value, column_type: &ColumnType) -> Option<Scalar> {
    match stored(value, column_type)? {
        Scalar::Decimal { unscaled, scale } => {
            Some(Scalar::Decimal { unscaled: unscaled.checked_sub(slack(unscaled))?, scale })
        }
        Scalar::Float(number) => (!number.is_nan()).then_some(Scalar::Float(number)),
        other @ (Scalar::Null
        | Scalar::Boolean(_)
        | Scalar::Int(_)
        | Scalar::Date(_)
        | Scalar::Timestamp(_)
        | Scalar::TimestampNtz(_)
        | Scalar::String(_)
        | Scalar::Binary(_)) => Some(other),
    }
}

fn upper(value: &Value, column_type: &ColumnType) -> Option<Scalar> {
    match stored(value, column_type)? {
        Scalar::Decimal { unscaled, scale } => {
            Some(Scalar::Decimal { unscaled: unscaled.checked_add(slack(unscaled))?, scale })
        }
        // Values were cut to milliseconds, so the true maximum may lie up to one millisecond above.
        Scalar::Timestamp(micros) => Some(Scalar::Timestamp(micros.saturating_add(1000))),
        Scalar::TimestampNtz(micros) => Some(Scalar::TimestampNtz(micros.saturating_add(1000))),
        // Not every writer counts NaN, which is the greatest value, so only NaN itself is an upper bound.
        Scalar::Float(number) => number.is_nan().then_some(Scalar::Float(number)),
        other @ (Scalar::Null
        | Scalar::Boolean(_)
        | Scalar::Int(_)
        | Scalar::Date(_)
        | Scalar::String(_)
        | Scalar::Binary(_)) => Some(other),
    }
}

/// How far a decimal that went through a double may be off, in its last digit: nothing up to 15 digits.
fn slack(unscaled: i128) -> i128 {
    let magnitude = i128::try_from(unscaled.unsigned_abs()).unwrap_or(i128::MAX);
    if magnitude < 1_000_000_000_000_000 { 0 } else { magnitude / (1 << 52) + 1 }
}

fn stored(value: &Value, column_type: &ColumnType) -> Option<Scalar> {
    match (column_type, value) {
        (ColumnType::Boolean, Value::Bool(flag)) => Some(Scalar::Boolean(*flag)),
        (ColumnType::Byte | ColumnType::Short | ColumnType::Integer | ColumnType::Long, Value::Number(number)) => {
            number.as_i64().map(Scalar::Int)
        }
        (ColumnType::Float | ColumnType::Double, Value::Number(number)) => number.as_f64().map(Scalar::Float),
        (ColumnType::Float | ColumnType::Double, Value::String(text)) => match text.as_str() {
            "NaN" => Some(Scalar::Float(f64::NAN)),
            "Infinity" => Some(Scalar::Float(f64::INFINITY)),
            "-Infinity" => Some(Scalar::Float(f64::NEG_INFINITY)),
            _ => None,
        },
        (ColumnType::Decimal { scale, .. }, Value::Number(number)) => stored_decimal(&number.to_string(), *scale),
        (ColumnType::Decimal { scale, .. }, Value::String(text)) => stored_decimal(text, *scale),
        (ColumnType::Date, Value::String(text)) => parse_date(text).map(Scalar::Date),
        (ColumnType::Timestamp, Value::String(text)) => parse_timestamp(text).map(Scalar::Timestamp),
        (ColumnType::TimestampNtz, Value::String(text)) => parse_timestamp(text).map(Scalar::TimestampNtz),
        (ColumnType::String, Value::String(text)) => Some(Scalar::string(text)),
        _ => None,
    }
}

/// A stored decimal, kept at its own scale where it has more digits than the column (a double's shortest text may).
fn stored_decimal(text: &str, scale: u8) -> Option<Scalar> {
    parse_decimal(text, scale).or_else(|| {
        let (unscaled, own) = decimal_digits(text)?;
        Some(Scalar::Decimal { unscaled, scale: u8::try_from(own).ok()? })
    })
}
