//! Arithmetic on numbers and dates. Integers are computed in 64 bits, floats in doubles, decimals exactly.

use super::cast::cast;
use super::decimal::{Shape, compute};
use super::value::{Value, arrow, pair, types};
use crate::EvalFailure;
use crate::schema::strict;
use arrow_arith::arity::{try_binary, try_unary};
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, Decimal128Array, PrimitiveArray};
use arrow_schema::{ArrowError, DataType};
use lakebed_transaction::{BinaryOp, ColumnType};
use std::sync::Arc;

/// `a op b`; `op` is arithmetic.
pub(super) fn arithmetic(op: BinaryOp, a: &Value, b: &Value) -> Result<Value, EvalFailure> {
    if a.is_null_type() || b.is_null_type() {
        return Ok(Value::null());
    }
    let (a, b) = (parsed(a, b)?, parsed(b, a)?);
    let (x, y, constant) = pair(&a, &b)?;
    let (p, q) = (x.data_type(), y.data_type());
    let array = if p.is_integer() && q.is_integer() {
        integers(op, &x, &y)?
    } else if *p == DataType::Date32 && q.is_integer() {
        shift(op, &x, &y)?
    } else if p.is_integer() && *q == DataType::Date32 && op == BinaryOp::Add {
        shift(op, &y, &x)?
    } else if let Some((p, q)) = shape(&a).zip(shape(&b)) {
        decimals(op, (&x, p), (&y, q))?
    } else if is_number(p) && is_number(q) {
        floats(op, &doubles(&x)?, &doubles(&y)?)?
    } else {
        return Err(types(&[&a, &b]));
    };
    Ok(Value { array, constant })
}

/// A text is read as the number that it meets: whole beside integers, else a double.
fn parsed(value: &Value, other: &Value) -> Result<Value, EvalFailure> {
    if *value.data_type() != DataType::Utf8 {
        return Ok(value.clone());
    }
    cast(value, if other.data_type().is_integer() { &ColumnType::Long } else { &ColumnType::Double })
}

fn is_number(data_type: &DataType) -> bool {
    data_type.is_integer() || data_type.is_floating() || matches!(data_type, DataType::Decimal128(_, _))
}

fn longs(array: &ArrayRef) -> Result<PrimitiveArray<Int64Type>, EvalFailure> {
    Ok(strict(array, &DataType::Int64).map_err(arrow)?.as_primitive::<Int64Type>().clone())
}

fn doubles(array: &ArrayRef) -> Result<PrimitiveArray<Float64Type>, EvalFailure> {
    let value = cast(&Value::column(array.clone()), &ColumnType::Double)?;
    Ok(value.array.as_primitive::<Float64Type>().clone())
}

fn overflow(type_name: &str) -> ArrowError {
    ArrowError::ArithmeticOverflow(type_name.to_owned())
}

fn integers(op: BinaryOp, x: &ArrayRef, y: &ArrayRef) -> Result<ArrayRef, EvalFailure> {
    if op == BinaryOp::Divide {
        return floats(op, &doubles(x)?, &doubles(y)?);
    }
    let one = |a: i64, b: i64| {
        let value = match op {
            BinaryOp::Subtract => a.checked_sub(b),
            BinaryOp::Multiply => a.checked_mul(b),
            BinaryOp::Modulo if b == 0 => return Err(ArrowError::DivideByZero),
            // The remainder of the one overflowing pair is 0.
            BinaryOp::Modulo => Some(a.wrapping_rem(b)),
            BinaryOp::Add
            | BinaryOp::Divide
            | BinaryOp::Equal
            | BinaryOp::NotEqual
            | BinaryOp::Less
            | BinaryOp::LessOrEqual
            | BinaryOp::Greater
            | BinaryOp::GreaterOrEqual
            | BinaryOp::NullSafeEqual
            | BinaryOp::And
            | BinaryOp::Or => a.checked_add(b),
        };
        value.ok_or_else(|| overflow("long"))
    };
    let result: PrimitiveArray<Int64Type> = try_binary(&longs(x)?, &longs(y)?, one).map_err(arrow)?;
    Ok(Arc::new(result))
}

fn floats(
    op: BinaryOp,
    x: &PrimitiveArray<Float64Type>,
    y: &PrimitiveArray<Float64Type>,
) -> Result<ArrayRef, EvalFailure> {
    let one = |a: f64, b: f64| match op {
        BinaryOp::Subtract => Ok(a - b),
        BinaryOp::Multiply => Ok(a * b),
        BinaryOp::Divide | BinaryOp::Modulo if b == 0.0 => Err(ArrowError::DivideByZero),
        BinaryOp::Divide => Ok(a / b),
        BinaryOp::Modulo => Ok(a % b),
        BinaryOp::Add
        | BinaryOp::Equal
        | BinaryOp::NotEqual
        | BinaryOp::Less
        | BinaryOp::LessOrEqual
        | BinaryOp::Greater
        | BinaryOp::GreaterOrEqual
        | BinaryOp::NullSafeEqual
        | BinaryOp::And
        | BinaryOp::Or => Ok(a + b),
    };
    let result: PrimitiveArray<Float64Type> = try_binary(x, y, one).map_err(arrow)?;
    Ok(Arc::new(result))
}

/// A date and days.
fn shift(op: BinaryOp, dates: &ArrayRef, days: &ArrayRef) -> Result<ArrayRef, EvalFailure> {
    if !matches!(op, BinaryOp::Add | BinaryOp::Subtract) {
        return Err(EvalFailure::Types { types: "a date here".to_owned() });
    }
    let one = |date: i32, days: i64| {
        let moved =
            if op == BinaryOp::Add { i64::from(date).checked_add(days) } else { i64::from(date).checked_sub(days) };
        moved.and_then(|days| i32::try_from(days).ok()).ok_or_else(|| overflow("date"))
    };
    let result: PrimitiveArray<Date32Type> =
        try_binary(dates.as_primitive::<Date32Type>(), &longs(days)?, one).map_err(arrow)?;
    Ok(Arc::new(result))
}

/// The decimal type that an operand counts as; an integer literal only has the digits that it shows.
#[expect(clippy::wildcard_enum_match_arm, reason = "Arrow's enum is not ours; other types are no exact numbers")]
fn shape(value: &Value) -> Option<Shape> {
    let whole = |precision| Some(Shape { precision, scale: 0 });
    match value.data_type() {
        DataType::Decimal128(precision, scale) => {
            Some(Shape { precision: i32::from(*precision), scale: i32::from(*scale) })
        }
        DataType::Int64 if value.constant && value.array.is_valid(0) => {
            let digits = value.array.as_primitive::<Int64Type>().value(0).unsigned_abs().to_string();
            whole(i32::try_from(digits.len()).ok()?)
        }
        DataType::Int8 => whole(3),
        DataType::Int16 => whole(5),
        DataType::Int32 => whole(10),
        DataType::Int64 => whole(20),
        _ => None,
    }
}

fn digits(array: &ArrayRef) -> Result<Decimal128Array, EvalFailure> {
    if array.data_type().is_integer() {
        let wide: PrimitiveArray<Decimal128Type> = longs(array)?.unary(i128::from);
        return Ok(wide);
    }
    Ok(array.as_primitive::<Decimal128Type>().clone())
}

fn decimals(op: BinaryOp, (x, p): (&ArrayRef, Shape), (y, q): (&ArrayRef, Shape)) -> Result<ArrayRef, EvalFailure> {
    let name = || EvalFailure::Types { types: "decimals here".to_owned() };
    let to = Shape::of(op, p, q).ok_or_else(name)?;
    let type_name = format!("decimal({},{})", to.precision, to.scale);
    let one = |a: i128, b: i128| {
        if b == 0 && matches!(op, BinaryOp::Divide | BinaryOp::Modulo) {
            return Err(ArrowError::DivideByZero);
        }
        compute(op, (a, p.scale), (b, q.scale), to).ok_or_else(|| overflow(&type_name))
    };
    let result: PrimitiveArray<Decimal128Type> = try_binary(&digits(x)?, &digits(y)?, one).map_err(arrow)?;
    let (Ok(precision), Ok(scale)) = (u8::try_from(to.precision), i8::try_from(to.scale)) else { return Err(name()) };
    Ok(Arc::new(result.with_precision_and_scale(precision, scale).map_err(arrow)?))
}

/// `-x`.
pub(super) fn negate(value: &Value) -> Result<Value, EvalFailure> {
    signed(value, i64::checked_neg, |x| -x, i128::checked_neg)
}

/// `|x|`.
pub(super) fn absolute(value: &Value) -> Result<Value, EvalFailure> {
    signed(value, i64::checked_abs, f64::abs, i128::checked_abs)
}

fn signed(
    value: &Value,
    long: fn(i64) -> Option<i64>,
    double: fn(f64) -> f64,
    decimal: fn(i128) -> Option<i128>,
) -> Result<Value, EvalFailure> {
    if value.is_null_type() {
        return Ok(value.clone());
    }
    if *value.data_type() == DataType::Utf8 {
        return signed(&cast(value, &ColumnType::Double)?, long, double, decimal);
    }
    let array: ArrayRef = if value.data_type().is_integer() {
        let one = |x: i64| long(x).ok_or_else(|| overflow("long"));
        Arc::new(try_unary::<Int64Type, _, Int64Type>(&longs(&value.array)?, one).map_err(arrow)?)
    } else if let DataType::Decimal128(precision, scale) = value.data_type() {
        let one = |x: i128| decimal(x).ok_or_else(|| overflow("decimal"));
        let result = try_unary::<Decimal128Type, _, Decimal128Type>(value.array.as_primitive(), one).map_err(arrow)?;
        Arc::new(result.with_precision_and_scale(*precision, *scale).map_err(arrow)?)
    } else if value.data_type().is_floating() {
        Arc::new(doubles(&value.array)?.unary::<_, Float64Type>(double))
    } else {
        return Err(types(&[value]));
    };
    Ok(value.with(array))
}
