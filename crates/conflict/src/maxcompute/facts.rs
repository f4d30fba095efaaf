//! What the matrix needs of one transaction.

use super::PartitionSet;
use lakebed_transaction::MaxComputeKind;

/// What the matrix needs of one transaction, ours or landed.
#[derive(Clone, Debug, PartialEq)]
pub struct MaxComputeFacts {
    /// What it does.
    pub kind: MaxComputeKind,
    /// Where it does it.
    pub partitions: PartitionSet,
    /// Whether it read rows of what it writes to, or may have; matters for overwrites.
    pub reads_target: bool,
}

impl MaxComputeFacts {
    /// A transaction that does this in these partitions and read nothing of them.
    #[must_use]
    pub const fn new(kind: MaxComputeKind, partitions: PartitionSet) -> Self {
        Self { kind, partitions, reads_target: false }
    }
}

/// The two ways to rewrite files without changing rows.
///
/// A minor compaction merges small files and leaves every row image readable, deleted rows under their deletion
/// vectors included; clustering counts as one. A major compaction folds everything into new base files, and what was
/// deleted is gone. Nothing in a log entry of either format says which of the two a writer meant, so the caller says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compaction {
    /// Merges files; keeps deleted rows.
    Minor,
    /// Drops deleted rows.
    Major,
    /// Not known: outside the matrix, so refused.
    #[default]
    Unknown,
}

impl Compaction {
    /// By whether the compaction drops deleted rows.
    #[must_use]
    pub const fn dropping_deleted_rows(drops: bool) -> Self {
        if drops { Self::Major } else { Self::Minor }
    }

    pub(super) const fn kind(self) -> MaxComputeKind {
        match self {
            Self::Minor => MaxComputeKind::MinorCompact,
            Self::Major => MaxComputeKind::MajorCompact,
            Self::Unknown => MaxComputeKind::Unspecified,
        }
    }
}

/// What a caller knows of a transaction and its format's facts do not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// Which compaction it is, if it is one.
    pub compaction: Compaction,
    /// Whether it was computed from what it overwrites; `None`: by what its footprint says it read, and a footprint that
    /// does not call itself blind may name the overwritten scope as read.
    pub reads_target: Option<bool>,
}
