//! Wider types. Values are written anew, in a file beside the others of their fragment, under new field ids.

use super::place::{any, below, invalid};
use crate::OpsError;
use crate::columns::may_widen;
use crate::lance::conform::retyped;
use crate::lance::fragment::{FragmentRows, Which};
use crate::lance::table::LanceTable;
use crate::lance::write::put_file;
use arrow_array::RecordBatch;
use lakebed_lance::proto::file::Field;
use lakebed_lance::proto::table::DataFragment;
use lakebed_lance::{Snapshot, index, schema};
use lakebed_sql::print_type;
use lakebed_transaction::{Column, ColumnType, RowSet};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A table with a wider column.
#[derive(Clone, Debug, PartialEq)]
pub struct Widened {
    /// The fields.
    pub fields: Vec<Field>,
    /// All fragments, each with one file more and without those of which no field is left.
    pub fragments: Vec<DataFragment>,
    /// The files that were written, by their names below the folder of data files.
    pub written: Vec<String>,
}

/// Gives the field at a path a wider type. The whole column that it stands in is written anew.
///
/// # Errors
/// There is no such column, its type cannot become that one, an index is built on it, or a data file cannot be read or written.
pub async fn widen(table: &LanceTable, path: &[String], to: &ColumnType) -> Result<Widened, OpsError> {
    let old = table.snapshot.fields();
    let at = any(old, path)?;
    check_type(table.columns(), path, to)?;
    let top = any(old, path.get(..1).unwrap_or_default())?;
    let Some((leaf, top)) = old.get(at).zip(old.get(top)) else { return Err(super::no_column(path, old)) };
    let replaced = below(old, top.id);
    refuse_index(&table.snapshot, &replaced, path)?;
    let column = renumbered(&table.snapshot, &replaced, leaf.id, to)?;
    let mut fields: Vec<Field> = old.iter().filter(|field| !replaced.contains(&field.id)).cloned().collect();
    let place = old.iter().position(|field| field.id == top.id).unwrap_or_default();
    let place = old.iter().take(place).filter(|field| !replaced.contains(&field.id)).count();
    fields.splice(place..place, column.clone());
    let live: HashSet<i32> = fields.iter().map(|field| field.id).collect();
    let (mut fragments, mut written) = (Vec::new(), Vec::new());
    for fragment in table.fragments() {
        let mut after = fragment.clone();
        after.files.retain(|file| file.fields.iter().any(|field| live.contains(field) || *field < 0));
        let file = rewritten(table, fragment, &top.name, &column).await?;
        written.push(file.path.clone());
        after.files.push(file);
        fragments.push(after);
    }
    Ok(Widened { fields, fragments, written })
}

/// The fields of a column under new ids, one of them with another type.
fn renumbered(snapshot: &Snapshot, column: &HashSet<i32>, leaf: i32, to: &ColumnType) -> Result<Vec<Field>, OpsError> {
    let first = snapshot.next_field_id()?;
    let mut ids = HashMap::new();
    let mut fields = Vec::with_capacity(column.len());
    for (field, id) in snapshot.fields().iter().filter(|field| column.contains(&field.id)).zip(first..) {
        ids.insert(field.id, id);
        let mut new = field.clone();
        new.parent_id = ids.get(&field.parent_id).copied().unwrap_or(field.parent_id);
        new.id = id;
        if field.id == leaf {
            schema::retype(&mut new, to);
        }
        fields.push(new);
    }
    Ok(fields)
}

/// The column of a fragment in a file of its own, with all physical rows.
async fn rewritten(
    table: &LanceTable,
    fragment: &DataFragment,
    name: &str,
    column: &[Field],
) -> Result<lakebed_lance::proto::table::DataFile, OpsError> {
    let schema = table.files.schema(column)?;
    let version = table.snapshot.header().data_format.as_ref().map(|format| format.version.clone());
    let mut sink = table.files.create(column, &version.unwrap_or_default())?;
    let place = table.position(name).unwrap_or_default();
    let mut rows = FragmentRows::open(table, fragment, &[place], Which::Without(RowSet::new())).await?;
    while let Some((batch, _)) = rows.next().await? {
        let array = retyped(batch.column(0), schema.field(0)).map_err(OpsError::rows(name))?;
        let batch = RecordBatch::try_new(Arc::clone(&schema), vec![array]).map_err(OpsError::rows(name))?;
        sink.write(&batch).await?;
    }
    put_file(table, sink).await
}

fn refuse_index(snapshot: &Snapshot, column: &HashSet<i32>, path: &[String]) -> Result<(), OpsError> {
    let mut indices = snapshot.indices().iter().filter(|entry| !index::is_system(entry));
    match indices.find(|entry| entry.fields.iter().any(|field| column.contains(field))) {
        None => Ok(()),
        Some(entry) => Err(invalid(
            format!("index {} is built on {}, whose values would be others", entry.name, path.join(".")),
            "drop the index with a Lance client, and build it again afterwards",
        )),
    }
}

fn check_type(columns: &[Column], path: &[String], to: &ColumnType) -> Result<(), OpsError> {
    let unknown = || invalid(format!("there is no column {}", path.join(".")), "name a column, or a field within one");
    let mut parts = path.iter();
    let first = parts.next().ok_or_else(unknown)?;
    let found = columns.iter().find(|column| column.name == *first);
    let found = found.or_else(|| columns.iter().find(|column| column.name.eq_ignore_ascii_case(first)));
    let mut at = &found.ok_or_else(unknown)?.column_type;
    for part in parts {
        at = step(at, part).ok_or_else(unknown)?;
    }
    if may_widen(at, to) {
        return Ok(());
    }
    Err(invalid(
        format!("{} cannot go from {} to {}", path.join("."), print_type(at), print_type(to)),
        "byte, short, integer and long may grow along that line, to double or to a decimal with enough digits; float to double, \
         date to timestamp_ntz, a decimal to one with more digits",
    ))
}

fn step<'a>(column_type: &'a ColumnType, part: &str) -> Option<&'a ColumnType> {
    if let ColumnType::Struct(columns) = column_type {
        return columns.iter().find(|column| column.name.eq_ignore_ascii_case(part)).map(|column| &column.column_type);
    }
    if let ColumnType::Array(element) = column_type {
        return part.eq_ignore_ascii_case("element").then_some(&element.column_type);
    }
    if let ColumnType::Map(key, value) = column_type {
        return match part.to_ascii_lowercase().as_str() {
            "key" => Some(&key.column_type),
            "value" => Some(&value.column_type),
            _ => None,
        };
    }
    None
}
