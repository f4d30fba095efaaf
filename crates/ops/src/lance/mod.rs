//! Statements on Lance tables.
//!
//! A statement is planned on one version ([`LanceTable`]): it reads fragments, writes new ones, and says in a [`LancePlan`] which
//! rows of which fragments go. The facade turns that into a transaction: rows that go are listed in deletion files, and rows that
//! change go and come back in a new fragment, as released Lance clients do it.

mod assemble;
mod changes;
mod columns;
mod compact;
mod conform;
mod files;
mod fragment;
mod look;
mod merge;
mod plan;
mod scan;
mod table;
mod touch;
mod write;

pub use changes::LanceChanges;
pub use columns::{Widened, changed_fields, widen};
pub use compact::{LanceCompactSpec, LanceCompaction, LanceGroup, compact};
pub use files::{BATCH_ROWS, LanceFiles, LanceReader, LanceSink};
pub use fragment::deleted_rows;
pub use look::look;
pub use merge::merge;
pub use plan::LancePlan;
pub use scan::{LanceScan, Written};
pub use table::LanceTable;
pub use touch::{delete, overwrite_where, reads_of, update};
pub use write::append;
