//! UPDATE.

use crate::delete::{matching_files, none_of, split};
use crate::statement::{Writers, Writing};
use crate::touch::{Touched, touch};
use crate::values::with_column;
use crate::{OpsError, Plan, SnapshotView};
use arrow_array::RecordBatch;
use arrow_select::filter::filter_record_batch;
use lakebed_data::{evaluate_as, filter_mask};
use lakebed_storage::Store;
use lakebed_transaction::{Column, Expr};
use std::sync::Arc;

/// `column = value`, bound to the table's columns.
#[derive(Clone, Debug, PartialEq)]
pub struct SetColumn {
    /// The column's name as the table spells it.
    pub column: Arc<str>,
    /// Its new value, computed from the old row.
    pub value: Expr,
}

/// Plans an UPDATE of the rows that meet a predicate, which is bound to the table's columns. `text` is its SQL, for the log;
/// `None` where every row is meant.
///
/// # Errors
/// A value cannot be computed or does not fit its column or a constraint, or a data file cannot be read or written.
pub async fn update(
    store: &Arc<dyn Store>,
    view: &dyn SnapshotView,
    set: &[SetColumn],
    (predicate, text): (&Expr, Option<&str>),
    writing: &Writing,
) -> Result<Plan, OpsError> {
    let mut plan = Plan { operation: "UPDATE", ..Plan::default() };
    let shown: Vec<&str> = text.into_iter().collect();
    plan.parameters.insert("predicate".to_owned(), serde_json::json!(shown).to_string());
    let layout = view.layout()?;
    let targets = targets(&layout.columns, |name| layout.values.is_made(name), set)?;
    plan.predicates.push(split(predicate, &view.partition_columns()));
    let mut writers = Writers::changing(store, &layout, writing)?;
    let files = matching_files(view, predicate)?;
    touch(store, files, false, &mut plan, &mut writers, |batch, writers| {
        let updated = filter_mask(predicate, batch)?;
        let deleted = none_of(batch.num_rows());
        if updated.true_count() == 0 {
            return Ok(Touched { deleted, updated, replacement: None });
        }
        let old = filter_record_batch(batch, &updated).map_err(OpsError::rows("a batch"))?;
        let replacement = writers.recheck(&assigned(&old, &targets)?)?;
        Ok(Touched { deleted, updated, replacement: Some(replacement) })
    })
    .await?;
    plan.taking.all_met = true;
    writers.finish(store, &mut plan).await?;
    Ok(plan)
}

/// The columns that are set, each once.
pub(crate) fn targets<'a>(
    columns: &[Column],
    is_made: impl Fn(&str) -> bool,
    set: &'a [SetColumn],
) -> Result<Vec<(Column, &'a Expr)>, OpsError> {
    let mut targets: Vec<(Column, &Expr)> = Vec::with_capacity(set.len());
    let invalid = |problem: String, advice: &str| OpsError::Invalid { problem, advice: advice.to_owned() };
    for SetColumn { column, value } in set {
        let known = columns.iter().find(|known| known.name.eq_ignore_ascii_case(column));
        let Some(known) = known else {
            let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
            return Err(invalid(
                format!("there is no column {column}; the columns are {}", names.join(", ")),
                "set one of them",
            ));
        };
        if is_made(&known.name) {
            return Err(invalid(
                format!("column {} is made by the table", known.name),
                "set the columns that it is made of",
            ));
        }
        if targets.iter().any(|(other, _)| other.name == known.name) {
            return Err(invalid(format!("column {} is set twice", known.name), "set it once"));
        }
        targets.push((known.clone(), value));
    }
    Ok(targets)
}

/// The rows with their new values, all computed from the old ones.
pub(crate) fn assigned(old: &RecordBatch, targets: &[(Column, &Expr)]) -> Result<RecordBatch, OpsError> {
    let mut rows = old.clone();
    for (column, value) in targets {
        rows = with_column(&rows, &column.name, evaluate_as(value, old, column)?)?;
    }
    Ok(rows)
}
