//! Single values in and out of arrays.

use super::arrow_type;
use crate::DataError;
use crate::number::rescale;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType,
};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int8Array,
    Int16Array, Int32Array, Int64Array, StringArray, TimestampMicrosecondArray, new_null_array,
};
use arrow_schema::{DataType, TimeUnit};
use arrow_select::take::take;
use lakebed_transaction::{ColumnType, Scalar};
use std::sync::Arc;

/// `rows` times one value, as a column of this type: a partition value, or a literal.
///
/// # Errors
/// [`DataError::PartitionValue`] when the type does not hold the value, [`DataError::UnsupportedType`] for a type that rows
/// cannot have.
pub fn constant(scalar: &Scalar, column: &str, column_type: &ColumnType, rows: usize) -> Result<ArrayRef, DataError> {
    let data_type = arrow_type(column_type)?;
    if scalar.is_null() {
        return Ok(new_null_array(&data_type, rows));
    }
    let one = single(scalar, column_type).ok_or_else(|| DataError::PartitionValue {
        column: column.to_owned(),
        value: scalar.to_string(),
        type_name: data_type.to_string(),
    })?;
    repeat(&one, rows)
}

/// An array of one row, `rows` times.
pub(crate) fn repeat(one: &ArrayRef, rows: usize) -> Result<ArrayRef, DataError> {
    if rows == 1 {
        return Ok(Arc::clone(one));
    }
    let indices = Int32Array::from_value(0, rows);
    take(one, &indices, None).map_err(DataError::arrow("a constant"))
}

fn single(scalar: &Scalar, column_type: &ColumnType) -> Option<ArrayRef> {
    #[expect(clippy::cast_possible_truncation, reason = "a float column holds the double rounded")]
    let array: ArrayRef = match (column_type, scalar) {
        (ColumnType::Boolean, Scalar::Boolean(value)) => Arc::new(BooleanArray::from(vec![*value])),
        (ColumnType::Byte, Scalar::Int(value)) => Arc::new(Int8Array::from(vec![i8::try_from(*value).ok()?])),
        (ColumnType::Short, Scalar::Int(value)) => Arc::new(Int16Array::from(vec![i16::try_from(*value).ok()?])),
        (ColumnType::Integer, Scalar::Int(value)) => Arc::new(Int32Array::from(vec![i32::try_from(*value).ok()?])),
        (ColumnType::Long, Scalar::Int(value)) => Arc::new(Int64Array::from(vec![*value])),
        (ColumnType::Float, Scalar::Float(value)) => Arc::new(Float32Array::from(vec![*value as f32])),
        (ColumnType::Double, Scalar::Float(value)) => Arc::new(Float64Array::from(vec![*value])),
        (ColumnType::Decimal { precision, scale }, _) => {
            let (unscaled, from) = digits(scalar)?;
            let exact = rescale(unscaled, i32::from(from), *precision, *scale)?;
            // Rounding would change the value.
            if from > *scale && rescale(exact, i32::from(*scale), 38, from)? != unscaled {
                return None;
            }
            Arc::new(
                Decimal128Array::from(vec![exact])
                    .with_precision_and_scale(*precision, i8::try_from(*scale).ok()?)
                    .ok()?,
            )
        }
        (ColumnType::Date, Scalar::Date(days)) => Arc::new(Date32Array::from(vec![*days])),
        (ColumnType::Timestamp, Scalar::Timestamp(micros)) => {
            Arc::new(TimestampMicrosecondArray::from(vec![*micros]).with_timezone(super::UTC))
        }
        (ColumnType::TimestampNtz, Scalar::TimestampNtz(micros)) => {
            Arc::new(TimestampMicrosecondArray::from(vec![*micros]))
        }
        (ColumnType::String, Scalar::String(text)) => Arc::new(StringArray::from(vec![&**text])),
        (ColumnType::Binary, Scalar::Binary(bytes)) => Arc::new(BinaryArray::from(vec![&**bytes])),
        (_, _) => return None,
    };
    Some(array)
}

fn digits(scalar: &Scalar) -> Option<(i128, u8)> {
    if let Scalar::Decimal { unscaled, scale } = scalar {
        Some((*unscaled, *scale))
    } else if let Scalar::Int(value) = scalar {
        Some((i128::from(*value), 0))
    } else {
        None
    }
}

/// An array of one row with the natural type of the value: long, double, the decimal's own digits, …
pub(crate) fn literal(scalar: &Scalar) -> Option<ArrayRef> {
    let column_type = match scalar {
        Scalar::Null => return Some(new_null_array(&DataType::Null, 1)),
        Scalar::Boolean(_) => ColumnType::Boolean,
        Scalar::Int(_) => ColumnType::Long,
        Scalar::Float(_) => ColumnType::Double,
        Scalar::Decimal { unscaled, scale } => {
            let places = u8::try_from(unscaled.unsigned_abs().to_string().len()).ok()?;
            ColumnType::Decimal { precision: places.max(*scale).max(1), scale: *scale }
        }
        Scalar::Date(_) => ColumnType::Date,
        Scalar::Timestamp(_) => ColumnType::Timestamp,
        Scalar::TimestampNtz(_) => ColumnType::TimestampNtz,
        Scalar::String(_) => ColumnType::String,
        Scalar::Binary(_) => ColumnType::Binary,
    };
    single(scalar, &column_type)
}

/// The value at a row; `None` for types that scalars do not have (lists, maps, structs) and rows that are not there.
///
/// The types are those of [`arrow_schema`](super::arrow_schema).
#[must_use]
#[expect(clippy::wildcard_enum_match_arm, reason = "Arrow's enum is not ours; what is not listed has no scalar")]
pub fn scalar_at(array: &dyn Array, row: usize) -> Option<Scalar> {
    if row >= array.len() {
        return None;
    }
    if array.is_null(row) || *array.data_type() == DataType::Null {
        return Some(Scalar::Null);
    }
    Some(match array.data_type() {
        DataType::Boolean => Scalar::Boolean(array.as_boolean().value(row)),
        DataType::Int8 => Scalar::Int(i64::from(array.as_primitive::<Int8Type>().value(row))),
        DataType::Int16 => Scalar::Int(i64::from(array.as_primitive::<Int16Type>().value(row))),
        DataType::Int32 => Scalar::Int(i64::from(array.as_primitive::<Int32Type>().value(row))),
        DataType::Int64 => Scalar::Int(array.as_primitive::<Int64Type>().value(row)),
        DataType::Float32 => Scalar::Float(f64::from(array.as_primitive::<Float32Type>().value(row))),
        DataType::Float64 => Scalar::Float(array.as_primitive::<Float64Type>().value(row)),
        DataType::Decimal128(_, scale) => Scalar::Decimal {
            unscaled: array.as_primitive::<Decimal128Type>().value(row),
            scale: u8::try_from(*scale).ok()?,
        },
        DataType::Date32 => Scalar::Date(array.as_primitive::<Date32Type>().value(row)),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => {
            let micros = array.as_primitive::<TimestampMicrosecondType>().value(row);
            if zone.is_some() { Scalar::Timestamp(micros) } else { Scalar::TimestampNtz(micros) }
        }
        DataType::Utf8 => Scalar::string(array.as_string::<i32>().value(row)),
        DataType::Binary => Scalar::Binary(Arc::from(array.as_binary::<i32>().value(row))),
        _ => return None,
    })
}

/// A column of these values; each must be of the type, as [`constant`] has it.
pub(crate) fn from_scalars(cells: &[Scalar], column_type: &ColumnType) -> Result<ArrayRef, DataError> {
    let int = |cell: &Scalar| if let Scalar::Int(value) = cell { Some(*value) } else { None };
    let float = |cell: &Scalar| if let Scalar::Float(value) = cell { Some(*value) } else { None };
    let micros = |cell: &Scalar| {
        if let Scalar::Timestamp(value) | Scalar::TimestampNtz(value) = cell { Some(*value) } else { None }
    };
    let cells = cells.iter();
    #[expect(clippy::cast_possible_truncation, reason = "a float column holds the double rounded")]
    let array: ArrayRef = match column_type {
        ColumnType::Boolean => Arc::new(
            cells
                .map(|cell| if let Scalar::Boolean(value) = cell { Some(*value) } else { None })
                .collect::<BooleanArray>(),
        ),
        ColumnType::Byte => {
            Arc::new(cells.map(|cell| int(cell).and_then(|v| i8::try_from(v).ok())).collect::<Int8Array>())
        }
        ColumnType::Short => {
            Arc::new(cells.map(|cell| int(cell).and_then(|v| i16::try_from(v).ok())).collect::<Int16Array>())
        }
        ColumnType::Integer => {
            Arc::new(cells.map(|cell| int(cell).and_then(|v| i32::try_from(v).ok())).collect::<Int32Array>())
        }
        ColumnType::Long => Arc::new(cells.map(int).collect::<Int64Array>()),
        ColumnType::Float => Arc::new(cells.map(|cell| float(cell).map(|v| v as f32)).collect::<Float32Array>()),
        ColumnType::Double => Arc::new(cells.map(float).collect::<Float64Array>()),
        ColumnType::Decimal { precision, scale } => {
            let unscaled = |cell: &Scalar| {
                let (unscaled, from) = digits(cell)?;
                rescale(unscaled, i32::from(from), *precision, *scale)
            };
            let array = cells.map(unscaled).collect::<Decimal128Array>();
            let scale = i8::try_from(*scale).unwrap_or(i8::MAX);
            Arc::new(array.with_precision_and_scale(*precision, scale).map_err(DataError::arrow("decimals"))?)
        }
        ColumnType::Date => Arc::new(
            cells.map(|cell| if let Scalar::Date(days) = cell { Some(*days) } else { None }).collect::<Date32Array>(),
        ),
        ColumnType::Timestamp => {
            Arc::new(cells.map(micros).collect::<TimestampMicrosecondArray>().with_timezone(super::UTC))
        }
        ColumnType::TimestampNtz => Arc::new(cells.map(micros).collect::<TimestampMicrosecondArray>()),
        ColumnType::String => Arc::new(cells.map(text_of).collect::<StringArray>()),
        ColumnType::Binary => Arc::new(cells.map(bytes_of).collect::<BinaryArray>()),
        // No scalar is of these types, but NULL is of every type.
        ColumnType::Array(_) | ColumnType::Map(_, _) | ColumnType::Struct(_) | ColumnType::Other(_) => {
            if cells.clone().any(|cell| !cell.is_null()) {
                return Err(super::unsupported("", &format!("{column_type:?}")));
            }
            new_null_array(&arrow_type(column_type)?, cells.len())
        }
    };
    Ok(array)
}

fn text_of(cell: &Scalar) -> Option<&str> {
    if let Scalar::String(text) = cell { Some(text) } else { None }
}

fn bytes_of(cell: &Scalar) -> Option<&[u8]> {
    if let Scalar::Binary(bytes) = cell { Some(bytes) } else { None }
}
