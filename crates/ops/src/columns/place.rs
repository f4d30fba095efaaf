//! Fields by their paths.

use super::no_column;
use crate::OpsError;
use lakebed_delta::schema::{DataType, StructField, StructType};

/// The fields of the struct at a path; of the table itself for an empty one.
pub(super) fn fields_within<'a>(
    schema: &'a mut StructType,
    within: &[String],
) -> Result<&'a mut Vec<StructField>, OpsError> {
    let columns = schema.fields.clone();
    let Some((first, rest)) = within.split_first() else { return Ok(&mut schema.fields) };
    let unknown = || no_column(within, &columns);
    let field = schema.fields.iter_mut().find(|field| field.name.eq_ignore_ascii_case(first)).ok_or_else(unknown)?;
    let mut at = &mut field.data_type;
    for part in rest {
        at = step(at, part).ok_or_else(unknown)?;
    }
    match at {
        DataType::Struct(inner) => Ok(&mut inner.fields),
        DataType::Primitive(_) | DataType::Array { .. } | DataType::Map { .. } => Err(OpsError::Invalid {
            problem: format!("{} is no struct", within.join(".")),
            advice: "name a column that holds named fields; those of a list's elements stand under `element`"
                .to_owned(),
        }),
    }
}

/// What a part of a path names inside a type.
pub(super) fn step<'a>(data_type: &'a mut DataType, part: &str) -> Option<&'a mut DataType> {
    match data_type {
        DataType::Struct(inner) => inner
            .fields
            .iter_mut()
            .find(|field| field.name.eq_ignore_ascii_case(part))
            .map(|field| &mut field.data_type),
        DataType::Array { element, .. } if part.eq_ignore_ascii_case("element") => Some(element),
        DataType::Map { key, .. } if part.eq_ignore_ascii_case("key") => Some(key),
        DataType::Map { value, .. } if part.eq_ignore_ascii_case("value") => Some(value),
        DataType::Primitive(_) | DataType::Array { .. } | DataType::Map { .. } => None,
    }
}

/// The field at a path.
pub(super) fn find<'a>(schema: &'a mut StructType, path: &[String]) -> Result<&'a StructField, OpsError> {
    let unknown = unknown(path, schema);
    let Some((last, within)) = path.split_last() else { return Err(unknown) };
    let fields = fields_within(schema, within)?;
    fields.iter().find(|field| field.name.eq_ignore_ascii_case(last)).ok_or(unknown)
}

pub(super) fn unknown(path: &[String], schema: &StructType) -> OpsError {
    no_column(path, &schema.fields)
}

/// Names in a row.
pub(super) fn listed(fields: &[StructField]) -> String {
    fields.iter().map(|field| field.name.as_str()).collect::<Vec<_>>().join(", ")
}
