//! Who judges a commit to a Delta table.

use lakebed_conflict::delta::{DeltaFacts, DeltaPolicy, InvalidLevel, IsolationLevel, table_of};
use lakebed_conflict::maxcompute::MAXCOMPUTE;
use lakebed_conflict::precise::{PRECISE, PRECISE_REORDER, PreciseTable};

/// A policy for Delta tables: one of Delta's own, which judge files, one of those that judge rows, or the matrix.
#[derive(Clone, Copy, Debug)]
pub enum JudgedBy {
    /// Delta's rules at a level.
    Files(DeltaPolicy),
    /// `precise` or `precise-reorder`.
    Rows(&'static PreciseTable),
    /// The matrix of MaxCompute, by operation and partition.
    Matrix,
}

impl JudgedBy {
    /// Every policy.
    pub const ALL: [Self; 7] = [
        Self::Files(DeltaPolicy::TableLevel),
        Self::Files(DeltaPolicy::Serializable),
        Self::Files(DeltaPolicy::WriteSerializable),
        Self::Files(DeltaPolicy::Snapshot),
        Self::Rows(&PRECISE),
        Self::Rows(&PRECISE_REORDER),
        Self::Matrix,
    ];

    /// The policy of this name, or of this name and revision (`precise@1`): of each policy the newest revision is there.
    #[must_use]
    pub fn named(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == text || policy.full_name().as_deref() == Some(text))
    }

    /// The name that users give.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Files(policy) => policy.name(),
            Self::Rows(table) => table.name,
            Self::Matrix => MAXCOMPUTE.name,
        }
    }

    /// The name with the revision of its table; the policy that goes by the table's level has none of its own.
    fn full_name(self) -> Option<String> {
        match self {
            Self::Files(DeltaPolicy::TableLevel) => None,
            Self::Files(DeltaPolicy::Serializable) => Some(table_of(IsolationLevel::Serializable).label()),
            Self::Files(DeltaPolicy::WriteSerializable) => Some(table_of(IsolationLevel::WriteSerializable).label()),
            Self::Files(DeltaPolicy::Snapshot) => Some(table_of(IsolationLevel::SnapshotIsolation).label()),
            Self::Rows(table) => Some(table.label()),
            Self::Matrix => Some(MAXCOMPUTE.label()),
        }
    }

    /// Whether one promises what the other does, or more. Delta's `TableLevel` is as strong as whatever the table promises.
    #[must_use]
    pub fn is_as_strong_as(self, promised: Self) -> bool {
        self.strength() >= promised.strength()
    }

    /// Policies with one number make promises that lie side by side.
    fn strength(self) -> u8 {
        match self {
            Self::Files(DeltaPolicy::TableLevel) => u8::MAX,
            Self::Files(DeltaPolicy::Serializable) => 3,
            Self::Files(DeltaPolicy::WriteSerializable) => 2,
            Self::Files(DeltaPolicy::Snapshot) => 1,
            Self::Rows(table) if std::ptr::eq(table, &PRECISE_REORDER) => 2,
            Self::Rows(_) => 3,
            Self::Matrix => 0,
        }
    }

    /// Delta's policy whose promise is nearest: it decides whether ours can be committed at all.
    fn nearest(self) -> DeltaPolicy {
        match self {
            Self::Files(policy) => policy,
            Self::Rows(table) if std::ptr::eq(table, &PRECISE_REORDER) => DeltaPolicy::WriteSerializable,
            Self::Rows(_) => DeltaPolicy::Serializable,
            Self::Matrix => DeltaPolicy::Snapshot,
        }
    }

    /// The level that `commitInfo.isolationLevel` names: of policies that judge rows the one whose promise they keep.
    ///
    /// # Errors
    /// The table's level text names no level.
    pub(super) fn level(self, ours: &DeltaFacts) -> Result<IsolationLevel, InvalidLevel> {
        self.nearest().effective_level(ours)
    }

    /// Whether ours can be committed at all.
    pub(super) fn judge_alone(self, ours: &DeltaFacts) -> lakebed_transaction::Judgement {
        self.nearest().judge_alone(ours)
    }

    /// `name@revision` of the rules that decide about ours.
    #[must_use]
    pub fn label(self, ours: &DeltaFacts) -> String {
        match self {
            Self::Files(policy) => policy.label(ours),
            Self::Rows(table) => table.label(),
            Self::Matrix => MAXCOMPUTE.label(),
        }
    }
}
