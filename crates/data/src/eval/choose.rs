//! Where SQL looks at a sub-expression only for some rows: AND, OR, CASE, IF, COALESCE.

use super::compare::branch_type;
use super::value::{Value, arrow, booleans, pair, scatter};
use super::{at_depth, compare, failed, truth};
use crate::schema::strict;
use crate::{DataError, EvalFailure};
use arrow_arith::boolean;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::DataType;
use arrow_select::filter::{filter_record_batch, prep_null_mask_filter};
use arrow_select::zip::zip;
use lakebed_transaction::{BinaryOp, CaseArm, Expr, Function};

/// AND of two truth values.
pub(super) fn and(a: &Value, b: &Value) -> Result<Value, EvalFailure> {
    let (x, y, constant) = pair(a, b)?;
    Ok(booleans(boolean::and_kleene(x.as_boolean(), y.as_boolean()).map_err(arrow)?, constant))
}

/// OR of two truth values.
pub(super) fn or(a: &Value, b: &Value) -> Result<Value, EvalFailure> {
    let (x, y, constant) = pair(a, b)?;
    Ok(booleans(boolean::or_kleene(x.as_boolean(), y.as_boolean()).map_err(arrow)?, constant))
}

/// AND and OR of expressions.
pub(super) fn junction(
    expr: &Expr,
    op: BinaryOp,
    (a, b): (&Expr, &Expr),
    batch: &RecordBatch,
    depth: usize,
) -> Result<Value, DataError> {
    let left = truth(&at_depth(a, batch, depth + 1)?).map_err(failed(a))?;
    let side = |batch: &RecordBatch| truth(&at_depth(b, batch, depth + 1)?).map_err(failed(b));
    let right = match side(batch) {
        Ok(right) => right,
        Err(_) => {
            // The left side decides alone where it is FALSE (AND) or TRUE (OR).
            let decides = op == BinaryOp::Or;
            let rows = left.clone().into_rows(batch.num_rows()).map_err(failed(expr))?;
            let open: BooleanArray = rows.as_boolean().iter().map(|value| Some(value != Some(decides))).collect();
            if open.true_count() == 0 {
                return Ok(left);
            }
            let some = selected(batch, &open)?;
            let values = side(&some)?.into_rows(some.num_rows()).map_err(failed(expr))?;
            Value::column(scatter(&values, &open).map_err(failed(expr))?)
        }
    };
    let joined = if op == BinaryOp::Or { or(&left, &right) } else { and(&left, &right) };
    joined.map_err(failed(expr))
}

fn selected(batch: &RecordBatch, mask: &BooleanArray) -> Result<RecordBatch, DataError> {
    filter_record_batch(batch, mask).map_err(DataError::arrow("the rows of a branch"))
}

/// When an arm is taken.
#[derive(Clone, Copy)]
enum When<'a> {
    Holds(&'a Expr),
    Equals(&'a Expr, &'a Expr),
    Present(&'a Expr),
}

/// CASE, IF and COALESCE in one form.
pub(super) struct Choice<'a> {
    arms: Vec<(When<'a>, &'a Expr)>,
    otherwise: Option<&'a Expr>,
}

impl<'a> Choice<'a> {
    pub(super) fn of_case(operand: Option<&'a Expr>, arms: &'a [CaseArm], otherwise: Option<&'a Expr>) -> Self {
        let when =
            |arm: &'a CaseArm| operand.map_or(When::Holds(&arm.when), |operand| When::Equals(operand, &arm.when));
        Self { arms: arms.iter().map(|arm| (when(arm), &arm.then)).collect(), otherwise }
    }

    /// `None` for a wrong number of arguments.
    pub(super) fn of_call(expr: &Expr, arguments: &'a [Expr]) -> Option<Self> {
        if matches!(expr, Expr::Call(Function::If, _)) {
            let [condition, then, otherwise] = arguments else { return None };
            return Some(Self { arms: vec![(When::Holds(condition), then)], otherwise: Some(otherwise) });
        }
        let (last, first) = arguments.split_last()?;
        Some(Self { arms: first.iter().map(|x| (When::Present(x), x)).collect(), otherwise: Some(last) })
    }
}

/// Which rows an arm takes, and its values at those rows.
struct Taken {
    mask: Value,
    values: Value,
}

pub(super) fn case(expr: &Expr, choice: &Choice<'_>, batch: &RecordBatch, depth: usize) -> Result<Value, DataError> {
    let taken = match all_rows(choice, batch, depth) {
        Ok(taken) => taken,
        Err(_) => needed_rows(expr, choice, batch, depth)?,
    };
    combined(&taken, batch.num_rows()).map_err(failed(expr))
}

fn condition(when: When<'_>, batch: &RecordBatch, depth: usize) -> Result<Value, DataError> {
    let of = |x: &Expr| at_depth(x, batch, depth + 1);
    match when {
        When::Holds(condition) => truth(&of(condition)?).map_err(failed(condition)),
        When::Equals(operand, value) => {
            compare::compare(BinaryOp::Equal, &of(operand)?, &of(value)?).map_err(failed(value))
        }
        When::Present(x) => super::is_null(&of(x)?, true).map_err(failed(x)),
    }
}

/// Everything for every row: the common case, in which nothing fails.
fn all_rows(choice: &Choice<'_>, batch: &RecordBatch, depth: usize) -> Result<Vec<Taken>, DataError> {
    let mut taken = Vec::with_capacity(choice.arms.len() + 1);
    for (when, then) in &choice.arms {
        taken.push(Taken { mask: condition(*when, batch, depth)?, values: at_depth(then, batch, depth + 1)? });
    }
    if let Some(otherwise) = choice.otherwise {
        let always = booleans(BooleanArray::from(vec![true]), true);
        taken.push(Taken { mask: always, values: at_depth(otherwise, batch, depth + 1)? });
    }
    Ok(taken)
}

/// Each arm only for the rows that come to it, in order.
fn needed_rows(expr: &Expr, choice: &Choice<'_>, batch: &RecordBatch, depth: usize) -> Result<Vec<Taken>, DataError> {
    let mut open = BooleanArray::from(vec![true; batch.num_rows()]);
    let mut taken = Vec::with_capacity(choice.arms.len() + 1);
    for (when, then) in &choice.arms {
        if open.true_count() == 0 {
            break;
        }
        let some = selected(batch, &open)?;
        let holds = condition(*when, &some, depth)?.into_rows(some.num_rows()).map_err(failed(expr))?;
        let holds = scatter(&holds, &open).map_err(failed(expr))?;
        let mask = prep_null_mask_filter(holds.as_boolean());
        if mask.true_count() > 0 {
            taken.push(at_rows(expr, then, mask.clone(), batch, depth)?);
        }
        open = boolean::and_not(&open, &mask).map_err(DataError::arrow("the rows of a branch"))?;
    }
    if let Some(otherwise) = choice.otherwise.filter(|_| open.true_count() > 0) {
        taken.push(at_rows(expr, otherwise, open, batch, depth)?);
    }
    Ok(taken)
}

fn at_rows(
    expr: &Expr,
    then: &Expr,
    mask: BooleanArray,
    batch: &RecordBatch,
    depth: usize,
) -> Result<Taken, DataError> {
    let some = selected(batch, &mask)?;
    let values = at_depth(then, &some, depth + 1)?.into_rows(some.num_rows()).map_err(failed(expr))?;
    let values = Value::column(scatter(&values, &mask).map_err(failed(expr))?);
    Ok(Taken { mask: booleans(mask, false), values })
}

/// The first arm that takes a row gives its value; NULL where none does.
fn combined(taken: &[Taken], rows: usize) -> Result<Value, EvalFailure> {
    let data_type = branch_type(&taken.iter().map(|arm| &arm.values).collect::<Vec<_>>())?;
    if data_type == DataType::Null {
        return Ok(Value::null());
    }
    let mut result: ArrayRef = arrow_array::new_null_array(&data_type, rows);
    for arm in taken.iter().rev() {
        let values = arm.values.with(strict(&arm.values.array, &data_type).map_err(arrow)?);
        let mask = arm.mask.clone().into_rows(rows)?;
        let mask = prep_null_mask_filter_of(mask.as_boolean());
        result = zip(&mask, &*values.datum(), &result).map_err(arrow)?;
    }
    Ok(Value::column(result))
}

fn prep_null_mask_filter_of(mask: &BooleanArray) -> BooleanArray {
    if mask.null_count() > 0 { prep_null_mask_filter(mask) } else { mask.clone() }
}
