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

impl Exit {
    /// The number.
    pub(crate) const fn status(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Error => 1,
            Self::Usage => 2,
            Self::Retryable => 3,
            Self::Incompatible => 4,
            Self::Unknown => 5,
            Self::Exhausted => 6,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.status())
    }
}
