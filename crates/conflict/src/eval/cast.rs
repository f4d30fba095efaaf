//! Casts between simple types, as Spark's ANSI mode does them. Times without a zone are taken as UTC.

use super::{Failure, Value, calendar};
use lakebed_transaction::{ColumnType, Scalar, civil_date};
use std::sync::Arc;

/// `CAST(value AS to)`. A text that is no value of the type fails; types that scalars do not have, and casts whose
/// text depends on a float's printing, cannot be bounded.
#[must_use]
pub fn cast(value: &Scalar, to: &ColumnType) -> Value {
    match (value, to) {
        (Scalar::Null, _) => Value::NULL,
        (_, ColumnType::Array(_) | ColumnType::Map(_, _) | ColumnType::Struct(_) | ColumnType::Other(_)) => {
            Value::Unbounded
        }
        (Scalar::String(text), _) => from_text(text, to),
        (_, ColumnType::Boolean) => to_boolean(value),
        (_, ColumnType::Byte) => to_integer(value, i64::from(i8::MIN)..=i64::from(i8::MAX)),
        (_, ColumnType::Short) => to_integer(value, i64::from(i16::MIN)..=i64::from(i16::MAX)),
        (_, ColumnType::Integer) => to_integer(value, i64::from(i32::MIN)..=i64::from(i32::MAX)),
        (_, ColumnType::Long) => to_integer(value, i64::MIN..=i64::MAX),
        (_, ColumnType::Float) => to_float(value, true),
        (_, ColumnType::Double) => to_float(value, false),
        (_, ColumnType::Decimal { precision, scale }) => to_decimal(value, *precision, *scale),
        (_, ColumnType::Date) => to_date(value),
        (_, ColumnType::Timestamp) => with_micros(value, Scalar::Timestamp),
        (_, ColumnType::TimestampNtz) => with_micros(value, Scalar::TimestampNtz),
        (_, ColumnType::String) => to_text(value),
        (Scalar::Binary(_), ColumnType::Binary) => Value::Known(value.clone()),
        (_, ColumnType::Binary) => Value::Unbounded,
    }
}

/// Both sides of a comparison in one type: a text is read as what it meets, a date as a timestamp at its start.
pub(super) fn to_common_type(a: &Scalar, b: &Scalar) -> Result<(Scalar, Scalar), Failure> {
    Ok((meeting(a, b)?, meeting(b, a)?))
}

/// The value as it is compared with one of the other's type.
pub(crate) fn meeting(value: &Scalar, other: &Scalar) -> Result<Scalar, Failure> {
    let to = match (value, other) {
        (Scalar::String(_), Scalar::Int(_)) => ColumnType::Long,
        (Scalar::String(_), Scalar::Float(_) | Scalar::Decimal { .. }) => ColumnType::Double,
        (Scalar::String(_), Scalar::Boolean(_)) => ColumnType::Boolean,
        (Scalar::String(_), Scalar::Date(_)) => ColumnType::Date,
        (Scalar::String(_) | Scalar::Date(_), Scalar::TimestampNtz(_)) => ColumnType::TimestampNtz,
        (Scalar::String(_) | Scalar::Date(_) | Scalar::TimestampNtz(_), Scalar::Timestamp(_)) => ColumnType::Timestamp,
        _ => return Ok(value.clone()),
    };
    match cast(value, &to) {
        Value::Known(scalar) => Ok(scalar),
        Value::Unbounded => Ok(value.clone()),
        Value::Failed(failure) => Err(failure),
    }
}

fn from_text(text: &Arc<str>, to: &ColumnType) -> Value {
    // Blanks and control characters around a value do not count, as in Spark.
    let trimmed = text.trim_matches(|c| c <= ' ');
    let integer = |low: i64, high: i64, name| match trimmed.parse::<i64>() {
        Ok(value) if (low..=high).contains(&value) => Value::Known(Scalar::Int(value)),
        _ => fails(text, name),
    };
    let or_fails = |value: Option<Scalar>, name| value.map_or_else(|| fails(text, name), Value::Known);
    match to {
        ColumnType::Boolean => text_to_boolean(text),
        ColumnType::Byte => integer(i64::from(i8::MIN), i64::from(i8::MAX), "TINYINT"),
        ColumnType::Short => integer(i64::from(i16::MIN), i64::from(i16::MAX), "SMALLINT"),
        ColumnType::Integer => integer(i64::from(i32::MIN), i64::from(i32::MAX), "INT"),
        ColumnType::Long => integer(i64::MIN, i64::MAX, "BIGINT"),
        #[expect(clippy::cast_possible_truncation, reason = "a float is its double rounded")]
        ColumnType::Float => or_fails(float(trimmed).map(|value| Scalar::Float(f64::from(value as f32))), "FLOAT"),
        ColumnType::Double => or_fails(float(trimmed).map(Scalar::Float), "DOUBLE"),
        ColumnType::Decimal { precision, scale } => match decimal(trimmed) {
            None => fails(text, "DECIMAL"),
            Some((unscaled, from)) => fitted(unscaled, from, *precision, *scale),
        },
        ColumnType::Date => {
            let days = calendar::parse_date(trimmed).and_then(|days| i32::try_from(days).ok());
            or_fails(days.map(Scalar::Date), "DATE")
        }
        ColumnType::Timestamp => match calendar::parse_timestamp(trimmed) {
            None => fails(text, "TIMESTAMP"),
            Some(parsed) => parsed.offset.map_or(Value::Unbounded, |offset| {
                let instant = parsed.wall.checked_sub(offset * 1_000_000);
                instant.map_or_else(|| fails(text, "TIMESTAMP"), |micros| Value::Known(Scalar::Timestamp(micros)))
            }),
        },
        ColumnType::TimestampNtz => or_fails(
            calendar::parse_timestamp(trimmed).map(|parsed| Scalar::TimestampNtz(parsed.wall)),
            "TIMESTAMP_NTZ",
        ),
        ColumnType::String => Value::Known(Scalar::String(Arc::clone(text))),
        ColumnType::Binary => Value::Known(Scalar::Binary(Arc::from(text.as_bytes()))),
        ColumnType::Array(_) | ColumnType::Map(_, _) | ColumnType::Struct(_) | ColumnType::Other(_) => Value::Unbounded,
    }
}

fn fails(text: &str, to: &'static str) -> Value {
    // A message shows where to look; a text of any length does not help with that.
    Value::Failed(Failure::Cast { text: text.chars().take(80).collect(), to })
}

/// The boolean of a text.
pub(super) fn text_to_boolean(text: &str) -> Value {
    match text.trim_matches(|c| c <= ' ').to_ascii_lowercase().as_str() {
        "t" | "true" | "y" | "yes" | "1" => Value::boolean(true),
        "f" | "false" | "n" | "no" | "0" => Value::boolean(false),
        _ => fails(text, "BOOLEAN"),
    }
}

fn float(text: &str) -> Option<f64> {
    // Java's number texts may end in a letter that names the width.
    let digits =
        text.strip_suffix(['d', 'D', 'f', 'F']).filter(|rest| rest.ends_with(|c: char| c.is_ascii_digit() || c == '.'));
    digits.unwrap_or(text).parse().ok()
}

/// A decimal text, `[+-]digits[.digits][e[+-]digits]`, as digits and scale.
fn decimal(text: &str) -> Option<(i128, i32)> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (text.get(..at)?, text.get(at + 1..)?.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    if fraction.starts_with(['+', '-']) {
        return None;
    }
    Some((digits.parse().ok()?, i32::try_from(fraction.len()).ok()?.checked_sub(exponent)?))
}

/// Brings digits to the type's scale, rounding half away from zero, and checks its precision.
fn fitted(unscaled: i128, from: i32, precision: u8, scale: u8) -> Value {
    let power = i32::from(scale).saturating_sub(from);
    let ten_to = |exponent: u32| 10_i128.checked_pow(exponent);
    let moved = if unscaled == 0 {
        Some(0)
    } else if power >= 0 {
        ten_to(power.unsigned_abs()).and_then(|factor| unscaled.checked_mul(factor))
    } else {
        // A divisor beyond 128 bits leaves nothing of the digits.
        Some(ten_to(power.unsigned_abs()).map_or(0, |divisor| {
            let (whole, rest) = (unscaled / divisor, unscaled % divisor);
            if rest.unsigned_abs() >= divisor.unsigned_abs().div_ceil(2) { whole + unscaled.signum() } else { whole }
        }))
    };
    let limit = ten_to(u32::from(precision)).map_or(u128::MAX, i128::unsigned_abs);
    match moved {
        Some(unscaled) if unscaled.unsigned_abs() < limit => Value::Known(Scalar::Decimal { unscaled, scale }),
        _ => Value::Failed(Failure::Overflow),
    }
}

/// The digits at a larger scale; `None` on overflow.
pub(super) fn rescale(unscaled: i128, from: u8, to: u8) -> Option<i128> {
    let power = to.checked_sub(from)?;
    10_i128.checked_pow(u32::from(power)).and_then(|factor| unscaled.checked_mul(factor))
}

/// A number, or a boolean as 0 or 1.
pub(super) enum Number {
    /// Of any integer type.
    Int(i64),
    /// Of any float type.
    Float(f64),
    /// Digits and scale.
    Decimal(i128, u8),
}

impl Number {
    /// The number that a value is; `None` for what is no number.
    pub(super) const fn of(value: &Scalar) -> Option<Self> {
        match value {
            Scalar::Int(value) => Some(Self::Int(*value)),
            Scalar::Float(value) => Some(Self::Float(*value)),
            Scalar::Decimal { unscaled, scale } => Some(Self::Decimal(*unscaled, *scale)),
            Scalar::Null
            | Scalar::Boolean(_)
            | Scalar::Date(_)
            | Scalar::Timestamp(_)
            | Scalar::TimestampNtz(_)
            | Scalar::String(_)
            | Scalar::Binary(_) => None,
        }
    }

    fn or_boolean(value: &Scalar) -> Option<Self> {
        if let Scalar::Boolean(value) = value { Some(Self::Int(i64::from(*value))) } else { Self::of(value) }
    }

    /// The nearest double.
    #[expect(clippy::cast_precision_loss, reason = "a cast to a float rounds")]
    pub(super) fn to_double(&self) -> f64 {
        match self {
            Self::Int(value) => *value as f64,
            Self::Float(value) => *value,
            Self::Decimal(unscaled, scale) => *unscaled as f64 / 10_f64.powi(i32::from(*scale)),
        }
    }
}

fn to_boolean(value: &Scalar) -> Value {
    match Number::or_boolean(value) {
        Some(Number::Int(value)) => Value::boolean(value != 0),
        Some(Number::Float(value)) => Value::boolean(value != 0.0),
        Some(Number::Decimal(unscaled, _)) => Value::boolean(unscaled != 0),
        None => Value::Unbounded,
    }
}

fn to_integer(value: &Scalar, range: std::ops::RangeInclusive<i64>) -> Value {
    let whole = match (value, Number::or_boolean(value)) {
        (Scalar::Timestamp(micros), _) => Some(micros.div_euclid(1_000_000)),
        (_, Some(Number::Int(value))) => Some(value),
        (_, Some(Number::Float(value))) => whole_of_float(value),
        (_, Some(Number::Decimal(unscaled, scale))) => {
            let divisor = 10_i128.checked_pow(u32::from(scale));
            divisor.and_then(|divisor| i64::try_from(unscaled / divisor).ok())
        }
        (_, None) => return Value::Unbounded,
    };
    match whole {
        Some(whole) if range.contains(&whole) => Value::Known(Scalar::Int(whole)),
        _ => Value::Failed(Failure::Overflow),
    }
}

fn whole_of_float(value: f64) -> Option<i64> {
    // 2^63 is the first double beyond the range.
    let fits = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value);
    #[expect(clippy::cast_possible_truncation, reason = "checked against the range above")]
    fits.then_some(value as i64)
}

fn to_float(value: &Scalar, single: bool) -> Value {
    let Some(number) = Number::or_boolean(value) else { return Value::Unbounded };
    let double = number.to_double();
    #[expect(clippy::cast_possible_truncation, reason = "a float is its double rounded")]
    let rounded = if single { f64::from(double as f32) } else { double };
    Value::Known(Scalar::Float(rounded))
}

fn to_decimal(value: &Scalar, precision: u8, scale: u8) -> Value {
    match Number::or_boolean(value) {
        Some(Number::Int(value)) => fitted(i128::from(value), 0, precision, scale),
        Some(Number::Decimal(unscaled, from)) => fitted(unscaled, i32::from(from), precision, scale),
        // Which digits a float has depends on how it is printed.
        Some(Number::Float(_)) | None => Value::Unbounded,
    }
}

/// Microseconds since 1970-01-01; the inner `None` is an overflow, the outer one no time at all.
fn micros_of(value: &Scalar) -> Option<Option<i64>> {
    match value {
        Scalar::Date(days) => Some(i64::from(*days).checked_mul(calendar::DAY_MICROS)),
        Scalar::Timestamp(micros) | Scalar::TimestampNtz(micros) => Some(Some(*micros)),
        Scalar::Null
        | Scalar::Boolean(_)
        | Scalar::Int(_)
        | Scalar::Float(_)
        | Scalar::Decimal { .. }
        | Scalar::String(_)
        | Scalar::Binary(_) => None,
    }
}

fn with_micros(value: &Scalar, make: fn(i64) -> Scalar) -> Value {
    match micros_of(value) {
        None => Value::Unbounded,
        Some(None) => Value::Failed(Failure::Overflow),
        Some(Some(micros)) => Value::Known(make(micros)),
    }
}

fn to_date(value: &Scalar) -> Value {
    if matches!(value, Scalar::Date(_)) {
        return Value::Known(value.clone());
    }
    let Some(Some(micros)) = micros_of(value) else { return Value::Unbounded };
    let days = i32::try_from(micros.div_euclid(calendar::DAY_MICROS));
    days.map_or(Value::Failed(Failure::Overflow), |days| Value::Known(Scalar::Date(days)))
}

fn to_text(value: &Scalar) -> Value {
    if matches!(value, Scalar::Boolean(_) | Scalar::Int(_) | Scalar::Decimal { .. }) {
        return Value::Known(Scalar::string(&value.to_string()));
    }
    // Years outside four digits are spelled in more than one way.
    if let Scalar::Date(days) = value
        && let (year @ 0..=9999, month, day) = civil_date(i64::from(*days))
    {
        return Value::Known(Scalar::string(&format!("{year:04}-{month:02}-{day:02}")));
    }
    Value::Unbounded
}
