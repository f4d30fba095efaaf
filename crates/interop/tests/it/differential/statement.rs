//! What statements change, as text and as what it means.

use super::predicate::writer;
use crate::support::Random;

/// What a merge does with rows that both sides have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Matched {
    Update,
    Delete,
    Ignore,
}

/// What an update sets.
#[derive(Clone, Debug)]
pub(crate) enum Assignment {
    Text(String),
    NoText,
    Writer(i32),
    NextWriter,
}

impl Assignment {
    /// An assignment of a step's own.
    pub(crate) fn random(random: &mut Random, step: u64) -> Self {
        match random.below(4) {
            0 => Self::NoText,
            1 => Self::Writer(writer(random)),
            2 => Self::NextWriter,
            _ => Self::Text(format!("u{step}")),
        }
    }

    /// The column and its new value, as both writers are given it.
    pub(crate) fn sql(&self) -> (&'static str, String) {
        match self {
            Self::Text(text) => ("s", format!("'{text}'")),
            Self::NoText => ("s", "NULL".to_owned()),
            Self::Writer(w) => ("w", w.to_string()),
            Self::NextWriter => ("w", "w + 1".to_owned()),
        }
    }

    /// Sets the value in a row.
    pub(crate) fn apply(&self, (s, w): &mut (Option<String>, Option<i32>)) {
        match self {
            Self::Text(text) => *s = Some(text.clone()),
            Self::NoText => *s = None,
            Self::Writer(writer) => *w = Some(*writer),
            Self::NextWriter => *w = w.map(|w| w + 1),
        }
    }
}

impl Matched {
    /// As our statement takes it.
    pub(crate) const fn ours(self) -> lakebed_table::Matched {
        match self {
            Self::Update => lakebed_table::Matched::Update,
            Self::Delete => lakebed_table::Matched::Delete,
            Self::Ignore => lakebed_table::Matched::Ignore,
        }
    }

    /// As a worker takes it.
    pub(crate) const fn theirs(self) -> &'static str {
        match self {
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Ignore => "ignore",
        }
    }
}
