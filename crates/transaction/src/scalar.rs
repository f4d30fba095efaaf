//! Values of cells, literals and bounds.

use crate::calendar::{write_date, write_time};
use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

/// One value, in the types that both formats and the predicate engine share.
///
/// `PartialEq` is structural (it exists for tests and maps); SQL comparison, where NULL is unknown and numbers of
/// different types compare by value, is [`Scalar::compare`].
#[derive(Clone, Debug, PartialEq)]
pub enum Scalar {
    /// SQL NULL, of any type.
    Null,
    /// TRUE or FALSE.
    Boolean(bool),
    /// Any signed integer type, widened to 64 bits.
    Int(i64),
    /// `float` or `double`, widened to 64 bits.
    Float(f64),
    /// An exact decimal: `unscaled × 10^-scale`.
    Decimal {
        /// The digits as an integer.
        unscaled: i128,
        /// How many of the digits stand after the decimal point.
        scale: u8,
    },
    /// Days since 1970-01-01 (proleptic Gregorian calendar).
    Date(i32),
    /// An instant: microseconds since 1970-01-01T00:00:00Z.
    Timestamp(i64),
    /// A wall-clock time without a zone: microseconds since 1970-01-01T00:00:00.
    TimestampNtz(i64),
    /// Unicode text, compared by its UTF-8 bytes.
    String(Arc<str>),
    /// Raw bytes.
    Binary(Arc<[u8]>),
}

impl Scalar {
    /// A string value.
    #[must_use]
    pub fn string(text: &str) -> Self {
        Self::String(Arc::from(text))
    }

    /// Whether this is NULL.
    #[must_use]
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// SQL comparison. `None` when a side is NULL or the types do not compare; numbers compare by value across integer,
    /// decimal and float; NaN is greater than every other number and equal to itself, as in Spark and in Parquet order.
    ///
    /// ```
    /// use lakebed_transaction::Scalar;
    /// use std::cmp::Ordering;
    ///
    /// let tenth = Scalar::Decimal { unscaled: 10, scale: 1 };
    /// assert_eq!(Scalar::Int(1).compare(&tenth), Some(Ordering::Equal));
    /// assert_eq!(Scalar::Null.compare(&Scalar::Int(1)), None);
    /// ```
    #[must_use]
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Boolean(a), Self::Boolean(b)) => Some(a.cmp(b)),
            (Self::Date(a), Self::Date(b)) => Some(a.cmp(b)),
            (Self::Timestamp(a), Self::Timestamp(b)) | (Self::TimestampNtz(a), Self::TimestampNtz(b)) => Some(a.cmp(b)),
            (Self::String(a), Self::String(b)) => Some(a.as_bytes().cmp(b.as_bytes())),
            (Self::Binary(a), Self::Binary(b)) => Some(a.cmp(b)),
            (Self::Int(a), Self::Int(b)) => Some(a.cmp(b)),
            (Self::Float(a), Self::Float(b)) => Some(compare_floats(*a, *b)),
            (a, b) if a.is_number() && b.is_number() => compare_numbers(a, b),
            (_, _) => None,
        }
    }

    const fn is_number(&self) -> bool {
        matches!(self, Self::Int(_) | Self::Float(_) | Self::Decimal { .. })
    }

    fn as_decimal(&self) -> Option<(i128, u8)> {
        match self {
            Self::Int(value) => Some((i128::from(*value), 0)),
            Self::Decimal { unscaled, scale } => Some((*unscaled, *scale)),
            Self::Null
            | Self::Boolean(_)
            | Self::Float(_)
            | Self::Date(_)
            | Self::Timestamp(_)
            | Self::TimestampNtz(_)
            | Self::String(_)
            | Self::Binary(_) => None,
        }
    }
}

fn compare_floats(a: f64, b: f64) -> Ordering {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => Ordering::Equal,
        (true, false) => Ordering::Greater,
        (false, true) => Ordering::Less,
        (false, false) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
    }
}

fn compare_numbers(a: &Scalar, b: &Scalar) -> Option<Ordering> {
    match (a.as_decimal(), b.as_decimal()) {
        (Some(x), Some(y)) => compare_decimals(x, y),
        (Some(x), None) => float_of(b).map(|y| compare_decimal_with_float(x, y)),
        (None, Some(y)) => float_of(a).map(|x| compare_decimal_with_float(y, x).reverse()),
        (None, None) => None,
    }
}

const fn float_of(value: &Scalar) -> Option<f64> {
    if let Scalar::Float(float) = value { Some(*float) } else { None }
}

/// Compares by value; `None` only where bringing both to one scale overflows 128 bits and the signs do not decide.
fn compare_decimals((a, a_scale): (i128, u8), (b, b_scale): (i128, u8)) -> Option<Ordering> {
    if a.signum() != b.signum() {
        return Some(a.signum().cmp(&b.signum()));
    }
    let scale = a_scale.max(b_scale);
    let lift = |value: i128, from: u8| 10_i128.checked_pow(u32::from(scale - from)).and_then(|f| value.checked_mul(f));
    match (lift(a, a_scale), lift(b, b_scale)) {
        (Some(x), Some(y)) => Some(x.cmp(&y)),
        // The side that does not fit is the larger in magnitude; both share a sign here.
        (None, Some(_)) => Some(if a > 0 { Ordering::Greater } else { Ordering::Less }),
        (Some(_), None) => Some(if b > 0 { Ordering::Less } else { Ordering::Greater }),
        (None, None) => None,
    }
}

/// Exact: the float is taken at its binary value, so an integer beyond 2^53 never equals its rounded neighbour.
fn compare_decimal_with_float((unscaled, scale): (i128, u8), float: f64) -> Ordering {
    if float.is_nan() || float == f64::INFINITY {
        return Ordering::Less;
    }
    if float == f64::NEG_INFINITY {
        return Ordering::Greater;
    }
    #[expect(clippy::cast_precision_loss, reason = "a first estimate; equality is decided exactly below")]
    let estimate = unscaled as f64 / 10_f64.powi(i32::from(scale));
    match estimate.partial_cmp(&float) {
        Some(Ordering::Equal) | None => exact_against_float(unscaled, scale, float),
        Some(order) => order,
    }
}

fn exact_against_float(unscaled: i128, scale: u8, float: f64) -> Ordering {
    if scale > 0 || float.fract() != 0.0 || float.abs() >= 1e38 {
        return Ordering::Equal;
    }
    #[expect(clippy::cast_possible_truncation, reason = "whole and below 10^38, so it fits")]
    let whole = float as i128;
    unscaled.cmp(&whole)
}

impl fmt::Display for Scalar {
    /// A form for messages: text in quotes, dates and times as in ISO 8601 (an instant in UTC, with a `Z`), everything else
    /// plain. SQL text is made by `lakebed-sql`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Boolean(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
            Self::Decimal { unscaled, scale } => write_decimal(f, *unscaled, *scale),
            Self::Date(days) => write_date(f, i64::from(*days)),
            Self::Timestamp(micros) => write_time(f, *micros).and_then(|()| f.write_str("Z")),
            Self::TimestampNtz(micros) => write_time(f, *micros),
            Self::String(text) => write!(f, "'{}'", text.replace('\'', "''")),
            Self::Binary(bytes) => {
                f.write_str("X'")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02X}"))?;
                f.write_str("'")
            }
        }
    }
}

fn write_decimal(f: &mut fmt::Formatter<'_>, unscaled: i128, scale: u8) -> fmt::Result {
    let digits = unscaled.unsigned_abs().to_string();
    let scale = usize::from(scale);
    let sign = if unscaled < 0 { "-" } else { "" };
    if scale == 0 {
        return write!(f, "{sign}{digits}");
    }
    let padded = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = padded.split_at(padded.len() - scale);
    write!(f, "{sign}{whole}.{fraction}")
}
