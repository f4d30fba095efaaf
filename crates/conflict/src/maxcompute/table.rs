//! The matrix.

use super::MaxComputeFacts;
use crate::{Cell, Check, Marks, Policy, Row};
use lakebed_transaction::{Evidence, MaxComputeKind, Reason, Verdict};

type Pair = Cell<MaxComputeFacts>;

/// The matrix of MaxCompute, as its documentation has it since 2023.
///
/// Rows are ours (the later job), columns what landed (the earlier one).
#[rustfmt::skip]
pub static MAXCOMPUTE: Policy<MaxComputeFacts, { MaxComputeKind::COUNT }> = Policy {
    name: "maxcompute",
    revision: 2026,
    marks: |_, _| Marks::ALL,
    first: &[&DISJOINT],
    rows: [
        // Columns: INSERT OVERWRITE, INSERT INTO, UPDATE, COMPACT MINOR, COMPACT MAJOR, outside.
        Row { ours: MaxComputeKind::Overwrite.at(),    cells: [OVER,     OVER,     OVER,     REPLACES, REPLACES, OPEN] },
        Row { ours: MaxComputeKind::Insert.at(),       cells: [REPLACED, LOGICAL,  LOGICAL,  OK,       OK,       OPEN] },
        Row { ours: MaxComputeKind::Update.at(),       cells: [REPLACED, LOGICAL,  LOGICAL,  OK,       OK,       OPEN] },
        Row { ours: MaxComputeKind::MinorCompact.at(), cells: [INPUTS,   OK,       OK,       INPUTS,   INPUTS,   OPEN] },
        Row { ours: MaxComputeKind::MajorCompact.at(), cells: [INPUTS,   HIDDEN,   HIDDEN,   OK,       INPUTS,   OPEN] },
        Row { ours: MaxComputeKind::Unspecified.at(),  cells: [OPEN,     OPEN,     OPEN,     OPEN,     OPEN,     OPEN] },
    ],
}
.checked();

const OK: Pair = Cell::Clear;
const OPEN: Pair = Cell::Unspecified;

/// A later overwrite over what changed rows.
const OVER: Pair = Cell::Else(&[&READ_ITS_TARGET], Verdict::LaterOverwrites, REPLACES_LANDED);
/// A later overwrite over a compaction, which changed no row that it could have read.
const REPLACES: Pair = Cell::Always(Verdict::LaterOverwrites, REPLACES_LANDED);

const REPLACED: Pair = Cell::Always(
    Verdict::Retryable,
    reason(
        "partition-overwritten",
        "landed replaced the partition that ours changes",
        "look at the new contents and run the statement again",
    ),
);
const LOGICAL: Pair = Cell::Always(
    Verdict::Retryable,
    reason(
        "partition-changed",
        "landed changed rows of the partition that ours changes, and of two such jobs the later fails",
        "run the statement again; give each writer its own partition, or let one writer bring several batches together",
    ),
);
const INPUTS: Pair = Cell::Always(
    Verdict::Retryable,
    reason(
        "inputs-replaced",
        "landed replaced files that ours compacts",
        "plan the compaction again on the newest version; run one compaction of a partition at a time",
    ),
);
const HIDDEN: Pair = Cell::Always(
    Verdict::Retryable,
    reason(
        "base-would-hide-landed",
        "ours folds the partition into a new base, behind which the rows that landed changed would disappear",
        "run the major compaction again while nobody writes to the partition, or compact minor",
    ),
);

const REPLACES_LANDED: Reason = reason(
    "later-overwrites",
    "ours replaces the partition, what landed wrote included",
    "nothing to do, unless what landed wrote has to stay",
);

/// No partition in common. What is outside the matrix may touch more than it says.
static DISJOINT: Check<MaxComputeFacts> = Check {
    reason: reason("disjoint-partitions", "the two touch no partition in common", "nothing to do"),
    verdict: Verdict::Compatible,
    needs: Marks::NONE,
    fires: |ours, landed| {
        let known = |facts: &MaxComputeFacts| facts.kind != MaxComputeKind::Unspecified;
        let apart = known(ours) && known(landed) && !ours.partitions.meets(&landed.partitions);
        apart.then(|| Evidence::text("disjoint partitions"))
    },
};

/// The one pair that is accepted and may lose an update.
static READ_ITS_TARGET: Check<MaxComputeFacts> = Check {
    reason: reason(
        "overwrite-read-its-target",
        "ours replaces the partition with rows that it may have computed from the partition as it was before landed, \
         so what landed changed is lost",
        "run the overwrite again on the newest version if what landed wrote has to count, or write under a policy that checks reads",
    ),
    verdict: Verdict::LaterOverwrites,
    needs: Marks::NONE,
    fires: |ours, landed| {
        let shared = || ours.partitions.first_shared(&landed.partitions).unwrap_or_default();
        ours.reads_target.then(|| Evidence::Partition(shared()))
    },
};

const fn reason(check: &'static str, sentence: &'static str, advice: &'static str) -> Reason {
    Reason { check, sentence, advice, error_class: None }
}
