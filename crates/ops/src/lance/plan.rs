//! What a statement on a Lance table comes to.

use lakebed_lance::keys::InsertedKeys;
use lakebed_lance::proto::table::DataFragment;
use lakebed_lance::{FileBounds, Reads};
use lakebed_transaction::RowSet;
use std::collections::BTreeMap;

/// A statement, planned on one version. A row that changes is among `taken`, and new in `added`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LancePlan {
    /// Rows that go, by fragment and position.
    pub taken: BTreeMap<u64, RowSet>,
    /// New fragments, whose data files stand in the store.
    pub added: Vec<DataFragment>,
    /// What is known of the values in the new data files, by their paths.
    pub bounds: BTreeMap<String, FileBounds>,
    /// What it looked at.
    pub reads: Reads,
    /// Ids of the fields at the top whose values changed in rows that stay.
    pub fields_changed: Vec<u32>,
    /// The keys of new rows, where the table says what its rows are known by and the statement went by that.
    pub inserted_keys: Option<InsertedKeys>,
    /// Rows that the statement deleted.
    pub rows_deleted: u64,
    /// Rows that are new.
    pub rows_inserted: u64,
    /// Rows that others replaced.
    pub rows_updated: u64,
    /// Rows that it copied unchanged into new files.
    pub rows_copied: u64,
}

impl LancePlan {
    /// Whether the statement changes nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.taken.is_empty() && self.added.is_empty()
    }
}
