//! Committing: a transaction as structured actions, rendered for each version that is tried.

mod facts;
mod features;
mod format;
mod images;
mod moves;
mod pending;
mod policy;
mod precise;
mod rebase;
mod render;
mod row_tracking;
mod type_changes;
mod validate;
mod vectors;

pub(crate) use facts::metadata_state;
pub use format::{DeltaFormat, Landed};
pub use images::{Vectors, inline_rows};
pub use moves::SOURCES as SOURCES_TAG;
pub use pending::{Pending, Reads, Taking, Transaction, Vouched};
pub use policy::JudgedBy;
pub use precise::{FileSeen, LookAtRows};
pub use row_tracking::name_row_tracking_columns;
pub(crate) use row_tracking::{DOMAIN as ROW_TRACKING_DOMAIN, mark_in as row_id_mark};
pub use vectors::{LandedRows, RowChange, landed_rows};
