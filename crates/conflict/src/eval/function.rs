//! The functions of the expression grammar.

use super::{Value, arithmetic, cast, map, truth};
use lakebed_transaction::{ColumnType, Expr, Function, Scalar, civil_date};

/// The value of a call. A wrong number of arguments cannot be bounded.
pub(super) fn call(function: Function, arguments: &[Expr], of: &dyn Fn(&Expr) -> Value) -> Value {
    match (function, arguments) {
        (Function::Coalesce, arguments) => coalesce(arguments, of),
        (Function::If, [condition, then, otherwise]) => match truth(of(condition)) {
            Value::Known(Scalar::Boolean(true)) => of(then),
            Value::Known(_) => of(otherwise),
            undecided @ (Value::Unbounded | Value::Failed(_)) => undecided,
        },
        (Function::StartsWith, [text, prefix]) => {
            super::both(of(text), of(prefix), |text, prefix| match (text, prefix) {
                (Scalar::String(text), Scalar::String(prefix)) => Value::boolean(text.starts_with(&**prefix)),
                _ => Value::Unbounded,
            })
        }
        (Function::IsNan, [x]) => map(of(x), |value| is_nan(&value)),
        (Function::Abs, [x]) => map(of(x), |value| arithmetic::absolute(&value)),
        (Function::Upper, [x]) => text(of(x), |text| Scalar::string(&text.to_uppercase())),
        (Function::Lower, [x]) => text(of(x), |text| Scalar::string(&text.to_lowercase())),
        (Function::Length, [x]) => {
            text(of(x), |text| Scalar::Int(i64::try_from(text.chars().count()).unwrap_or(i64::MAX)))
        }
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

/// FALSE for NULL; a text is read as a double.
fn is_nan(value: &Scalar) -> Value {
    if value.is_null() {
        return Value::boolean(false);
    }
    map(cast(value, &ColumnType::Double), |value| Value::boolean(matches!(value, Scalar::Float(x) if x.is_nan())))
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
        map(cast(&value, &ColumnType::String), |value| {
            if let Scalar::String(text) = value { Value::Known(f(&text)) } else { Value::NULL }
        })
    })
}

fn date_part(value: Value, f: impl FnOnce((i64, u32, u32)) -> i64) -> Value {
    map(value, |value| {
        map(cast(&value, &ColumnType::Date), |value| {
            if let Scalar::Date(days) = value {
                Value::Known(Scalar::Int(f(civil_date(i64::from(days)))))
            } else {
                Value::NULL
            }
        })
    })
}
