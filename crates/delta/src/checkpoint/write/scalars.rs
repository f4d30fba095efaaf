//! Values of the model as Arrow columns.

use super::failed;
use crate::DeltaError;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array,
    Int16Array, Int32Array, Int64Array, StringArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, TimeUnit};
use lakebed_transaction::{ColumnType, Scalar};
use std::sync::Arc;

/// The Arrow type of a column's values; `None` for types that have no single values.
pub(super) fn data_type(column_type: &ColumnType) -> Option<DataType> {
    Some(match column_type {
        ColumnType::Boolean => DataType::Boolean,
        ColumnType::Byte => DataType::Int8,
        ColumnType::Short => DataType::Int16,
        ColumnType::Integer => DataType::Int32,
        ColumnType::Long => DataType::Int64,
        ColumnType::Float => DataType::Float32,
        ColumnType::Double => DataType::Float64,
        ColumnType::Decimal { precision, scale } => DataType::Decimal128(*precision, i8::try_from(*scale).ok()?),
        ColumnType::Date => DataType::Date32,
        ColumnType::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, Some(Arc::from("UTC"))),
        ColumnType::TimestampNtz => DataType::Timestamp(TimeUnit::Microsecond, None),
        ColumnType::String => DataType::Utf8,
        ColumnType::Binary => DataType::Binary,
        ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Struct(_) | ColumnType::Other(_) => return None,
    })
}

/// Whether a column of this type has a least and a greatest value in statistics.
pub(super) const fn has_bounds(column_type: &ColumnType) -> bool {
    match column_type {
        ColumnType::Byte
        | ColumnType::Short
        | ColumnType::Integer
        | ColumnType::Long
        | ColumnType::Float
        | ColumnType::Double
        | ColumnType::Decimal { .. }
        | ColumnType::Date
        | ColumnType::Timestamp
        | ColumnType::TimestampNtz
        | ColumnType::String => true,
        ColumnType::Boolean
        | ColumnType::Binary
        | ColumnType::Array(_)
        | ColumnType::Map(..)
        | ColumnType::Struct(_)
        | ColumnType::Other(_) => false,
    }
}

/// The values as a column. A value of another type, or one that does not fit, is null.
pub(super) fn array(column_type: &ColumnType, values: &[Scalar]) -> Result<ArrayRef, DeltaError> {
    let ints = || values.iter().map(|value| if let Scalar::Int(number) = value { Some(*number) } else { None });
    let floats = || values.iter().map(|value| if let Scalar::Float(number) = value { Some(*number) } else { None });
    Ok(match column_type {
        ColumnType::Boolean => {
            let flag = |value: &Scalar| if let Scalar::Boolean(flag) = value { Some(*flag) } else { None };
            Arc::new(values.iter().map(flag).collect::<BooleanArray>())
        }
        ColumnType::Byte => Arc::new(ints().map(|x| i8::try_from(x?).ok()).collect::<Int8Array>()),
        ColumnType::Short => Arc::new(ints().map(|x| i16::try_from(x?).ok()).collect::<Int16Array>()),
        ColumnType::Integer => Arc::new(ints().map(|x| i32::try_from(x?).ok()).collect::<Int32Array>()),
        ColumnType::Long => Arc::new(ints().collect::<Int64Array>()),
        ColumnType::Float => Arc::new(floats().map(|x| x.and_then(narrow)).collect::<Float32Array>()),
        ColumnType::Double => Arc::new(floats().collect::<Float64Array>()),
        ColumnType::Decimal { precision, scale } => Arc::new(decimals(values, *precision, *scale)?),
        ColumnType::Date => {
            let day = |value: &Scalar| if let Scalar::Date(days) = value { Some(*days) } else { None };
            Arc::new(values.iter().map(day).collect::<Date32Array>())
        }
        ColumnType::Timestamp => {
            let instant = |value: &Scalar| if let Scalar::Timestamp(micros) = value { Some(*micros) } else { None };
            Arc::new(values.iter().map(instant).collect::<TimestampMicrosecondArray>().with_timezone("UTC"))
        }
        ColumnType::TimestampNtz => {
            let wall = |value: &Scalar| if let Scalar::TimestampNtz(micros) = value { Some(*micros) } else { None };
            Arc::new(values.iter().map(wall).collect::<TimestampMicrosecondArray>())
        }
        ColumnType::String => {
            let text = |value: &'_ Scalar| if let Scalar::String(text) = value { Some(Arc::clone(text)) } else { None };
            Arc::new(values.iter().map(text).collect::<StringArray>())
        }
        ColumnType::Binary => {
            let bytes =
                |value: &'_ Scalar| if let Scalar::Binary(bytes) = value { Some(Arc::clone(bytes)) } else { None };
            Arc::new(values.iter().map(bytes).collect::<BinaryArray>())
        }
        ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Struct(_) | ColumnType::Other(_) => {
            return Err(failed(&"a nested column has no single values"));
        }
    })
}

/// A 32-bit float, where it is one.
#[expect(clippy::cast_possible_truncation, reason = "what is not the same afterwards is left out")]
fn narrow(number: f64) -> Option<f32> {
    let narrow = number as f32;
    (f64::from(narrow) == number || number.is_nan()).then_some(narrow)
}

fn decimals(values: &[Scalar], precision: u8, scale: u8) -> Result<Decimal128Array, DeltaError> {
    let limit = 10_i128.checked_pow(u32::from(precision));
    let digits = |value: &Scalar| {
        let Scalar::Decimal { unscaled, scale: own } = value else { return None };
        let fits = *own == scale && limit.is_none_or(|limit| unscaled.unsigned_abs() < limit.unsigned_abs());
        fits.then_some(*unscaled)
    };
    let array: Decimal128Array = values.iter().map(digits).collect();
    let scale = i8::try_from(scale).map_err(|error| failed(&error))?;
    array.with_precision_and_scale(precision, scale).map_err(|error| failed(&error))
}
