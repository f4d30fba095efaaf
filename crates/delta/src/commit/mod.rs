//! Committing: a transaction as structured actions, rendered for each version that is tried.

mod facts;
mod features;
mod format;
mod pending;
mod rebase;
mod render;
mod validate;

pub(crate) use facts::metadata_state;
pub use format::{DeltaFormat, Landed};
pub use pending::{Pending, Reads, Transaction};
