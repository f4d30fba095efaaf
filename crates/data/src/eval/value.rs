//! Values during evaluation: a column, or one value that stands for every row.

use crate::EvalFailure;
use crate::schema::{literal, repeat};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, Datum, UInt32Array, new_null_array};
use arrow_schema::{ArrowError, DataType};
use arrow_select::filter::prep_null_mask_filter;
use arrow_select::take::take;
use lakebed_transaction::Scalar;
use std::sync::Arc;

/// A column, or one value for all rows.
#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) array: ArrayRef,
    pub(super) constant: bool,
}

impl Value {
    pub(super) const fn column(array: ArrayRef) -> Self {
        Self { array, constant: false }
    }

    pub(super) fn of(scalar: &Scalar) -> Result<Self, EvalFailure> {
        let cannot = || EvalFailure::Types { types: format!("the value {scalar}") };
        Ok(Self { array: literal(scalar).ok_or_else(cannot)?, constant: true })
    }

    pub(super) fn null() -> Self {
        Self { array: new_null_array(&DataType::Null, 1), constant: true }
    }

    pub(super) fn data_type(&self) -> &DataType {
        self.array.data_type()
    }

    pub(super) fn is_null_type(&self) -> bool {
        *self.data_type() == DataType::Null
    }

    /// One value per row.
    pub(super) fn into_rows(self, rows: usize) -> Result<ArrayRef, EvalFailure> {
        if self.constant {
            repeat(&self.array, rows).map_err(|e| EvalFailure::Arrow(e.to_string()))
        } else {
            Ok(self.array)
        }
    }

    /// For kernels that take a column or one value.
    pub(super) fn datum(&self) -> Box<dyn Datum> {
        if self.constant {
            Box::new(arrow_array::Scalar::new(self.array.clone()))
        } else {
            Box::new(self.array.clone())
        }
    }

    /// The same with another array of as many values.
    pub(super) fn with(&self, array: ArrayRef) -> Self {
        Self { array, constant: self.constant }
    }

    /// A truth value; the caller made sure of the type.
    pub(super) fn as_bool(&self) -> &BooleanArray {
        self.array.as_boolean()
    }
}

/// Two values with as many elements each, and whether they stand for all rows.
pub(super) fn pair(a: &Value, b: &Value) -> Result<(ArrayRef, ArrayRef, bool), EvalFailure> {
    let rows = if a.constant { b.array.len() } else { a.array.len() };
    if a.constant == b.constant {
        return Ok((a.array.clone(), b.array.clone(), a.constant));
    }
    Ok((a.clone().into_rows(rows)?, b.clone().into_rows(rows)?, false))
}

/// The values of the rows that `mask` selects, put at their rows, with NULL at the others.
pub(super) fn scatter(array: &ArrayRef, mask: &BooleanArray) -> Result<ArrayRef, EvalFailure> {
    let mut next = 0_u32;
    let index = |selected: Option<bool>| {
        (selected == Some(true)).then(|| {
            next += 1;
            next - 1
        })
    };
    let indices: UInt32Array = mask.iter().map(index).collect();
    take(array, &indices, None).map_err(arrow)
}

pub(super) fn booleans(values: BooleanArray, constant: bool) -> Value {
    Value { array: Arc::new(values), constant }
}

/// A mask in which NULL is FALSE.
pub(super) fn definite(mask: &BooleanArray) -> BooleanArray {
    if mask.null_count() > 0 { prep_null_mask_filter(mask) } else { mask.clone() }
}

/// Arrow's errors in our classes.
#[expect(clippy::wildcard_enum_match_arm, reason = "Arrow's enum is not ours; its text says what went wrong")]
pub(super) fn arrow(error: ArrowError) -> EvalFailure {
    match error {
        ArrowError::DivideByZero => EvalFailure::DivideByZero,
        ArrowError::ArithmeticOverflow(type_name) => EvalFailure::Overflow { type_name },
        other => EvalFailure::Arrow(other.to_string()),
    }
}

pub(super) fn types(values: &[&Value]) -> EvalFailure {
    let names: Vec<String> = values.iter().map(|value| value.data_type().to_string()).collect();
    EvalFailure::Types { types: names.join(" and ") }
}
