//! Isolation levels.

use super::DeltaFacts;
use std::fmt;

/// The table property that names the level.
pub const LEVEL_PROPERTY: &str = "delta.isolationLevel";

/// The level at which a commit is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IsolationLevel {
    /// Everything added since the read counts.
    Serializable,
    /// Blind appends do not count.
    WriteSerializable,
    /// Nothing added counts.
    SnapshotIsolation,
}

/// A level text that names no level. Tables with it can be read; every commit fails.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "[DELTA_INVALID_ISOLATION_LEVEL] invalid isolation level '{text}'; set delta.isolationLevel to Serializable or unset it"
)]
pub struct InvalidLevel {
    /// The text of the property.
    pub text: String,
}

impl IsolationLevel {
    /// The level of a property text, without regard to case; an absent property is `Serializable`.
    ///
    /// # Errors
    /// When the text (also an empty one, or one with blanks around it) names no level.
    pub fn of_property(text: Option<&str>) -> Result<Self, InvalidLevel> {
        let Some(text) = text else { return Ok(Self::Serializable) };
        [Self::Serializable, Self::WriteSerializable, Self::SnapshotIsolation]
            .into_iter()
            .find(|level| level.name().eq_ignore_ascii_case(text))
            .ok_or_else(|| InvalidLevel { text: text.to_owned() })
    }

    /// The spelling in `commitInfo.isolationLevel`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Serializable => "Serializable",
            Self::WriteSerializable => "WriteSerializable",
            Self::SnapshotIsolation => "SnapshotIsolation",
        }
    }

    /// The level at which ours is checked on a table of this level: a commit of file actions that change no data is
    /// checked at `SnapshotIsolation`, at `WriteSerializable` only where the operation is not one that changes data.
    #[must_use]
    pub fn effective(self, ours: &DeltaFacts) -> Self {
        let no_data = ours.only_file_actions() && !ours.data_change;
        match self {
            Self::Serializable if no_data => Self::SnapshotIsolation,
            Self::WriteSerializable if no_data && !ours.changes_data => Self::SnapshotIsolation,
            Self::Serializable | Self::WriteSerializable | Self::SnapshotIsolation => self,
        }
    }
}

impl fmt::Display for IsolationLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
