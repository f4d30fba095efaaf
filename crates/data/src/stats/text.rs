//! JSON text of bounds.

use crate::calendar::{date_text, millis_text};
use crate::number::{java_decimal, java_double, java_float};
use lakebed_transaction::Scalar;

/// A string in JSON.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A bound that is no string; `single` for a 32-bit float.
pub(super) fn bound(value: &Scalar, single: bool) -> Option<String> {
    Some(match value {
        Scalar::Int(value) => value.to_string(),
        Scalar::Float(value) => float(*value, single),
        Scalar::Decimal { unscaled, scale } => java_decimal(*unscaled, *scale),
        Scalar::Date(days) => quoted(&date_text(*days)),
        Scalar::Timestamp(micros) => format!("\"{}Z\"", millis_text(*micros)),
        Scalar::TimestampNtz(micros) => format!("\"{}\"", millis_text(*micros)),
        Scalar::Null | Scalar::Boolean(_) | Scalar::String(_) | Scalar::Binary(_) => return None,
    })
}

#[expect(clippy::cast_possible_truncation, reason = "the value came from a 32-bit float")]
fn float(value: f64, single: bool) -> String {
    let text = if single { java_float(value as f32) } else { java_double(value) };
    if value.is_finite() { text } else { format!("\"{text}\"") }
}
