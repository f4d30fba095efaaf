//! Where SQL looks at a sub-expression only for some rows: AND, OR, CASE, IF, COALESCE.

use super::compare::branch_type;
use super::value::{Value, arrow, booleans, definite, pair, scatter};
use super::{Level, at_level, compare, failed, truth};
use crate::schema::strict;
use crate::{DataError, EvalFailure};
use arrow_arith::boolean;
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_schema::DataType;
use arrow_select::filter::filter_record_batch;
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

/// AND and OR of expressions. A chain of one of them, which generated predicates make long, is walked without recursion.
pub(super) fn junction(expr: &Expr, op: BinaryOp, batch: &RecordBatch, level: Level) -> Result<Value, DataError> {
    let mut operands = Vec::new();
    let mut stack = vec![expr];
    while let Some(next) = stack.pop() {
        if let Expr::Binary(inner, a, b) = next
            && *inner == op
        {
            stack.extend([&**b, &**a]);
        } else {
            operands.push(next);
        }
    }
    let Some((first, rest)) = operands.split_first() else { return Ok(Value::null()) };
    let mut so_far = operand(first, batch, level)?;
    for next in rest {
        let right =
            if level.careful { open_rows(op, &so_far, next, batch, level)? } else { operand(next, batch, level)? };
        let both = if op == BinaryOp::Or { or(&so_far, &right) } else { and(&so_far, &right) };
        so_far = both.map_err(failed(expr))?;
    }
    Ok(so_far)
}

fn operand(expr: &Expr, batch: &RecordBatch, level: Level) -> Result<Value, DataError> {
    truth(&at_level(expr, batch, level.deeper())?).map_err(failed(expr))
}

/// The right side where the left does not decide alone, by FALSE (AND) or TRUE (OR); NULL elsewhere.
fn open_rows(op: BinaryOp, left: &Value, next: &Expr, batch: &RecordBatch, level: Level) -> Result<Value, DataError> {
    let decides = op == BinaryOp::Or;
    let rows = left.clone().into_rows(batch.num_rows()).map_err(failed(next))?;
    let open: BooleanArray = rows.as_boolean().iter().map(|value| Some(value != Some(decides))).collect();
    if open.true_count() == 0 {
        return Ok(booleans(BooleanArray::new_null(1), true));
    }
    let some = selected(batch, &open)?;
    let values = operand(next, &some, level)?.into_rows(some.num_rows()).map_err(failed(next))?;
    Ok(Value::column(scatter(&values, &open).map_err(failed(next))?))
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

pub(super) fn case(expr: &Expr, choice: &Choice<'_>, batch: &RecordBatch, level: Level) -> Result<Value, DataError> {
    let taken = if level.careful { needed_rows(expr, choice, batch, level)? } else { all_rows(choice, batch, level)? };
    combined(&taken, batch.num_rows()).map_err(failed(expr))
}

fn condition(when: When<'_>, batch: &RecordBatch, level: Level) -> Result<Value, DataError> {
    let of = |x: &Expr| at_level(x, batch, level.deeper());
    match when {
        When::Holds(condition) => truth(&of(condition)?).map_err(failed(condition)),
        When::Equals(operand, value) => {
            compare::compare(BinaryOp::Equal, &of(operand)?, &of(value)?).map_err(failed(value))
        }
        When::Present(x) => super::is_null(&of(x)?, true).map_err(failed(x)),
    }
}

/// Everything for every row.
fn all_rows(choice: &Choice<'_>, batch: &RecordBatch, level: Level) -> Result<Vec<Taken>, DataError> {
    let mut taken = Vec::with_capacity(choice.arms.len() + 1);
    for (when, then) in &choice.arms {
        taken.push(Taken { mask: condition(*when, batch, level)?, values: at_level(then, batch, level.deeper())? });
    }
    if let Some(otherwise) = choice.otherwise {
        let always = booleans(BooleanArray::from(vec![true]), true);
        taken.push(Taken { mask: always, values: at_level(otherwise, batch, level.deeper())? });
    }
    Ok(taken)
}

/// Each arm only for the rows that come to it, in order.
fn needed_rows(expr: &Expr, choice: &Choice<'_>, batch: &RecordBatch, level: Level) -> Result<Vec<Taken>, DataError> {
    let mut open = BooleanArray::from(vec![true; batch.num_rows()]);
    let mut taken = Vec::with_capacity(choice.arms.len() + 1);
    for (when, then) in &choice.arms {
        if open.true_count() == 0 {
            break;
        }
        let some = selected(batch, &open)?;
        let holds = condition(*when, &some, level)?.into_rows(some.num_rows()).map_err(failed(expr))?;
        let holds = scatter(&holds, &open).map_err(failed(expr))?;
        let mask = definite(holds.as_boolean());
        if mask.true_count() > 0 {
            taken.push(at_rows(expr, then, mask.clone(), batch, level)?);
        }
        open = boolean::and_not(&open, &mask).map_err(DataError::arrow("the rows of a branch"))?;
    }
    if let Some(otherwise) = choice.otherwise.filter(|_| open.true_count() > 0) {
        taken.push(at_rows(expr, otherwise, open, batch, level)?);
    }
    Ok(taken)
}

fn at_rows(
    expr: &Expr,
    then: &Expr,
    mask: BooleanArray,
    batch: &RecordBatch,
    level: Level,
) -> Result<Taken, DataError> {
    let some = selected(batch, &mask)?;
    let values = at_level(then, &some, level.deeper())?.into_rows(some.num_rows()).map_err(failed(expr))?;
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
        let mask = definite(mask.as_boolean());
        result = zip(&mask, &*values.datum(), &result).map_err(arrow)?;
    }
    Ok(Value::column(result))
}
