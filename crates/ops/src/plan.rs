//! What a statement comes to: files written, files taken out, and what was read.

use lakebed_delta::Taking;
use lakebed_delta::action::DeletionVector;
use lakebed_naming::delta::DeletionVectorName;
use lakebed_transaction::{ColumnBounds, KeyProbe, ReadPredicate, RowSet, Scalar, UnitId};
use std::collections::{BTreeMap, BTreeSet};
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
    /// Notes about the file for the log.
    pub tags: Vec<(String, String)>,
    /// Whether its rows were put in the order that the table is clustered by.
    pub clustered: bool,
    /// Rows of it that are deleted from the start: a compaction carried them over.
    pub deleted: RowSet,
    /// The vector that deletes them, once it is written.
    pub vector: Option<DeletionVector>,
}

/// A data file that stays, with more of its rows deleted.
#[derive(Clone, Debug, PartialEq)]
pub struct MarkedFile {
    /// The file.
    pub id: UnitId,
    /// All its deleted rows.
    pub rows: RowSet,
    /// Those that this statement deletes.
    pub taken: RowSet,
    /// Rows in it, deleted ones included.
    pub physical_rows: u64,
    /// The vector that deletes `rows`, once it is written.
    pub vector: Option<DeletionVector>,
}

/// A statement, planned on one version.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The operation by Delta's name for it.
    pub operation: &'static str,
    /// How often the statement was planned before and lost.
    pub lost_plannings: u32,
    /// Rows only change their place: no reader sees a difference.
    pub layout_only: bool,
    /// Parameters for the log as text; lists and maps as the text of their JSON.
    pub parameters: BTreeMap<String, String>,
    /// Files that come in.
    pub added: Vec<NewFile>,
    /// Files that go out.
    pub removed: Vec<UnitId>,
    /// Files that stay with more rows deleted.
    pub marked: Vec<MarkedFile>,
    /// Files that tell which rows changed.
    pub changes: Vec<NewFile>,
    /// The filters under which rows were looked for, one for each read.
    pub predicates: Vec<ReadPredicate>,
    /// Files whose rows were read.
    pub read: Vec<UnitId>,
    /// Keys that were looked up.
    pub keys: Vec<KeyProbe>,
    /// What is known of the rows that it takes out, beyond what the files show.
    pub taking: Taking,
    /// Rows that the statement deleted.
    pub rows_deleted: u64,
    /// Rows that it copied unchanged into new files.
    pub rows_copied: u64,
    /// Rows that are new.
    pub rows_inserted: u64,
    /// Rows that others replaced.
    pub rows_updated: u64,
    /// Rows that were given to a merge.
    pub rows_given: u64,
}

impl Plan {
    /// Whether the statement changes nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.marked.is_empty()
    }

    /// The objects that were written for the statement, relative to the table's root. While no version names them, they are
    /// nobody's.
    #[must_use]
    pub fn objects(&self) -> BTreeSet<String> {
        let files = self.added.iter().chain(&self.changes).map(|file| file.object.clone());
        let vectors = self.added.iter().map(|file| &file.vector).chain(self.marked.iter().map(|file| &file.vector));
        let vectors = vectors.flatten().filter(|vector| vector.storage_type == "u");
        let names = vectors.filter_map(|vector| DeletionVectorName::from_descriptor(&vector.path_or_inline_dv).ok());
        files.chain(names.map(|name| name.path())).collect()
    }
}
