//! MERGE by key.

use super::conform::complete;
use super::plan::LancePlan;
use super::table::LanceTable;
use super::touch::touch;
use super::write::Writer;
use crate::delete::none_of;
use crate::merge::Source;
use crate::touch::Touched;
use crate::{Batches, Matched, MergeSpec, NotMatched, OpsError};
use arrow_array::{BooleanArray, UInt64Array};
use arrow_select::take::take_record_batch;
use std::collections::HashSet;

/// Plans a merge. The source is held in memory.
///
/// # Errors
/// The rows do not fit the table, two of them have one key, or a data file cannot be read or written.
pub async fn merge(table: &LanceTable, source: Batches, spec: &MergeSpec) -> Result<LancePlan, OpsError> {
    let source = Source::read(source, table.columns(), spec)?;
    let ids = table.top_ids();
    let given = source.columns.iter().filter_map(|column| table.position(&column.name));
    let mut plan = LancePlan {
        fields_changed: given.filter_map(|at| u32::try_from(*ids.get(at)?).ok()).collect(),
        ..LancePlan::default()
    };
    let mut writer = Writer::new(table);
    let mut found = HashSet::new();
    touch(table, &mut plan, &mut writer, |rows| {
        let matches = source.matches(rows)?;
        found.extend(matches.iter().flatten().copied());
        let mask: BooleanArray = matches.iter().map(|row| Some(row.is_some())).collect();
        let none = none_of(rows.num_rows());
        match spec.matched {
            Matched::Ignore => Ok(Touched { deleted: none.clone(), updated: none, replacement: None }),
            Matched::Delete => Ok(Touched { deleted: mask, updated: none, replacement: None }),
            Matched::Update if mask.true_count() == 0 => {
                Ok(Touched { deleted: none, updated: mask, replacement: None })
            }
            Matched::Update => {
                let taken = UInt64Array::from_iter_values(matches.into_iter().flatten());
                let replacement = take_record_batch(&source.rows, &taken).map_err(OpsError::rows("the source"))?;
                Ok(Touched { deleted: none, updated: mask, replacement: Some(replacement) })
            }
        }
    })
    .await?;
    if spec.not_matched == NotMatched::Insert {
        let new: Vec<u64> = (0..source.rows.num_rows() as u64).filter(|row| !found.contains(row)).collect();
        if !new.is_empty() {
            let rows = take_record_batch(&source.rows, &UInt64Array::from(new));
            let rows = rows.map_err(OpsError::rows("the source"))?;
            plan.rows_inserted += writer.write(&complete(&rows, table)?, None).await?;
        }
    }
    plan.added = writer.finish().await?;
    Ok(plan)
}
