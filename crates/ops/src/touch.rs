//! Taking rows out of files, and others in their place: by deletion vectors where the table has them, else by rewriting.

use crate::delete::Match;
use crate::rows::widened;
use crate::scan::{deleted_rows, open_rows, open_tracked};
use crate::statement::Writers;
use crate::tracking::{Tracking, fill};
use crate::values::count;
use crate::view::{TrackingColumns, ViewFile};
use crate::{Layout, MarkedFile, OpsError, Plan};
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, new_null_array};
use arrow_schema::{DataType, Field};
use arrow_select::filter::{filter, filter_record_batch};
use lakebed_data::{ParquetRows, ReadOptions};
use lakebed_storage::Store;
use lakebed_transaction::RowSet;
use std::sync::Arc;

/// What becomes of the rows of one batch.
pub(crate) struct Touched {
    /// Rows that go.
    pub(crate) deleted: BooleanArray,
    /// Rows that others replace. No row is both.
    pub(crate) updated: BooleanArray,
    /// The rows in the place of `updated`, in their order, whole and checked.
    pub(crate) replacement: Option<RecordBatch>,
}

/// Goes through the files and lets `decide` say what becomes of their rows. Files without touched rows stay, files of nothing
/// else go; of the others the touched rows are marked, or the rest is rewritten.
///
/// Where all rows of a file are known to go and nobody has to be told which, it is not opened (`whole`).
pub(crate) async fn touch(
    store: &Arc<dyn Store>,
    files: Vec<(ViewFile, Match)>,
    whole: bool,
    plan: &mut Plan,
    writers: &mut Writers<'_>,
    mut decide: impl FnMut(&RecordBatch, &Writers<'_>) -> Result<Touched, OpsError>,
) -> Result<(), OpsError> {
    // Where any change is written down, all of them must be.
    let told = writers.changes.is_some() && !(whole && files.iter().all(|(_, sure)| *sure == Match::Every));
    if !told {
        writers.changes = None;
    }
    for (file, sure) in files {
        plan.read.push(file.id.clone());
        if let (true, false, Match::Every, Some(rows)) = (whole, told, sure, file.physical_rows) {
            plan.rows_deleted += rows.saturating_sub(file.deleted.len());
            plan.removed.push(file.id);
            continue;
        }
        touch_file(store, file, plan, writers, &mut decide).await?;
    }
    Ok(())
}

async fn touch_file(
    store: &Arc<dyn Store>,
    file: ViewFile,
    plan: &mut Plan,
    writers: &mut Writers<'_>,
    decide: &mut impl FnMut(&RecordBatch, &Writers<'_>) -> Result<Touched, OpsError>,
) -> Result<(), OpsError> {
    let marks = writers.layout.deletion_vectors;
    let before = deleted_rows(store, &file).await?.unwrap_or_default();
    let layout = writers.layout;
    let mut open = Open::new(store, &file, layout, before.clone()).await?;
    let (mut taken, mut kept) = (RowSet::new(), Vec::new());
    while let Some((batch, positions, ids)) = open.next().await? {
        let touched = decide(&batch, writers)?;
        let out: BooleanArray = touched
            .deleted
            .iter()
            .zip(&touched.updated)
            .map(|(a, b)| Some(a == Some(true) || b == Some(true)))
            .collect();
        let (deleted, updated) = (count(&touched.deleted), count(&touched.updated));
        plan.rows_deleted += deleted;
        plan.rows_updated += updated;
        positions.iter().zip(out.values()).filter(|(_, out)| *out).for_each(|(at, _)| {
            taken.insert(*at);
        });
        let pick = |rows: &RecordBatch, mask: &BooleanArray| {
            filter_record_batch(rows, mask).map_err(OpsError::rows(&file.object))
        };
        if writers.changes.is_some() {
            writers.note(&pick(&batch, &touched.deleted)?, "delete").await?;
            writers.note(&pick(&batch, &touched.updated)?, "update_preimage").await?;
        }
        if let Some(replacement) = &touched.replacement {
            writers.note(replacement, "update_postimage").await?;
            let ids = ids.as_ref().map(|ids| updated_ids(ids, &touched.updated, &file.object)).transpose()?;
            writers.rows.write(&tracked(replacement, ids, layout)?).await?;
        }
        if !marks {
            let stays: BooleanArray = out.values().iter().map(|out| Some(!out)).collect();
            let rest = pick(&batch, &stays)?;
            if rest.num_rows() > 0 {
                let ids = ids.as_ref().map(|[a, b]| -> Result<_, OpsError> {
                    let keep = |array: &ArrayRef| filter(array, &stays).map_err(OpsError::rows(&file.object));
                    Ok([keep(a)?, keep(b)?])
                });
                kept.push(tracked(&rest, ids.transpose()?, layout)?);
            }
        }
    }
    if taken.is_empty() {
        return Ok(());
    }
    let all = taken.union(&before);
    let physical_rows = open.num_rows();
    if all.len() >= physical_rows {
        plan.removed.push(file.id);
    } else if marks {
        plan.marked.push(MarkedFile { id: file.id, rows: all, taken, physical_rows, vector: None });
    } else {
        plan.removed.push(file.id);
        for batch in kept {
            plan.rows_copied += writers.rows.write(&batch).await?;
        }
    }
    Ok(())
}

/// A changed row keeps its id; its version is that of the commit to come, which is what NULL means.
fn updated_ids(ids: &[ArrayRef; 2], updated: &BooleanArray, what: &str) -> Result<[ArrayRef; 2], OpsError> {
    let kept = filter(&ids[0], updated).map_err(OpsError::rows(what))?;
    let versions = new_null_array(&DataType::Int64, kept.len());
    Ok([kept, versions])
}

/// The rows with what they keep of row tracking, where rows have that.
pub(crate) fn tracked(
    rows: &RecordBatch,
    ids: Option<[ArrayRef; 2]>,
    layout: &Layout,
) -> Result<RecordBatch, OpsError> {
    match (&layout.row_ids, ids) {
        (Some(names), Some(ids)) => widened(rows, [0, 1].map(|at| Field::new(&names[at], DataType::Int64, true)), ids),
        (_, _) => Ok(rows.clone()),
    }
}

/// A file that is read with the positions of its rows, and their ids where rows have some.
pub(crate) struct Open<'a> {
    rows: ParquetRows,
    file: &'a ViewFile,
    tracked: bool,
}

impl<'a> Open<'a> {
    pub(crate) async fn new(
        store: &Arc<dyn Store>,
        file: &'a ViewFile,
        layout: &Layout,
        deleted: RowSet,
    ) -> Result<Self, OpsError> {
        let (columns, tracked) = (&layout.columns, layout.row_ids.is_some());
        let rows = match &layout.row_ids {
            Some([id, version]) => {
                let names = TrackingColumns { row_id: Some(id.clone()), commit_version: Some(version.clone()) };
                open_tracked(store, file, &Tracking::new(names), columns, Some(deleted), None).await?
            }
            None => {
                let which = |options: ReadOptions| options.with_deleted(Some(deleted)).with_positions();
                open_rows(store, file, which, columns, None).await?
            }
        };
        Ok(Self { rows, file, tracked })
    }

    pub(crate) const fn num_rows(&self) -> u64 {
        self.rows.num_rows()
    }

    pub(crate) async fn next(&mut self) -> Result<Option<(RecordBatch, Vec<u64>, Option<[ArrayRef; 2]>)>, OpsError> {
        let Some(read) = self.rows.next().await? else { return Ok(None) };
        let positions = read.positions.clone().unwrap_or_default();
        if !self.tracked {
            return Ok(Some((read.batch, positions, None)));
        }
        let all = fill(&read, self.file)?;
        let own = all.num_columns().saturating_sub(2);
        let ids = match all.columns().get(own..) {
            Some([id, version]) => Some([Arc::clone(id), Arc::clone(version)]),
            Some(_) | None => None,
        };
        let places: Vec<usize> = (0..own).collect();
        let rows = all.project(&places).map_err(OpsError::rows(&self.file.object))?;
        Ok(Some((rows, positions, ids)))
    }
}
