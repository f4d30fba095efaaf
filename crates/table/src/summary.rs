//! What can be said of one version without touching a data file, whichever the format.

use crate::TableFormat;
use lakebed_naming::Version;
use lakebed_transaction::{Column, Scalar};
use std::collections::BTreeMap;

/// One version of a table, described.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The format.
    pub format: TableFormat,
    /// The version.
    pub version: Version,
    /// The time that time travel uses for it, in milliseconds since 1970; `None` where it is not known.
    pub timestamp_ms: Option<i64>,
    /// Data files (Delta), or fragments (Lance).
    pub num_files: u64,
    /// Live rows; `None` where a file does not say.
    pub num_rows: Option<u64>,
    /// Rows that deletion vectors or deletion files hide; `None` where a file does not say.
    pub num_deleted_rows: Option<u64>,
    /// Bytes of all data files; `None` where a file does not say.
    pub size_bytes: Option<u64>,
    /// The columns, for computing.
    pub columns: Vec<Column>,
    /// Name, type as the format stores it, nullability.
    pub schema: Vec<(String, String, bool)>,
    /// Partition columns by their logical names.
    pub partition_columns: Vec<String>,
    /// Table properties (Delta: configuration; Lance: config).
    pub properties: BTreeMap<String, String>,
    /// The table's id, where the format has one.
    pub table_id: Option<String>,
    /// What a reader or writer must know.
    pub protocol: ProtocolSummary,
    /// Last transaction number of each application.
    pub app_transactions: BTreeMap<String, i64>,
    /// Domain metadata (Delta), name → text.
    pub domain_metadata: BTreeMap<String, String>,
}

/// What a reader or writer must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProtocolSummary {
    /// Delta's versions and features.
    Delta {
        /// Minimal reader version.
        min_reader_version: u32,
        /// Minimal writer version.
        min_writer_version: u32,
        /// Reader features by name.
        reader_features: Vec<String>,
        /// Writer features by name.
        writer_features: Vec<String>,
    },
    /// Lance's flags.
    Lance {
        /// Bits that a reader must know.
        reader_flags: u64,
        /// Bits that a writer must know.
        writer_flags: u64,
    },
}

/// One data file of a Delta version.
#[derive(Clone, Debug, PartialEq)]
pub struct FileSummary {
    /// The path as the log spells it.
    pub path: String,
    /// Its size.
    pub size_bytes: u64,
    /// Live rows; `None` where the file does not say.
    pub num_rows: Option<u64>,
    /// Partition values as the log spells them, by column.
    pub partition_values: BTreeMap<String, Option<String>>,
    /// Partition values, typed.
    pub partition: Vec<(String, Scalar)>,
    /// Rows that a deletion vector hides.
    pub deleted_rows: u64,
}

/// A file that was taken out of a Delta table and is kept for old versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tombstone {
    /// The path as the log spells it.
    pub path: String,
    /// Its size, where the log says it.
    pub size_bytes: Option<u64>,
    /// When it was taken out, in milliseconds since 1970.
    pub deleted_ms: Option<i64>,
    /// Whether rows left the table with it.
    pub data_change: bool,
}

/// One fragment of a Lance version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FragmentSummary {
    /// Its id.
    pub id: u64,
    /// Rows in its files; `None` where it does not say.
    pub physical_rows: Option<u64>,
    /// Rows that its deletion file hides; `None` where it does not say.
    pub num_deleted: Option<u64>,
    /// Its data files.
    pub files: Vec<String>,
}

/// One index entry of a Lance version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSummary {
    /// Its name; segments share one.
    pub name: String,
    /// Its uuid, hyphenated.
    pub uuid: String,
    /// Field ids.
    pub fields: Vec<i32>,
    /// Fragments that it covers; `None` where that is not recorded.
    pub fragment_ids: Option<Vec<u32>>,
    /// The version that it was built on.
    pub dataset_version: u64,
}

/// One version in the history.
#[derive(Clone, Debug)]
pub struct HistoryEntry {
    /// The version.
    pub version: Version,
    /// Its time, in milliseconds since 1970.
    pub timestamp_ms: Option<i64>,
    /// The operation in the format's words.
    pub operation: Option<String>,
    /// The version that it read.
    pub read_version: Option<u64>,
    /// Its transaction's id.
    pub transaction_id: Option<String>,
    /// Whether it changes what a scan returns.
    pub data_change: bool,
    /// Attempts that the commit took (ours only).
    pub attempts: Option<u32>,
    /// How often the statement was planned before and lost (ours only).
    pub lost_plannings: u32,
    /// The policy that judged it (ours only).
    pub policy: Option<String>,
    /// What the statement was told, such as its predicate, as the log has it; a value that is no text by its JSON text (Delta).
    pub parameters: BTreeMap<String, String>,
    /// What the writer counted.
    pub metrics: BTreeMap<String, String>,
}
