//! What Delta's rules need of one transaction.

use super::{
    InvalidLevel, IsolationLevel, LEVEL_PROPERTY, MetadataChange, MetadataState, ProtocolAccess, ProtocolChange,
    ProtocolState,
};
use lakebed_transaction::{ColumnType, DeltaKind, Footprint, UnitId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The domain of the row-id high-water mark, which every rebase of ours renews by itself.
pub(crate) const ROW_TRACKING_DOMAIN: &str = "delta.rowTracking";

/// One partition value as an action holds it: the key (a physical column name where columns are mapped) and the text;
/// `None` is a JSON null.
pub type PartitionText = (Arc<str>, Option<Arc<str>>);

/// Everything that Delta's rules need of one transaction, ours or landed.
///
/// A landed commit fills what its actions and its `commitInfo` say; reads, [`DeltaFacts::table`] and the flags of the
/// operation matter on our side only and keep their defaults there. Nothing here holds JSON or needs the other side, so
/// that both are built once and judged many times.
#[derive(Clone, Debug, Default)]
pub struct DeltaFacts {
    /// What it does, for messages and statistics; [`DeltaKind::Other`] by default.
    pub kind: DeltaKind,
    /// The operation's name (`WRITE`, `OPTIMIZE`, …); empty where a landed commit has none.
    pub operation: Arc<str>,
    /// Ours: the operation's own flag that it changes data (see [`operation_changes_data`]).
    pub changes_data: bool,
    /// Ours: a bulk commit (RESTORE, CLONE, CONVERT), which may not meet any landed commit.
    pub large: bool,
    /// Ours: an empty commit may be dropped below `WriteSerializable`.
    pub skip_if_empty: bool,
    /// What it reads and writes. Delta's policies look at `read_units`, `read_whole_table`, `predicates` (each split
    /// in partition and data part, see [`super::split_read`]) and `removed_units`; `added_units` serves other policies.
    pub footprint: Footprint,
    /// The files of its `add` actions.
    pub added: Vec<DeltaFile>,
    /// The files of its `remove` actions. Their paths are also in `footprint.removed_units`.
    pub removed: Vec<DeltaFile>,
    /// Whether it carries `cdc` actions.
    pub carries_cdc: bool,
    /// Whether any `add` or `remove` says `dataChange: true`.
    pub data_change: bool,
    /// Whether it carries actions that this model does not know.
    pub carries_unknown_actions: bool,
    /// `isBlindAppend` of its `commitInfo`; `None` where the commit or the flag is missing or null.
    pub declared_blind: Option<bool>,
    /// Its `protocol` action.
    pub protocol: Option<ProtocolChange>,
    /// Its `metaData` action.
    pub metadata: Option<MetadataChange>,
    /// The domains that it sets or removes.
    pub domains: BTreeSet<Arc<str>>,
    /// Ours: the applications whose last transaction was looked up.
    pub app_ids_read: BTreeSet<Arc<str>>,
    /// The applications of its `txn` actions.
    pub app_ids_written: BTreeSet<Arc<str>>,
    /// Ours: features that its `protocol` takes away although traces of them stay in the table after it.
    pub dropped_features_with_traces: Vec<Arc<str>>,
    /// Ours: the table as ours read it, or as adopted from landed commits that ours already follows.
    pub table: TableState,
}

/// The table that ours stands on.
#[derive(Clone, Debug, Default)]
pub struct TableState {
    /// The protocol.
    pub protocol: ProtocolState,
    /// Whether a table of that protocol can be read and written; where it cannot, nothing can be committed.
    pub access: ProtocolAccess,
    /// The metadata.
    pub metadata: MetadataState,
    /// The partition columns of the version that was read, in order; empty: unpartitioned.
    pub partition_columns: Vec<PartitionColumn>,
}

/// One partition column of the version that ours read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionColumn {
    /// The logical name, which predicates and messages use.
    pub name: Arc<str>,
    /// The key in `partitionValues`; the logical name where columns are not mapped.
    pub physical_name: Arc<str>,
    /// The type.
    pub column_type: ColumnType,
}

/// A file of an `add` or `remove` action.
#[derive(Clone, Debug, PartialEq)]
pub struct DeltaFile {
    /// The path, byte for byte as in the log.
    pub unit: UnitId,
    /// `partitionValues` as the log holds them; `None` where a `remove` has none.
    pub partition: Option<Vec<PartitionText>>,
    /// The action's `dataChange`.
    pub data_change: bool,
}

impl DeltaFacts {
    /// Whether every file action adds and nothing was read: what `isBlindAppend` of our own commit says. Reading an
    /// application's last transaction does not count.
    #[must_use]
    pub fn derived_blind(&self) -> bool {
        self.only_adds() && !self.footprint.reads_rows()
    }

    /// Whether a landed commit counts as a blind append: it only adds, and it says so.
    #[must_use]
    pub fn landed_blind(&self) -> bool {
        self.declared_blind == Some(true) && self.only_adds()
    }

    /// Whether it holds file actions only, but for the row-id high-water mark.
    #[must_use]
    pub fn only_file_actions(&self) -> bool {
        self.protocol.is_none()
            && self.metadata.is_none()
            && self.app_ids_written.is_empty()
            && !self.carries_unknown_actions
            && self.domains.iter().all(|name| &**name == ROW_TRACKING_DOMAIN)
    }

    /// Whether it holds no action at all but a note.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.only_file_actions()
            && self.domains.is_empty()
            && self.added.is_empty()
            && self.removed.is_empty()
            && self.footprint.removed_units.is_empty()
            && !self.carries_cdc
    }

    /// The metadata in force when ours is written: its own, else the table's.
    #[must_use]
    pub fn own_metadata(&self) -> &MetadataState {
        self.metadata.as_ref().map_or(&self.table.metadata, |change| &change.state)
    }

    /// The protocol in force when ours is written: its own, else the table's.
    #[must_use]
    pub fn own_protocol(&self) -> &ProtocolState {
        self.protocol.as_ref().map_or(&self.table.protocol, |change| &change.state)
    }

    /// The level of `delta.isolationLevel` in the metadata in force when ours is written.
    ///
    /// # Errors
    /// When the property's text names no level.
    pub fn level(&self) -> Result<IsolationLevel, InvalidLevel> {
        IsolationLevel::of_property(self.own_metadata().configuration.get(LEVEL_PROPERTY).map(|text| &**text))
    }

    /// Takes over what a landed commit changed, after it was judged acceptable and before the next one is judged.
    pub fn follow(&mut self, landed: &Self) {
        if let Some(change) = &landed.protocol {
            self.table.protocol = change.state.clone();
            self.table.access = change.access.clone();
        }
        if let Some(change) = &landed.metadata
            && !change.identity_only
        {
            self.table.metadata = change.state.clone();
        }
    }

    fn only_adds(&self) -> bool {
        self.removed.is_empty() && self.footprint.removed_units.is_empty() && !self.carries_cdc
    }
}

/// Whether an operation of this name changes data (the reference measured the names on Spark with Delta 4.4.0).
#[must_use]
pub fn operation_changes_data(operation: &str) -> bool {
    matches!(
        operation,
        "WRITE"
            | "STREAMING UPDATE"
            | "DELETE"
            | "TRUNCATE"
            | "CONVERT"
            | "MERGE"
            | "UPDATE"
            | "CREATE TABLE AS SELECT"
            | "REPLACE TABLE AS SELECT"
            | "CREATE OR REPLACE TABLE AS SELECT"
            | "CREATE OR REPLACE TABLE"
            | "REPLACE TABLE"
            | "RESTORE"
            | "CLONE"
    )
}
