//! Comparisons, with both sides brought to one type first.

use super::cast::cast;
use super::value::{Value, arrow, booleans, pair, types};
use crate::EvalFailure;
use crate::schema::{scalar_at, strict};
use arrow_arith::boolean::is_null;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_ord::cmp;
use arrow_schema::{DataType, TimeUnit};
use lakebed_transaction::{BinaryOp, ColumnType};
use std::cmp::Ordering;
use std::sync::Arc;

/// `a op b`; `op` is a comparison.
pub(super) fn compare(op: BinaryOp, a: &Value, b: &Value) -> Result<Value, EvalFailure> {
    if a.is_null_type() || b.is_null_type() {
        return with_null(op, a, b);
    }
    let (a, b) = meet(a, b)?;
    let constant = a.constant && b.constant;
    let result = match common(&a, &b) {
        Common::Type(to) => {
            let (a, b) = (canonical(&a, &to)?, canonical(&b, &to)?);
            kernel(op, &a, &b)?
        }
        Common::ByValue => match rounded(&a, &b).zip(rounded(&b, &a)) {
            Some((a, b)) => kernel(op, &canonical(&a, &DataType::Float64)?, &canonical(&b, &DataType::Float64)?)?,
            None => by_value(op, &a, &b)?,
        },
        Common::None => return Err(types(&[&a, &b])),
    };
    Ok(booleans(result, constant))
}

/// A comparison with a NULL literal.
fn with_null(op: BinaryOp, a: &Value, b: &Value) -> Result<Value, EvalFailure> {
    let (x, y, constant) = pair(a, b)?;
    if op != BinaryOp::NullSafeEqual {
        return Ok(booleans(BooleanArray::new_null(x.len()), constant));
    }
    let other = if a.is_null_type() { y } else { x };
    let nulls = if *other.data_type() == DataType::Null {
        BooleanArray::from(vec![true; other.len()])
    } else {
        is_null(&other).map_err(arrow)?
    };
    Ok(booleans(nulls, constant))
}

fn kernel(op: BinaryOp, a: &Value, b: &Value) -> Result<BooleanArray, EvalFailure> {
    let (x, y) = (a.datum(), b.datum());
    let result = match op {
        BinaryOp::NotEqual => cmp::neq(&*x, &*y),
        BinaryOp::Less => cmp::lt(&*x, &*y),
        BinaryOp::LessOrEqual => cmp::lt_eq(&*x, &*y),
        BinaryOp::Greater => cmp::gt(&*x, &*y),
        BinaryOp::GreaterOrEqual => cmp::gt_eq(&*x, &*y),
        BinaryOp::NullSafeEqual => cmp::not_distinct(&*x, &*y),
        BinaryOp::Equal
        | BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::Multiply
        | BinaryOp::Divide
        | BinaryOp::Modulo
        | BinaryOp::And
        | BinaryOp::Or => cmp::eq(&*x, &*y),
    };
    result.map_err(arrow)
}

/// A text is read as what it meets; a date and a wall-clock time become instants (UTC) where they meet one.
pub(super) fn meet(a: &Value, b: &Value) -> Result<(Value, Value), EvalFailure> {
    Ok((meeting(a, b)?, meeting(b, a)?))
}

fn meeting(value: &Value, other: &Value) -> Result<Value, EvalFailure> {
    use DataType as D;
    let to = match (value.data_type(), other.data_type()) {
        (D::Utf8, D::Int8 | D::Int16 | D::Int32 | D::Int64) => ColumnType::Long,
        (D::Utf8, D::Float32) => ColumnType::Float,
        (D::Utf8, D::Float64 | D::Decimal128(_, _)) => ColumnType::Double,
        (D::Utf8, D::Boolean) => ColumnType::Boolean,
        (D::Utf8, D::Date32) => ColumnType::Date,
        (D::Utf8, D::Binary) => ColumnType::Binary,
        (D::Utf8 | D::Date32, D::Timestamp(_, None)) => ColumnType::TimestampNtz,
        (D::Utf8 | D::Date32 | D::Timestamp(_, None), D::Timestamp(_, Some(_))) => ColumnType::Timestamp,
        _ => return Ok(value.clone()),
    };
    cast(value, &to)
}

enum Common {
    Type(DataType),
    /// No type holds the values of both exactly: compared value by value.
    ByValue,
    None,
}

fn common(a: &Value, b: &Value) -> Common {
    let (x, y) = (a.data_type(), b.data_type());
    if x == y {
        return if x.is_nested() { Common::None } else { Common::Type(x.clone()) };
    }
    match (number(x), number(y)) {
        (Some(Number::Exact(p, s)), Some(Number::Exact(q, t))) => {
            if s == 0 && t == 0 && x.is_integer() && y.is_integer() {
                return Common::Type(DataType::Int64);
            }
            let scale = s.max(t);
            let precision = (p - s).max(q - t) + scale;
            match (u8::try_from(precision), i8::try_from(scale)) {
                (Ok(precision), Ok(scale)) if precision <= 38 => Common::Type(DataType::Decimal128(precision, scale)),
                _ => Common::ByValue,
            }
        }
        (Some(Number::Float), Some(Number::Float)) => Common::Type(DataType::Float64),
        (Some(Number::Float), Some(Number::Exact(p, 0))) | (Some(Number::Exact(p, 0)), Some(Number::Float))
            if p <= 10 =>
        {
            Common::Type(DataType::Float64)
        }
        (Some(_), Some(_)) => Common::ByValue,
        _ => Common::None,
    }
}

enum Number {
    /// Digits, and how many of them stand after the point.
    Exact(i16, i16),
    Float,
}

#[expect(clippy::wildcard_enum_match_arm, reason = "Arrow's enum is not ours; other types are no numbers")]
fn number(data_type: &DataType) -> Option<Number> {
    Some(match data_type {
        DataType::Int8 => Number::Exact(3, 0),
        DataType::Int16 => Number::Exact(5, 0),
        DataType::Int32 => Number::Exact(10, 0),
        DataType::Int64 => Number::Exact(19, 0),
        DataType::Decimal128(precision, scale) => Number::Exact(i16::from(*precision), i16::from(*scale)),
        DataType::Float32 | DataType::Float64 => Number::Float,
        _ => return None,
    })
}

/// In the common type; floats with one NaN and one zero, since Arrow's order tells their bits apart and SQL's does not.
fn canonical(value: &Value, to: &DataType) -> Result<Value, EvalFailure> {
    let array = strict(&value.array, to).map_err(arrow)?;
    let array: ArrayRef = if *to == DataType::Float64 {
        Arc::new(
            array
                .as_primitive::<Float64Type>()
                .unary::<_, Float64Type>(|x| if x.is_nan() { f64::NAN } else { x + 0.0 }),
        )
    } else if *to == DataType::Float32 {
        Arc::new(
            array
                .as_primitive::<Float32Type>()
                .unary::<_, Float32Type>(|x| if x.is_nan() { f32::NAN } else { x + 0.0 }),
        )
    } else {
        array
    };
    Ok(value.with(array))
}

/// A value as doubles where that changes no comparison with `other`: it is floats, or one number that meets floats and
/// equals its nearest double in SQL's comparison.
fn rounded(value: &Value, other: &Value) -> Option<Value> {
    let is_float = |value: &Value| matches!(number(value.data_type()), Some(Number::Float));
    if is_float(value) {
        return Some(value.clone());
    }
    if !value.constant || !is_float(other) {
        return None;
    }
    let exact = scalar_at(&value.array, 0)?;
    let Ok(double) = cast(value, &ColumnType::Double) else { return None };
    let same = exact.is_null() || scalar_at(&double.array, 0)?.compare(&exact) == Some(Ordering::Equal);
    same.then_some(double)
}

fn by_value(op: BinaryOp, a: &Value, b: &Value) -> Result<BooleanArray, EvalFailure> {
    let (x, y, _) = pair(a, b)?;
    let one = |row: usize| {
        let (Some(left), Some(right)) = (scalar_at(&x, row), scalar_at(&y, row)) else { return Err(types(&[a, b])) };
        if left.is_null() || right.is_null() {
            let both = left.is_null() && right.is_null();
            return Ok((op == BinaryOp::NullSafeEqual).then_some(both));
        }
        let order = left.compare(&right).ok_or_else(|| types(&[a, b]))?;
        Ok(Some(holds(op, order)))
    };
    (0..x.len()).map(one).collect()
}

const fn holds(op: BinaryOp, order: Ordering) -> bool {
    match op {
        BinaryOp::NotEqual => order.is_ne(),
        BinaryOp::Less => order.is_lt(),
        BinaryOp::LessOrEqual => order.is_le(),
        BinaryOp::Greater => order.is_gt(),
        BinaryOp::GreaterOrEqual => order.is_ge(),
        BinaryOp::Equal
        | BinaryOp::NullSafeEqual
        | BinaryOp::Add
        | BinaryOp::Subtract
        | BinaryOp::Multiply
        | BinaryOp::Divide
        | BinaryOp::Modulo
        | BinaryOp::And
        | BinaryOp::Or => order.is_eq(),
    }
}

/// The type that holds the values of all branches of a CASE.
pub(super) fn branch_type(all: &[&Value]) -> Result<DataType, EvalFailure> {
    let mut found = DataType::Null;
    for value in all {
        found = wider(&found, value.data_type()).ok_or_else(|| types(all))?;
    }
    Ok(found)
}

fn wider(a: &DataType, b: &DataType) -> Option<DataType> {
    if a == b || *b == DataType::Null {
        return Some(a.clone());
    }
    if *a == DataType::Null {
        return Some(b.clone());
    }
    match (number(a), number(b)) {
        (Some(Number::Exact(p, s)), Some(Number::Exact(q, t))) => {
            if a.is_integer() && b.is_integer() {
                return Some(DataType::Int64);
            }
            let scale = s.max(t);
            let precision = ((p - s).max(q - t) + scale).min(38);
            Some(DataType::Decimal128(u8::try_from(precision).ok()?, i8::try_from(scale).ok()?))
        }
        (Some(_), Some(_)) => Some(DataType::Float64),
        (None, None) => wider_time(a, b),
        (Some(_), None) | (None, Some(_)) => None,
    }
}

fn wider_time(a: &DataType, b: &DataType) -> Option<DataType> {
    let micros = |zone| DataType::Timestamp(TimeUnit::Microsecond, zone);
    match (a, b) {
        (DataType::Timestamp(_, Some(zone)), DataType::Date32 | DataType::Timestamp(_, _))
        | (DataType::Date32 | DataType::Timestamp(_, None), DataType::Timestamp(_, Some(zone))) => {
            Some(micros(Some(zone.clone())))
        }
        (DataType::Timestamp(_, None), DataType::Date32) | (DataType::Date32, DataType::Timestamp(_, None)) => {
            Some(micros(None))
        }
        _ => None,
    }
}
