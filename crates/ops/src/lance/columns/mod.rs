//! Columns of a Lance table that change: added, dropped and renamed in the schema alone, widened by files of their own.

mod place;
mod widen;

pub use widen::{Widened, widen};

use super::table::LanceTable;
use crate::columns::{missing, nullable};
use crate::{ColumnChange, OpsError};
use lakebed_lance::proto::file::Field;
use lakebed_lance::{Snapshot, schema};
use lakebed_transaction::Column;
use place::{below, find, invalid, listed, within};
use std::collections::HashSet;
use std::sync::Arc;

/// The fields of a version after columns were added, dropped or renamed. `None` for a change that is none of these.
///
/// # Errors
/// The change does not fit the table.
pub fn changed_fields(snapshot: &Snapshot, change: &ColumnChange) -> Result<Option<Vec<Field>>, OpsError> {
    let mut fields = snapshot.fields().to_vec();
    match change {
        ColumnChange::Add { within, columns } => {
            let mut next = snapshot.next_field_id()?;
            for column in columns {
                add(&mut fields, &mut next, within, column)?;
            }
        }
        ColumnChange::Drop(paths) => paths.iter().try_for_each(|path| drop_field(&mut fields, path))?,
        ColumnChange::Rename { path, name } => rename(&mut fields, path, name)?,
        ColumnChange::Widen { .. } => return Ok(None),
    }
    Ok(Some(fields))
}

/// Adds a field behind those of a struct, or of the table.
fn add(fields: &mut Vec<Field>, next: &mut i32, path: &[String], column: &Column) -> Result<(), OpsError> {
    if !column.nullable {
        let problem =
            format!("the new column {} is NOT NULL, and rows that are there have no value in it", column.name);
        return Err(invalid(problem, "add it without NOT NULL"));
    }
    let (parent, at) = match path {
        [] => (schema::TOP_LEVEL, fields.len()),
        path => {
            let parent = within(fields, path)?;
            let inner = below(fields, parent);
            let last = fields.iter().rposition(|field| inner.contains(&field.id)).unwrap_or_default();
            (parent, last + 1)
        }
    };
    refuse_name(fields, parent, &column.name)?;
    let new = schema::added_fields(std::slice::from_ref(column), *next, parent)?;
    *next = new.last().map_or(*next, |field| field.id.saturating_add(1));
    fields.splice(at..at, new);
    Ok(())
}

/// A name that no field beside it has, whatever its case.
fn refuse_name(fields: &[Field], parent: i32, name: &str) -> Result<(), OpsError> {
    if name.trim().is_empty() || name.contains('.') {
        let problem = format!("`{name}` cannot be the name of a column of a Lance table");
        return Err(invalid(problem, "choose one that is not empty and has no dot"));
    }
    let beside = fields.iter().filter(|field| field.parent_id.max(schema::TOP_LEVEL) == parent);
    match beside.into_iter().find(|field| field.name.to_lowercase() == name.to_lowercase()) {
        None => Ok(()),
        Some(field) => Err(invalid(
            format!("there is a column {} already", field.name),
            "choose a name that differs by more than its case",
        )),
    }
}

fn drop_field(fields: &mut Vec<Field>, path: &[String]) -> Result<(), OpsError> {
    let at = find(fields, path)?;
    let Some((id, parent)) = fields.get(at).map(|field| (field.id, field.parent_id)) else { return Ok(()) };
    if fields.iter().filter(|field| field.parent_id == parent).count() == 1 {
        let problem = format!("{} is the last column of the table or of its struct", path.join("."));
        return Err(invalid(problem, "leave one column, or drop the whole struct"));
    }
    let gone = below(fields, id);
    fields.retain(|field| !gone.contains(&field.id));
    Ok(())
}

fn rename(fields: &mut [Field], path: &[String], name: &str) -> Result<(), OpsError> {
    let at = find(fields, path)?;
    let Some((parent, old)) = fields.get(at).map(|field| (field.parent_id, field.name.clone())) else { return Ok(()) };
    if old.to_lowercase() != name.to_lowercase() {
        refuse_name(fields, parent.max(schema::TOP_LEVEL), name)?;
    }
    if let Some(field) = fields.get_mut(at) {
        name.clone_into(&mut field.name);
    }
    Ok(())
}

impl LanceTable {
    /// The version with the columns that rows of these columns have more; `None` where it has all of them.
    ///
    /// # Errors
    /// A new column cannot be added.
    pub fn merged(&self, columns: &[Column]) -> Result<Option<Self>, OpsError> {
        let missing = missing(self.columns(), columns);
        if missing.is_empty() {
            return Ok(None);
        }
        let mut fields = self.snapshot.fields().to_vec();
        let mut next = self.snapshot.next_field_id()?;
        for (within, column) in missing {
            add(&mut fields, &mut next, &within, &column)?;
        }
        self.with_fields(fields).map(Some)
    }

    /// The version with exactly these columns; `None` where it has them already. Columns that keep name and type keep their
    /// fields.
    ///
    /// # Errors
    /// A column cannot stand in a Lance table.
    pub fn replaced(&self, columns: &[Column]) -> Result<Option<Self>, OpsError> {
        let mut next = self.snapshot.next_field_id()?;
        let mut fields: Vec<Field> = Vec::new();
        for column in columns {
            let column = Column::new(column.name.clone(), nullable(&column.column_type), true);
            match self.kept(&column) {
                Some(kept) => fields.extend(kept),
                None => add(&mut fields, &mut next, &[], &column)?,
            }
        }
        if fields == self.snapshot.fields() {
            return Ok(None);
        }
        self.with_fields(fields).map(Some)
    }

    /// The fields of a column that the table has with this name and type.
    fn kept(&self, column: &Column) -> Option<Vec<Field>> {
        let known = self.columns().iter().find(|known| known.name == column.name)?;
        (nullable(&known.column_type) == column.column_type).then_some(())?;
        let top = |field: &&Field| field.parent_id < 0 && field.name == column.name;
        let ids: HashSet<i32> = below(self.snapshot.fields(), self.snapshot.fields().iter().find(top)?.id);
        Some(self.snapshot.fields().iter().filter(|field| ids.contains(&field.id)).cloned().collect())
    }

    fn with_fields(&self, fields: Vec<Field>) -> Result<Self, OpsError> {
        let snapshot = Arc::new(self.snapshot.with_fields(fields));
        Self::new(Arc::clone(&self.store), snapshot, Arc::clone(&self.files))
    }
}

/// What a table without a column says.
fn no_column(path: &[String], fields: &[Field]) -> OpsError {
    OpsError::Invalid {
        problem: format!("there is no column {}", path.join(".")),
        advice: format!("the columns are {}", listed(fields)),
    }
}
