//! Statements turned into data files, a footprint and a transaction.
//!
//! A statement is planned on one version ([`SnapshotView`]): it reads what it must, writes new data files, and records what
//! it read and what it changes in a [`Plan`]. [`delta`] turns a plan into the actions of a Delta commit. Committing is the
//! facade's business; a plan that is never committed leaves files that no version names.
//!
//! ```
//! use arrow_array::record_batch;
//! use lakebed_delta::{Load, LoadStep, action::write_actions};
//! use lakebed_ops::{Layout, TableDefinition, Writing, append, delta, delta_definition};
//! use lakebed_storage::{MemoryStore, Store};
//! use lakebed_transaction::{Column, ColumnType};
//! use std::sync::Arc;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let columns = vec![Column::new("id", ColumnType::Integer, false)];
//! let definition = TableDefinition { columns, ..TableDefinition::default() };
//! let entry = write_actions(&delta_definition(&definition, "the table's id", 1_700_000_000_000)?)?;
//! let mut load = Load::new([("_delta_log/00000000000000000000.json", entry.len() as u64)], true, None);
//! let LoadStep::Needs(needs) = load.step()? else { unreachable!("a commit is needed") };
//! for name in needs {
//!     load.feed(name, Some(entry.clone().into()));
//! }
//! let LoadStep::Done(version) = load.step()? else { unreachable!("nothing more is needed") };
//!
//! let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
//! let batch = record_batch!(("id", Int32, [1, 2, 3]))?;
//! let layout = Layout::of(version.core())?;
//! let plan = append(&store, &layout, Box::new([Ok(batch)].into_iter()), &Writing::default()).await?;
//! assert_eq!((plan.added.len(), plan.rows_inserted), (1, 3));
//! assert!(store.head(&plan.added[0].object).await?.is_some(), "the file stands; no version names it yet");
//! let statement = delta::statement(&version, &plan, 1_700_000_000_001)?;
//! assert_eq!((statement.operation.as_str(), statement.actions.len()), ("WRITE", 1));
//! # Ok(())
//! # }
//! ```

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
mod lengths;
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
mod void;

pub use append::{Batches, OverwriteScope, append, candidates, delete, note_reads, overwrite, truncate};
pub use changes::{Change, Changes};
pub use columns::{ColumnChange, Evolved, change_columns, merged_schema, replaced_schema};
pub use compact::{CompactSpec, Compaction, SORT_BYTES, TARGET_SIZE_BYTES, compact};
pub use create::{TableDefinition, delta_definition};
pub use error::OpsError;
pub use lance::{BATCH_ROWS as LANCE_BATCH_ROWS, LanceFiles, LanceReader, LanceSink};
pub use layout::Layout;
pub use look::{LOOKER, ParquetLooker};
pub use merge::{Matched, MergeSpec, NotMatched, NotMatchedBySource, merge};
pub use plan::{MarkedFile, NewFile, Plan};
pub use restore::{Restored, restore};
pub use scan::Scan;
pub use statement::Writing;
pub use tracking::{ROW_COMMIT_VERSION, ROW_ID, ROW_VERSION};
pub use update::{SetColumn, update};
pub use values::SqlEngine;
pub use view::{Deleted, RowTracking, SnapshotView, TrackingColumns, ViewFile};
