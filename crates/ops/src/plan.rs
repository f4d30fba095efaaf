//! What a statement comes to: files written, files taken out, and what was read.

use lakebed_transaction::{ColumnBounds, ReadPredicate, Scalar, UnitId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A data file that stands in the store and that no version names yet.
#[derive(Clone, Debug, PartialEq)]
pub struct NewFile {
    /// The object, relative to the table's root, as the store knows it.
    pub object: String,
    /// Its size.
    pub size_bytes: u64,
    /// Its rows.
    pub num_rows: u64,
    /// Partition values by column name.
    pub partition: Vec<(Arc<str>, Scalar)>,
    /// Statistics as Delta writes them.
    pub stats_json: String,
    /// Bounds by column.
    pub bounds: Vec<(Arc<str>, ColumnBounds)>,
}

/// A statement, planned on one version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The operation by Delta's name for it.
    pub operation: &'static str,
    /// Parameters for the log as text; lists and maps as the text of their JSON.
    pub parameters: BTreeMap<String, String>,
    /// Files that come in.
    pub added: Vec<NewFile>,
    /// Files that go out.
    pub removed: Vec<UnitId>,
    /// The filters under which rows were looked for, one for each read.
    pub predicates: Vec<ReadPredicate>,
    /// Files whose rows were read.
    pub read: Vec<UnitId>,
    /// Rows that the statement deleted.
    pub rows_deleted: u64,
    /// Rows that it copied unchanged into new files.
    pub rows_copied: u64,
    /// Rows that are new.
    pub rows_inserted: u64,
}

impl Plan {
    /// Whether the statement changes nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }
}
