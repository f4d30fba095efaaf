//! What predicates may select, without looking at rows.
//!
//! - [`selects`] and [`selects_in_unit`]: whether a predicate holds for rows of which only partition values and statistics
//!   are known;
//! - [`overlap`]: whether two predicates may hold for one row.
//!
//! The answers are sound: *never* and *always* are said only where they hold for every row that agrees with what is known, and
//! whatever is not understood (an unknown function, a column without statistics, values of types that do not compare, a
//! cast that fails) counts as possible in that sub-expression. Taking knowledge away or widening a predicate can turn *never* into
//! *possibly*, never the other way round.
//!
//! What is taken from the caller as it is: bounds hold (a text that was cut short was widened by whoever read it, and so was a time
//! stored in milliseconds), values have the column's type, and texts compare by their bytes. What is never relied on: an upper
//! bound of floats, because NaN, which is greater than every number, is left out of it by many writers; equality of numbers that
//! one engine compares exactly and another after rounding to a float; the zone in which a date becomes an instant. Expressions over
//! constants and partition values are computed as [`crate::eval`] does, with times in UTC.

mod domain;
mod evidence;
mod knowledge;
mod overlap;
mod possible;
mod truth;

pub use knowledge::Knowledge;
pub use overlap::{ColumnTypes, overlap};
pub use possible::Possible;

use lakebed_transaction::{Evidence, Expr, ReadPredicate, Unit};
use truth::Truth;

/// How many rows a predicate selects, as far as can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Selects {
    /// None: it is FALSE or NULL for each.
    Never,
    /// Some, all or none.
    Possibly,
    /// All.
    Always,
}

/// An answer with the column that decided, and what is known of it.
#[derive(Clone, Debug, PartialEq)]
#[must_use]
pub struct Finding {
    /// The answer.
    pub selects: Selects,
    /// Always an [`Evidence::Column`]; `None` where no column is mentioned.
    pub evidence: Option<Evidence>,
}

impl Finding {
    /// Whether a row may be selected.
    #[must_use]
    pub fn is_possible(&self) -> bool {
        self.selects != Selects::Never
    }
}

/// Whether a predicate holds for rows of which this is known.
///
/// ```
/// use lakebed_conflict::predicate::{Possible, Selects, selects};
/// use lakebed_transaction::{BinaryOp, Expr, Scalar};
/// use std::sync::Arc;
///
/// let old = Expr::column("age").binary(BinaryOp::Greater, Expr::Literal(Scalar::Int(90)));
/// let children = |_: &[Arc<str>]| Possible::between(Some(Scalar::Int(0)), Some(Scalar::Int(12)));
/// assert_eq!(selects(&old, &children).selects, Selects::Never);
/// ```
pub fn selects<K: Knowledge + ?Sized>(predicate: &Expr, rows: &K) -> Finding {
    all_hold(&predicate.conjuncts(), rows)
}

/// Whether a read may have met rows of a unit, by its partition values and statistics.
pub fn selects_in_unit(read: &ReadPredicate, unit: &Unit) -> Finding {
    if unit.row_count == Some(0) {
        return Finding { selects: Selects::Never, evidence: None };
    }
    let filters: Vec<&Expr> = read.partition.iter().chain(&read.data).flat_map(Expr::conjuncts).collect();
    let mut finding = all_hold(&filters, unit);
    if let Some(Evidence::Column { unit: place, .. }) = &mut finding.evidence {
        *place = Some(unit.id.clone());
    }
    finding
}

fn all_hold<K: Knowledge + ?Sized>(conjuncts: &[&Expr], rows: &K) -> Finding {
    let mut together = Truth::TRUE;
    for conjunct in conjuncts {
        let truth = truth::of(conjunct, rows);
        if !truth.may_be_true {
            return Finding { selects: Selects::Never, evidence: evidence::of_never(conjunct, rows) };
        }
        together = together.and(truth);
    }
    if together == Truth::TRUE {
        return Finding { selects: Selects::Always, evidence: evidence::of_possible(conjuncts, rows) };
    }
    Finding { selects: Selects::Possibly, evidence: evidence::of_possible(conjuncts, rows) }
}
