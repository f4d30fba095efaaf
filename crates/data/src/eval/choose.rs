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
use arrow_select::filter::{filter, filter_record_batch};
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

/// One arm: when it is taken, and its value.
enum Arm<'a> {
    Holds(&'a Expr, &'a Expr),
    /// The operand of the CASE equals the first.
    Equals(&'a Expr, &'a Expr),
    /// Taken where it is not NULL, and its own value.
    Present(&'a Expr),
}

/// CASE, IF and COALESCE in one form.
pub(super) struct Choice<'a> {
    operand: Option<&'a Expr>,
    arms: Vec<Arm<'a>>,
    otherwise: Option<&'a Expr>,
}

impl<'a> Choice<'a> {
    pub(super) fn of_case(operand: Option<&'a Expr>, arms: &'a [CaseArm], otherwise: Option<&'a Expr>) -> Self {
        let form = if operand.is_some() { Arm::Equals } else { Arm::Holds };
        Self { operand, arms: arms.iter().map(|arm| form(&arm.when, &arm.then)).collect(), otherwise }
    }

    /// `None` for a wrong number of arguments.
    pub(super) fn of_call(expr: &Expr, arguments: &'a [Expr]) -> Option<Self> {
        if matches!(expr, Expr::Call(Function::If, _)) {
            let [condition, then, otherwise] = arguments else { return None };
            return Some(Self { operand: None, arms: vec![Arm::Holds(condition, then)], otherwise: Some(otherwise) });
        }
        let (last, first) = arguments.split_last()?;
        Some(Self { operand: None, arms: first.iter().map(Arm::Present).collect(), otherwise: Some(last) })
    }
}

/// Which rows an arm takes, and its values at those rows.
struct Taken {
    mask: Value,
    values: Value,
}

pub(super) fn case(expr: &Expr, choice: &Choice<'_>, batch: &RecordBatch, level: Level) -> Result<Value, DataError> {
    // Computed once, however many arms look at it: nested ones would multiply.
    let operand = choice.operand.map(|x| at_level(x, batch, level.deeper())).transpose()?;
    let taken = if level.careful {
        needed_rows(expr, choice, operand.as_ref(), batch, level)?
    } else {
        all_rows(choice, operand.as_ref(), batch, level)?
    };
    combined(&taken, batch.num_rows()).map_err(failed(expr))
}

/// Where an arm is taken; with its values where they come along.
fn looked_at(
    arm: &Arm<'_>,
    operand: Option<&Value>,
    batch: &RecordBatch,
    level: Level,
) -> Result<(Value, Option<Value>), DataError> {
    let of = |x: &Expr| at_level(x, batch, level.deeper());
    match (arm, operand) {
        (Arm::Equals(value, _), Some(operand)) => {
            let same = compare::compare(BinaryOp::Equal, operand, &of(value)?).map_err(failed(value))?;
            Ok((same, None))
        }
        (Arm::Holds(condition, _) | Arm::Equals(condition, _), _) => {
            Ok((truth(&of(condition)?).map_err(failed(condition))?, None))
        }
        (Arm::Present(x), _) => {
            let values = of(x)?;
            Ok((super::is_null(&values, true).map_err(failed(x))?, Some(values)))
        }
    }
}

const fn then<'a>(arm: &Arm<'a>) -> &'a Expr {
    match arm {
        Arm::Holds(_, then) | Arm::Equals(_, then) | Arm::Present(then) => then,
    }
}

/// Everything for every row.
fn all_rows(
    choice: &Choice<'_>,
    operand: Option<&Value>,
    batch: &RecordBatch,
    level: Level,
) -> Result<Vec<Taken>, DataError> {
    let mut taken = Vec::with_capacity(choice.arms.len() + 1);
    for arm in &choice.arms {
        let (mask, values) = looked_at(arm, operand, batch, level)?;
        let values = match values {
            Some(values) => values,
            None => at_level(then(arm), batch, level.deeper())?,
        };
        taken.push(Taken { mask, values });
    }
    if let Some(otherwise) = choice.otherwise {
        let always = booleans(BooleanArray::from(vec![true]), true);
        taken.push(Taken { mask: always, values: at_level(otherwise, batch, level.deeper())? });
    }
    Ok(taken)
}

/// Each arm only for the rows that come to it, in order.
fn needed_rows(
    expr: &Expr,
    choice: &Choice<'_>,
    operand: Option<&Value>,
    batch: &RecordBatch,
    level: Level,
) -> Result<Vec<Taken>, DataError> {
    let mut open = BooleanArray::from(vec![true; batch.num_rows()]);
    let mut taken = Vec::with_capacity(choice.arms.len() + 1);
    for arm in &choice.arms {
        if open.true_count() == 0 {
            break;
        }
        let some = selected(batch, &open)?;
        let operand = operand.map(|value| selected_value(value, &open)).transpose().map_err(failed(expr))?;
        let (holds, values) = looked_at(arm, operand.as_ref(), &some, level)?;
        let spread = |value: Value| scatter(&value.into_rows(some.num_rows())?, &open);
        let mask = definite(spread(holds).map_err(failed(expr))?.as_boolean());
        if let Some(values) = values {
            let values = Value::column(spread(values).map_err(failed(expr))?);
            taken.push(Taken { mask: booleans(mask.clone(), false), values });
        } else if mask.true_count() > 0 {
            taken.push(at_rows(expr, then(arm), mask.clone(), batch, level)?);
        }
        open = boolean::and_not(&open, &mask).map_err(DataError::arrow("the rows of a branch"))?;
    }
    if let Some(otherwise) = choice.otherwise.filter(|_| open.true_count() > 0) {
        taken.push(at_rows(expr, otherwise, open, batch, level)?);
    }
    Ok(taken)
}

fn selected_value(value: &Value, mask: &BooleanArray) -> Result<Value, EvalFailure> {
    if value.constant { Ok(value.clone()) } else { filter(&value.array, mask).map(Value::column).map_err(arrow) }
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
