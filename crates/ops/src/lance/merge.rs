//! MERGE by key.

use super::conform::complete;
use super::plan::LancePlan;
use super::table::LanceTable;
use super::touch::touch;
use super::write::Writer;
use crate::delete::split;
use crate::merge::{Source, touched};
use crate::{Batches, Matched, MergeSpec, NotMatched, OpsError};
use lakebed_lance::Reads;
use std::collections::HashSet;

/// Plans a merge. The source is held in memory.
///
/// # Errors
/// The rows do not fit the table, two of them have one key, or a data file cannot be read or written.
pub async fn merge(table: &LanceTable, source: Batches, spec: &MergeSpec) -> Result<LancePlan, OpsError> {
    let source = Source::read(source, table.columns(), spec)?;
    let ids = table.top_ids();
    let given = source.columns.iter().filter_map(|column| table.position(&column.name));
    let condition = source.condition();
    let reads = Reads {
        predicates: vec![split(&condition, &[])],
        keys: vec![source.probe(&condition)],
        all_met: spec.matched != Matched::Ignore && source.is_named_by(&condition),
        fields: Some(table.field_ids(source.columns.iter().map(|column| column.name.as_str()))),
        ..Reads::default()
    };
    let mut plan = LancePlan {
        reads,
        fields_changed: given.filter_map(|at| u32::try_from(*ids.get(at)?).ok()).collect(),
        ..LancePlan::default()
    };
    let mut writer = Writer::new(table);
    let mut found = HashSet::new();
    touch(table, &mut plan, &mut writer, |rows| {
        let matches = source.matches(rows)?;
        found.extend(matches.iter().flatten().copied());
        touched(spec.matched, matches, |_, taken| source.at(taken))
    })
    .await?;
    if spec.not_matched == NotMatched::Insert {
        let new = source.not_in(&found)?;
        if new.num_rows() > 0 {
            plan.rows_inserted += writer.write(&complete(&new, table)?, None).await?;
        }
    }
    writer.finish_into(&mut plan).await?;
    Ok(plan)
}
