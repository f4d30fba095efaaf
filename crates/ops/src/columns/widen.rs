//! Wider types, and the record of them by which older files are read.
//!
//! Source: the protocol's type widening. The change stands in the metadata of the nearest field, with the way from there where
//! the type is that of a list's elements or of a map's keys or values.

use super::no_column;
use super::place::step;
use crate::OpsError;
use lakebed_delta::schema::{DataType, StructField, StructType};
use lakebed_transaction::ColumnType;
use serde_json::{Map, Value};

const TYPE_CHANGES: &str = "delta.typeChanges";

/// # Errors
/// There is no such column, or its type cannot become that one.
pub(super) fn widen(schema: &mut StructType, path: &[String], to: &ColumnType) -> Result<(), OpsError> {
    let columns = schema.fields.clone();
    let unknown = || no_column(path, &columns);
    let (first, rest) = path.split_first().ok_or_else(unknown)?;
    let field = schema.fields.iter_mut().find(|field| field.name.eq_ignore_ascii_case(first)).ok_or_else(unknown)?;
    let (field, way) = nearest(field, rest).ok_or_else(unknown)?;
    let mut at = &mut field.data_type;
    for part in &way {
        at = step(at, part).ok_or_else(unknown)?;
    }
    let new = DataType::from_column_type(to);
    let (old, new_text) = match (&*at, &new) {
        (DataType::Primitive(old), DataType::Primitive(new)) if may_widen(&at.column_type(), to) => {
            (old.clone(), new.clone())
        }
        (old, new) => {
            return Err(OpsError::Invalid {
                problem: format!("{} cannot go from {} to {}", path.join("."), old.text(), new.text()),
                advice: "byte, short, integer and long may grow along that line, to double or to a decimal with enough digits; \
                         float to double, date to timestamp_ntz, a decimal to one with more digits"
                    .to_owned(),
            });
        }
    };
    *at = new;
    let mut change = Map::new();
    change.insert("toType".to_owned(), Value::from(new_text));
    change.insert("fromType".to_owned(), Value::from(old));
    if !way.is_empty() {
        change.insert("fieldPath".to_owned(), Value::from(way.join(".")));
    }
    let known = field.metadata.entry(TYPE_CHANGES).or_insert_with(|| Value::Array(Vec::new()));
    if let Some(known) = known.as_array_mut() {
        known.push(Value::Object(change));
    }
    Ok(())
}

/// The innermost named field on a path, and the parts that lead on from it. Recursion is bounded by the length of the path.
fn nearest<'a>(field: &'a mut StructField, rest: &[String]) -> Option<(&'a mut StructField, Vec<String>)> {
    let Some(place) = first_struct(&field.data_type, rest)? else {
        return Some((field, rest.iter().map(|part| part.to_lowercase()).collect()));
    };
    let (way, tail) = rest.split_at(place);
    let (name, tail) = tail.split_first()?;
    let mut at = &mut field.data_type;
    for part in way {
        at = step(at, part)?;
    }
    let DataType::Struct(inner) = at else { return None };
    nearest(inner.fields.iter_mut().find(|inner| inner.name.eq_ignore_ascii_case(name))?, tail)
}

/// After how many parts of a path a struct stands that the path leads into: `Some(None)` for none, `None` where the path leads
/// nowhere.
fn first_struct(data_type: &DataType, path: &[String]) -> Option<Option<usize>> {
    let mut probe = data_type.clone();
    let mut at = &mut probe;
    for (place, part) in path.iter().enumerate() {
        if matches!(at, DataType::Struct(_)) {
            return Some(Some(place));
        }
        at = step(at, part)?;
    }
    Some(None)
}

/// The matrix of the protocol.
pub(crate) fn may_widen(from: &ColumnType, to: &ColumnType) -> bool {
    use ColumnType::{Byte, Date, Decimal, Double, Float, Integer, Long, Short, TimestampNtz};
    let whole = |precision: u8, scale: u8| i16::from(precision) - i16::from(scale);
    match (from, to) {
        (Byte, Short | Integer | Long | Double)
        | (Short, Integer | Long | Double)
        | (Integer, Long | Double)
        | (Float, Double)
        | (Date, TimestampNtz) => true,
        (Byte | Short | Integer, Decimal { precision, scale }) => whole(*precision, *scale) >= 10,
        (Long, Decimal { precision, scale }) => whole(*precision, *scale) >= 20,
        (Decimal { precision: p, scale: s }, Decimal { precision, scale }) => {
            (p, s) != (precision, scale) && scale >= s && whole(*precision, *scale) >= whole(*p, *s)
        }
        (_, _) => false,
    }
}
