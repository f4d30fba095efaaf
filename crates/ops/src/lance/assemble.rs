//! Columns of a table put together from the data files of a fragment.
//!
//! A column that was added later stands in a file of its own, or in none, and is NULL then. Fields of a struct may stand in several
//! files.

use crate::OpsError;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StructArray, new_null_array};
use arrow_schema::{DataType, Field as ArrowField};
use lakebed_lance::proto::file::Field;
use lakebed_lance::proto::table::DataFile;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The fields of a schema below each other.
pub(crate) struct Tree<'a> {
    fields: &'a [Field],
    children: HashMap<i32, Vec<&'a Field>>,
}

impl<'a> Tree<'a> {
    pub(crate) fn new(fields: &'a [Field]) -> Self {
        let mut children: HashMap<i32, Vec<&Field>> = HashMap::new();
        for field in fields {
            children.entry(field.parent_id).or_default().push(field);
        }
        Self { fields, children }
    }

    /// Of the fields at the top with these ids and of what is below them: what a data file has, parents first.
    pub(crate) fn held(&self, top: &HashSet<i32>, file: &DataFile) -> Vec<Field> {
        let listed: HashSet<i32> = file.fields.iter().copied().filter(|id| *id >= 0).collect();
        let mut held = HashSet::new();
        for field in self.fields.iter().filter(|field| field.parent_id < 0 && top.contains(&field.id)) {
            self.mark(field, &listed, &mut held);
        }
        self.fields.iter().filter(|field| held.contains(&field.id)).cloned().collect()
    }

    /// Whether the file has the field; a parent is there where something below it is.
    fn mark(&self, field: &Field, listed: &HashSet<i32>, held: &mut HashSet<i32>) -> bool {
        let children = self.children.get(&field.id).map_or(&[][..], Vec::as_slice);
        let mut is_held = children.is_empty() && listed.contains(&field.id);
        for child in children {
            is_held |= self.mark(child, listed, held);
        }
        if !is_held && listed.contains(&field.id) && is_packed(field) {
            // It stands in one column of its own, with all that is below it.
            self.mark_all(field, held);
            is_held = true;
        }
        if is_held {
            held.insert(field.id);
        }
        is_held
    }

    fn mark_all(&self, field: &Field, held: &mut HashSet<i32>) {
        held.insert(field.id);
        for child in self.children.get(&field.id).into_iter().flatten() {
            self.mark_all(child, held);
        }
    }
}

/// Whether the values of a struct stand beside each other in one column.
fn is_packed(field: &Field) -> bool {
    ["packed", "lance-encoding:packed"]
        .iter()
        .any(|key| field.metadata.get(*key).is_some_and(|value| value.eq_ignore_ascii_case(b"true")))
}

/// One column, from the parts of it that the files have.
pub(crate) fn assemble(field: &ArrowField, parts: &[ArrayRef], rows: usize) -> Result<ArrayRef, OpsError> {
    let Some(first) = parts.first() else { return Ok(new_null_array(field.data_type(), rows)) };
    if first.data_type() == field.data_type() {
        return Ok(Arc::clone(first));
    }
    let (DataType::Struct(fields), true) = (field.data_type(), parts.iter().all(|part| part.as_struct_opt().is_some()))
    else {
        return Err(OpsError::Invalid {
            problem: format!(
                "column {} has the type {} in a data file and {} in the table",
                field.name(),
                first.data_type(),
                field.data_type()
            ),
            advice: "open an earlier version".to_owned(),
        });
    };
    let children = fields.iter().map(|child| {
        let found = parts.iter().filter_map(|part| part.as_struct().column_by_name(child.name()).cloned());
        assemble(child, &found.collect::<Vec<_>>(), rows)
    });
    let children = children.collect::<Result<Vec<_>, _>>()?;
    StructArray::try_new(fields.clone(), children, first.nulls().cloned())
        .map(|array| Arc::new(array) as ArrayRef)
        .map_err(OpsError::rows(field.name()))
}
