//! What a commit answers.

use crate::Conflict;
use lakebed_naming::Version;
use std::fmt;

/// The id that one logical commit keeps over all its attempts and that stands inside its log entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TransactionId(String);

impl TransactionId {
    /// The id with this text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TransactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a budget ran out of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exhaustion {
    /// As many rebases as were allowed.
    Attempts,
    /// As much time as was allowed.
    Time,
}

/// What a commit answers. `Committed` is never said of a commit that did not land, and the other certain answers are never
/// said of one that did.
#[must_use]
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The transaction is version `version`.
    Committed {
        /// The version that it created.
        version: Version,
        /// How many log entries were offered to the store, 1 when nobody was in the way.
        attempts: u32,
    },
    /// There was nothing to write, so nothing was committed.
    Nothing {
        /// The version that stands.
        version: Version,
    },
    /// Nothing was committed: a landed transaction stands in the way.
    Conflict(Box<Conflict>),
    /// Nothing was committed: the budget ran out before our turn came.
    Exhausted {
        /// What ran out.
        what: Exhaustion,
        /// How many log entries were offered.
        attempts: u32,
        /// The newest version that was seen.
        newest: Version,
    },
    /// The store did not answer, and what it holds at `tried` could not be read: the commit may have landed there or may
    /// still land. Nothing that it names may be deleted; ask again with the transaction id.
    Unknown {
        /// The version at which the entry was offered.
        tried: Version,
        /// How many log entries were offered.
        attempts: u32,
        /// What the store said last.
        last_answer: String,
    },
}
