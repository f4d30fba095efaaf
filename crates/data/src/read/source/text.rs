//! Texts as values, with nothing lost on the way. SQL's cast rounds decimals and floats that are too large, and cuts what
//! lies beyond microseconds; a file whose values do not fit is refused instead.

use crate::calendar::{parse_date, parse_wall_clock};
use crate::eval::from_text;
use crate::number::{fits, parse_decimal, rescale};
use crate::schema::arrow_type;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use lakebed_transaction::{ColumnType, Scalar};
use std::sync::Arc;

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// Characters of a value that a message shows.
const SHOWN: usize = 80;

/// The value that a text means; of binaries it is base64.
pub(super) fn value(text: &str, to: &ColumnType) -> Result<Scalar, String> {
    exact(text, to).ok_or_else(|| refusal(text, to))
}

/// Why a text is no value.
pub(super) fn refusal(text: &str, to: &ColumnType) -> String {
    let shown: String = text.chars().take(SHOWN).collect();
    format!("'{shown}' is not a value of type {}, or not without loss", named(to))
}

/// A type as users write it where they define a table; nested ones as Arrow has them.
fn named(column_type: &ColumnType) -> String {
    let name = match column_type {
        ColumnType::Boolean => "boolean",
        ColumnType::Byte => "byte",
        ColumnType::Short => "short",
        ColumnType::Integer => "int",
        ColumnType::Long => "long",
        ColumnType::Float => "float",
        ColumnType::Double => "double",
        ColumnType::String => "string",
        ColumnType::Binary => "binary",
        ColumnType::Date => "date",
        ColumnType::Timestamp => "timestamp",
        ColumnType::TimestampNtz => "timestamp_ntz",
        ColumnType::Decimal { precision, scale } => return format!("decimal({precision},{scale})"),
        ColumnType::Array(_) | ColumnType::Map(_, _) | ColumnType::Struct(_) | ColumnType::Other(_) => {
            return arrow_type(column_type)
                .map_or_else(|_| format!("{column_type:?}"), |data_type| data_type.to_string());
        }
    };
    name.to_owned()
}

fn exact(text: &str, to: &ColumnType) -> Option<Scalar> {
    let trimmed = text.trim_matches(|c: char| c <= ' ');
    match to {
        ColumnType::Float | ColumnType::Double => from_text(text, to).filter(|found| is_as_written(found, trimmed)),
        ColumnType::Decimal { precision, scale } => decimal(trimmed, *precision, *scale),
        ColumnType::Date => parse_date(trimmed).filter(|days| is_midnight(trimmed, *days)).map(Scalar::Date),
        ColumnType::Timestamp => from_text(text, to).filter(|_| ends_in_micros(trimmed)),
        ColumnType::TimestampNtz => {
            let wall = parse_wall_clock(trimmed)?;
            (wall.offset_seconds.is_none() && ends_in_micros(trimmed)).then_some(Scalar::TimestampNtz(wall.micros))
        }
        ColumnType::Binary => STANDARD.decode(trimmed).ok().map(|bytes| Scalar::Binary(Arc::from(bytes))),
        ColumnType::Boolean
        | ColumnType::Byte
        | ColumnType::Short
        | ColumnType::Integer
        | ColumnType::Long
        | ColumnType::String
        | ColumnType::Array(_)
        | ColumnType::Map(_, _)
        | ColumnType::Struct(_)
        | ColumnType::Other(_) => from_text(text, to),
    }
}

/// Digits that read as an infinity are too large for the type.
fn is_as_written(found: &Scalar, text: &str) -> bool {
    !matches!(found, Scalar::Float(value) if value.is_infinite() && text.contains(|c: char| c.is_ascii_digit()))
}

/// Zeros at the end may go, other digits not.
fn decimal(text: &str, precision: u8, scale: u8) -> Option<Scalar> {
    let (mut unscaled, mut from) = parse_decimal(text)?;
    while from > i32::from(scale) && unscaled != 0 && unscaled % 10 == 0 {
        unscaled /= 10;
        from -= 1;
    }
    if unscaled != 0 && from > i32::from(scale) {
        return None;
    }
    let unscaled = rescale(unscaled, from, precision, scale)?;
    fits(unscaled, precision).then_some(Scalar::Decimal { unscaled, scale })
}

/// A date's text may have a time of day only where that says nothing more.
fn is_midnight(text: &str, days: i32) -> bool {
    parse_wall_clock(text).is_some_and(|wall| {
        let midnight = i64::from(days).checked_mul(MICROS_PER_DAY);
        midnight == Some(wall.micros) && wall.offset_seconds.unwrap_or(0) == 0 && ends_in_micros(text)
    })
}

/// Whether the fraction of a second has only zeros beyond its sixth digit.
fn ends_in_micros(text: &str) -> bool {
    let Some((_, fraction)) = text.split_once('.') else { return true };
    fraction.bytes().take_while(u8::is_ascii_digit).skip(6).all(|digit| digit == b'0')
}
