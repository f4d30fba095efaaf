//! Finding the files that a predicate concerns, and taking the rows that meet it out of them.

use crate::statement::Writers;
use crate::touch::{Touched, touch};
use crate::view::{SnapshotView, ViewFile};
use crate::{OpsError, Plan};
use arrow_array::BooleanArray;
use lakebed_data::{evaluate_scalar, filter_mask};
use lakebed_storage::Store;
use lakebed_transaction::{Expr, ReadPredicate, Scalar};
use std::sync::Arc;

/// How sure it is that rows of a file meet a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    /// Every row does.
    Every,
    /// Some may.
    Some,
}

/// The files that may hold rows that meet the predicate. Partition values decide where the predicate looks at nothing else.
pub(crate) fn matching_files(view: &dyn SnapshotView, predicate: &Expr) -> Result<Vec<(ViewFile, Match)>, OpsError> {
    let partition_columns = view.partition_columns();
    let conjuncts = predicate.conjuncts();
    let mut matching = Vec::new();
    'files: for file in view.files()? {
        let row: Vec<(&str, Scalar)> = file.partition.iter().map(|(name, value)| (&**name, value.clone())).collect();
        let mut every = true;
        for conjunct in &conjuncts {
            if !over_partition(conjunct, &partition_columns) {
                every = false;
                continue;
            }
            match evaluate_scalar(conjunct, &row) {
                Ok(Scalar::Boolean(true)) => {}
                Ok(Scalar::Boolean(false) | Scalar::Null) => continue 'files,
                // What cannot be decided here is decided on the rows.
                Ok(_) | Err(_) => every = false,
            }
        }
        matching.push((file, if every { Match::Every } else { Match::Some }));
    }
    Ok(matching)
}

/// Whether an expression looks at partition columns only.
pub(crate) fn over_partition(expr: &Expr, partition_columns: &[String]) -> bool {
    expr.columns().iter().all(|path| match path {
        [name] => partition_columns.iter().any(|column| column.eq_ignore_ascii_case(name)),
        _ => false,
    })
}

/// Splits a predicate the way Delta's rules look at it: conjuncts over partition columns, and the others.
pub(crate) fn split(predicate: &Expr, partition_columns: &[String]) -> ReadPredicate {
    let (partition, data): (Vec<_>, Vec<_>) =
        predicate.conjuncts().into_iter().cloned().partition(|conjunct| over_partition(conjunct, partition_columns));
    ReadPredicate { partition, data }
}

/// Takes the rows that meet the predicate out of the table. What was read and removed goes into the plan.
pub(crate) async fn take_out(
    store: &Arc<dyn Store>,
    view: &dyn SnapshotView,
    predicate: &Expr,
    plan: &mut Plan,
    writers: &mut Writers<'_>,
) -> Result<(), OpsError> {
    plan.predicates.push(split(predicate, &view.partition_columns()));
    let files = matching_files(view, predicate)?;
    touch(store, files, true, plan, writers, |batch, _| {
        let deleted = filter_mask(predicate, batch)?;
        let updated = none_of(batch.num_rows());
        Ok(Touched { deleted, updated, replacement: None })
    })
    .await
}

/// A mask of no row.
pub(crate) fn none_of(rows: usize) -> BooleanArray {
    BooleanArray::from(vec![false; rows])
}
