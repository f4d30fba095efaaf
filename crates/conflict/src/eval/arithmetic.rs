//! Arithmetic on numbers and dates, with the errors of Spark's ANSI mode.

use super::cast::{Number, rescale};
use super::{Failure, Value, cast};
use lakebed_transaction::{ColumnType, Scalar};

/// An operator of arithmetic.
#[derive(Clone, Copy)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

/// `- x`.
pub(super) fn negate(value: &Scalar) -> Value {
    match value {
        Scalar::Null => Value::NULL,
        Scalar::Int(value) => integer(value.checked_neg()),
        Scalar::Float(value) => Value::Known(Scalar::Float(-value)),
        Scalar::Decimal { unscaled, scale } => {
            unscaled.checked_neg().map_or(Value::Unbounded, |unscaled| decimal(unscaled, *scale))
        }
        Scalar::String(_) => super::map(cast(value, &ColumnType::Double), |number| negate(&number)),
        Scalar::Boolean(_) | Scalar::Date(_) | Scalar::Timestamp(_) | Scalar::TimestampNtz(_) | Scalar::Binary(_) => {
            Value::Unbounded
        }
    }
}

/// `|x|`.
pub(super) fn absolute(value: &Scalar) -> Value {
    let negative = match value {
        Scalar::Int(value) => *value < 0,
        Scalar::Float(value) => value.is_sign_negative(),
        Scalar::Decimal { unscaled, .. } => *unscaled < 0,
        Scalar::String(_) => return super::map(cast(value, &ColumnType::Double), |number| absolute(&number)),
        Scalar::Null => false,
        Scalar::Boolean(_) | Scalar::Date(_) | Scalar::Timestamp(_) | Scalar::TimestampNtz(_) | Scalar::Binary(_) => {
            return Value::Unbounded;
        }
    };
    if negative { negate(value) } else { Value::Known(value.clone()) }
}

/// `a op b` of two values that are not NULL. `/` of integers is a float, as in Spark.
pub(super) fn compute(op: Operator, a: &Scalar, b: &Scalar) -> Value {
    match (a, b) {
        (Scalar::String(_), Scalar::Int(_)) => parsed(a, &ColumnType::Long, |a| compute(op, a, b)),
        (Scalar::Int(_), Scalar::String(_)) => parsed(b, &ColumnType::Long, |b| compute(op, a, b)),
        (Scalar::String(_), _) => parsed(a, &ColumnType::Double, |a| compute(op, a, b)),
        (_, Scalar::String(_)) => parsed(b, &ColumnType::Double, |b| compute(op, a, b)),
        (Scalar::Int(a), Scalar::Int(b)) => integers(op, *a, *b),
        (Scalar::Date(days), Scalar::Int(more)) => shifted(op, *days, *more),
        _ => {
            let Some((a, b)) = Number::of(a).zip(Number::of(b)) else { return Value::Unbounded };
            match digits_of(&a).zip(digits_of(&b)) {
                Some((a, b)) => decimals(op, a, b),
                None => floats(op, a.to_double(), b.to_double()),
            }
        }
    }
}

fn parsed(text: &Scalar, to: &ColumnType, then: impl FnOnce(&Scalar) -> Value) -> Value {
    super::map(cast(text, to), |number| then(&number))
}

fn integer(value: Option<i64>) -> Value {
    value.map_or(Value::Failed(Failure::Overflow), |value| Value::Known(Scalar::Int(value)))
}

const fn decimal(unscaled: i128, scale: u8) -> Value {
    Value::Known(Scalar::Decimal { unscaled, scale })
}

fn integers(op: Operator, a: i64, b: i64) -> Value {
    match op {
        Operator::Add => integer(a.checked_add(b)),
        Operator::Subtract => integer(a.checked_sub(b)),
        Operator::Multiply => integer(a.checked_mul(b)),
        Operator::Divide | Operator::Modulo if b == 0 => Value::Failed(Failure::DivideByZero),
        Operator::Divide => floats(op, Number::Int(a).to_double(), Number::Int(b).to_double()),
        // The remainder of the one overflowing pair is 0.
        Operator::Modulo => Value::Known(Scalar::Int(a.checked_rem(b).unwrap_or(0))),
    }
}

fn floats(op: Operator, a: f64, b: f64) -> Value {
    let value = match op {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide | Operator::Modulo if b == 0.0 => return Value::Failed(Failure::DivideByZero),
        Operator::Divide => a / b,
        Operator::Modulo => a % b,
    };
    Value::Known(Scalar::Float(value))
}

fn decimals(op: Operator, a: (i128, u8), b: (i128, u8)) -> Value {
    let scale = a.1.max(b.1);
    let lifted = rescale(a.0, a.1, scale).zip(rescale(b.0, b.1, scale));
    let aligned = |f: fn(i128, i128) -> Option<i128>| {
        lifted.and_then(|(a, b)| f(a, b)).map_or(Value::Unbounded, |unscaled| decimal(unscaled, scale))
    };
    match op {
        Operator::Add => aligned(i128::checked_add),
        Operator::Subtract => aligned(i128::checked_sub),
        Operator::Divide | Operator::Modulo if b.0 == 0 => Value::Failed(Failure::DivideByZero),
        Operator::Modulo => aligned(i128::checked_rem),
        Operator::Multiply => {
            let product = a.0.checked_mul(b.0).zip(a.1.checked_add(b.1)).filter(|(_, scale)| *scale <= 38);
            product.map_or(Value::Unbounded, |(unscaled, scale)| decimal(unscaled, scale))
        }
        // The scale of a quotient depends on the declared types, which scalars do not carry.
        Operator::Divide => Value::Unbounded,
    }
}

fn shifted(op: Operator, days: i32, more: i64) -> Value {
    let moved = match op {
        Operator::Add => i64::from(days).checked_add(more),
        Operator::Subtract => i64::from(days).checked_sub(more),
        Operator::Multiply | Operator::Divide | Operator::Modulo => return Value::Unbounded,
    };
    let moved = moved.and_then(|days| i32::try_from(days).ok());
    moved.map_or(Value::Failed(Failure::Overflow), |days| Value::Known(Scalar::Date(days)))
}

fn digits_of(number: &Number) -> Option<(i128, u8)> {
    match number {
        Number::Int(value) => Some((i128::from(*value), 0)),
        Number::Decimal(unscaled, scale) => Some((*unscaled, *scale)),
        Number::Float(_) => None,
    }
}
