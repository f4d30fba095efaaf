//! INSERT, full or partial overwrite, DELETE and TRUNCATE.

use crate::delete::{matching_files, split, take_out};
use crate::statement::{Writers, Writing};
use crate::{Layout, OpsError, Plan, SnapshotView};
use arrow_array::RecordBatch;
use lakebed_data::DataError;
use lakebed_delta::Taking;
use lakebed_storage::Store;
use lakebed_transaction::{BinaryOp, Expr, ReadPredicate, Scalar};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The operation by Delta's name for it.
pub(crate) const TRUNCATE: &str = "TRUNCATE";

/// Rows from wherever they come.
pub type Batches = Box<dyn Iterator<Item = Result<RecordBatch, DataError>> + Send>;

/// Plans an append of rows that depend on nothing in the table: how they are to stand in files is all that is known of it.
///
/// # Errors
/// The rows do not fit the table's columns or constraints, or a data file cannot be written.
pub async fn append(
    store: &Arc<dyn Store>,
    layout: &Layout,
    source: Batches,
    writing: &Writing,
) -> Result<Plan, OpsError> {
    let mut plan = Plan { operation: "WRITE", ..Plan::default() };
    plan.parameters.insert("mode".to_owned(), "Append".to_owned());
    plan.parameters.insert("partitionBy".to_owned(), partition_by(layout));
    let mut writers = Writers::appending(store, layout, writing)?;
    for batch in source {
        plan.rows_inserted += writers.insert(&batch?).await?;
    }
    writers.finish(store, &mut plan).await?;
    Ok(plan)
}

/// Notes in the plan of an append that its rows were computed from the table's rows which meet these predicates, bound to its columns.
///
/// # Errors
/// A file's entry cannot be read.
pub fn note_reads(view: &dyn SnapshotView, predicates: &[Expr], plan: &mut Plan) -> Result<(), OpsError> {
    for predicate in predicates {
        plan.predicates.push(split(predicate, &view.partition_columns()));
        for (file, _) in matching_files(view, predicate)? {
            if !plan.read.contains(&file.id) {
                plan.read.push(file.id);
            }
        }
    }
    Ok(())
}

/// What an overwrite replaces.
#[derive(Clone, Debug, PartialEq)]
pub enum OverwriteScope {
    /// Every row.
    Whole,
    /// The rows that meet a predicate; the new rows must meet it too. The tree is bound to the table's columns; the text
    /// is its SQL, for the log.
    Where(Expr, String),
    /// Every row of the partitions that new rows belong to.
    Partitions,
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
    let layout = view.layout()?;
    plan.parameters.insert("partitionBy".to_owned(), partition_by(&layout));
    let mut writers;
    match scope {
        OverwriteScope::Whole => {
            // Whole files that go and others that come are their own record of changes.
            writers = Writers::appending(store, &layout, writing)?;
            let files = view.files()?;
            let everything = ReadPredicate { partition: vec![Expr::always()], data: Vec::new() };
            plan.predicates.push(everything.clone());
            plan.taking.scope = Some(everything);
            plan.rows_deleted = files.iter().filter_map(|f| Some(f.physical_rows? - f.deleted.len())).sum();
            plan.read = files.iter().map(|file| file.id.clone()).collect();
            plan.removed.clone_from(&plan.read);
        }
        OverwriteScope::Where(predicate, text) => {
            writers = Writers::changing(store, &layout, writing)?;
            plan.parameters.insert("predicate".to_owned(), text.clone());
            take_out(store, view, predicate, &mut plan, &mut writers).await?;
            // Where whole partitions go, and nobody has to be told of their rows, whatever stands in them goes.
            let scope = plan.predicates.last().filter(|read| read.data.is_empty() && writers.changes.is_none());
            plan.taking.scope = scope.filter(|_| plan.marked.is_empty() && plan.rows_copied == 0).cloned();
        }
        OverwriteScope::Partitions => {
            if view.partition_columns().is_empty() {
                return Err(OpsError::Invalid {
                    problem: "the table has no partitions".to_owned(),
                    advice: "overwrite all of it, or the range that a predicate selects".to_owned(),
                });
            }
            plan.parameters.insert("isDynamicPartitionOverwrite".to_owned(), "true".to_owned());
            writers = Writers::appending(store, &layout, writing)?;
        }
    }
    for batch in source {
        plan.rows_inserted += match scope {
            OverwriteScope::Whole | OverwriteScope::Partitions => writers.insert(&batch?).await?,
            OverwriteScope::Where(predicate, text) => writers.insert_within(&batch?, predicate, text).await?,
        };
    }
    writers.finish(store, &mut plan).await?;
    if *scope == OverwriteScope::Partitions {
        replace_partitions(view, &mut plan)?;
    }
    Ok(plan)
}

/// Takes out the files of the partitions that new files belong to. As with other clients, the partitions are what is read, and no file of
/// them is.
fn replace_partitions(view: &dyn SnapshotView, plan: &mut Plan) -> Result<(), OpsError> {
    let key = |partition: &[(Arc<str>, Scalar)]| format!("{partition:?}");
    let written: BTreeMap<String, &[(Arc<str>, Scalar)]> =
        plan.added.iter().map(|file| (key(&file.partition), file.partition.as_slice())).collect();
    let equals = |(name, value): &(Arc<str>, Scalar)| {
        Expr::column(name).binary(BinaryOp::NullSafeEqual, Expr::Literal(value.clone()))
    };
    let one = |partition: &&[(Arc<str>, Scalar)]| partition.iter().map(equals).reduce(Expr::and);
    let mut any: Vec<Expr> = written.values().filter_map(one).collect();
    // In pairs, so that the tree stays shallow however many partitions there are.
    while any.len() > 1 {
        let mut left = std::mem::take(&mut any).into_iter();
        while let Some(one) = left.next() {
            any.push(match left.next() {
                Some(other) => one.binary(BinaryOp::Or, other),
                None => one,
            });
        }
    }
    let files: Vec<_> = view.files()?.into_iter().filter(|file| written.contains_key(&key(&file.partition))).collect();
    for file in files {
        plan.rows_deleted += file.physical_rows.map_or(0, |rows| rows.saturating_sub(file.deleted.len()));
        plan.removed.push(file.id);
    }
    plan.taking.scope = any.pop().map(|any| ReadPredicate { partition: vec![any], data: Vec::new() });
    plan.predicates.extend(plan.taking.scope.clone());
    Ok(())
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
    plan.taking.all_met = true;
    writers.finish(store, &mut plan).await?;
    Ok(plan)
}

/// Plans a TRUNCATE: as an overwrite by no rows it takes out whatever stands in the table, or in whole partitions of it, when it commits.
/// Where the predicate selects among the rows of files it is a [`delete`]. `text` is the predicate's SQL, for the log.
///
/// # Errors
/// As [`delete`].
pub async fn truncate(
    store: &Arc<dyn Store>,
    view: &dyn SnapshotView,
    predicate: &Expr,
    text: Option<&str>,
    writing: &Writing,
) -> Result<Plan, OpsError> {
    let mut plan = delete(store, view, predicate, text.unwrap_or("TRUE"), writing).await?;
    let scope = plan.predicates.last().filter(|read| read.data.is_empty() && plan.changes.is_empty());
    let scope = scope.filter(|_| plan.marked.is_empty() && plan.rows_copied == 0).cloned();
    if scope.is_some() {
        plan.operation = TRUNCATE;
        plan.taking = Taking { scope, ..Taking::default() };
        if text.is_none() {
            plan.parameters.clear();
        }
    }
    Ok(plan)
}

/// The files that a predicate may concern, for callers that only want to know them.
///
/// # Errors
/// A file's entry cannot be read.
pub fn candidates(view: &dyn SnapshotView, predicate: &Expr) -> Result<Vec<crate::ViewFile>, OpsError> {
    matching_files(view, predicate).map(|files| files.into_iter().map(|(file, _)| file).collect())
}

fn partition_by(layout: &Layout) -> String {
    let names: Vec<&str> = layout.partition.iter().map(|partition| &*partition.column.name).collect();
    serde_json::json!(names).to_string()
}
