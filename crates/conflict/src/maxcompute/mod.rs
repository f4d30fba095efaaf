//! The conflict matrix of MaxCompute's Delta tables, for tables of either format.
//!
//! - [`MAXCOMPUTE`] is the matrix: five kinds of operation against five, and one kind for everything outside, which is
//!   refused in every cell. Rows are ours (the later job), columns what landed (the earlier one: earlier is what
//!   *finished* first, not what started first);
//! - [`judge`] applies it to one landed transaction. The unit is one partition; a table without partition columns is one
//!   partition. Transactions that touch disjoint partitions never meet, and one that touches several must pass in each
//!   that both touch. A transaction has one kind in all its partitions, so that the cell is the same in each;
//! - [`MaxComputeFacts`]: what the matrix needs, with mappings from what is known of Delta and Lance transactions.
//!
//! A transaction is judged as a whole, never by row or file. TRUNCATE is an overwrite, MERGE an update, and clustering a
//! minor compaction. The source is the public documentation of MaxCompute, which had the same matrix from 2023 to 2026.
//!
//! An overwrite that comes later is always accepted, as documented, even where it was computed from the partition that
//! it replaces; the verdict then carries a reason that says so. Whoever commits an accepted overwrite must take out what stands
//! in its partitions *then*, not only what stood there when it was planned.

mod facts;
mod mapping;
mod partition;
mod table;

pub use facts::{Compaction, Hints, MaxComputeFacts};
pub use partition::{Partition, PartitionSet};
pub use table::MAXCOMPUTE;

use lakebed_transaction::{Evidence, Judgement};

/// Judges ours, not committed, against one landed transaction under [`MAXCOMPUTE`]. The evidence names a partition that
/// both touch.
///
/// ```
/// use lakebed_conflict::maxcompute::{MaxComputeFacts, PartitionSet, judge};
/// use lakebed_transaction::{MaxComputeKind, Scalar, Verdict};
///
/// let insert = |day| {
///     let partitions = PartitionSet::of(vec![vec![("day".into(), Scalar::Date(day))]]);
///     MaxComputeFacts::new(MaxComputeKind::Insert, partitions)
/// };
/// assert_eq!(judge(&insert(1), &insert(2)).verdict, Verdict::Compatible);
/// assert_eq!(judge(&insert(1), &insert(1)).verdict, Verdict::Retryable);
/// ```
pub fn judge(ours: &MaxComputeFacts, landed: &MaxComputeFacts) -> Judgement {
    let mut judgement = MAXCOMPUTE.judge((ours.kind.at(), ours), (landed.kind.at(), landed));
    if judgement.evidence == Some(Evidence::Operations)
        && let Some(shared) = ours.partitions.first_shared(&landed.partitions)
    {
        judgement.evidence = Some(Evidence::Partition(shared));
    }
    judgement
}
