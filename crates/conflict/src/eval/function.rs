//! The functions of the expression grammar.

use super::{Value, arithmetic, calendar, cast, map, truth};
use lakebed_transaction::{ColumnType, Expr, Function, Scalar};

/// The value of a call. A wrong number of arguments cannot be bounded.
pub(super) fn call(function: Function, arguments: &[Expr], of: &dyn Fn(&Expr) -> Value) -> Value {
    match (function, arguments) {
        (Function::Coalesce, arguments) => coalesce(arguments, of),
        (Function::If, [condition, then, otherwise]) => match truth(of(condition)) {
            Value::Known(Scalar::Boolean(true)) => of(then),
            Value::Known(_) => of(otherwise),
            other => other,
        },
        (Function::StartsWith, [text, prefix]) => super::both(of(text), of(prefix), |text, prefix| match (text, prefix) {
            (Scalar::String(text), Scalar::String(prefix)) => Value::boolean(text.starts_with(&**prefix)),
            _ => Value::Unbounded,
        }),
        (Function::IsNan, [x]) => map(of(x), |value| match value {
            Scalar::Null => Value::boolean(false),
            Scalar::Float(value) => Value::boolean(value.is_nan()),
            Scalar::Int(_) | Scalar::Decimal { .. } => Value::boolean(false),
            _ => Value::Unbounded,
        }),
        (Function::Abs, [x]) => map(of(x), |value| arithmetic::absolute(&value)),
        (Function::Upper, [x]) => text(of(x), |text| Scalar::string(&text.to_uppercase())),
        (Function::Lower, [x]) => text(of(x), |text| Scalar::string(&text.to_lowercase())),
        (Function::Length, [x]) => text(of(x), |text| Scalar::Int(i64::try_from(text.chars().count()).unwrap_or(i64::MAX))),
        (Function::Year, [x]) => date_part(of(x), |(year, _, _)| year),
        (Function::Month, [x]) => date_part(of(x), |(_, month, _)| i64::from(month)),
        (Function::Day, [x]) => date_part(of(x), |(_, _, day)| i64::from(day)),
        (
            Function::If
            | Function::StartsWith
            | Function::IsNan
            | Function::Abs
            | Function::Upper
            | Function::Lower
            | Function::Length
            | Function::Year
            | Function::Month
            | Function::Day,
            _,
        ) => Value::Unbounded,
    }
}

fn coalesce(arguments: &[Expr], of: &dyn Fn(&Expr) -> Value) -> Value {
    for argument in arguments {
        let value = of(argument);
        if value != Value::NULL {
            return value;
        }
    }
    Value::NULL
}

fn text(value: Value, f: impl FnOnce(&str) -> Scalar) -> Value {
    map(value, |value| {
        map(cast(&value, &ColumnType::String), |value| match value {
            Scalar::String(text) => Value::Known(f(&text)),
            Scalar::Null => Value::NULL,
            _ => Value::Unbounded,
        })
    })
}

fn date_part(value: Value, f: impl FnOnce((i64, u32, u32)) -> i64) -> Value {
    map(value, |value| {
        map(cast(&value, &ColumnType::Date), |value| match value {
            Scalar::Date(days) => Value::Known(Scalar::Int(f(calendar::civil(i64::from(days))))),
            Scalar::Null => Value::NULL,
            _ => Value::Unbounded,
        })
    })
}
