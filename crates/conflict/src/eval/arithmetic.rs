//! Arithmetic on numbers and dates, with the errors of Spark's ANSI mode.

use super::{Failure, Value, cast};
use lakebed_transaction::{BinaryOp, ColumnType, Scalar};

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
pub(super) fn compute(op: BinaryOp, a: &Scalar, b: &Scalar) -> Value {
    match (a, b) {
        (Scalar::String(_), Scalar::Int(_)) => parsed(a, &ColumnType::Long, |a| compute(op, a, b)),
        (Scalar::Int(_), Scalar::String(_)) => parsed(b, &ColumnType::Long, |b| compute(op, a, b)),
        (Scalar::String(_), _) => parsed(a, &ColumnType::Double, |a| compute(op, a, b)),
        (_, Scalar::String(_)) => parsed(b, &ColumnType::Double, |b| compute(op, a, b)),
        (Scalar::Int(a), Scalar::Int(b)) => integers(op, *a, *b),
        (Scalar::Date(days), Scalar::Int(more)) => shifted(op, *days, *more),
        (Scalar::Float(_), _) | (_, Scalar::Float(_)) => {
            float_of(a).zip(float_of(b)).map_or(Value::Unbounded, |(a, b)| floats(op, a, b))
        }
        _ => decimal_of(a).zip(decimal_of(b)).map_or(Value::Unbounded, |(a, b)| decimals(op, a, b)),
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

fn integers(op: BinaryOp, a: i64, b: i64) -> Value {
    match op {
        BinaryOp::Add => integer(a.checked_add(b)),
        BinaryOp::Subtract => integer(a.checked_sub(b)),
        BinaryOp::Multiply => integer(a.checked_mul(b)),
        BinaryOp::Divide | BinaryOp::Modulo if b == 0 => Value::Failed(Failure::DivideByZero),
        #[expect(clippy::cast_precision_loss, reason = "Spark divides integers as doubles")]
        BinaryOp::Divide => Value::Known(Scalar::Float(a as f64 / b as f64)),
        // The remainder of the one overflowing pair is 0.
        BinaryOp::Modulo => Value::Known(Scalar::Int(a.checked_rem(b).unwrap_or(0))),
        other => not_arithmetic(other),
    }
}

fn floats(op: BinaryOp, a: f64, b: f64) -> Value {
    let value = match op {
        BinaryOp::Add => a + b,
        BinaryOp::Subtract => a - b,
        BinaryOp::Multiply => a * b,
        BinaryOp::Divide | BinaryOp::Modulo if b == 0.0 => return Value::Failed(Failure::DivideByZero),
        BinaryOp::Divide => a / b,
        BinaryOp::Modulo => a % b,
        other => return not_arithmetic(other),
    };
    Value::Known(Scalar::Float(value))
}

fn decimals(op: BinaryOp, a: (i128, u8), b: (i128, u8)) -> Value {
    let scale = a.1.max(b.1);
    let lifted = cast::rescale(a.0, a.1, scale).zip(cast::rescale(b.0, b.1, scale));
    let aligned = |f: fn(i128, i128) -> Option<i128>| {
        lifted.and_then(|(a, b)| f(a, b)).map_or(Value::Unbounded, |unscaled| decimal(unscaled, scale))
    };
    match op {
        BinaryOp::Add => aligned(i128::checked_add),
        BinaryOp::Subtract => aligned(i128::checked_sub),
        BinaryOp::Divide | BinaryOp::Modulo if b.0 == 0 => Value::Failed(Failure::DivideByZero),
        BinaryOp::Modulo => aligned(i128::checked_rem),
        BinaryOp::Multiply => {
            let product = a.0.checked_mul(b.0).zip(a.1.checked_add(b.1)).filter(|(_, scale)| *scale <= 38);
            product.map_or(Value::Unbounded, |(unscaled, scale)| decimal(unscaled, scale))
        }
        // The scale of a quotient depends on the declared types, which scalars do not carry.
        BinaryOp::Divide => Value::Unbounded,
        other => not_arithmetic(other),
    }
}

fn shifted(op: BinaryOp, days: i32, more: i64) -> Value {
    let moved = match op {
        BinaryOp::Add => i64::from(days).checked_add(more),
        BinaryOp::Subtract => i64::from(days).checked_sub(more),
        _ => return Value::Unbounded,
    };
    let moved = moved.and_then(|days| i32::try_from(days).ok());
    moved.map_or(Value::Failed(Failure::Overflow), |days| Value::Known(Scalar::Date(days)))
}

/// Comparisons and junctions never come here; were one to, nothing would be known of it.
const fn not_arithmetic(_: BinaryOp) -> Value {
    Value::Unbounded
}

#[expect(clippy::cast_precision_loss, reason = "SQL computes in doubles as soon as one operand is one")]
fn float_of(value: &Scalar) -> Option<f64> {
    match value {
        Scalar::Float(value) => Some(*value),
        other => decimal_of(other).map(|(unscaled, scale)| unscaled as f64 / 10_f64.powi(i32::from(scale))),
    }
}

fn decimal_of(value: &Scalar) -> Option<(i128, u8)> {
    match value {
        Scalar::Int(value) => Some((i128::from(*value), 0)),
        Scalar::Decimal { unscaled, scale } => Some((*unscaled, *scale)),
        Scalar::Null
        | Scalar::Boolean(_)
        | Scalar::Float(_)
        | Scalar::Date(_)
        | Scalar::Timestamp(_)
        | Scalar::TimestampNtz(_)
        | Scalar::String(_)
        | Scalar::Binary(_) => None,
    }
}
