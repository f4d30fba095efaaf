//! Typed access to the nested columns of a checkpoint.
//!
//! Writers differ in the Parquet types that they choose, so every access goes by name and tolerates what it can. A column
//! that is absent, or of a type that cannot hold the value, reads as null.

use crate::action::TextMap;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, StructArray};
use std::sync::Arc;

/// One row of a nested column.
#[derive(Clone, Copy)]
pub(super) struct Group<'a> {
    array: &'a StructArray,
    row: usize,
}

impl<'a> Group<'a> {
    /// The row, where the group is not null in it.
    pub(super) fn at(array: &'a ArrayRef, row: usize) -> Option<Self> {
        let array = array.as_struct_opt()?;
        (row < array.len() && array.is_valid(row)).then_some(Self { array, row })
    }

    /// The row, whether or not the group is null in it.
    pub(super) const fn of(array: &'a StructArray, row: usize) -> Self {
        Self { array, row }
    }

    fn column(&self, name: &str) -> Option<&'a ArrayRef> {
        self.array.column_by_name(name).filter(|column| column.is_valid(self.row))
    }

    pub(super) fn group(&self, name: &str) -> Option<Self> {
        Self::at(self.array.column_by_name(name)?, self.row)
    }

    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        text_at(self.column(name)?, self.row)
    }

    pub(super) fn long(&self, name: &str) -> Option<i64> {
        let column = self.column(name)?;
        if let Some(longs) = column.as_primitive_opt::<Int64Type>() {
            return Some(longs.value(self.row));
        }
        Some(column.as_primitive_opt::<Int32Type>()?.value(self.row).into())
    }

    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        Some(self.column(name)?.as_boolean_opt()?.value(self.row))
    }

    pub(super) fn map(&self, name: &str) -> Option<TextMap> {
        let map = self.column(name)?.as_map_opt()?;
        let entries = map.value(self.row);
        let [keys, values] = entries.columns() else { return None };
        let mut out = TextMap::new();
        for row in 0..entries.len() {
            let value = values.is_valid(row).then(|| text_at(values, row)).flatten();
            out.push(Arc::from(text_at(keys, row)?), value.map(Arc::from));
        }
        Some(out)
    }

    pub(super) fn list(&self, name: &str) -> Option<Vec<String>> {
        let list = self.column(name)?.as_list_opt::<i32>()?.value(self.row);
        Some(
            (0..list.len())
                .filter(|row| list.is_valid(*row))
                .filter_map(|row| text_at(&list, row).map(str::to_owned))
                .collect(),
        )
    }

    pub(super) const fn parts(&self) -> (&'a StructArray, usize) {
        (self.array, self.row)
    }
}

/// Text, also where the file does not say that the bytes are UTF-8.
pub(super) fn text_at(column: &ArrayRef, row: usize) -> Option<&str> {
    if let Some(texts) = column.as_string_opt::<i32>() {
        return Some(texts.value(row));
    }
    if let Some(texts) = column.as_string_view_opt() {
        return Some(texts.value(row));
    }
    std::str::from_utf8(column.as_binary_opt::<i32>()?.value(row)).ok()
}
