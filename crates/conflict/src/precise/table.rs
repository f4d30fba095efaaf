//! The tables.

use super::PreciseFacts;
use super::checks::{
    GOES_BEFORE_INSERT, INPUT_CHANGED, INPUT_GONE, ORDERED_BEFORE_A_READER, REGISTER_WRITTEN, ROWS_FOLLOW, ROWS_MEET,
    ROWS_MOVED, ROWS_NOT_SHOWN, ROWS_WANTED, Rule, UNIT_CHANGED, reason,
};
use crate::{Cell, Marks, Policy, Row};
use lakebed_transaction::{PreciseKind, Reason, Verdict};

/// A table of the `precise` family.
pub type PreciseTable = Policy<PreciseFacts, { PreciseKind::COUNT }>;

type Pair = Cell<PreciseFacts>;

/// `precise`: what is accepted equals the transactions run one after the other in log order.
#[rustfmt::skip]
pub static PRECISE: PreciseTable = Policy {
    name: "precise",
    revision: 1,
    marks: |_, _| Marks::ALL,
    first: &[&REGISTER_WRITTEN],
    rows: [
        // Columns: note, insert, delete, change, overwrite, layout, unknown, hole.
        Row { ours: PreciseKind::Note.at(),      cells: [OK,  READS, READS, READS, READS, OK,     STRANGE, HOLE] },
        Row { ours: PreciseKind::Insert.at(),    cells: [OK,  READS, READS, READS, READS, OK,     STRANGE, HOLE] },
        Row { ours: PreciseKind::Delete.at(),    cells: [OK,  READS, ROWS,  ROWS,  ROWS,  PLACES, STRANGE, HOLE] },
        Row { ours: PreciseKind::Change.at(),    cells: [OK,  READS, ROWS,  ROWS,  ROWS,  PLACES, STRANGE, HOLE] },
        Row { ours: PreciseKind::Overwrite.at(), cells: [OK,  OVER,  OVER,  OVER,  OVER,  SCOPE,  STRANGE, HOLE] },
        Row { ours: PreciseKind::Layout.at(),    cells: [OK,  OK,    INPUT, INPUT, INPUT, INPUT,  STRANGE, HOLE] },
        Row { ours: PreciseKind::Unknown.at(),   cells: [OURS; PreciseKind::COUNT] },
        Row { ours: PreciseKind::Hole.at(),      cells: [OURS; PreciseKind::COUNT] },
    ],
}
.checked();

/// `precise-reorder`: the same, and ours may be ordered before a landed transaction that only inserted and read nothing.
#[rustfmt::skip]
pub static PRECISE_REORDER: PreciseTable = Policy {
    name: "precise-reorder",
    revision: 1,
    marks: |_, _| Marks::ALL,
    first: &[&REGISTER_WRITTEN, &ORDERED_BEFORE_A_READER],
    rows: [
        // Columns: note, insert, delete, change, overwrite, layout, unknown, hole.
        Row { ours: PreciseKind::Note.at(),      cells: [OK,  READS, READS, READS, READS, OK,     STRANGE, HOLE] },
        Row { ours: PreciseKind::Insert.at(),    cells: [OK,  FIRST, READS, READS, READS, OK,     STRANGE, HOLE] },
        Row { ours: PreciseKind::Delete.at(),    cells: [OK,  FIRST, ROWS,  ROWS,  ROWS,  PLACES, STRANGE, HOLE] },
        Row { ours: PreciseKind::Change.at(),    cells: [OK,  FIRST, ROWS,  ROWS,  ROWS,  PLACES, STRANGE, HOLE] },
        Row { ours: PreciseKind::Overwrite.at(), cells: [OK,  OVER,  OVER,  OVER,  OVER,  SCOPE,  STRANGE, HOLE] },
        Row { ours: PreciseKind::Layout.at(),    cells: [OK,  OK,    INPUT, INPUT, INPUT, INPUT,  STRANGE, HOLE] },
        Row { ours: PreciseKind::Unknown.at(),   cells: [OURS; PreciseKind::COUNT] },
        Row { ours: PreciseKind::Hole.at(),      cells: [OURS; PreciseKind::COUNT] },
    ],
}
.checked();

const OK: Pair = Cell::Clear;
/// What ours read.
const READS: Pair = Cell::If(LOOKED_FOR);
/// The same, where ours may go first.
const FIRST: Pair = Cell::If(&[&GOES_BEFORE_INSERT, &ROWS_MEET, &ROWS_NOT_SHOWN, &ROWS_WANTED]);
/// What ours read, then what it deletes or changes.
const ROWS: Pair = Cell::If(&[&ROWS_MEET, &ROWS_NOT_SHOWN, &ROWS_WANTED, &UNIT_CHANGED, &ROWS_MOVED, &ROWS_FOLLOW]);
/// What ours deletes or changes, under a compaction.
const PLACES: Pair = Cell::If(&[&ROWS_MEET, &ROWS_WANTED, &ROWS_MOVED, &ROWS_FOLLOW]);
const OVER: Pair = Cell::Else(LOOKED_FOR, Verdict::LaterOverwrites, REPLACES);
const SCOPE: Pair = Cell::Always(Verdict::Rebase, SCOPE_TAKEN_ANEW);
const INPUT: Pair = Cell::If(&[&INPUT_CHANGED, &INPUT_GONE, &ROWS_FOLLOW]);

const LOOKED_FOR: &[&Rule] = &[&ROWS_MEET, &ROWS_NOT_SHOWN, &ROWS_WANTED];

const STRANGE: Pair = Cell::Always(
    Verdict::Incompatible,
    reason(
        "landed-unknown",
        "landed is an operation that this version does not know",
        "use a version that knows the operation, or read the newest version and plan again",
    ),
);
const HOLE: Pair = Cell::Always(
    Verdict::Retryable,
    reason(
        "entry-missing",
        "an entry between the version that ours read and the newest cannot be read, so that nothing is known of it",
        "read the newest version and plan again; keep log entries for longer than transactions run",
    ),
);
const OURS: Pair = Cell::Always(
    Verdict::Incompatible,
    reason(
        "ours-unknown",
        "ours is an operation that this version does not know, so nothing can be said of what it meets",
        "commit it with a version that knows the operation",
    ),
);

const REPLACES: Reason = reason(
    "replaces-landed",
    "ours replaces what stands in its scope when it commits, what landed wrote there included",
    "nothing to do, unless what landed wrote has to stay",
);
const SCOPE_TAKEN_ANEW: Reason = reason(
    "scope-taken-anew",
    "ours replaces what stands in its scope when it commits, whichever files hold it then",
    "nothing to do",
);
