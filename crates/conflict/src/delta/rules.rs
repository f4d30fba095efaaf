//! Delta's rules at its three levels, as tables.
//!
//! Delta judges by actions, not by names of operations, so the work is in the checks that run first; what is left in the
//! cells is whether ours must be rewritten to follow.

use super::checks::{self as check, Rule};
use super::conditions::unusable;
use super::{DeltaFacts, InvalidLevel, marks};
use crate::{Cell, Policy, Row};
use lakebed_transaction::{DeltaKind, Evidence, Judgement, Reason, Verdict};

type Table = Policy<DeltaFacts, { DeltaKind::COUNT }>;

/// `delta-serializable`: whatever was added since ours read counts.
pub(crate) static SERIALIZABLE: Table = Policy {
    name: "delta-serializable",
    revision: 1,
    marks: marks::of,
    first: &[
        &check::BULK_COMMIT,
        &check::NOTHING_TO_COMMIT,
        &check::PROTOCOL_VERSION,
        &check::READER_FEATURES,
        &check::WRITER_FEATURES,
        &check::BOTH_CHANGE_PROTOCOL,
        &check::FEATURE_DROPPED,
        &check::DROPPED_FEATURE_IN_USE,
        &check::BOTH_CHANGE_METADATA,
        &check::METADATA_CHANGED,
        &check::SAME_DOMAIN,
        &check::SAME_APPLICATION,
        &check::UNBACKFILL_MEETS_BACKFILL,
        &check::UNREADABLE_PARTITION_VALUE,
        &check::ADDED_FILES,
        &check::REMOVED_WHAT_WAS_READ,
        &check::REMOVED_TWICE,
    ],
    rows: ROWS,
}
.checked();

/// `delta-write-serializable`: blind appends do not count, unless ours changes metadata.
pub(crate) static WRITE_SERIALIZABLE: Table = Policy {
    name: "delta-write-serializable",
    revision: 1,
    marks: marks::of,
    first: &[
        &check::BULK_COMMIT,
        &check::PROTOCOL_VERSION,
        &check::READER_FEATURES,
        &check::WRITER_FEATURES,
        &check::BOTH_CHANGE_PROTOCOL,
        &check::FEATURE_DROPPED,
        &check::DROPPED_FEATURE_IN_USE,
        &check::BOTH_CHANGE_METADATA,
        &check::METADATA_CHANGED,
        &check::SAME_DOMAIN,
        &check::SAME_APPLICATION,
        &check::UNBACKFILL_MEETS_BACKFILL,
        &check::UNREADABLE_PARTITION_VALUE_NOT_BLIND,
        &check::ADDED_FILES_NOT_BLIND,
        &check::REMOVED_WHAT_WAS_READ,
        &check::REMOVED_TWICE,
        &check::ADDED_FILES_FALSELY_BLIND,
    ],
    rows: ROWS,
}
.checked();

/// `delta-snapshot`: nothing that was added counts.
pub(crate) static SNAPSHOT: Table = Policy {
    name: "delta-snapshot",
    revision: 1,
    marks: marks::of,
    first: &[
        &check::BULK_COMMIT,
        &check::NOTHING_TO_COMMIT,
        &check::PROTOCOL_VERSION,
        &check::READER_FEATURES,
        &check::WRITER_FEATURES,
        &check::BOTH_CHANGE_PROTOCOL,
        &check::FEATURE_DROPPED,
        &check::DROPPED_FEATURE_IN_USE,
        &check::BOTH_CHANGE_METADATA,
        &check::METADATA_CHANGED,
        &check::SAME_DOMAIN,
        &check::SAME_APPLICATION,
        &check::UNBACKFILL_MEETS_BACKFILL,
        &check::REMOVED_WHAT_WAS_READ,
        &check::REMOVED_TWICE,
    ],
    rows: ROWS,
}
.checked();

/// What is neither a row nor a file: the part of the rules that the `precise` policies take over on Delta tables.
pub(crate) static DEFINITIONS: Table = Policy {
    name: "delta-definitions",
    revision: 1,
    marks: marks::of,
    first: &[
        &check::BULK_COMMIT,
        &check::PROTOCOL_VERSION,
        &check::READER_FEATURES,
        &check::WRITER_FEATURES,
        &check::BOTH_CHANGE_PROTOCOL,
        &check::FEATURE_DROPPED,
        &check::DROPPED_FEATURE_IN_USE,
        &check::BOTH_CHANGE_METADATA,
        &check::METADATA_CHANGED,
        &check::SAME_DOMAIN,
        &check::SAME_APPLICATION,
        &check::UNBACKFILL_MEETS_BACKFILL,
    ],
    rows: ROWS,
}
.checked();

/// What must be rewritten in ours before it follows.
const REWRITES: &[&Rule] =
    &[&check::ADOPTS_PROTOCOL, &check::ADOPTS_METADATA, &check::RENUMBERS_ROWS, &check::MOVES_TIMESTAMP];

const ROWS: [Row<DeltaFacts, { DeltaKind::COUNT }>; DeltaKind::COUNT] = [
    row(DeltaKind::Append),
    row(DeltaKind::AppendWithReads),
    row(DeltaKind::Delete),
    row(DeltaKind::Update),
    row(DeltaKind::Merge),
    row(DeltaKind::Overwrite),
    row(DeltaKind::Compact),
    row(DeltaKind::Restore),
    row(DeltaKind::Metadata),
    row(DeltaKind::Empty),
    row(DeltaKind::Other),
];

const fn row(ours: DeltaKind) -> Row<DeltaFacts, { DeltaKind::COUNT }> {
    Row { ours: ours.at(), cells: [const { Cell::If(REWRITES) }; DeltaKind::COUNT] }
}

/// A level text that names no level stands in the way of every commit.
pub(crate) fn invalid_level(invalid: &InvalidLevel) -> Judgement {
    Judgement::by(Verdict::Incompatible, check::INVALID_LEVEL, Some(Evidence::text(format!("'{}'", invalid.text))))
}

/// A protocol of ours that cannot be read or written, its own or its table's, stands in the way of every commit.
pub(crate) fn unusable_protocol(ours: &DeltaFacts) -> Option<Judgement> {
    let unusable = |state, access| {
        let (class, evidence) = unusable(state, access)?;
        let reason = Reason { error_class: Some(class), ..check::UNUSABLE_PROTOCOL };
        Some(Judgement::by(Verdict::Incompatible, reason, Some(evidence)))
    };
    let own = ours.protocol.as_ref().and_then(|change| unusable(&change.state, &change.access));
    own.or_else(|| unusable(&ours.table.protocol, &ours.table.access))
}
