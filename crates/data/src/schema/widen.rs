//! Which Arrow types hold all values of which others.

use crate::DataError;
use arrow_array::cast::AsArray;
use arrow_array::types::TimestampNanosecondType;
use arrow_array::{Array, ArrayRef};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, TimeUnit};

/// Whether every value of `from` is one of `to` (nanoseconds to microseconds: where the values say so, see
/// [`cast_strict`]). Nested types are walked elsewhere.
#[expect(clippy::wildcard_enum_match_arm, reason = "Arrow's enum is not ours; what is not listed is refused")]
pub(crate) fn is_lossless(from: &DataType, to: &DataType) -> bool {
    if from == to || *from == DataType::Null {
        return true;
    }
    if let DataType::Dictionary(_, values) = from {
        return is_lossless(values, to);
    }
    match to {
        DataType::Int16 | DataType::Int32 | DataType::Int64 => bits(from).zip(bits(to)).is_some_and(|(a, b)| a < b),
        DataType::Float32 => *from == DataType::Float16 || bits(from).is_some_and(|bits| bits <= 16),
        DataType::Float64 => {
            matches!(from, DataType::Float16 | DataType::Float32) || bits(from).is_some_and(|bits| bits <= 33)
        }
        DataType::Decimal128(precision, scale) => decimal_holds(from, i16::from(*precision), i16::from(*scale)),
        DataType::Date32 => *from == DataType::Date64,
        DataType::Timestamp(_, None) => {
            matches!(from, DataType::Timestamp(_, None) | DataType::Date32 | DataType::Date64)
        }
        DataType::Timestamp(_, Some(_)) => matches!(from, DataType::Timestamp(_, Some(_))),
        DataType::Utf8 => matches!(from, DataType::LargeUtf8 | DataType::Utf8View),
        DataType::Binary => {
            matches!(from, DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_))
        }
        _ => false,
    }
}

/// Bits that a signed integer needs for the type's values.
#[expect(clippy::wildcard_enum_match_arm, reason = "Arrow's enum is not ours; other types are no integers")]
const fn bits(data_type: &DataType) -> Option<u8> {
    Some(match data_type {
        DataType::Int8 => 8,
        DataType::UInt8 => 9,
        DataType::Int16 => 16,
        DataType::UInt16 => 17,
        DataType::Int32 => 32,
        DataType::UInt32 => 33,
        DataType::Int64 => 64,
        _ => return None,
    })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "Arrow's enum is not ours; other types are no numbers")]
fn decimal_holds(from: &DataType, precision: i16, scale: i16) -> bool {
    let (from_precision, from_scale) = match from {
        DataType::Decimal32(p, s)
        | DataType::Decimal64(p, s)
        | DataType::Decimal128(p, s)
        | DataType::Decimal256(p, s) => (i16::from(*p), i16::from(*s)),
        DataType::Int8 | DataType::UInt8 => (3, 0),
        DataType::Int16 | DataType::UInt16 => (5, 0),
        DataType::Int32 | DataType::UInt32 => (10, 0),
        DataType::Int64 => (19, 0),
        DataType::UInt64 => (20, 0),
        _ => return false,
    };
    from_scale <= scale && from_precision - from_scale <= precision - scale
}

/// Casts what [`is_lossless`] allows; an out-of-range value is an error, never NULL.
pub(crate) fn cast_strict(array: &ArrayRef, to: &DataType, column: &str) -> Result<ArrayRef, DataError> {
    if array.data_type() == to {
        return Ok(array.clone());
    }
    if matches!(array.data_type(), DataType::Timestamp(TimeUnit::Nanosecond, _)) {
        let nanos = array.as_primitive::<TimestampNanosecondType>();
        if nanos.iter().flatten().any(|value| value % 1_000 != 0) {
            let (from, to) = (array.data_type().to_string(), to.to_string());
            return Err(DataError::TypeMismatch { column: column.to_owned(), from, to });
        }
    }
    strict(array, to).map_err(DataError::arrow(format!("column {column}")))
}

pub(crate) fn strict(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    cast_with_options(array, to, &CastOptions { safe: false, ..CastOptions::default() })
}
