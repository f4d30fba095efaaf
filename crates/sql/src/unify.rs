//! One type for values that meet.

use crate::calendar::{
    day_of_midnight, instant_to_wall, midnight, parse_date, parse_timestamp, parse_timestamp_ntz, wall_to_instant,
};
use crate::error::{SqlError, literal};
use crate::number::{any_float, any_number};
use crate::types::print_type;
use jiff::tz::TimeZone;
use lakebed_transaction::{ColumnType, Expr, Scalar};

/// An expression and, where it is known, its type.
pub(crate) struct Typed {
    pub(crate) expr: Expr,
    pub(crate) column_type: Option<ColumnType>,
}

impl Typed {
    pub(crate) const fn new(expr: Expr, column_type: Option<ColumnType>) -> Self {
        Self { expr, column_type }
    }

    pub(crate) const fn boolean(expr: Expr) -> Self {
        Self { expr, column_type: Some(ColumnType::Boolean) }
    }

    pub(crate) fn literal(value: Scalar) -> Self {
        let column_type = match &value {
            Scalar::Null => None,
            Scalar::Boolean(_) => Some(ColumnType::Boolean),
            Scalar::Int(_) => Some(ColumnType::Long),
            Scalar::Float(_) => Some(ColumnType::Double),
            Scalar::Decimal { scale, .. } => Some(ColumnType::Decimal { precision: 38, scale: *scale }),
            Scalar::Date(_) => Some(ColumnType::Date),
            Scalar::Timestamp(_) => Some(ColumnType::Timestamp),
            Scalar::TimestampNtz(_) => Some(ColumnType::TimestampNtz),
            Scalar::String(_) => Some(ColumnType::String),
            Scalar::Binary(_) => Some(ColumnType::Binary),
        };
        Self { expr: Expr::Literal(value), column_type }
    }
}

/// Types that compare among themselves without a cast.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    Boolean,
    Number,
    Date,
    Timestamp,
    TimestampNtz,
    String,
    Binary,
}

/// The class of a type; `None` for unknown types and for those that do not compare.
pub(crate) const fn class_of(column_type: Option<&ColumnType>) -> Option<Class> {
    let Some(column_type) = column_type else { return None };
    match column_type {
        ColumnType::Boolean => Some(Class::Boolean),
        ColumnType::Byte
        | ColumnType::Short
        | ColumnType::Integer
        | ColumnType::Long
        | ColumnType::Float
        | ColumnType::Double
        | ColumnType::Decimal { .. } => Some(Class::Number),
        ColumnType::Date => Some(Class::Date),
        ColumnType::Timestamp => Some(Class::Timestamp),
        ColumnType::TimestampNtz => Some(Class::TimestampNtz),
        ColumnType::String => Some(Class::String),
        ColumnType::Binary => Some(Class::Binary),
        ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Struct(_) | ColumnType::Other(_) => None,
    }
}

/// Brings values that meet to one class: literals are rewritten, anything else is cast. What cannot be unified, such as a
/// boolean and a number, is left as it is.
pub(crate) fn unify<C>(parts: C, zone: &TimeZone) -> Result<C, SqlError>
where
    C: AsMut<[Typed]>,
{
    let mut parts = parts;
    let slice = parts.as_mut();
    if let Some(target) = target(slice, zone) {
        for part in slice.iter_mut() {
            let expr = std::mem::replace(&mut part.expr, Expr::Literal(Scalar::Null));
            part.expr = convert(expr, part.column_type.as_ref(), &target, zone)?;
            if class_of(part.column_type.as_ref()) != class_of(Some(&target)) && part.column_type.is_some() {
                part.column_type = Some(target.clone());
            }
        }
    }
    Ok(parts)
}

/// A value on its way into a column: a literal is rewritten to the column's type, anything else is left to the writer.
pub(crate) fn assign(value: Expr, target: &ColumnType, zone: &TimeZone) -> Result<Expr, SqlError> {
    let Expr::Literal(scalar) = value else { return Ok(value) };
    if class_of(Some(target)).is_none() || *target == ColumnType::String {
        return Ok(Expr::Literal(scalar));
    }
    Ok(Expr::Literal(convert_literal(&scalar, target, zone)?.unwrap_or(scalar)))
}

/// The type that the parts are brought to; string literals have no say, unless they are all there is.
fn target(parts: &[Typed], zone: &TimeZone) -> Option<ColumnType> {
    let is_text = |part: &&Typed| matches!(part.expr, Expr::Literal(Scalar::String(_)));
    let of = |class: Class| {
        let mut found =
            parts.iter().filter(|part| !is_text(part) && class_of(part.column_type.as_ref()) == Some(class));
        found.next().and_then(|part| part.column_type.clone())
    };
    let date = of(Class::Date);
    // Midnights say no more than days, so a date column stays bare, where its bounds can be used.
    let only_midnights = parts.iter().all(|part| {
        if let Expr::Literal(Scalar::Timestamp(micros)) = part.expr {
            instant_to_wall(micros, zone).and_then(day_of_midnight).is_some()
        } else if let Expr::Literal(Scalar::TimestampNtz(micros)) = part.expr {
            day_of_midnight(micros).is_some()
        } else {
            !matches!(class_of(part.column_type.as_ref()), Some(Class::Timestamp | Class::TimestampNtz))
        }
    });
    if let Some(date) = date
        && only_midnights
    {
        return Some(date);
    }
    let instant = |part: &Typed| {
        class_of(part.column_type.as_ref()) == Some(Class::Timestamp) && !matches!(part.expr, Expr::Literal(_))
    };
    let wall = of(Class::TimestampNtz);
    if wall.is_some() && !parts.iter().any(instant) {
        return wall;
    }
    if let Some(found) = of(Class::Timestamp).or(wall) {
        return Some(found);
    }
    number_target(parts).or_else(|| of(Class::Boolean)).or_else(|| of(Class::Binary))
}

/// Integers are met as integers, decimals exactly, floats as floats, and as doubles where there is one.
fn number_target(parts: &[Typed]) -> Option<ColumnType> {
    let numbers = parts
        .iter()
        .filter_map(|part| part.column_type.as_ref())
        .filter(|found| class_of(Some(found)) == Some(Class::Number));
    let rank = |found: &&ColumnType| match found {
        ColumnType::Double => 3,
        ColumnType::Float => 2,
        ColumnType::Decimal { .. } => 1,
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
        | ColumnType::Array(_)
        | ColumnType::Map(..)
        | ColumnType::Struct(_)
        | ColumnType::Other(_) => 0,
    };
    numbers.max_by_key(rank).map(|found| if rank(&found) == 0 { ColumnType::Long } else { found.clone() })
}

fn convert(expr: Expr, from: Option<&ColumnType>, target: &ColumnType, zone: &TimeZone) -> Result<Expr, SqlError> {
    let (Some(from_class), Some(to)) = (class_of(from), class_of(Some(target))) else { return Ok(expr) };
    if from_class == to {
        return Ok(expr);
    }
    if let Expr::Literal(scalar) = &expr
        && let Some(found) = convert_literal(scalar, target, zone)?
    {
        return Ok(Expr::Literal(found));
    }
    let casts = match from_class {
        Class::String => true,
        Class::Date | Class::Timestamp | Class::TimestampNtz => {
            matches!(to, Class::Date | Class::Timestamp | Class::TimestampNtz)
        }
        Class::Boolean | Class::Number | Class::Binary => false,
    };
    // A string of unknown digits has no fixed scale.
    let target = if matches!(target, ColumnType::Decimal { .. }) { ColumnType::Double } else { target.clone() };
    Ok(if casts { Expr::Cast(Box::new(expr), target) } else { expr })
}

/// The literal as a value of the target's class; `None` where the two classes have nothing in common.
fn convert_literal(scalar: &Scalar, target: &ColumnType, zone: &TimeZone) -> Result<Option<Scalar>, SqlError> {
    let Some(class) = class_of(Some(target)) else { return Ok(None) };
    let found = match scalar {
        Scalar::String(text) => {
            let value = parse_text(text, target, class, zone);
            return value.map(Some).ok_or_else(|| literal(text, print_type(target)));
        }
        Scalar::Date(days) => match class {
            Class::Timestamp => midnight(*days).and_then(|wall| wall_to_instant(wall, zone)).map(Scalar::Timestamp),
            Class::TimestampNtz => midnight(*days).map(Scalar::TimestampNtz),
            Class::Boolean | Class::Number | Class::Date | Class::String | Class::Binary => None,
        },
        Scalar::Timestamp(micros) => match class {
            Class::TimestampNtz => instant_to_wall(*micros, zone).map(Scalar::TimestampNtz),
            Class::Date => instant_to_wall(*micros, zone).and_then(day_of_midnight).map(Scalar::Date),
            Class::Boolean | Class::Number | Class::Timestamp | Class::String | Class::Binary => None,
        },
        Scalar::TimestampNtz(micros) => match class {
            Class::Timestamp => wall_to_instant(*micros, zone).map(Scalar::Timestamp),
            Class::Date => day_of_midnight(*micros).map(Scalar::Date),
            Class::Boolean | Class::Number | Class::TimestampNtz | Class::String | Class::Binary => None,
        },
        Scalar::Null
        | Scalar::Boolean(_)
        | Scalar::Int(_)
        | Scalar::Float(_)
        | Scalar::Decimal { .. }
        | Scalar::Binary(_) => None,
    };
    Ok(found)
}

fn parse_text(text: &str, target: &ColumnType, class: Class, zone: &TimeZone) -> Option<Scalar> {
    match class {
        Class::Boolean => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "y" | "1" => Some(Scalar::Boolean(true)),
            "false" | "f" | "no" | "n" | "0" => Some(Scalar::Boolean(false)),
            _ => None,
        },
        Class::Number if *target == ColumnType::Float => {
            any_float(text).map(|value| single(value, text)).or_else(|| any_number(text))
        }
        Class::Number if *target == ColumnType::Double => any_float(text).or_else(|| any_number(text)),
        Class::Number => any_number(text),
        Class::Date => parse_date(text).map(Scalar::Date),
        Class::Timestamp => parse_timestamp(text, zone).map(Scalar::Timestamp),
        Class::TimestampNtz => parse_timestamp_ntz(text).map(Scalar::TimestampNtz),
        Class::String => Some(Scalar::string(text)),
        Class::Binary => Some(Scalar::Binary(text.as_bytes().into())),
    }
}

/// The text as a float of 32 bits, whose double it otherwise would not equal: `0.1` does not.
fn single(value: Scalar, text: &str) -> Scalar {
    let Scalar::Float(double) = value else { return value };
    // Straight from the text, since a number that is rounded twice may end elsewhere.
    #[expect(clippy::cast_possible_truncation, reason = "a float is its double rounded")]
    let float = text.trim().parse::<f32>().unwrap_or(double as f32);
    Scalar::Float(f64::from(float))
}
