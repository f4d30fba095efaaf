//! INSERT and full or partial overwrite.

use crate::delete::{matching_files, remaining_rows};
use crate::rows::RowWriter;
use crate::{OpsError, Plan, SnapshotView};
use arrow_array::RecordBatch;
use lakebed_data::{DataError, WriteOptions, filter_mask};
use lakebed_storage::Store;
use lakebed_transaction::{Expr, ReadPredicate};
use std::sync::Arc;

/// Rows from wherever they come.
pub type Batches = Box<dyn Iterator<Item = Result<RecordBatch, DataError>> + Send>;

/// Plans an append of rows that depend on nothing in the table.
///
/// # Errors
/// The rows do not fit the table's columns, or a data file cannot be written.
pub async fn append(
    store: &Arc<dyn Store>,
    view: &dyn SnapshotView,
    source: Batches,
    options: WriteOptions,
) -> Result<Plan, OpsError> {
    let mut plan = Plan { operation: "WRITE", ..Plan::default() };
    plan.parameters.insert("mode".to_owned(), "Append".to_owned());
    plan.parameters.insert("partitionBy".to_owned(), partition_by(view));
    let mut writer = RowWriter::new(store, view, options);
    for batch in source {
        plan.rows_inserted += writer.write(&batch?).await?;
    }
    plan.added = writer.finish().await?;
    Ok(plan)
}

/// What an overwrite replaces.
#[derive(Clone, Debug, PartialEq)]
pub enum OverwriteScope {
    /// Every row.
    Whole,
    /// The rows that meet a predicate; the new rows must meet it too. The tree is bound to the table's columns; the text
    /// is its SQL, for the log.
    Where(Expr, String),
}

/// Plans an overwrite.
///
/// # Errors
/// The rows do not fit the table's columns or the scope, or a data file cannot be read or written.
pub async fn overwrite(
    store: &Arc<dyn Store>,
    view: &dyn SnapshotView,
    source: Batches,
    scope: &OverwriteScope,
    options: WriteOptions,
) -> Result<Plan, OpsError> {
    let mut plan = Plan { operation: "WRITE", ..Plan::default() };
    plan.parameters.insert("mode".to_owned(), "Overwrite".to_owned());
    plan.parameters.insert("partitionBy".to_owned(), partition_by(view));
    let mut writer = RowWriter::new(store, view, options);
    match scope {
        OverwriteScope::Whole => {
            let files = view.files()?;
            plan.predicates.push(ReadPredicate { partition: vec![Expr::always()], data: Vec::new() });
            plan.rows_deleted = files.iter().filter_map(|f| Some(f.physical_rows? - f.deleted.len())).sum();
            plan.read = files.iter().map(|file| file.id.clone()).collect();
            plan.removed.clone_from(&plan.read);
        }
        OverwriteScope::Where(predicate, text) => {
            plan.parameters.insert("predicate".to_owned(), text.clone());
            remaining_rows(store, view, predicate, &mut plan, &mut writer).await?;
        }
    }
    for batch in source {
        let batch = batch?;
        if let OverwriteScope::Where(predicate, text) = scope {
            let aligned = lakebed_data::align(&batch, &view.columns())?;
            let outside = aligned.num_rows() - filter_mask(predicate, &aligned)?.true_count();
            if outside > 0 {
                return Err(OpsError::Invalid {
                    problem: format!("{outside} of the new rows do not meet the overwritten range `{text}`"),
                    advice: "overwrite only the range that the new rows belong to".to_owned(),
                });
            }
        }
        plan.rows_inserted += writer.write(&batch).await?;
    }
    plan.added = writer.finish().await?;
    Ok(plan)
}

/// Plans a DELETE by rewriting the files that hold matching rows. `text` is the predicate's SQL, for the log.
///
/// # Errors
/// The predicate cannot be evaluated, or a data file cannot be read or written.
pub async fn delete(
    store: &Arc<dyn Store>,
    view: &dyn SnapshotView,
    predicate: &Expr,
    text: &str,
    options: WriteOptions,
) -> Result<Plan, OpsError> {
    let mut plan = Plan { operation: "DELETE", ..Plan::default() };
    plan.parameters.insert("predicate".to_owned(), serde_json::json!([text]).to_string());
    let mut writer = RowWriter::new(store, view, options);
    remaining_rows(store, view, predicate, &mut plan, &mut writer).await?;
    plan.added = writer.finish().await?;
    Ok(plan)
}

/// The files that a predicate may concern, for callers that only want to know them.
///
/// # Errors
/// A file's entry cannot be read.
pub fn candidates(view: &dyn SnapshotView, predicate: &Expr) -> Result<Vec<crate::ViewFile>, OpsError> {
    matching_files(view, predicate).map(|files| files.into_iter().map(|(file, _)| file).collect())
}

fn partition_by(view: &dyn SnapshotView) -> String {
    serde_json::json!(view.partition_columns()).to_string()
}
