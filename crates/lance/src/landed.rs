//! A version that somebody landed.

use crate::Snapshot;
use crate::transaction::{Transaction, describe};
use lakebed_naming::Version;
use lakebed_transaction::LanceKind;
use std::sync::Arc;

/// A version that somebody landed, with the transaction that made it.
#[derive(Clone, Debug)]
pub struct Landed {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) transaction: Option<Transaction>,
}

impl Landed {
    /// The version, and its transaction if one was recorded that can be read.
    #[must_use]
    pub const fn new(snapshot: Arc<Snapshot>, transaction: Option<Transaction>) -> Self {
        Self { snapshot, transaction }
    }

    /// The state that it left.
    #[must_use]
    pub const fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    /// The transaction; `None` where none was recorded, which counts as an operation that is not known.
    #[must_use]
    pub const fn transaction(&self) -> Option<&Transaction> {
        self.transaction.as_ref()
    }

    /// The number.
    #[must_use]
    pub fn version(&self) -> Version {
        self.snapshot.version()
    }

    /// What kind of thing it did.
    #[must_use]
    pub fn kind(&self) -> LanceKind {
        self.transaction.as_ref().map_or(LanceKind::Unknown, Transaction::kind)
    }

    /// What it did, in words.
    #[must_use]
    pub fn describe(&self) -> String {
        describe(self.kind())
    }
}
