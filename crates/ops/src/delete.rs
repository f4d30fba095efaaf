//! Finding the files that a predicate concerns, and taking the rows that meet it out of them.

use crate::statement::Writers;
use crate::touch::{Touched, touch};
use crate::view::{SnapshotView, ViewFile};
use crate::{OpsError, Plan};
use arrow_array::BooleanArray;
use lakebed_conflict::predicate::selects;
use lakebed_data::{evaluate_scalar, filter_mask};
use lakebed_storage::Store;
use lakebed_transaction::{Expr, ReadPredicate, Scalar, Unit};
use std::sync::Arc;

/// How sure it is that rows of a file meet a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Match {
    /// Every row does.
    Every,
    /// Some may.
    Some,
}

/// The files that may hold rows that meet the predicate, by their partition values and, for what looks at other columns, by their
/// statistics.
pub(crate) fn matching_files(view: &dyn SnapshotView, predicate: &Expr) -> Result<Vec<(ViewFile, Match)>, OpsError> {
    let mut files = files_by_partition(view, predicate)?;
    files.retain(|(file, sure)| *sure == Match::Every || by_statistics(view, predicate, file));
    Ok(files)
}

/// The files that may hold rows that meet the predicate, by their partition values alone.
pub(crate) fn files_by_partition(
    view: &dyn SnapshotView,
    predicate: &Expr,
) -> Result<Vec<(ViewFile, Match)>, OpsError> {
    let partition_columns = view.partition_columns();
    let (partition, data): (Vec<_>, Vec<_>) =
        predicate.conjuncts().into_iter().partition(|conjunct| over_partition(conjunct, &partition_columns));
    let told = |file: ViewFile| {
        let sure = by_partition(&partition, &file)?;
        Some((file, if data.is_empty() { sure } else { Match::Some }))
    };
    Ok(view.files()?.into_iter().filter_map(told).collect())
}

/// What partition values say of conjuncts that look at nothing else; `None` where no row meets them.
fn by_partition(conjuncts: &[&Expr], file: &ViewFile) -> Option<Match> {
    let row: Vec<(&str, Scalar)> = file.partition.iter().map(|(name, value)| (&**name, value.clone())).collect();
    let mut sure = Match::Every;
    for conjunct in conjuncts {
        match evaluate_scalar(conjunct, &row) {
            Ok(Scalar::Boolean(true)) => {}
            Ok(Scalar::Boolean(false) | Scalar::Null) => return None,
            // What cannot be decided here is decided on the rows.
            Ok(_) | Err(_) => sure = Match::Some,
        }
    }
    Some(sure)
}

/// Whether a file may hold rows that meet the predicate, by all that is known of it. That every row meets it is never taken from
/// statistics: a wrong one would take out rows unseen.
pub(crate) fn by_statistics(view: &dyn SnapshotView, predicate: &Expr, file: &ViewFile) -> bool {
    let unit = Unit {
        row_count: file.physical_rows,
        partition: file.partition.clone(),
        bounds: view.bounds(file),
        ..Unit::named(file.id.clone())
    };
    selects(predicate, &unit).is_possible()
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
