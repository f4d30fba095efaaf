//! What a committing call gives back.

use lakebed_transaction::{Outcome, TransactionId};
use std::collections::BTreeMap;

/// The answer of a committing call.
#[must_use]
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// What became of it.
    pub outcome: Outcome,
    /// The id to ask with after an answer of *unknown*.
    pub transaction_id: TransactionId,
    /// How often the statement was planned; 1 unless it lost and was run again.
    pub plannings: u32,
    /// What was counted: files and rows added and removed.
    pub metrics: BTreeMap<String, u64>,
}

impl Report {
    pub(crate) const fn of(outcome: Outcome, transaction_id: TransactionId) -> Self {
        Self { outcome, transaction_id, plannings: 1, metrics: BTreeMap::new() }
    }
}
