//! Exit statuses.

use lakebed_transaction::{Outcome, Verdict};
use std::process::ExitCode;

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    Error,
    Usage,
    Retryable,
    Incompatible,
    Unknown,
    Exhausted,
}

impl Exit {
    /// How a committing command ends.
    pub(crate) fn of(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Committed { .. } | Outcome::Nothing { .. } => Self::Done,
            Outcome::Conflict(conflict) => match conflict.why.verdict {
                Verdict::Incompatible | Verdict::Unspecified => Self::Incompatible,
                Verdict::Compatible
                | Verdict::Rebase
                | Verdict::Reordered
                | Verdict::LaterOverwrites
                | Verdict::Retryable
                | Verdict::NeedFacts => Self::Retryable,
            },
            Outcome::Exhausted { .. } => Self::Exhausted,
            Outcome::Unknown { .. } => Self::Unknown,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Error => 1,
            Exit::Usage => 2,
            Exit::Retryable => 3,
            Exit::Incompatible => 4,
            Exit::Unknown => 5,
            Exit::Exhausted => 6,
        })
    }
}
