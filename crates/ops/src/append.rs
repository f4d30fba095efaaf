//! INSERT, full or partial overwrite, and DELETE.

use crate::delete::{matching_files, take_out};
use crate::statement::{Writers, Writing};
use crate::{OpsError, Plan, SnapshotView};
use arrow_array::RecordBatch;
use lakebed_data::DataError;
use lakebed_storage::Store;
use lakebed_transaction::{Expr, ReadPredicate};
use std::sync::Arc;

/// Rows from wherever they come.
pub type Batches = Box<dyn Iterator<Item = Result<RecordBatch, DataError>> + Send>;

/// Plans an append of rows that depend on nothing in the table.
///
/// # Errors
/// The rows do not fit the table's columns or constraints, or a data file cannot be written.
pub async fn append(
    store: &Arc<dyn Store>,
    view: &dyn SnapshotView,
    source: Batches,
    writing: &Writing,
) -> Result<Plan, OpsError> {
    let mut plan = Plan { operation: "WRITE", ..Plan::default() };
    plan.parameters.insert("mode".to_owned(), "Append".to_owned());
    plan.parameters.insert("partitionBy".to_owned(), partition_by(view));
    let layout = view.layout()?;
    let mut writers = Writers::appending(store, &layout, writing)?;
    for batch in source {
        plan.rows_inserted += writers.insert(&batch?).await?;
    }
    writers.finish(store, &mut plan).await?;
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
/// The rows do not fit the table's columns, its constraints or the scope, or a data file cannot be read or written.
pub async fn overwrite(
    store: &Arc<dyn Store>,
    view: &dyn SnapshotView,
    source: Batches,
    scope: &OverwriteScope,
    writing: &Writing,
) -> Result<Plan, OpsError> {
    let mut plan = Plan { operation: "WRITE", ..Plan::default() };
    plan.parameters.insert("mode".to_owned(), "Overwrite".to_owned());
    plan.parameters.insert("partitionBy".to_owned(), partition_by(view));
    let layout = view.layout()?;
    let mut writers;
    match scope {
        OverwriteScope::Whole => {
            // Whole files that go and others that come are their own record of changes.
            writers = Writers::appending(store, &layout, writing)?;
            let files = view.files()?;
            plan.predicates.push(ReadPredicate { partition: vec![Expr::always()], data: Vec::new() });
            plan.rows_deleted = files.iter().filter_map(|f| Some(f.physical_rows? - f.deleted.len())).sum();
            plan.read = files.iter().map(|file| file.id.clone()).collect();
            plan.removed.clone_from(&plan.read);
        }
        OverwriteScope::Where(predicate, text) => {
            writers = Writers::changing(store, &layout, writing)?;
            plan.parameters.insert("predicate".to_owned(), text.clone());
            take_out(store, view, predicate, &mut plan, &mut writers).await?;
        }
    }
    for batch in source {
        plan.rows_inserted += match scope {
            OverwriteScope::Whole => writers.insert(&batch?).await?,
            OverwriteScope::Where(predicate, text) => writers.insert_within(&batch?, predicate, text).await?,
        };
    }
    writers.finish(store, &mut plan).await?;
    Ok(plan)
}

/// Plans a DELETE: by deletion vectors where the table has them, else by rewriting the files that hold matching rows. `text` is
/// the predicate's SQL, for the log.
///
/// # Errors
/// The predicate cannot be evaluated, or a data file cannot be read or written.
pub async fn delete(
    store: &Arc<dyn Store>,
    view: &dyn SnapshotView,
    predicate: &Expr,
    text: &str,
    writing: &Writing,
) -> Result<Plan, OpsError> {
    let mut plan = Plan { operation: "DELETE", ..Plan::default() };
    plan.parameters.insert("predicate".to_owned(), serde_json::json!([text]).to_string());
    let layout = view.layout()?;
    let mut writers = Writers::changing(store, &layout, writing)?;
    take_out(store, view, predicate, &mut plan, &mut writers).await?;
    writers.finish(store, &mut plan).await?;
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
