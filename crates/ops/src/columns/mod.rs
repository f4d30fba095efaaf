//! ALTER TABLE on columns: add, drop, rename, widen, nested fields, too. Only the metadata changes.

mod place;
mod references;
mod widen;

use crate::delta::Statement;
use crate::{OpsError, features};
use lakebed_delta::Snapshot;
use lakebed_delta::action::{Action, Metadata};
use lakebed_delta::schema::{ColumnMapping, DataType, StructField, StructType};
use lakebed_transaction::{Column, ColumnType};
use place::{fields_within, find, listed};
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(crate) use references::refuse_referenced;
pub(crate) use widen::may_widen;

pub(crate) const MAPPING_MODE: &str = "delta.columnMapping.mode";
const TYPE_WIDENING: &str = "delta.enableTypeWidening";

/// A change of a table's columns. A path names a field by its parts; elements of lists, keys and values of maps are called
/// `element`, `key` and `value`.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnChange {
    /// New fields at the end of the table, or of the struct at a path. Rows that are there have NULL in them.
    Add {
        /// The struct; empty for the table itself.
        within: Vec<String>,
        /// The new fields.
        columns: Vec<Column>,
    },
    /// Fields go; their values stay in files that are there, and nobody sees them.
    Drop(Vec<Vec<String>>),
    /// A field gets another name.
    Rename {
        /// The field.
        path: Vec<String>,
        /// Its new name.
        name: String,
    },
    /// A field gets a wider type; values of files that are there are widened when they are read.
    Widen {
        /// The field.
        path: Vec<String>,
        /// Its new type.
        to: ColumnType,
    },
}

/// The commit of a change. `upgrade` turns on what the change needs of the table (column mapping to drop or rename, type
/// widening to widen), which older readers may not know; without it that is refused.
///
/// # Errors
/// The change does not fit the table.
pub fn change_columns(snapshot: &Snapshot, change: &ColumnChange, upgrade: bool) -> Result<Statement, OpsError> {
    let mut metadata = snapshot.metadata().clone();
    let before = Some((snapshot.protocol(), snapshot.metadata()));
    let renames = matches!(change, ColumnChange::Drop(_) | ColumnChange::Rename { .. });
    let mut protocol = None;
    if renames && snapshot.column_mapping() == ColumnMapping::None {
        require(upgrade, "dropping and renaming columns", MAPPING_MODE, "name")?;
        metadata.configuration.set(MAPPING_MODE, Some("name"));
        protocol = features::turn_on(before, &mut metadata)?;
    }
    if matches!(change, ColumnChange::Widen { .. }) && !metadata.flag(TYPE_WIDENING) {
        require(upgrade, "widening a type", TYPE_WIDENING, "true")?;
        metadata.configuration.set(TYPE_WIDENING, Some("true"));
    }
    let mut schema = StructType::parse(&metadata.schema_string)?;
    let (operation, parameters) = apply(snapshot, change, &mut schema, &mut metadata)?;
    metadata.schema_string = schema.to_json();
    if !renames {
        protocol = features::turn_on(before, &mut metadata)?;
    }
    Ok(Statement {
        actions: protocol.map(Action::Protocol).into_iter().chain([Action::Metadata(metadata)]).collect(),
        predicates: Vec::new(),
        read_files: Vec::new(),
        keys: Vec::new(),
        row_changes: Vec::new(),
        taking: None,
        operation: operation.to_owned(),
        parameters: parameters.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
        metrics: BTreeMap::new(),
        lost_plannings: 0,
    })
}

fn require(upgrade: bool, what: &str, property: &str, value: &str) -> Result<(), OpsError> {
    if upgrade {
        return Ok(());
    }
    Err(OpsError::Invalid {
        problem: format!("{what} needs {property}={value}, which the table does not have"),
        advice: "set it first, or allow the upgrade (--upgrade): readers that do not know the feature cannot open the table then"
            .to_owned(),
    })
}

type Told = (&'static str, Vec<(&'static str, String)>);

/// The change on the schema; the operation's name and parameters as Spark writes them.
fn apply(
    snapshot: &Snapshot,
    change: &ColumnChange,
    schema: &mut StructType,
    metadata: &mut Metadata,
) -> Result<Told, OpsError> {
    match change {
        ColumnChange::Add { within, columns } => {
            let shown = add(schema, metadata, within, columns)?;
            Ok(("ADD COLUMNS", vec![("columns", Value::Array(shown).to_string())]))
        }
        ColumnChange::Drop(paths) => {
            for path in paths {
                drop_column(snapshot, schema, metadata, path)?;
            }
            let names: Vec<String> = paths.iter().map(|path| path.join(".")).collect();
            Ok(("DROP COLUMNS", vec![("columns", json!(names).to_string())]))
        }
        ColumnChange::Rename { path, name } => {
            let new = rename(schema, metadata, path, name)?;
            Ok(("RENAME COLUMN", vec![("oldColumnPath", path.join(".")), ("newColumnPath", new.join("."))]))
        }
        ColumnChange::Widen { path, to } => {
            widen::widen(schema, path, to)?;
            let column = json!({"name": path.join("."), "type": DataType::from_column_type(to).text()});
            Ok(("CHANGE COLUMN", vec![("column", column.to_string())]))
        }
    }
}

/// Adds fields, with ids and names in files of their own where the table maps columns; what was added, for the log.
pub(crate) fn add(
    schema: &mut StructType,
    metadata: &mut Metadata,
    within: &[String],
    columns: &[Column],
) -> Result<Vec<Value>, OpsError> {
    let mapped = ColumnMapping::parse(metadata.configuration.get(MAPPING_MODE))? != ColumnMapping::None;
    let mut shown = Vec::with_capacity(columns.len());
    for column in columns {
        if !column.nullable {
            return Err(OpsError::Invalid {
                problem: format!(
                    "the new column {} is NOT NULL, and rows that are there have no value in it",
                    column.name
                ),
                advice: "add it without NOT NULL".to_owned(),
            });
        }
        let fields = fields_within(schema, within)?;
        refuse_taken(fields, &column.name)?;
        let mut one = StructType::from_columns(std::slice::from_ref(column));
        if mapped {
            features::number_new(&mut one, metadata)?;
        }
        let mut path: Vec<&str> = within.iter().map(String::as_str).collect();
        path.push(&column.name);
        let field = one.fields.remove(0);
        shown.push(json!({"column": {"name": path.join("."), "type": field.data_type.text(), "nullable": true, "metadata": {}}}));
        fields_within(schema, within)?.push(field);
    }
    Ok(shown)
}

fn refuse_taken(fields: &[StructField], name: &str) -> Result<(), OpsError> {
    if name.trim().is_empty() {
        return Err(OpsError::Invalid { problem: "a column needs a name".to_owned(), advice: "give one".to_owned() });
    }
    match fields.iter().find(|field| field.name.to_lowercase() == name.to_lowercase()) {
        None => Ok(()),
        Some(field) => Err(OpsError::Invalid {
            problem: format!("there is a column {} already", field.name),
            advice: "choose a name that differs by more than its case".to_owned(),
        }),
    }
}

fn drop_column(
    snapshot: &Snapshot,
    schema: &mut StructType,
    metadata: &Metadata,
    path: &[String],
) -> Result<(), OpsError> {
    let refused = |problem: String, advice: &str| Err(OpsError::Invalid { problem, advice: advice.to_owned() });
    let physical = find(schema, path)?.physical_name(ColumnMapping::Name).to_owned();
    if let [name] = path {
        if metadata.partition_columns.iter().any(|column| column.eq_ignore_ascii_case(name)) {
            return refused(format!("the table is partitioned by {name}"), "write its rows to another table instead");
        }
        if schema.fields.len() <= metadata.partition_columns.len() + 1 {
            return refused(format!("{name} is the last column that stands in files"), "leave one column");
        }
        if crate::layout::clustering_columns(snapshot.core()).first().is_some_and(|own| *own == physical) {
            return refused(format!("the table is clustered by {name}"), "change the clustering columns first");
        }
    }
    refuse_referenced(schema, metadata, path)?;
    let [within @ .., last] = path else { return Err(place::unknown(path, schema)) };
    let fields = fields_within(schema, within)?;
    if fields.len() == 1 {
        return refused(format!("{} is the last field of its struct", path.join(".")), "drop the whole column");
    }
    fields.retain(|field| !field.name.eq_ignore_ascii_case(last));
    Ok(())
}

/// Renames a field, and the table's own mentions of it; its new path.
fn rename(
    schema: &mut StructType,
    metadata: &mut Metadata,
    path: &[String],
    name: &str,
) -> Result<Vec<String>, OpsError> {
    refuse_referenced(schema, metadata, path)?;
    let old = find(schema, path)?.name.clone();
    let [within @ .., last] = path else { return Err(place::unknown(path, schema)) };
    let fields = fields_within(schema, within)?;
    if !old.eq_ignore_ascii_case(name) {
        refuse_taken(fields, name)?;
    }
    for field in fields.iter_mut().filter(|field| field.name.eq_ignore_ascii_case(last)) {
        name.clone_into(&mut field.name);
    }
    if within.is_empty() {
        for column in metadata.partition_columns.iter_mut().filter(|column| **column == old) {
            name.clone_into(column);
        }
    }
    let new: Vec<String> = within.iter().cloned().chain([name.to_owned()]).collect();
    references::rename_in_lists(metadata, &path.join("."), &new.join("."));
    Ok(new)
}

/// Columns that rows have and the table has not, nested ones too, each with the struct that they go into.
pub(crate) fn missing(known: &[Column], columns: &[Column]) -> Vec<(Vec<String>, Column)> {
    let mut found = Vec::new();
    let mut open: Vec<(Vec<String>, &[Column], &[Column])> = vec![(Vec::new(), known, columns)];
    while let Some((within, fields, columns)) = open.pop() {
        for column in columns {
            let known = fields.iter().find(|field| field.name.to_lowercase() == column.name.to_lowercase());
            match (known.map(|field| (&field.name, &field.column_type)), &column.column_type) {
                (None, _) => {
                    found.push((within.clone(), Column::new(column.name.clone(), nullable(&column.column_type), true)))
                }
                (Some((name, ColumnType::Struct(inner))), ColumnType::Struct(columns)) => {
                    let path = within.iter().cloned().chain([name.clone()]).collect();
                    open.push((path, inner, columns));
                }
                (Some(_), _) => {}
            }
        }
    }
    found
}

/// A type whose fields all may be NULL: what a file promises of its own rows the table does not promise.
pub(crate) fn nullable(column_type: &ColumnType) -> ColumnType {
    let all = |column: &Column| Column::new(column.name.clone(), nullable(&column.column_type), true);
    if let ColumnType::Struct(columns) = column_type {
        ColumnType::Struct(columns.iter().map(all).collect())
    } else if let ColumnType::Array(element) = column_type {
        ColumnType::Array(Box::new(all(element)))
    } else if let ColumnType::Map(key, value) = column_type {
        let key = Column::new(key.name.clone(), nullable(&key.column_type), false);
        ColumnType::Map(Box::new(key), Box::new(all(value)))
    } else {
        column_type.clone()
    }
}

/// A version with other columns, for rows that are written along with them, and the actions that bring it about.
#[derive(Clone, Debug)]
pub struct Evolved {
    /// As the table will be, with the files that it has.
    pub snapshot: Snapshot,
    /// Protocol and metadata, to stand before the files.
    pub actions: Vec<Action>,
}

/// The version with what rows of these columns have more; `None` where the table has all of it.
///
/// # Errors
/// A new column cannot be added.
pub fn merged_schema(snapshot: &Snapshot, columns: &[Column]) -> Result<Option<Evolved>, OpsError> {
    let missing = missing(&snapshot.schema().columns(), columns);
    if missing.is_empty() {
        return Ok(None);
    }
    let mut metadata = snapshot.metadata().clone();
    let mut schema = snapshot.schema().clone();
    for (within, column) in missing {
        add(&mut schema, &mut metadata, &within, &[column])?;
    }
    metadata.schema_string = schema.to_json();
    evolved(snapshot, metadata).map(Some)
}

/// The version with exactly these columns; `None` where it has them already. Columns that keep name and type keep what the
/// table knows of them.
///
/// # Errors
/// A partition column is missing.
pub fn replaced_schema(snapshot: &Snapshot, columns: &[Column]) -> Result<Option<Evolved>, OpsError> {
    let mut metadata = snapshot.metadata().clone();
    if let Some(gone) = metadata
        .partition_columns
        .iter()
        .find(|name| !columns.iter().any(|column| column.name.eq_ignore_ascii_case(name)))
    {
        return Err(OpsError::Invalid {
            problem: format!("the table is partitioned by {gone}, which the new rows do not have"),
            advice: "keep the column, or create another table".to_owned(),
        });
    }
    let old = snapshot.schema();
    let mapped = snapshot.column_mapping() != ColumnMapping::None;
    let mut fields = Vec::with_capacity(columns.len());
    for column in columns {
        let data_type = DataType::from_column_type(&nullable(&column.column_type));
        let kept = old.field(&column.name).filter(|field| field.data_type.column_type() == data_type.column_type());
        let field = match kept {
            Some(field) => field.clone(),
            None => {
                let column = Column::new(column.name.clone(), nullable(&column.column_type), true);
                let mut one = StructType::from_columns(&[column]);
                if mapped {
                    features::number_new(&mut one, &mut metadata)?;
                }
                one.fields.remove(0)
            }
        };
        fields.push(field);
    }
    let schema = StructType { fields };
    if schema == *old {
        return Ok(None);
    }
    for field in old.fields.iter().filter(|field| !schema.fields.contains(field)) {
        refuse_referenced(old, &metadata, std::slice::from_ref(&field.name))?;
    }
    let exact = |name: &String| schema.field(name).map_or_else(|| name.clone(), |field| field.name.clone());
    metadata.partition_columns = metadata.partition_columns.iter().map(exact).collect();
    metadata.schema_string = schema.to_json();
    evolved(snapshot, metadata).map(Some)
}

fn evolved(snapshot: &Snapshot, mut metadata: Metadata) -> Result<Evolved, OpsError> {
    let protocol = features::turn_on(Some((snapshot.protocol(), snapshot.metadata())), &mut metadata)?;
    let actions: Vec<Action> = protocol.map(Action::Protocol).into_iter().chain([Action::Metadata(metadata)]).collect();
    let text = lakebed_delta::action::write_actions(&actions)?;
    let next = snapshot.version().next().ok_or_else(|| OpsError::Invalid {
        problem: "the table has no version left".to_owned(),
        advice: "copy it to another place".to_owned(),
    })?;
    let snapshot = snapshot.advance(next, &text)?;
    Ok(Evolved { snapshot, actions })
}

/// The columns that SQL of the table names; `None` where it cannot be read.
fn column_paths(sql: &str) -> Option<Vec<Vec<String>>> {
    let expr = lakebed_sql::parse_expression(sql).ok()?;
    Some(expr.columns().iter().map(|path| path.iter().map(|part| part.to_string()).collect()).collect())
}

/// The highest column id that a schema has.
pub(crate) fn column_id_max(schema: &StructType) -> i64 {
    schema.all_fields().into_iter().filter_map(StructField::column_id).map(i64::from).max().unwrap_or(0)
}

/// What a table without a column says.
pub(crate) fn no_column(path: &[String], fields: &[StructField]) -> OpsError {
    OpsError::Invalid {
        problem: format!("there is no column {}", path.join(".")),
        advice: format!("the columns are {}", listed(fields)),
    }
}
