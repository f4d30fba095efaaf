//! Exactly-once for streaming writers: a batch carries the name of its application and a number, and lands once.
//!
//! On a Delta table both stand in the log entry as a `txn` action (Delta protocol, *Transaction Identifiers*), on a Lance table in the
//! properties of the transaction, and the last batch of each application in the table's configuration.

use crate::create::fresh_id;
use crate::snapshot::Snapshot;
use crate::{CommitOptions, Report, Table};
use lakebed_delta::action::{Action, Txn};
use lakebed_delta::{Core, Transaction};
use lakebed_lance::LanceError;
use lakebed_lance::application::{AppTransaction, ID_KEY};
use lakebed_lance::proto::table::Transaction as Message;
use lakebed_naming::Version;
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
    /// After a restart a writer goes on behind it.
    #[must_use]
    pub fn application_version(&self, app_id: &str) -> Option<i64> {
        match &self.snapshot {
            Snapshot::Delta(held) => last(held.snapshot.core(), app_id),
            Snapshot::Lance(held) => lakebed_lance::application::last(&held.snapshot, app_id),
        }
    }

    /// The answer to a batch that the newest version known here has already.
    pub(crate) fn repeated(&self, commit: &CommitOptions) -> Option<Report> {
        match &self.snapshot {
            Snapshot::Lance(held) => repeated_on_lance(&held.snapshot, commit),
            Snapshot::Delta(held) => repeated(held.snapshot.core(), commit),
        }
    }
}

/// The answer to a batch that is in the table already, before any of its rows is written.
pub(crate) fn repeated(core: &Core, commit: &CommitOptions) -> Option<Report> {
    let batch = commit.application.as_ref()?;
    batch.is_in(core).then(|| there(core.version))
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

/// The answer to a batch that a version of a Lance table has already.
pub(crate) fn repeated_on_lance(snapshot: &lakebed_lance::Snapshot, commit: &CommitOptions) -> Option<Report> {
    let batch = commit.application.as_ref()?;
    let last = lakebed_lance::application::last(snapshot, &batch.app_id)?;
    (batch.version <= last).then(|| there(snapshot.version()))
}

/// Says in a Lance transaction which batch it is. One that says it by itself stays as it is, byte for byte.
pub(crate) fn mark_lance(message: &mut Message, commit: &CommitOptions) {
    let Some(ApplicationBatch { app_id, version }) = commit.application.clone() else { return };
    if !message.transaction_properties.contains_key(ID_KEY) {
        AppTransaction { app_id, version }.mark(message);
    }
}

/// The batch that a Lance transaction says it is.
pub(crate) fn of_lance(message: &Message) -> Result<Option<ApplicationBatch>, LanceError> {
    Ok(AppTransaction::of(message)?.map(|AppTransaction { app_id, version }| ApplicationBatch { app_id, version }))
}

fn there(version: Version) -> Report {
    Report::of(Outcome::Nothing { version }, TransactionId::new(fresh_id().to_string()))
}

fn last(core: &Core, app_id: &str) -> Option<i64> {
    core.txns.get(app_id).map(|known| known.version)
}
