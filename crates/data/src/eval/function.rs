//! The functions of the grammar, and LIKE.

use super::arithmetic::absolute;
use super::cast::cast;
use super::pattern::Pattern;
use super::value::{Value, booleans, pair, types};
use crate::EvalFailure;
use crate::calendar::civil;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Float32Type, Float64Type};
use arrow_array::{Array, BooleanArray, Int64Array, StringArray};
use arrow_schema::DataType;
use lakebed_transaction::{ColumnType, Function};
use std::sync::Arc;

/// A call whose arguments all count (not COALESCE and IF, which choose).
pub(super) fn call(function: Function, arguments: &[Value]) -> Result<Value, EvalFailure> {
    match (function, arguments) {
        (Function::StartsWith, [text, prefix]) => starts_with(text, prefix),
        (Function::IsNan, [x]) => is_nan(x),
        (Function::Abs, [x]) => absolute(x),
        (Function::Upper, [x]) => map_text(x, |text| text.to_uppercase()),
        (Function::Lower, [x]) => map_text(x, |text| text.to_lowercase()),
        (Function::Length, [x]) => length(x),
        (Function::Year, [x]) => date_part(x, |(year, _, _)| year),
        (Function::Month, [x]) => date_part(x, |(_, month, _)| i64::from(month)),
        (Function::Day, [x]) => date_part(x, |(_, _, day)| i64::from(day)),
        (Function::StartsWith, _) => Err(EvalFailure::Arguments { expected: "two arguments".to_owned() }),
        (
            Function::Coalesce
            | Function::If
            | Function::IsNan
            | Function::Abs
            | Function::Upper
            | Function::Lower
            | Function::Length
            | Function::Year
            | Function::Month
            | Function::Day,
            _,
        ) => Err(EvalFailure::Arguments { expected: "one argument".to_owned() }),
    }
}

/// Any value as text.
fn texts(value: &Value) -> Result<Value, EvalFailure> {
    cast(value, &ColumnType::String)
}

fn map_text(value: &Value, f: impl Fn(&str) -> String) -> Result<Value, EvalFailure> {
    let value = texts(value)?;
    let result: StringArray = value.array.as_string::<i32>().iter().map(|text| text.map(&f)).collect();
    Ok(value.with(Arc::new(result)))
}

/// Characters of a text, bytes of a binary.
fn length(value: &Value) -> Result<Value, EvalFailure> {
    let count = |length: usize| i64::try_from(length).unwrap_or(i64::MAX);
    let result: Int64Array = if *value.data_type() == DataType::Binary {
        value.array.as_binary::<i32>().iter().map(|bytes| bytes.map(|bytes| count(bytes.len()))).collect()
    } else {
        let value = texts(value)?;
        value.array.as_string::<i32>().iter().map(|text| text.map(|text| count(text.chars().count()))).collect()
    };
    Ok(value.with(Arc::new(result)))
}

fn starts_with(text: &Value, prefix: &Value) -> Result<Value, EvalFailure> {
    let (x, y, constant) = pair(&texts(text)?, &texts(prefix)?)?;
    let pairs = x.as_string::<i32>().iter().zip(y.as_string::<i32>().iter());
    let result: BooleanArray = pairs.map(|(text, prefix)| Some(text?.starts_with(prefix?))).collect();
    Ok(booleans(result, constant))
}

/// `text LIKE pattern`.
pub(super) fn like(text: &Value, pattern: &Value, escape: Option<char>) -> Result<Value, EvalFailure> {
    let (text, pattern) = (texts(text)?, texts(pattern)?);
    let escape = escape.unwrap_or('\\');
    let made = |pattern: &str| {
        let bad = || EvalFailure::Cast { text: pattern.chars().take(80).collect(), to: "LIKE pattern".to_owned() };
        Pattern::new(pattern, escape).ok_or_else(bad)
    };
    if pattern.constant {
        let patterns = pattern.array.as_string::<i32>();
        if patterns.is_null(0) {
            return Ok(booleans(BooleanArray::new_null(text.array.len()), text.constant));
        }
        let pattern = made(patterns.value(0))?;
        let result: BooleanArray =
            text.array.as_string::<i32>().iter().map(|text| text.map(|text| pattern.matches(text))).collect();
        return Ok(booleans(result, text.constant));
    }
    let (x, y, constant) = pair(&text, &pattern)?;
    let pairs = x.as_string::<i32>().iter().zip(y.as_string::<i32>().iter());
    let one = |(text, pattern): (Option<&str>, Option<&str>)| match (text, pattern) {
        (Some(text), Some(pattern)) => made(pattern).map(|pattern| Some(pattern.matches(text))),
        (None, _) | (_, None) => Ok(None),
    };
    Ok(booleans(pairs.map(one).collect::<Result<BooleanArray, _>>()?, constant))
}

/// Whether a float is NaN; FALSE for NULL and for exact numbers.
#[expect(clippy::wildcard_enum_match_arm, reason = "Arrow's enum is not ours; other types are refused")]
fn is_nan(value: &Value) -> Result<Value, EvalFailure> {
    let rows = value.array.len();
    let result: BooleanArray = match value.data_type() {
        DataType::Float64 => {
            value.array.as_primitive::<Float64Type>().iter().map(|x| Some(x.is_some_and(f64::is_nan))).collect()
        }
        DataType::Float32 => {
            value.array.as_primitive::<Float32Type>().iter().map(|x| Some(x.is_some_and(f32::is_nan))).collect()
        }
        DataType::Utf8 => return is_nan(&cast(value, &ColumnType::Double)?),
        other if other.is_integer() || matches!(other, DataType::Null | DataType::Decimal128(_, _)) => {
            BooleanArray::from(vec![false; rows])
        }
        _ => return Err(types(&[value])),
    };
    Ok(booleans(result, value.constant))
}

fn date_part(value: &Value, f: impl Fn((i64, u32, u32)) -> i64) -> Result<Value, EvalFailure> {
    let dates = cast(value, &ColumnType::Date)?;
    let result: Int64Array = dates
        .array
        .as_primitive::<Date32Type>()
        .iter()
        .map(|days| days.map(|days| f(civil(i64::from(days)))))
        .collect();
    Ok(dates.with(Arc::new(result)))
}
