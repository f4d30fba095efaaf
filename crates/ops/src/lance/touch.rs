//! Taking rows out of fragments, and others in their place: DELETE, UPDATE, and an overwrite of a range.

use super::conform::{complete, conformed, modelled};
use super::fragment::{FragmentRows, Which, deleted_rows};
use super::plan::LancePlan;
use super::table::LanceTable;
use super::write::Writer;
use crate::delete::{none_of, split};
use crate::touch::Touched;
use crate::update::{assigned, targets};
use crate::values::count;
use crate::{Batches, OpsError, SetColumn};
use arrow_array::RecordBatch;
use arrow_select::filter::filter_record_batch;
use lakebed_data::filter_mask;
use lakebed_lance::Reads;
use lakebed_lance::proto::table::DataFragment;
use lakebed_lance::proto::table::data_fragment::RowIdSequence;
use lakebed_lance::row_ids::RowIds;
use lakebed_transaction::{Column, Expr, RowSet};
use std::sync::Arc;

/// Plans a DELETE of the rows that meet a predicate, which is bound to the table's columns.
///
/// # Errors
/// The predicate cannot be evaluated, or a data file cannot be read.
pub async fn delete(table: &LanceTable, predicate: &Expr) -> Result<LancePlan, OpsError> {
    let mut plan = LancePlan { reads: reads(table, predicate, &[]), ..LancePlan::default() };
    take_out(table, predicate, &mut plan).await?;
    Ok(plan)
}

/// Plans an UPDATE of the rows that meet a predicate, which is bound to the table's columns.
///
/// # Errors
/// A value cannot be computed or does not fit its column, or a data file cannot be read or written.
pub async fn update(table: &LanceTable, set: &[SetColumn], predicate: &Expr) -> Result<LancePlan, OpsError> {
    let mut plan = LancePlan { reads: reads(table, predicate, set), ..LancePlan::default() };
    let targets = targets(table.columns(), |_| false, set)?;
    let ids = table.top_ids();
    let changed = targets.iter().filter_map(|(column, _)| table.position(&column.name));
    plan.fields_changed = changed.filter_map(|at| u32::try_from(*ids.get(at)?).ok()).collect();
    let mut writer = Writer::new(table);
    touch(table, &mut plan, &mut writer, |rows| {
        let updated = filter_mask(predicate, rows)?;
        let deleted = none_of(rows.num_rows());
        if updated.true_count() == 0 {
            return Ok(Touched { deleted, updated, replacement: None });
        }
        let old = filter_record_batch(rows, &updated).map_err(OpsError::rows("a batch"))?;
        let all = assigned(&old, &targets)?;
        let places: Vec<usize> = targets.iter().filter_map(|(column, _)| table.position(&column.name)).collect();
        let replacement = all.project(&places).map_err(OpsError::rows("a batch"))?;
        Ok(Touched { deleted, updated, replacement: Some(replacement) })
    })
    .await?;
    writer.finish_into(&mut plan).await?;
    Ok(plan)
}

/// Plans an overwrite of the rows that meet a predicate, which the new rows must meet too. `text` is its SQL, for messages.
///
/// # Errors
/// The rows do not fit the table's columns or the predicate, or a data file cannot be read or written.
pub async fn overwrite_where(
    table: &LanceTable,
    source: Batches,
    predicate: &Expr,
    text: &str,
) -> Result<LancePlan, OpsError> {
    let mut plan = LancePlan { reads: reads(table, predicate, &[]), ..LancePlan::default() };
    // It writes every column.
    plan.reads.fields = None;
    take_out(table, predicate, &mut plan).await?;
    let mut writer = Writer::new(table);
    for batch in source {
        let raw = complete(&batch?, table)?;
        let rows = modelled(&raw, table.columns())?;
        let outside = rows.num_rows() - filter_mask(predicate, &rows)?.true_count();
        if outside > 0 {
            return Err(OpsError::Invalid {
                problem: format!("{outside} of the new rows do not meet the overwritten range `{text}`"),
                advice: "overwrite only the range that the new rows belong to".to_owned(),
            });
        }
        plan.rows_inserted += writer.write(&raw, None).await?;
    }
    writer.finish_into(&mut plan).await?;
    Ok(plan)
}

/// What a statement looks at that takes out every row which meets a predicate, and sets columns.
fn reads(table: &LanceTable, predicate: &Expr, set: &[SetColumn]) -> Reads {
    let exprs = std::iter::once(predicate).chain(set.iter().map(|set| &set.value));
    let read = exprs.flat_map(Expr::columns).filter_map(<[_]>::first).map(|name| &**name);
    let named: Vec<&str> = read.chain(set.iter().map(|set| &*set.column)).collect();
    Reads {
        predicates: vec![split(predicate, &[])],
        all_met: true,
        fields: Some(table.field_ids(named)),
        ..Reads::default()
    }
}

/// What an append looked at whose rows were computed from the table's rows that meet these predicates, bound to its columns.
#[must_use]
pub fn reads_of(predicates: &[Expr]) -> Reads {
    Reads { predicates: predicates.iter().map(|predicate| split(predicate, &[])).collect(), ..Reads::default() }
}

/// Takes the rows out that meet a predicate. Where all do, nothing is read.
async fn take_out(table: &LanceTable, predicate: &Expr, plan: &mut LancePlan) -> Result<(), OpsError> {
    let every = *predicate == Expr::always();
    let (read, columns) = mentioned(predicate, table);
    for fragment in table.fragments() {
        let before = deleted_rows(&table.store, &table.snapshot, fragment).await?;
        let mut taken = RowSet::new();
        if every && fragment.physical_rows > 0 {
            taken = (0..fragment.physical_rows).collect::<RowSet>().difference(&before);
        } else {
            let mut rows = FragmentRows::open(table, fragment, &read, Which::Without(before)).await?;
            while let Some((raw, positions)) = rows.next().await? {
                let mask = filter_mask(predicate, &modelled(&raw, &columns)?)?;
                positions.iter().zip(mask.values()).filter(|(_, out)| *out).for_each(|(row, _)| {
                    taken.insert(*row);
                });
            }
        }
        plan.rows_deleted += taken.len();
        if !taken.is_empty() {
            plan.taken.insert(fragment.id, taken);
        }
    }
    Ok(())
}

/// The columns that a predicate looks at, and their places.
pub(crate) fn mentioned(predicate: &Expr, table: &LanceTable) -> (Vec<usize>, Vec<Column>) {
    let named = predicate.columns().into_iter().filter_map(<[_]>::first);
    let mut read: Vec<usize> = named.filter_map(|name| table.position(name)).collect();
    read.sort_unstable();
    read.dedup();
    let columns = read.iter().filter_map(|at| table.columns().get(*at).cloned()).collect();
    (read, columns)
}

/// Goes through all rows and lets `decide` say what becomes of them, in the types of the table's columns; a replacement has only
/// the columns that change. Rows that change go, and stand anew behind those of the fragments before.
pub(crate) async fn touch(
    table: &LanceTable,
    plan: &mut LancePlan,
    writer: &mut Writer<'_>,
    mut decide: impl FnMut(&RecordBatch) -> Result<Touched, OpsError>,
) -> Result<(), OpsError> {
    table.refuse_writing_blobs("changing rows")?;
    let all: Vec<usize> = (0..table.columns().len()).collect();
    for fragment in table.fragments() {
        let before = deleted_rows(&table.store, &table.snapshot, fragment).await?;
        let ids = stable_ids(table, fragment)?;
        let mut rows = FragmentRows::open(table, fragment, &all, Which::Without(before)).await?;
        let mut taken = RowSet::new();
        while let Some((raw, positions)) = rows.next().await? {
            if raw.num_rows() == 0 {
                continue;
            }
            let touched = decide(&modelled(&raw, table.columns())?)?;
            plan.rows_deleted += count(&touched.deleted);
            plan.rows_updated += count(&touched.updated);
            for (row, (deleted, updated)) in
                positions.iter().zip(touched.deleted.values().iter().zip(touched.updated.values()))
            {
                if deleted || updated {
                    taken.insert(*row);
                }
            }
            if let Some(replacement) = &touched.replacement {
                let old = filter_record_batch(&raw, &touched.updated).map_err(OpsError::rows("a batch"))?;
                let moved = positions.iter().zip(touched.updated.values()).filter(|(_, moved)| *moved);
                let moved: Option<Vec<u64>> =
                    ids.as_ref().map(|ids| moved.filter_map(|(row, _)| id_at(ids, *row)).collect());
                writer.write(&replaced(&old, replacement, table)?, moved.as_deref()).await?;
            }
        }
        if !taken.is_empty() {
            plan.taken.insert(fragment.id, taken);
        }
    }
    Ok(())
}

/// Rows of the table with other values in some columns.
fn replaced(old: &RecordBatch, with: &RecordBatch, table: &LanceTable) -> Result<RecordBatch, OpsError> {
    let mut arrays = old.columns().to_vec();
    for (field, array) in with.schema_ref().fields().iter().zip(with.columns()) {
        let at = table.position(field.name());
        let (Some(at), Some(column)) = (at, at.and_then(|at| table.columns().get(at))) else { continue };
        if let Some(slot) = arrays.get_mut(at) {
            *slot = conformed(array, column, table.schema.field(at))?;
        }
    }
    RecordBatch::try_new(Arc::clone(&table.schema), arrays).map_err(OpsError::rows("rows to be written"))
}

/// The ids of a fragment's rows, on tables whose rows keep theirs.
pub(crate) fn stable_ids(table: &LanceTable, fragment: &DataFragment) -> Result<Option<Vec<u64>>, OpsError> {
    if !table.snapshot.has_stable_row_ids() {
        return Ok(None);
    }
    let ids = match &fragment.row_id_sequence {
        Some(RowIdSequence::InlineRowIds(bytes)) => RowIds::decode(bytes),
        Some(RowIdSequence::ColumnRowIds(_)) | None => None,
    };
    match ids {
        Some(ids) => Ok(Some(ids.iter().collect())),
        None => Err(OpsError::Unsupported {
            feature: format!("the row ids of fragment {} as they are kept", fragment.id),
            statement: "moving rows",
            advice: "change its rows with a Lance client".to_owned(),
        }),
    }
}

fn id_at(ids: &[u64], row: u64) -> Option<u64> {
    ids.get(usize::try_from(row).ok()?).copied()
}
