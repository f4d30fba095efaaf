//! Files of a checkpoint, kept as the columns that were decoded.

use super::columns::Group;
use super::read;
use crate::action::{Action, Add};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StringViewArray, StructArray};
use std::fmt;
use std::sync::Arc;

/// Some rows of the column `add`.
pub(crate) struct Rows {
    /// The column, perhaps without the statistics' text.
    main: ArrayRef,
    paths: StringViewArray,
    /// The statistics' text, where it was decoded apart.
    stats: Option<StringViewArray>,
}

impl Rows {
    /// The rows of a decoded column; `None` where the paths are not plain text.
    pub(crate) fn new(main: &StructArray, stats: Option<StringViewArray>) -> Option<Self> {
        let mut main = main.clone();
        main.shrink_to_fit();
        let paths = main.column_by_name("path")?.as_string_view_opt()?.clone();
        let stats = stats.map(|mut stats| {
            stats.shrink_to_fit();
            stats
        });
        Some(Self { main: Arc::new(main), paths, stats })
    }

    /// The path in a row.
    pub(crate) fn path(&self, row: u32) -> &str {
        let row = row as usize;
        if row < self.paths.len() { self.paths.value(row) } else { "" }
    }

    pub(super) const fn paths(&self) -> &StringViewArray {
        &self.paths
    }

    /// The statistics' text, where it was decoded apart.
    pub(super) const fn stats(&self) -> Option<&StringViewArray> {
        self.stats.as_ref()
    }

    /// The action in a row; `None` where it has none.
    pub(crate) fn add(&self, row: u32) -> Option<Add> {
        let row = row as usize;
        let group = Group::at(&self.main, row)?;
        let apart = self.stats.as_ref().filter(|stats| row < stats.len() && stats.is_valid(row));
        let action = read::add_with(&group, apart.map(|stats| stats.value(row)))?;
        if let Action::Add(add) = action { Some(add) } else { None }
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").field("rows", &self.main.len()).finish_non_exhaustive()
    }
}
