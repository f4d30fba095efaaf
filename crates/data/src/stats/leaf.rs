//! Statistics of one leaf column.

use super::{text, truncate_max, truncate_min};
use crate::DataError;
use arrow_arith::aggregate;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;
use lakebed_transaction::{ColumnBounds, ColumnType, Scalar};
use std::cmp::Ordering;

/// Least and greatest value and the number of NULLs.
#[derive(Debug)]
pub(super) struct Leaf {
    has_bounds: bool,
    single: bool,
    min: Option<Scalar>,
    max: Option<Scalar>,
    nulls: u64,
}

impl Leaf {
    pub(super) fn new(column_type: &ColumnType) -> Self {
        let has_bounds = match column_type {
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
            | ColumnType::Map(_, _)
            | ColumnType::Struct(_)
            | ColumnType::Other(_) => false,
        };
        Self { has_bounds, single: *column_type == ColumnType::Float, min: None, max: None, nulls: 0 }
    }

    pub(super) const fn has_bounds(&self) -> bool {
        self.has_bounds
    }

    pub(super) const fn null_count(&self) -> u64 {
        self.nulls
    }

    /// `present`: the rows whose parents are not NULL; a value under an absent parent counts as NULL.
    pub(super) fn update(
        &mut self,
        name: &str,
        array: &ArrayRef,
        present: Option<&NullBuffer>,
    ) -> Result<(), DataError> {
        let valid = NullBuffer::union(array.nulls(), present);
        self.nulls += valid.as_ref().map_or(0, NullBuffer::null_count) as u64;
        if !self.has_bounds {
            return Ok(());
        }
        let masked = match (&valid, present) {
            (Some(valid), Some(_)) => {
                let data = array.to_data().into_builder().nulls(Some(valid.clone()));
                arrow_array::make_array(data.build().map_err(DataError::arrow(format!("column {name}")))?)
            }
            _ => array.clone(),
        };
        if let Some((min, max)) = extremes(&masked) {
            lower(&mut self.min, min);
            raise(&mut self.max, max);
        }
        Ok(())
    }

    pub(super) fn min_text(&self) -> Option<String> {
        let min = self.min.as_ref()?;
        if let Scalar::String(value) = min {
            Some(text::quoted(truncate_min(value)))
        } else {
            text::bound(min, self.single)
        }
    }

    pub(super) fn max_text(&self) -> Option<String> {
        let max = self.max.as_ref()?;
        if let Scalar::String(value) = max {
            truncate_max(value).map(|bound| text::quoted(&bound))
        } else {
            text::bound(max, self.single)
        }
    }

    pub(super) fn bounds(&self) -> ColumnBounds {
        ColumnBounds { min: self.min.clone(), max: self.max.clone(), null_count: Some(self.nulls) }
    }
}

fn lower(bound: &mut Option<Scalar>, value: Scalar) {
    if bound.as_ref().is_none_or(|bound| order(&value, bound) == Ordering::Less) {
        *bound = Some(value);
    }
}

fn raise(bound: &mut Option<Scalar>, value: Scalar) {
    if bound.as_ref().is_none_or(|bound| order(&value, bound) == Ordering::Greater) {
        *bound = Some(value);
    }
}

/// SQL's order, and -0.0 below 0.0, so that the bounds hold for readers of either opinion.
fn order(a: &Scalar, b: &Scalar) -> Ordering {
    if let (Scalar::Float(x), Scalar::Float(y)) = (a, b)
        && *x == 0.0
        && *y == 0.0
    {
        return x.total_cmp(y);
    }
    a.compare(b).unwrap_or(Ordering::Equal)
}

/// Least and greatest value; `None` where all are NULL.
#[expect(clippy::wildcard_enum_match_arm, reason = "Arrow's enum is not ours; other types have no bounds")]
fn extremes(array: &ArrayRef) -> Option<(Scalar, Scalar)> {
    match array.data_type() {
        DataType::Int8 => primitive::<Int8Type>(array, |value| Scalar::Int(i64::from(value))),
        DataType::Int16 => primitive::<Int16Type>(array, |value| Scalar::Int(i64::from(value))),
        DataType::Int32 => primitive::<Int32Type>(array, |value| Scalar::Int(i64::from(value))),
        DataType::Int64 => primitive::<Int64Type>(array, Scalar::Int),
        DataType::Float32 => floats(array.as_primitive::<Float32Type>().iter().flatten().map(f64::from)),
        DataType::Float64 => floats(array.as_primitive::<Float64Type>().iter().flatten()),
        DataType::Decimal128(_, scale) => {
            let scale = u8::try_from(*scale).ok()?;
            primitive::<Decimal128Type>(array, |unscaled| Scalar::Decimal { unscaled, scale })
        }
        DataType::Date32 => primitive::<Date32Type>(array, Scalar::Date),
        DataType::Timestamp(_, Some(_)) => primitive::<TimestampMicrosecondType>(array, Scalar::Timestamp),
        DataType::Timestamp(_, None) => primitive::<TimestampMicrosecondType>(array, Scalar::TimestampNtz),
        DataType::Utf8 => {
            let array = array.as_string::<i32>();
            let (min, max) = (aggregate::min_string(array)?, aggregate::max_string(array)?);
            Some((Scalar::string(min), Scalar::string(max)))
        }
        _ => None,
    }
}

fn primitive<T: ArrowPrimitiveType>(array: &ArrayRef, wrap: impl Fn(T::Native) -> Scalar) -> Option<(Scalar, Scalar)>
where
    T::Native: arrow_array::ArrowNativeTypeOp,
{
    let array = array.as_primitive_opt::<T>()?;
    Some((wrap(aggregate::min(array)?), wrap(aggregate::max(array)?)))
}

/// A NaN is the greatest number whatever its sign bit says, which Arrow's order looks at.
fn floats(values: impl Iterator<Item = f64>) -> Option<(Scalar, Scalar)> {
    // The total order agrees with `order`: -0.0 stands below 0.0, and a NaN without a sign above all.
    let plain = |value: f64| if value.is_nan() { f64::NAN } else { value };
    let mut extremes: Option<(f64, f64)> = None;
    for value in values.map(plain) {
        let (min, max) = extremes.get_or_insert((value, value));
        if value.total_cmp(min).is_lt() {
            *min = value;
        }
        if value.total_cmp(max).is_gt() {
            *max = value;
        }
    }
    extremes.map(|(min, max)| (Scalar::Float(min), Scalar::Float(max)))
}
