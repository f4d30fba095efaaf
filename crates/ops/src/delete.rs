//! Finding the files that a predicate concerns, and rewriting them without the rows that meet it.

use crate::rows::RowWriter;
use crate::scan::open_view_file;
use crate::view::{SnapshotView, ViewFile};
use crate::{OpsError, Plan};
use arrow_array::BooleanArray;
use arrow_select::filter::filter_record_batch;
use lakebed_data::{Rows, evaluate_scalar, filter_mask};
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

/// Takes the rows that meet the predicate out of the table: files without such rows stay, files of nothing else go, the
/// others are rewritten. What was read and removed goes into the plan.
pub(crate) async fn remaining_rows(
    store: &Arc<dyn Store>,
    view: &dyn SnapshotView,
    predicate: &Expr,
    plan: &mut Plan,
    writer: &mut RowWriter<'_>,
) -> Result<(), OpsError> {
    plan.predicates.push(split(predicate, &view.partition_columns()));
    let columns = view.columns();
    for (file, sure) in matching_files(view, predicate)? {
        plan.read.push(file.id.clone());
        if let (Match::Every, Some(rows)) = (sure, file.physical_rows) {
            plan.rows_deleted += rows.saturating_sub(file.deleted.len());
            plan.removed.push(file.id);
            continue;
        }
        let mut kept = Vec::new();
        let mut deleted = 0_u64;
        let mut rows = open_view_file(store, &file, &columns, None).await?;
        while let Some(Rows { batch, .. }) = rows.next().await? {
            let meets = filter_mask(predicate, &batch)?;
            deleted += meets.true_count() as u64;
            let stays: BooleanArray = meets.iter().map(|met| Some(met != Some(true))).collect();
            let rest = filter_record_batch(&batch, &stays).map_err(OpsError::rows(&file.object))?;
            if rest.num_rows() > 0 {
                kept.push(rest);
            }
        }
        if deleted == 0 {
            continue;
        }
        plan.rows_deleted += deleted;
        plan.removed.push(file.id);
        for batch in kept {
            plan.rows_copied += writer.write(&batch).await?;
        }
    }
    Ok(())
}
