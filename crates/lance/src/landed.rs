//! A version that somebody landed.

use crate::build::{self, Inputs};
use crate::transaction::{Transaction, describe, file_name};
use crate::{Creation, LanceError, Snapshot};
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

    /// The version that a transaction makes of another, as if it landed there.
    ///
    /// # Errors
    /// It cannot be put on that version, or its id is no UUID.
    pub fn on(base: &Snapshot, transaction: Transaction) -> Result<Self, LanceError> {
        let message = transaction.message();
        let at = base.version().next().ok_or_else(|| LanceError::Invalid {
            problem: format!("no version follows {}", base.version()),
            advice: "copy the table into a new one".to_owned(),
        })?;
        let mut next = build::build(&Inputs {
            base: Some(base),
            creation: &Creation::default(),
            restored: None,
            cloned: None,
            moved: None,
            transaction: message,
            transaction_file: &file_name(message)?.file_name(),
            at,
            now_ms: base.timestamp_ms().and_then(|ms| u64::try_from(ms).ok()).unwrap_or_default().saturating_add(1),
        })?;
        let entry = next.encode(None)?;
        let snapshot = Snapshot::built(next, None, entry.fragments)?;
        Ok(Self { snapshot: Arc::new(snapshot), transaction: Some(transaction) })
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
