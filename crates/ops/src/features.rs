//! Turning on the features that a table's properties ask for.

use crate::OpsError;
use crate::columns::{MAPPING_MODE, column_id_max};
use crate::create::CONSTRAINT_PREFIX;
use arrow_array::RecordBatch;
use lakebed_data::{arrow_schema, filter_mask};
use lakebed_delta::action::{Metadata, Protocol};
use lakebed_delta::schema::{ColumnMapping, DataType, StructType};
use lakebed_delta::{FEATURE_PROPERTY_PREFIX, name_row_tracking_columns};
use serde_json::Value;

const MAX_COLUMN_ID: &str = "delta.columnMapping.maxColumnId";
const COLUMN_ID: &str = "delta.columnMapping.id";
const PHYSICAL_NAME: &str = "delta.columnMapping.physicalName";

/// Columns of the change feed, which no table with one may have itself.
const CHANGE_COLUMNS: [&str; 3] = ["_change_type", "_commit_version", "_commit_timestamp"];

/// Completes metadata whose properties were just set: column ids and names, names of the columns for row ids, and what asks for a
/// feature by name is taken out again. The protocol that it needs then, where that is another one.
///
/// A property that stood there before without its feature has no effect, and gets none by a change of another one: files were
/// written as if it were not there, and columns would be looked for under other names all at once.
///
/// `before` is what the table had; `None` for a new one.
///
/// # Errors
/// A feature cannot be turned on (any more) by its property.
pub(crate) fn turn_on(
    before: Option<(&Protocol, &Metadata)>,
    metadata: &mut Metadata,
) -> Result<Option<Protocol>, OpsError> {
    let mut asked_for = metadata.clone();
    for (key, value) in before.into_iter().flat_map(|(_, before)| before.configuration.iter()) {
        if metadata.configuration.get(key) == value {
            asked_for.configuration.remove(key);
        }
    }
    map_columns(before, &asked_for, metadata)?;
    if metadata.flag("delta.enableChangeDataFeed") {
        refuse_change_columns(metadata)?;
    }
    check_constraints(before.map(|(_, metadata)| metadata), metadata)?;
    let current = before.map(|(protocol, _)| protocol.clone()).unwrap_or_default();
    let upgraded = current.upgraded_for(&asked_for)?;
    let asked: Vec<String> = metadata
        .configuration
        .iter()
        .filter(|(key, _)| key.starts_with(FEATURE_PROPERTY_PREFIX))
        .map(|(key, _)| key.to_owned())
        .collect();
    for key in asked {
        metadata.configuration.remove(&key);
    }
    let protocol = upgraded.as_ref().unwrap_or(&current);
    if protocol.supports("materializePartitionColumns") {
        return Err(OpsError::Unsupported {
            feature: "materializePartitionColumns".to_owned(),
            statement: "writing rows",
            advice: "leave the feature out".to_owned(),
        });
    }
    name_row_tracking_columns(protocol, before.map(|(_, metadata)| metadata), metadata, fresh);
    Ok(upgraded)
}

/// A constraint that no row could be held against would stand in the way of every write.
fn check_constraints(before: Option<&Metadata>, metadata: &Metadata) -> Result<(), OpsError> {
    let columns = StructType::parse(&metadata.schema_string)?.columns();
    for (key, text) in metadata.configuration.iter() {
        let known = before.and_then(|before| before.configuration.get(key));
        let (true, Some(sql)) = (key.starts_with(CONSTRAINT_PREFIX) && known != text, text) else { continue };
        let unusable = |reason: String| OpsError::Invalid {
            problem: format!("{key} is no condition on the table's rows: {reason}"),
            advice: "give one, such as `price > 0`".to_owned(),
        };
        let parsed = lakebed_sql::parse_expression(sql).and_then(|expr| lakebed_sql::bind(&expr, &columns));
        let condition = parsed.map_err(|error| unusable(error.to_string()))?;
        let none = RecordBatch::new_empty(arrow_schema(&columns)?);
        filter_mask(&condition, &none).map_err(|error| unusable(error.to_string()))?;
    }
    Ok(())
}

/// A fresh UUID.
#[expect(clippy::disallowed_methods, reason = "names of columns in files are random")]
fn fresh() -> String {
    uuid::Uuid::new_v4().to_string()
}

fn mode(metadata: &Metadata) -> Result<ColumnMapping, OpsError> {
    Ok(ColumnMapping::parse(metadata.configuration.get(MAPPING_MODE))?)
}

/// Gives columns their ids and names in files where mapping is turned on: random names in a new table, their own in one that has
/// files already.
fn map_columns(
    before: Option<(&Protocol, &Metadata)>,
    asked_for: &Metadata,
    metadata: &mut Metadata,
) -> Result<(), OpsError> {
    let (old, new) = match before {
        Some((protocol, before)) if protocol.supports("columnMapping") => (mode(before)?, mode(metadata)?),
        // Without the feature there is no mapping, whatever mode stands there.
        Some(_) | None => (ColumnMapping::None, mode(asked_for)?),
    };
    if old == new {
        return Ok(());
    }
    if before.is_some() && (old, new) != (ColumnMapping::None, ColumnMapping::Name) {
        return Err(OpsError::Invalid {
            problem: "the way in which a table maps its columns cannot be changed like this".to_owned(),
            advice: "only none can become name; create a new table for anything else".to_owned(),
        });
    }
    let mut schema = StructType::parse(&metadata.schema_string)?;
    let mut next = 1;
    number(&mut schema, before.is_some(), &mut next);
    metadata.schema_string = schema.to_json();
    metadata.configuration.set(MAX_COLUMN_ID, Some(&(next - 1).to_string()));
    Ok(())
}

/// Gives new fields ids above all that the table ever had, and fresh names in files.
pub(crate) fn number_new(fields: &mut StructType, metadata: &mut Metadata) -> Result<(), OpsError> {
    let known = metadata.configuration.get(MAX_COLUMN_ID).and_then(|text| text.parse::<i64>().ok()).unwrap_or(0);
    let mut next = known.max(column_id_max(&StructType::parse(&metadata.schema_string)?)) + 1;
    number(fields, false, &mut next);
    metadata.configuration.set(MAX_COLUMN_ID, Some(&(next - 1).to_string()));
    Ok(())
}

/// Recursion is bounded by the depth that the reader of schemas allows.
fn number(schema: &mut StructType, own_names: bool, next: &mut i64) {
    for field in &mut schema.fields {
        let name = if own_names { field.name.clone() } else { format!("col-{}", fresh()) };
        field.metadata.insert(COLUMN_ID.to_owned(), Value::from(*next));
        field.metadata.insert(PHYSICAL_NAME.to_owned(), Value::from(name));
        *next += 1;
        number_within(&mut field.data_type, own_names, next);
    }
}

fn number_within(data_type: &mut DataType, own_names: bool, next: &mut i64) {
    match data_type {
        DataType::Primitive(_) => {}
        DataType::Struct(schema) => number(schema, own_names, next),
        DataType::Array { element, .. } => number_within(element, own_names, next),
        DataType::Map { key, value, .. } => {
            number_within(key, own_names, next);
            number_within(value, own_names, next);
        }
    }
}

fn refuse_change_columns(metadata: &Metadata) -> Result<(), OpsError> {
    let schema = StructType::parse(&metadata.schema_string)?;
    let taken =
        schema.fields.iter().find(|field| CHANGE_COLUMNS.iter().any(|name| name.eq_ignore_ascii_case(&field.name)));
    match taken {
        None => Ok(()),
        Some(field) => Err(OpsError::Invalid {
            problem: format!("column {} has the name of a column of the change feed", field.name),
            advice: "rename it, or leave delta.enableChangeDataFeed off".to_owned(),
        }),
    }
}
