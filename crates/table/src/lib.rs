//! The table facade: open, create, read, commit and maintain Lance and Delta tables.
//!
//! [`Table`] is a handle on one table. It finds and loads versions, performs what the commit machine asks for, and does the
//! work that follows a commit. It makes no decision about conflicts: those are the rules' and the machine's.
//!
//! ```
//! use lakebed_table::{CommitOptions, NewTable, OpenOptions, Table, TableFormat};
//! use lakebed_transaction::{Column, ColumnType, Outcome};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let definition = NewTable::new(TableFormat::Delta, vec![Column::new("id", ColumnType::Long, false)]);
//! let (table, report) =
//!     Table::create("memory://doc/trips", &OpenOptions::default(), &definition, &CommitOptions::default()).await?;
//! assert!(matches!(report.outcome, Outcome::Committed { .. }));
//! let table = table.ok_or("not created")?;
//! assert_eq!(table.snapshot().summary()?.num_rows, Some(0));
//! # Ok(())
//! # }
//! ```

mod appender;
mod application;
pub mod builder;
mod changes;
mod clock;
mod commit;
mod compact;
mod create;
mod delta_rows;
mod detached;
mod error;
mod evolve;
mod file_versions;
mod hint;
mod history;
mod lance_cleanup;
mod lance_columns;
mod lance_compact;
mod lance_look;
mod lance_restore;
mod lance_rows;
mod lance_statements;
mod load;
mod metrics;
mod migrate;
mod options;
mod outcome;
mod perform;
mod policy;
mod prepared;
mod prepared_checks;
mod refs;
mod report;
mod restore;
mod scan;
mod shared;
mod snapshot;
mod statistics;
mod summary;
mod table;
mod tailed;
mod time_travel;
mod traced;
mod transaction;
mod upkeep;
mod verify;

pub use appender::Appender;
pub use application::ApplicationBatch;
pub use builder::{Builder, rows};
pub use changes::{ChangedRows, Changes};
pub use compact::CompactRequest;
pub use create::NewTable;
pub use delta_rows::Scope;
pub use error::TableError;
pub use evolve::Evolution;
pub use file_versions::FileVersions;
pub use lakebed_delta::{LogTail, Ratified};
pub use lakebed_ops::{
    Batches, Change, ColumnChange, Compaction, LanceFiles, Matched, MergeSpec, NotMatched, NotMatchedBySource,
    ROW_COMMIT_VERSION, ROW_ID, ROW_VERSION, SqlEngine,
};
pub use lance_rows::deleted_by;
pub use metrics::{CommitEnd, CommitMetrics, Metrics, RequestEnd, RequestKind, RequestMetrics};
pub use options::{CommitOptions, OpenOptions, TableFormat, VersionSpec};
pub use prepared::{Prepared, PreparedDelta, parse_prepared_delta};
pub use refs::{Branch, Tag};
pub use report::Report;
pub use scan::{ScanRequest, Scanned};
pub use snapshot::{DeltaVersion, LanceVersion, Snapshot};
pub use statistics::Statistics;
pub use summary::{FileSummary, FragmentSummary, HistoryEntry, IndexSummary, ProtocolSummary, Summary, Tombstone};
pub use table::Table;
pub use transaction::{NewDataFile, Transaction};
pub use upkeep::{LogCompaction, LogRemoval, Vacuumed};
pub use verify::{Finding, Verified};
