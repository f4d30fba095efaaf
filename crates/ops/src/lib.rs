//! Statements turned into data files, a footprint and a transaction.
//!
//! A statement is planned on one version ([`SnapshotView`]): it reads what it must, writes new data files, and records what
//! it read and what it changes in a [`Plan`]. [`delta`] turns a plan into the actions of a Delta commit. Committing is the
//! facade's business; a plan that is never committed leaves files that no version names.

mod append;
mod changes;
mod columns;
mod compact;
mod create;
mod delete;
pub mod delta;
mod elsewhere;
mod error;
mod features;
pub mod lance;
mod layout;
mod look;
mod merge;
mod names;
mod netted;
mod plan;
mod restore;
mod rows;
mod scan;
mod statement;
mod touch;
mod tracking;
mod update;
mod values;
mod view;

pub use append::{Batches, OverwriteScope, append, candidates, delete, overwrite};
pub use changes::{Change, Changes};
pub use columns::{ColumnChange, Evolved, change_columns, merged_schema, replaced_schema};
pub use compact::{CompactSpec, Compaction, SORT_BYTES, TARGET_SIZE_BYTES, compact};
pub use create::{TableDefinition, delta_definition};
pub use error::OpsError;
pub use lance::{BATCH_ROWS as LANCE_BATCH_ROWS, LanceFiles, LanceReader, LanceSink};
pub use layout::Layout;
pub use look::{LOOKER, ParquetLooker};
pub use merge::{Matched, MergeSpec, NotMatched, merge};
pub use plan::{MarkedFile, NewFile, Plan};
pub use restore::{Restored, restore};
pub use scan::Scan;
pub use statement::Writing;
pub use tracking::{ROW_COMMIT_VERSION, ROW_ID, ROW_VERSION};
pub use update::{SetColumn, update};
pub use values::SqlEngine;
pub use view::{Deleted, RowTracking, SnapshotView, TrackingColumns, ViewFile};
