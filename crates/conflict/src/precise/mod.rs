//! `precise` and `precise-reorder`: the most concurrency that a rebase without reading again can give, with nothing unsound
//! accepted, for tables of either format.
//!
//! Ours is judged against the *image* of each landed transaction: the rows that it took out, as they stood just before it, and the
//! rows that it brought in (*born*). What landed read is not needed, so that entries of clients which record no reads can be judged.
//!
//! - A row of the image that meets a predicate of ours, or a key that it probed and did not find, is a conflict. Where all that ours
//!   does is delete the rows that it met, only born rows count.
//! - A compaction has an empty image. Columns rewritten in place count where ours has to do with them.
//! - What is decided by partition values, statistics and row positions is decided; for the rest the verdict is *need facts*, and
//!   [`wanted`] names the rows. [`PreciseFacts::seen`] takes the answer. Refused facts are a conflict.
//! - Rows that ours deletes or changes must be found again after landed: in place, by united vectors, or by an address map.
//! - An overwrite takes its scope anew when it commits, and conflicts only by what it read.
//!
//! `precise` gives log order. `precise-reorder` also lets ours go *before* a landed transaction that only inserted and read nothing,
//! unless ours is an overwrite or writes registers; from then on, ours may not follow a landed transaction that may have seen that
//! insert, because it would have to come before ours and after the insert at once. Whoever judges a window calls
//! [`PreciseFacts::follow`] after each landed transaction that was accepted.
//!
//! The `precise` page of the documentation says how this is proven, and what share of the possible it accepts.

mod checks;
mod facts;
mod image;
mod on_delta;
mod on_lance;
mod table;

pub use checks::Rule;
pub use facts::{Followed, OrderedBefore, PreciseFacts};
pub use on_delta::{DeltaSide, judge_delta};
pub use on_lance::{LanceSide, is_judged_by_rows, judge_lance};
pub use table::{PRECISE, PRECISE_REORDER, PreciseTable};

/// The checks of the tables, for a table of one's own.
pub mod rules {
    pub use super::checks::{
        GOES_BEFORE_INSERT, INPUT_CHANGED, INPUT_GONE, ORDERED_BEFORE_A_READER, REGISTER_WRITTEN, ROWS_FOLLOW,
        ROWS_MEET, ROWS_MOVED, ROWS_NOT_SHOWN, ROWS_WANTED, UNIT_CHANGED,
    };
}

use image::Meeting;
use lakebed_transaction::{Judgement, RowsWanted};

/// Judges ours, not committed, against one landed transaction under a table of the family.
///
/// ```
/// use lakebed_conflict::precise::{PRECISE, PreciseFacts, judge};
/// use lakebed_transaction::{BinaryOp, Expr, PreciseKind, ReadPredicate, Scalar, Unit, UnitId, Verdict};
///
/// let mut delete = PreciseFacts { kind: PreciseKind::Delete, ..PreciseFacts::default() };
/// let old = Expr::column("age").binary(BinaryOp::Greater, Expr::Literal(Scalar::Int(90)));
/// delete.footprint.predicates = vec![ReadPredicate { partition: vec![], data: vec![old] }];
///
/// let mut insert = PreciseFacts { kind: PreciseKind::Insert, ..PreciseFacts::default() };
/// insert.footprint.added_units = vec![Unit::named(UnitId::file("a.parquet"))];
/// assert_eq!(judge(&PRECISE, &delete, &insert).verdict, Verdict::NeedFacts);
/// ```
pub fn judge(table: &PreciseTable, ours: &PreciseFacts, landed: &PreciseFacts) -> Judgement {
    table.judge((ours.kind.at(), ours), (landed.kind.at(), landed))
}

/// The rows that decide whether landed's image meets what ours looked for, where nothing else does: what a verdict *need facts* asks
/// for.
#[must_use]
pub fn wanted(ours: &PreciseFacts, landed: &PreciseFacts) -> Option<RowsWanted> {
    match image::meeting(ours, landed) {
        Meeting::Open(wanted) => Some(wanted),
        Meeting::No | Meeting::Yes(_) | Meeting::Refused(_) => None,
    }
}
