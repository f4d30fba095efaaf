//! Partition values: text in the log, values in the model.
//!
//! Source: the protocol's partition value serialization, with what the clients write in practice.

use crate::DeltaError;
use crate::time_text::{format_date, format_timestamp, parse_date, parse_timestamp};
use lakebed_transaction::{ColumnType, Scalar};
use std::sync::Arc;

/// The value of a partition text. Null and, except for strings, the empty text are NULL.
///
/// An empty text of a string column stays empty: Spark's conflict check takes it so.
///
/// # Errors
/// Text that is no value of the type.
pub fn parse(text: Option<&str>, column_type: &ColumnType) -> Result<Scalar, DeltaError> {
    let Some(text) = text else { return Ok(Scalar::Null) };
    if text.is_empty() && *column_type != ColumnType::String {
        return Ok(Scalar::Null);
    }
    value_of(text, column_type).ok_or_else(|| {
        DeltaError::damaged("a partition value", format!("the text '{text}' is no value of the type {column_type:?}"))
    })
}

fn value_of(text: &str, column_type: &ColumnType) -> Option<Scalar> {
    match column_type {
        ColumnType::Boolean if text.eq_ignore_ascii_case("true") => Some(Scalar::Boolean(true)),
        ColumnType::Boolean => text.eq_ignore_ascii_case("false").then_some(Scalar::Boolean(false)),
        ColumnType::Byte => text.trim().parse::<i8>().ok().map(|x| Scalar::Int(x.into())),
        ColumnType::Short => text.trim().parse::<i16>().ok().map(|x| Scalar::Int(x.into())),
        ColumnType::Integer => text.trim().parse::<i32>().ok().map(|x| Scalar::Int(x.into())),
        ColumnType::Long => text.trim().parse::<i64>().ok().map(Scalar::Int),
        ColumnType::Float => parse_float(text).map(|x| {
            #[expect(clippy::cast_possible_truncation, reason = "the column holds 32-bit floats")]
            let narrow = x as f32;
            Scalar::Float(narrow.into())
        }),
        ColumnType::Double => parse_float(text).map(Scalar::Float),
        ColumnType::Decimal { scale, .. } => parse_decimal(text.trim(), *scale),
        ColumnType::Date => parse_date(text).or_else(|| days_of_timestamp(text)).map(Scalar::Date),
        ColumnType::Timestamp => parse_timestamp(text).map(Scalar::Timestamp),
        ColumnType::TimestampNtz => parse_timestamp(text).map(Scalar::TimestampNtz),
        ColumnType::String => Some(Scalar::string(text)),
        ColumnType::Binary => Some(Scalar::Binary(Arc::from(text.as_bytes()))),
        ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Struct(_) | ColumnType::Other(_) => None,
    }
}

fn days_of_timestamp(text: &str) -> Option<i32> {
    i32::try_from(parse_timestamp(text)?.div_euclid(86_400_000_000)).ok()
}

fn parse_float(text: &str) -> Option<f64> {
    match text.trim() {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        number => number.parse::<f64>().ok(),
    }
}

/// Reads a decimal exactly, an exponent included, and brings it to `scale` where that loses nothing.
pub(crate) fn parse_decimal(text: &str, scale: u8) -> Option<Scalar> {
    let (unscaled, own_scale) = decimal_digits(text)?;
    let shift = i32::from(scale) - own_scale;
    let unscaled = if shift >= 0 {
        unscaled.checked_mul(10_i128.checked_pow(u32::try_from(shift).ok()?)?)?
    } else if unscaled == 0 {
        0
    } else {
        let factor = 10_i128.checked_pow(shift.unsigned_abs())?;
        (unscaled % factor == 0).then_some(unscaled / factor)?
    };
    Some(Scalar::Decimal { unscaled, scale })
}

/// The digits as an integer and how many of them stand behind the point (negative for trailing zeros).
pub(crate) fn decimal_digits(text: &str) -> Option<(i128, i32)> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok().filter(|x| x.abs() <= 10_000)?),
        None => (text, 0),
    };
    let (negative, digits) = mantissa
        .strip_prefix('-')
        .map_or((false, mantissa.strip_prefix('+').unwrap_or(mantissa)), |digits| (true, digits));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.len() + fraction.len() == 0 || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let magnitude: i128 = format!("{whole}{fraction}").parse().ok()?;
    let scale = i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?;
    Some((if negative { -magnitude } else { magnitude }, scale))
}

/// The text of a value of this type, as Spark writes it: timestamps in UTC with `Z` and six decimals.
///
/// An empty string is written as null, as Spark does, so that every client reads the same. Bytes are written as the UTF-8
/// text that they are, as Spark does too; see [`is_writable`] for those that are none.
#[must_use]
pub fn format(value: &Scalar, column_type: &ColumnType) -> Option<String> {
    match value {
        Scalar::Null => None,
        Scalar::Boolean(flag) => Some(flag.to_string()),
        Scalar::Int(number) => Some(number.to_string()),
        Scalar::Float(number) => Some(float_text(*number, *column_type == ColumnType::Float)),
        Scalar::Decimal { .. } => Some(value.to_string()),
        Scalar::Date(days) => Some(format_date(*days)),
        Scalar::Timestamp(micros) => Some(format!("{}Z", format_timestamp(*micros, 'T', 6))),
        Scalar::TimestampNtz(micros) => {
            Some(format_timestamp(*micros, ' ', if micros.rem_euclid(1_000_000) == 0 { 0 } else { 6 }))
        }
        Scalar::String(text) => (!text.is_empty()).then(|| text.to_string()),
        Scalar::Binary(bytes) => std::str::from_utf8(bytes).ok().filter(|text| !text.is_empty()).map(str::to_owned),
    }
}

/// Whether a value can stand as a partition value: bytes that are no UTF-8 text have no spelling there.
#[must_use]
pub fn is_writable(value: &Scalar) -> bool {
    if let Scalar::Binary(bytes) = value { std::str::from_utf8(bytes).is_ok() } else { true }
}

/// The shortest text that reads back as the number, in Java's spelling.
pub(crate) fn float_text(number: f64, narrow: bool) -> String {
    if number.is_nan() {
        return "NaN".into();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity".into() } else { "-Infinity".into() };
    }
    let plain = number == 0.0 || (1e-3..1e7).contains(&number.abs());
    #[expect(clippy::cast_possible_truncation, reason = "the column holds 32-bit floats")]
    let small = number as f32;
    let text = match (plain, narrow) {
        (true, true) => return format!("{small:?}"),
        (true, false) => return format!("{number:?}"),
        (false, true) => format!("{small:E}"),
        (false, false) => format!("{number:E}"),
    };
    match text.split_once('E') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0E{exponent}"),
        Some(_) | None => text,
    }
}
