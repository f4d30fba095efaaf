//! Statements turned into data files, a footprint and a transaction.
//!
//! A statement is planned on one version ([`SnapshotView`]): it reads what it must, writes new data files, and records what
//! it read and what it changes in a [`Plan`]. [`delta`] turns a plan into the actions of a Delta commit. Committing is the
//! facade's business; a plan that is never committed leaves files that no version names.

mod append;
mod changes;
mod create;
mod delete;
pub mod delta;
mod elsewhere;
mod error;
mod names;
mod plan;
mod restore;
mod rows;
mod scan;
mod tracking;
mod view;

pub use append::{Batches, OverwriteScope, append, candidates, delete, overwrite};
pub use changes::{Change, Changes};
pub use create::{TableDefinition, delta_definition};
pub use error::OpsError;
pub use plan::{NewFile, Plan};
pub use restore::{Restored, restore};
pub use scan::Scan;
pub use tracking::{ROW_COMMIT_VERSION, ROW_ID};
pub use view::{Deleted, RowTracking, SnapshotView, TrackingColumns, ViewFile};
