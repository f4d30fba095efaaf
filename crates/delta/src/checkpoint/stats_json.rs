//! Statistics and partition values that a checkpoint holds only as columns, as the text that the log has elsewhere.

use super::columns::{Group, text_at};
use crate::action::TextMap;
use crate::partition::float_text;
use crate::time_text::{format_date, format_timestamp};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::{DataType, TimeUnit};
use serde_json::{Map, Number, Value};
use std::sync::Arc;

/// The text, with every value that has a form in JSON; `None` where there is no value at all.
pub(super) fn of(group: &Group<'_>) -> Option<String> {
    let (array, row) = group.parts();
    let fields = object(array, row);
    (!fields.is_empty()).then(|| Value::Object(fields).to_string())
}

/// The values of a group as texts, in the spelling of partition values; `None` where the value is null.
pub(super) fn texts(group: &Group<'_>) -> TextMap {
    let (array, row) = group.parts();
    let mut texts = TextMap::new();
    for (field, column) in array.fields().iter().zip(array.columns()) {
        let text = column.is_valid(row).then(|| partition_text(column, row)).flatten();
        texts.push(Arc::from(field.name().as_str()), text.map(Arc::from));
    }
    texts
}

fn partition_text(column: &ArrayRef, row: usize) -> Option<String> {
    let text = match value(column, row)? {
        Value::String(text) => text,
        Value::Bool(flag) => flag.to_string(),
        // Digits of a decimal stand as they are; floats have Java's spelling.
        Value::Number(number) => match column.as_primitive_opt::<Float32Type>() {
            Some(floats) => float_text(floats.value(row).into(), true),
            None if *column.data_type() == DataType::Float64 => float_text(number.as_f64()?, false),
            None => number.to_string(),
        },
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    (!text.is_empty()).then_some(text)
}

fn object(array: &StructArray, row: usize) -> Map<String, Value> {
    let mut fields = Map::new();
    for (field, column) in array.fields().iter().zip(array.columns()) {
        if column.is_valid(row)
            && let Some(value) = value(column, row)
        {
            fields.insert(field.name().clone(), value);
        }
    }
    fields
}

fn value(column: &ArrayRef, row: usize) -> Option<Value> {
    if let Some(group) = column.as_struct_opt() {
        let fields = object(group, row);
        return (!fields.is_empty()).then_some(Value::Object(fields));
    }
    if let Some(flags) = column.as_boolean_opt() {
        return Some(Value::Bool(flags.value(row)));
    }
    if let DataType::Timestamp(unit, zone) = column.data_type() {
        let text = format_timestamp(micros(column, row, *unit)?, 'T', 6);
        return Some(Value::String(if zone.is_some() { format!("{text}Z") } else { text }));
    }
    number(column, row).or_else(|| text_at(column, row).map(|text| Value::String(text.to_owned())))
}

fn number(column: &ArrayRef, row: usize) -> Option<Value> {
    if let Some(values) = column.as_primitive_opt::<Int64Type>() {
        return Some(values.value(row).into());
    }
    if let Some(values) = column.as_primitive_opt::<Int32Type>() {
        return Some(values.value(row).into());
    }
    if let Some(values) = column.as_primitive_opt::<Int16Type>() {
        return Some(values.value(row).into());
    }
    if let Some(values) = column.as_primitive_opt::<Int8Type>() {
        return Some(values.value(row).into());
    }
    if let Some(values) = column.as_primitive_opt::<Float64Type>() {
        return Some(float(values.value(row)));
    }
    if let Some(values) = column.as_primitive_opt::<Float32Type>() {
        return Some(float(values.value(row).into()));
    }
    if let Some(values) = column.as_primitive_opt::<Date32Type>() {
        return Some(Value::String(format_date(values.value(row))));
    }
    let text = column.as_primitive_opt::<Decimal128Type>()?.value_as_string(row);
    serde_json::from_str::<Number>(&text).ok().map(Value::Number)
}

fn micros(column: &ArrayRef, row: usize, unit: TimeUnit) -> Option<i64> {
    match unit {
        TimeUnit::Second => None,
        TimeUnit::Millisecond => column.as_primitive_opt::<TimestampMillisecondType>()?.value(row).checked_mul(1000),
        TimeUnit::Microsecond => Some(column.as_primitive_opt::<TimestampMicrosecondType>()?.value(row)),
        TimeUnit::Nanosecond => Some(column.as_primitive_opt::<TimestampNanosecondType>()?.value(row).div_euclid(1000)),
    }
}

fn float(number: f64) -> Value {
    Number::from_f64(number).map_or_else(|| Value::String(float_text(number, false)), Value::Number)
}
