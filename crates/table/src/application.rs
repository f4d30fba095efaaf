//! Exactly-once for streaming writers: a batch carries the name of its application and a number, and lands once.
//!
//! On a Delta table both stand in the log entry as a `txn` action (Delta protocol, *Transaction Identifiers*).

use crate::create::fresh_id;
use crate::snapshot::Snapshot;
use crate::{CommitOptions, Report, Table, TableError};
use lakebed_delta::action::{Action, Txn};
use lakebed_delta::{Core, Transaction};
use lakebed_transaction::{Outcome, TransactionId};
use std::sync::Arc;

/// A batch of an application that writes each batch once, however often it is given.
///
/// Batches of one application are numbered upwards. A batch whose number is not above the last committed one is in the table
/// already: nothing is written, and the outcome is [`Outcome::Nothing`]. Of two writers that commit for one application at once,
/// the second gets [`Outcome::Conflict`]; it refreshes and gives its batch again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplicationBatch {
    /// The application, as the id of a streaming query.
    pub app_id: String,
    /// The number of the batch.
    pub version: i64,
}

impl ApplicationBatch {
    /// The batch with this number.
    #[must_use]
    pub fn new(app_id: impl Into<String>, version: i64) -> Self {
        Self { app_id: app_id.into(), version }
    }

    fn is_in(&self, core: &Core) -> bool {
        last(core, &self.app_id).is_some_and(|last| self.version <= last)
    }
}

impl Table {
    /// The number of the last batch that an application committed, as this handle knows the table; `None` where it never did.
    /// After a restart a writer goes on behind it. Lance tables have none.
    #[must_use]
    pub fn application_version(&self, app_id: &str) -> Option<i64> {
        match &self.snapshot {
            Snapshot::Delta(held) => last(held.snapshot.core(), app_id),
            Snapshot::Lance(_) => None,
        }
    }
}

/// The answer to a batch that is in the table already, before any of its rows is written.
pub(crate) fn repeated(core: &Core, commit: &CommitOptions) -> Option<Report> {
    let batch = commit.application.as_ref()?;
    let outcome = Outcome::Nothing { version: core.version };
    batch.is_in(core).then(|| Report::of(outcome, TransactionId::new(fresh_id().to_string())))
}

/// Adds the batch of a commit to its transaction, which then conflicts with any other of the application.
pub(crate) fn mark(transaction: &mut Transaction, now_ms: u64, commit: &CommitOptions) {
    let Some(batch) = &commit.application else { return };
    let is_marked = |action: &Action| matches!(action, Action::Txn(txn) if txn.app_id == batch.app_id);
    if transaction.actions.iter().any(is_marked) {
        return;
    }
    let last_updated = i64::try_from(now_ms).ok();
    let txn = Txn { app_id: batch.app_id.clone(), version: batch.version, last_updated };
    transaction.actions.push(Action::Txn(txn));
    transaction.reads.app_ids.insert(Arc::from(batch.app_id.as_str()));
}

/// Lance tables have no place of their own for applications.
pub(crate) fn refuse(commit: &CommitOptions) -> Result<(), TableError> {
    match &commit.application {
        None => Ok(()),
        Some(batch) => Err(TableError::Invalid {
            problem: format!("a batch of application {} cannot be marked on a Lance table", batch.app_id),
            advice: "commit a prepared transaction with an id of its own, which lands once".to_owned(),
        }),
    }
}

fn last(core: &Core, app_id: &str) -> Option<i64> {
    core.txns.get(app_id).map(|known| known.version)
}
