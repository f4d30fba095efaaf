//! The transaction model that both table formats, the conflict rules and the commit machine share.
//!
//! A writer's intent is described in terms that no format owns:
//!
//! - [`Footprint`]: what a transaction reads and writes (files or fragments, rows, columns, predicates, keys, registers);
//! - [`Expr`] over [`Scalar`]: predicates and expressions as a small tree, evaluated elsewhere;
//! - operation kinds per family: [`LanceKind`], [`DeltaKind`], [`MaxComputeKind`], [`PreciseKind`];
//! - [`RowsWanted`] and [`RowsSeen`]: rows that a rule wants looked at, and what the look answered;
//! - [`Verdict`], [`Judgement`] and [`Conflict`]: what a rule says about ours against a landed transaction;
//! - [`Outcome`]: what a commit answers.
//!
//! With the feature `serde` (off by default) verdicts, reasons, judgements, conflicts and outcomes serialise.
//!
//! The crate knows no store, no async, no Arrow, no SQL text and no format's bytes.

mod calendar;
mod column;
mod expr;
mod footprint;
mod kind;
mod look;
mod outcome;
mod row_set;
mod scalar;
#[cfg(feature = "serde")]
mod serialize;
mod shift;
mod unit;
mod verdict;

pub use calendar::civil_date;
pub use column::{Column, ColumnType};
pub use expr::{BinaryOp, CaseArm, Expr, Function, UnaryOp};
pub use footprint::{Access, Footprint, KeyProbe, ReadPredicate, Register};
pub use kind::{DeltaKind, Kind, LanceKind, MaxComputeKind, PreciseKind};
/// Versions stand in outcomes and conflicts, so that whoever takes this crate alone can name them.
pub use lakebed_naming::Version;
pub use look::{RowsFound, RowsSeen, RowsWanted, SeenRow};
pub use outcome::{Exhaustion, Outcome, TransactionId};
pub use row_set::RowSet;
pub use scalar::Scalar;
pub use shift::Shift;
pub use unit::{ColumnBounds, Unit, UnitId, UnitSet};
pub use verdict::{Conflict, Evidence, Held, Judgement, Reason, Verdict};
