//! The column that decides, and what is known of it.

use super::{Knowledge, truth};
use lakebed_transaction::{Evidence, Expr, Held};
use std::sync::Arc;

/// Why no row can meet the conjunct: the first column in it of which something is known.
pub(super) fn of_never<K: Knowledge + ?Sized>(conjunct: &Expr, rows: &K) -> Option<Evidence> {
    best(conjunct.columns().into_iter(), rows)
}

/// Where a row may meet all of the conjuncts.
pub(super) fn of_possible<K: Knowledge + ?Sized>(conjuncts: &[&Expr], rows: &K) -> Option<Evidence> {
    best(conjuncts.iter().flat_map(|conjunct| conjunct.columns()), rows)
}

fn best<'a, K: Knowledge + ?Sized>(columns: impl Iterator<Item = &'a [Arc<str>]>, rows: &K) -> Option<Evidence> {
    let mut first = None;
    for path in columns {
        let held = truth::possible(&Expr::Column(path.to_vec()), rows).held();
        let known = held != Held::Unknown;
        let found = Evidence::Column { unit: None, column: Arc::from(path.join(".")), held };
        if known {
            return Some(found);
        }
        first.get_or_insert(found);
    }
    first
}
