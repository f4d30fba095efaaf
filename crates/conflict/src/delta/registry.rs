//! Policies by name.

use super::{DeltaFacts, InvalidLevel, IsolationLevel, rules};
use lakebed_transaction::{DeltaKind, Judgement, Kind};

use crate::Policy;

/// A policy for Delta tables, by the name that users give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeltaPolicy {
    /// `delta`: the level that the table names.
    TableLevel,
    /// `delta-serializable`.
    Serializable,
    /// `delta-write-serializable`.
    WriteSerializable,
    /// `delta-snapshot`.
    Snapshot,
}

impl DeltaPolicy {
    /// Every policy.
    pub const ALL: [Self; 4] = [Self::TableLevel, Self::Serializable, Self::WriteSerializable, Self::Snapshot];

    /// The policy of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }

    /// The name that users give.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TableLevel => "delta",
            Self::Serializable => rules::SERIALIZABLE.name,
            Self::WriteSerializable => rules::WRITE_SERIALIZABLE.name,
            Self::Snapshot => rules::SNAPSHOT.name,
        }
    }

    /// The level at which ours is checked: the policy's own, else the table's; a commit that changes no data is checked
    /// a level down, and a bulk commit, which is not checked at all, says `Serializable`.
    ///
    /// # Errors
    /// When the table's level text names no level. That stands in the way of every commit, whatever the policy.
    pub fn effective_level(self, ours: &DeltaFacts) -> Result<IsolationLevel, InvalidLevel> {
        let of_table = ours.level()?;
        if ours.large {
            return Ok(IsolationLevel::Serializable);
        }
        let level = match self {
            Self::TableLevel => of_table,
            Self::Serializable => IsolationLevel::Serializable,
            Self::WriteSerializable => IsolationLevel::WriteSerializable,
            Self::Snapshot => IsolationLevel::SnapshotIsolation,
        };
        Ok(level.effective(ours))
    }

    /// Judges ours before anything landed: whether it can be committed at all, which an unusable level text and a
    /// protocol that cannot be read or written prevent.
    pub fn judge_alone(self, ours: &DeltaFacts) -> Judgement {
        match self.effective_level(ours) {
            Ok(_) => rules::unusable_protocol(ours).unwrap_or_else(Judgement::clear),
            Err(invalid) => rules::invalid_level(&invalid),
        }
    }

    /// Judges ours against one landed commit, at the effective level. Where it is accepted and more landed,
    /// [`DeltaFacts::follow`] comes before the next.
    pub fn judge(self, ours: &DeltaFacts, landed: &DeltaFacts) -> Judgement {
        match self.effective_level(ours) {
            Ok(_) if rules::unusable_protocol(ours).is_some() => self.judge_alone(ours),
            Ok(level) => table_of(level).judge((ours.kind.index(), ours), (landed.kind.index(), landed)),
            Err(invalid) => rules::invalid_level(&invalid),
        }
    }

    /// `name@revision` of the table of rules that decides about ours at its effective level.
    #[must_use]
    pub fn label(self, ours: &DeltaFacts) -> String {
        self.effective_level(ours).map_or_else(|_| self.name().to_owned(), |level| table_of(level).label())
    }
}

/// The rules of one level.
#[must_use]
pub const fn table_of(level: IsolationLevel) -> &'static Policy<DeltaFacts, { DeltaKind::COUNT }> {
    match level {
        IsolationLevel::Serializable => &rules::SERIALIZABLE,
        IsolationLevel::WriteSerializable => &rules::WRITE_SERIALIZABLE,
        IsolationLevel::SnapshotIsolation => &rules::SNAPSHOT,
    }
}
