//! How the rows of a Delta version are to stand in new files: names, ids of fields, statistics, and what its features ask.

use crate::OpsError;
use crate::values::Values;
use crate::void;
use arrow_schema::{DataType as ArrowType, Field, Fields};
use lakebed_data::{StatsColumns, arrow_type};
use lakebed_delta::Core;
use lakebed_delta::schema::{ColumnMapping, DataType, StructField, StructType};
use lakebed_transaction::{Column, ColumnType};
use std::collections::HashMap;
use std::sync::Arc;

/// The key under which Parquet writers look for the id of a field.
const FIELD_ID: &str = "PARQUET:field_id";

/// How the rows of a version are to stand in new files.
#[derive(Clone, Debug)]
pub struct Layout {
    pub(crate) columns: Vec<Column>,
    pub(crate) partition: Vec<PartitionLayout>,
    /// The columns that stand in files.
    pub(crate) in_file: Vec<Column>,
    /// The same under the names of files, with ids; absent where they have their own names.
    pub(crate) file_fields: Option<Vec<Field>>,
    /// A column of which no file can hold what is to be known of it; its rows cannot be written.
    pub(crate) unstorable: Option<String>,
    pub(crate) stats: StatsColumns,
    /// Deletes and updates mark rows rather than rewrite files.
    pub(crate) deletion_vectors: bool,
    /// Changes of rows are written down beside the rows.
    pub(crate) change_feed: bool,
    /// Rows that move keep their ids and commit versions in these columns.
    pub(crate) row_ids: Option<[String; 2]>,
    pub(crate) values: Values,
}

/// A partition column.
#[derive(Clone, Debug)]
pub(crate) struct PartitionLayout {
    pub(crate) column: Column,
    /// The name in folders.
    pub(crate) physical: String,
}

impl Layout {
    /// The layout that a version asks for.
    ///
    /// # Errors
    /// Files of the version cannot be written here.
    pub fn of(core: &Core) -> Result<Self, OpsError> {
        let (schema, mapping) = (&core.schema, core.mapping);
        let names = &core.metadata.partition_columns;
        let is_partition = |field: &&StructField| names.iter().any(|name| name.eq_ignore_ascii_case(&field.name));
        let own: Vec<&StructField> = schema.fields.iter().filter(|field| !is_partition(field)).collect();
        let stored: Vec<StructField> = own.iter().filter_map(|field| void::stored(field)).collect();
        let unstorable = own.iter().find_map(|field| void::unstorable(field));
        let all_void = || own.first().filter(|_| stored.is_empty()).map(|field| field.name.clone());
        let file_fields = match mapping {
            ColumnMapping::None => None,
            ColumnMapping::Name | ColumnMapping::Id => {
                Some(stored.iter().map(|field| file_field(field, mapping)).collect::<Result<Vec<_>, _>>()?)
            }
        };
        let partition = names
            .iter()
            .filter_map(|name| schema.field(name))
            .map(|field| PartitionLayout { column: field.column(), physical: field.physical_name(mapping).to_owned() });
        let flag = |feature: &str, key: &str| core.protocol.supports(feature) && core.metadata.flag(key);
        Ok(Self {
            columns: schema.columns(),
            partition: partition.collect(),
            in_file: stored.iter().map(|field| field.column()).collect(),
            file_fields,
            unstorable: unstorable.or_else(all_void),
            stats: stats_columns(core, &stored),
            deletion_vectors: flag("deletionVectors", "delta.enableDeletionVectors"),
            change_feed: flag("changeDataFeed", "delta.enableChangeDataFeed"),
            row_ids: row_id_columns(core),
            values: Values::of(core)?,
        })
    }
}

/// Where moved rows keep their ids: on tables that promise that ids stay.
fn row_id_columns(core: &Core) -> Option<[String; 2]> {
    let name = |key: &str| core.metadata.configuration.get(key).map(str::to_owned);
    (core.protocol.supports("rowTracking") && core.metadata.flag("delta.enableRowTracking")).then_some(()).and_then(
        |()| {
            let id = name("delta.rowTracking.materializedRowIdColumnName")?;
            Some([id, name("delta.rowTracking.materializedRowCommitVersionColumnName")?])
        },
    )
}

/// A field under its name in files, with its id.
fn file_field(field: &StructField, mapping: ColumnMapping) -> Result<Field, OpsError> {
    let made = Field::new(field.physical_name(mapping), file_type(&field.data_type, mapping)?, field.nullable);
    let id = field.metadata.get("delta.columnMapping.id").and_then(serde_json::Value::as_i64);
    Ok(match id {
        Some(id) => made.with_metadata(HashMap::from([(FIELD_ID.to_owned(), id.to_string())])),
        None => made,
    })
}

/// Recursion is bounded by the depth that the reader of schemas allows.
fn file_type(data_type: &DataType, mapping: ColumnMapping) -> Result<ArrowType, OpsError> {
    let inner = |name: &str, data_type: &DataType, nullable: bool| -> Result<Arc<Field>, OpsError> {
        Ok(Arc::new(Field::new(name, file_type(data_type, mapping)?, nullable)))
    };
    Ok(match data_type {
        DataType::Primitive(_) => arrow_type(&data_type.column_type())?,
        DataType::Struct(schema) => ArrowType::Struct(struct_fields(schema, mapping)?),
        DataType::Array { element, contains_null } => ArrowType::List(inner("element", element, *contains_null)?),
        DataType::Map { key, value, value_contains_null } => {
            let entries = vec![inner("key", key, false)?, inner("value", value, *value_contains_null)?];
            let entries = Field::new("key_value", ArrowType::Struct(Fields::from(entries)), false);
            ArrowType::Map(Arc::new(entries), false)
        }
    })
}

fn struct_fields(schema: &StructType, mapping: ColumnMapping) -> Result<Fields, OpsError> {
    let fields = schema.fields.iter().map(|field| file_field(field, mapping));
    Ok(fields.collect::<Result<Vec<_>, _>>()?.into())
}

/// Which columns get statistics, by their names in files: what the properties say, and those that rows are clustered by.
fn stats_columns(core: &Core, stored: &[StructField]) -> StatsColumns {
    let (mapping, properties) = (core.mapping, &core.metadata.configuration);
    let mut leaves = Vec::new();
    stored.iter().for_each(|field| leaf_paths(field, mapping, ["", ""], &mut leaves));
    let indexed = properties.get("delta.dataSkippingNumIndexedCols").and_then(|text| text.parse::<i64>().ok());
    let named = properties.get("delta.dataSkippingStatsColumns").map(|list| {
        let names: Vec<&str> = list.split(',').map(str::trim).collect();
        let wanted = |path: &str| names.iter().any(|name| covers(&name.replace('`', ""), path));
        leaves.iter().filter(|(logical, _)| wanted(logical)).map(|(_, physical)| physical.clone()).collect::<Vec<_>>()
    });
    let clustered = clustering_columns(core);
    match (named, indexed) {
        (None, Some(count)) if count < 0 => StatsColumns::All,
        (None, count) if clustered.is_empty() => {
            count.and_then(|count| usize::try_from(count).ok()).map_or_else(StatsColumns::default, StatsColumns::First)
        }
        (named, count) => {
            let first = count.and_then(|count| usize::try_from(count).ok()).unwrap_or(32);
            let base =
                named.unwrap_or_else(|| leaves.iter().take(first).map(|(_, physical)| physical.clone()).collect());
            StatsColumns::Named(base.into_iter().chain(clustered).collect())
        }
    }
}

fn covers(name: &str, path: &str) -> bool {
    path.eq_ignore_ascii_case(name)
        || path.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name))
            && path.get(name.len()..).is_some_and(|rest| rest.starts_with('.'))
}

/// The paths of the leaves of a field: by the table's names, and by those in files.
fn leaf_paths(field: &StructField, mapping: ColumnMapping, within: [&str; 2], out: &mut Vec<(String, String)>) {
    let join = |within: &str, name: &str| if within.is_empty() { name.to_owned() } else { format!("{within}.{name}") };
    let [logical, physical] = within;
    let path = [join(logical, &field.name), join(physical, field.physical_name(mapping))];
    if let DataType::Struct(schema) = &field.data_type {
        schema.fields.iter().for_each(|inner| leaf_paths(inner, mapping, [&path[0], &path[1]], out));
    } else {
        let [logical, physical] = path;
        out.push((logical, physical));
    }
}

/// The columns that rows are clustered by, by their names in files.
pub(crate) fn clustering_columns(core: &Core) -> Vec<String> {
    let Some(domain) = core.domains.get("delta.clustering") else { return Vec::new() };
    let document: serde_json::Value = serde_json::from_str(&domain.configuration).unwrap_or_default();
    let columns = document.get("clusteringColumns").and_then(serde_json::Value::as_array);
    let path = |parts: &serde_json::Value| {
        Some(parts.as_array()?.iter().filter_map(serde_json::Value::as_str).collect::<Vec<_>>().join("."))
    };
    columns.into_iter().flatten().filter_map(path).collect()
}

/// The columns that follow a row which moved: its id, and the version that last changed it.
pub(crate) fn tracking_columns(names: &[String; 2]) -> [Column; 2] {
    [0, 1].map(|at| Column::new(names[at].clone(), ColumnType::Long, true))
}
