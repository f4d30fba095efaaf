//! Casts as Spark's ANSI mode does them: what does not fit is an error. Times without a zone are taken as UTC.

use super::value::{Value, arrow, types};
use crate::calendar::{date_text, parse_date, parse_wall_clock, sql_text};
use crate::number::{fits, java_double, java_float, parse_decimal, plain_decimal, rescale, ten_to};
use crate::schema::{arrow_type, from_scalars, is_lossless, scalar_at, strict};
use crate::{DataError, EvalFailure};
use arrow_array::Array;
use arrow_schema::DataType;
use lakebed_transaction::{ColumnType, Scalar};
use std::sync::Arc;

const MICROS_PER_SECOND: i64 = 1_000_000;
const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// `CAST(value AS to)`.
pub(super) fn cast(value: &Value, to: &ColumnType) -> Result<Value, EvalFailure> {
    let target = arrow_type(to).map_err(|error| EvalFailure::Types { types: error.to_string() })?;
    if *value.data_type() == target {
        return Ok(value.clone());
    }
    // A date as an instant needs its zone, which Arrow would take from elsewhere.
    if is_lossless(value.data_type(), &target) {
        return Ok(value.with(strict(&value.array, &target).map_err(arrow)?));
    }
    if target.is_nested() {
        return Err(types(&[value]));
    }
    let single = *value.data_type() == DataType::Float32;
    let cell = |row: usize| {
        let scalar = scalar_at(&value.array, row).ok_or_else(|| types(&[value]))?;
        cell(&scalar, to, &target, single)
    };
    let cells = (0..value.array.len()).map(cell).collect::<Result<Vec<_>, _>>()?;
    let array = from_scalars(&cells, to).map_err(|error: DataError| EvalFailure::Arrow(error.to_string()))?;
    Ok(value.with(array))
}

/// One value; `single` where it came from a 32-bit float.
pub(super) fn cell(value: &Scalar, to: &ColumnType, target: &DataType, single: bool) -> Result<Scalar, EvalFailure> {
    let fails = || EvalFailure::Cast { text: value.to_string().chars().take(80).collect(), to: target.to_string() };
    if value.is_null() {
        return Ok(Scalar::Null);
    }
    if let Scalar::String(text) = value {
        return from_text(text, to)
            .ok_or_else(|| EvalFailure::Cast { text: text.chars().take(80).collect(), to: target.to_string() });
    }
    let cast = match to {
        ColumnType::Boolean => number(value).map(|number| Scalar::Boolean(number.is_not_zero())),
        ColumnType::Byte => integer(value, i64::from(i8::MIN), i64::from(i8::MAX)),
        ColumnType::Short => integer(value, i64::from(i16::MIN), i64::from(i16::MAX)),
        ColumnType::Integer => integer(value, i64::from(i32::MIN), i64::from(i32::MAX)),
        ColumnType::Long => integer(value, i64::MIN, i64::MAX),
        #[expect(clippy::cast_possible_truncation, reason = "a float is its double rounded")]
        ColumnType::Float => number(value).map(|number| Scalar::Float(f64::from(number.to_double() as f32))),
        ColumnType::Double => number(value).map(|number| Scalar::Float(number.to_double())),
        ColumnType::Decimal { precision, scale } => decimal(value, *precision, *scale, single),
        ColumnType::Date => time(value)
            .map(|micros| micros.div_euclid(MICROS_PER_DAY))
            .and_then(|days| i32::try_from(days).ok())
            .map(Scalar::Date),
        ColumnType::Timestamp => instant(value).map(Scalar::Timestamp),
        ColumnType::TimestampNtz => time(value).map(Scalar::TimestampNtz),
        ColumnType::String => text(value, single).map(|text| Scalar::String(Arc::from(text))),
        ColumnType::Binary => {
            if matches!(value, Scalar::Binary(_)) {
                Some(value.clone())
            } else {
                None
            }
        }
        ColumnType::Array(_) | ColumnType::Map(_, _) | ColumnType::Struct(_) | ColumnType::Other(_) => None,
    };
    cast.ok_or_else(fails)
}

/// The value of a text; blanks and control characters around it do not count, as in Spark.
pub(crate) fn from_text(text: &str, to: &ColumnType) -> Option<Scalar> {
    let trimmed = text.trim_matches(|c: char| c <= ' ');
    let integer = |low: i64, high: i64| {
        let value = trimmed.parse::<i64>().ok()?;
        (low..=high).contains(&value).then_some(Scalar::Int(value))
    };
    match to {
        ColumnType::Boolean => match trimmed.to_ascii_lowercase().as_str() {
            "t" | "true" | "y" | "yes" | "1" => Some(Scalar::Boolean(true)),
            "f" | "false" | "n" | "no" | "0" => Some(Scalar::Boolean(false)),
            _ => None,
        },
        ColumnType::Byte => integer(i64::from(i8::MIN), i64::from(i8::MAX)),
        ColumnType::Short => integer(i64::from(i16::MIN), i64::from(i16::MAX)),
        ColumnType::Integer => integer(i64::from(i32::MIN), i64::from(i32::MAX)),
        ColumnType::Long => integer(i64::MIN, i64::MAX),
        ColumnType::Float => float_text(trimmed)?.parse::<f32>().ok().map(|value| Scalar::Float(f64::from(value))),
        ColumnType::Double => float_text(trimmed)?.parse().ok().map(Scalar::Float),
        ColumnType::Decimal { precision, scale } => {
            let (unscaled, from) = parse_decimal(trimmed)?;
            Some(Scalar::Decimal { unscaled: rescale(unscaled, from, *precision, *scale)?, scale: *scale })
        }
        ColumnType::Date => parse_date(trimmed).map(Scalar::Date),
        ColumnType::Timestamp => parse_wall_clock(trimmed)?.instant().map(Scalar::Timestamp),
        ColumnType::TimestampNtz => parse_wall_clock(trimmed).map(|wall| Scalar::TimestampNtz(wall.micros)),
        ColumnType::String => Some(Scalar::string(text)),
        ColumnType::Binary => Some(Scalar::Binary(Arc::from(text.as_bytes()))),
        ColumnType::Array(_) | ColumnType::Map(_, _) | ColumnType::Struct(_) | ColumnType::Other(_) => None,
    }
}

/// Java's number texts may end in a letter that names the width.
fn float_text(text: &str) -> Option<&str> {
    let digits = text.strip_suffix(['d', 'D', 'f', 'F']);
    Some(digits.filter(|rest| rest.ends_with(|c: char| c.is_ascii_digit() || c == '.')).unwrap_or(text))
}

/// A number, or a boolean as 0 or 1.
pub(super) enum Number {
    Int(i64),
    Float(f64),
    Decimal(i128, u8),
}

pub(super) fn number(value: &Scalar) -> Option<Number> {
    match value {
        Scalar::Boolean(value) => Some(Number::Int(i64::from(*value))),
        Scalar::Int(value) => Some(Number::Int(*value)),
        Scalar::Float(value) => Some(Number::Float(*value)),
        Scalar::Decimal { unscaled, scale } => Some(Number::Decimal(*unscaled, *scale)),
        Scalar::Null
        | Scalar::Date(_)
        | Scalar::Timestamp(_)
        | Scalar::TimestampNtz(_)
        | Scalar::String(_)
        | Scalar::Binary(_) => None,
    }
}

impl Number {
    fn is_not_zero(&self) -> bool {
        match self {
            Self::Int(value) => *value != 0,
            Self::Float(value) => *value != 0.0,
            Self::Decimal(unscaled, _) => *unscaled != 0,
        }
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

fn integer(value: &Scalar, low: i64, high: i64) -> Option<Scalar> {
    let whole = if let Scalar::Timestamp(micros) = value {
        micros.div_euclid(MICROS_PER_SECOND)
    } else {
        match number(value)? {
            Number::Int(value) => value,
            Number::Float(value) => whole_of_float(value)?,
            Number::Decimal(unscaled, scale) => i64::try_from(unscaled / ten_to(u32::from(scale))?).ok()?,
        }
    };
    (low..=high).contains(&whole).then_some(Scalar::Int(whole))
}

fn whole_of_float(value: f64) -> Option<i64> {
    // 2^63 is the first double beyond the range.
    let inside = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value);
    #[expect(clippy::cast_possible_truncation, reason = "checked against the range above")]
    inside.then_some(value as i64)
}

fn decimal(value: &Scalar, precision: u8, scale: u8, single: bool) -> Option<Scalar> {
    let (unscaled, from) = match number(value)? {
        Number::Int(value) => (i128::from(value), 0),
        Number::Decimal(unscaled, from) => (unscaled, i32::from(from)),
        // A float's decimal value is the shortest text that means it.
        #[expect(clippy::cast_possible_truncation, reason = "the value came from a 32-bit float")]
        Number::Float(value) if single => parse_decimal(&format!("{:e}", value as f32))?,
        Number::Float(value) => parse_decimal(&format!("{value:e}"))?,
    };
    let unscaled = rescale(unscaled, from, precision, scale)?;
    fits(unscaled, precision).then_some(Scalar::Decimal { unscaled, scale })
}

/// Microseconds of a date or time.
fn time(value: &Scalar) -> Option<i64> {
    match value {
        Scalar::Date(days) => i64::from(*days).checked_mul(MICROS_PER_DAY),
        Scalar::Timestamp(micros) | Scalar::TimestampNtz(micros) => Some(*micros),
        Scalar::Null
        | Scalar::Boolean(_)
        | Scalar::Int(_)
        | Scalar::Float(_)
        | Scalar::Decimal { .. }
        | Scalar::String(_)
        | Scalar::Binary(_) => None,
    }
}

/// A number as an instant counts seconds.
fn instant(value: &Scalar) -> Option<i64> {
    if let Scalar::Int(seconds) = value { seconds.checked_mul(MICROS_PER_SECOND) } else { time(value) }
}

#[expect(clippy::cast_possible_truncation, reason = "the value came from a 32-bit float")]
fn text(value: &Scalar, single: bool) -> Option<String> {
    match value {
        Scalar::Boolean(value) => Some(value.to_string()),
        Scalar::Int(value) => Some(value.to_string()),
        Scalar::Float(value) => Some(if single { java_float(*value as f32) } else { java_double(*value) }),
        Scalar::Decimal { unscaled, scale } => Some(plain_decimal(*unscaled, *scale)),
        Scalar::Date(days) => Some(date_text(*days)),
        Scalar::Timestamp(micros) | Scalar::TimestampNtz(micros) => Some(sql_text(*micros)),
        Scalar::String(text) => Some(text.to_string()),
        Scalar::Binary(bytes) => String::from_utf8(bytes.to_vec()).ok(),
        Scalar::Null => None,
    }
}
