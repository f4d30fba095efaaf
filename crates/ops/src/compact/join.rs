//! Files joined in their order.

use super::{CompactSpec, Compaction, Input};
use crate::rows::RowWriter;
use crate::scan::deleted_rows;
use crate::touch::{Open, tracked};
use crate::{Layout, OpsError, Plan};
use lakebed_storage::Store;
use lakebed_transaction::RowSet;
use serde_json::{Value, json};
use std::sync::Arc;

/// The tag under which a joined file lists where its rows come from: its sources in order, each with its path, its physical
/// rows, and the deletion vector whose rows were dropped. So a row that somebody deletes in a source is found again.
pub(crate) const SOURCES: &str = "lakebed.sources";

/// Neighbours that fill a file of the target size together. What would become one file out of one stays, unless rows of it are
/// dropped. `vectors` tells whether new files may have deletion vectors.
pub(super) fn bins(group: Vec<Input>, spec: &CompactSpec, vectors: bool) -> Vec<Vec<Input>> {
    let mut bins: Vec<(u64, Vec<Input>)> = Vec::new();
    for input in group {
        let size = input.size_bytes(spec.compaction);
        let small = size < spec.target_size_bytes;
        let fits = match spec.compaction {
            Compaction::Minor => small && (vectors || !input.has_vector()),
            Compaction::Major => small || input.has_vector(),
        };
        match bins.last_mut() {
            _ if !fits => {}
            Some((sum, bin)) if sum.saturating_add(size) <= spec.target_size_bytes => {
                *sum += size;
                bin.push(input);
            }
            Some(_) | None => bins.push((size, vec![input])),
        }
    }
    let purges = |bin: &[Input]| spec.compaction == Compaction::Major && bin.iter().any(Input::has_vector);
    bins.into_iter().map(|(_, bin)| bin).filter(|bin| bin.len() > 1 || purges(bin)).collect()
}

/// Writes the rows of the files, in order, into one.
pub(super) async fn join(
    store: &Arc<dyn Store>,
    bin: &[Input],
    compaction: Compaction,
    layout: &Layout,
    writer: &mut RowWriter<'_>,
    plan: &mut Plan,
) -> Result<(), OpsError> {
    let (mut offset, mut hidden, mut sources) = (0, RowSet::new(), Vec::with_capacity(bin.len()));
    for Input { file, add } in bin {
        let deleted = deleted_rows(store, file).await?.unwrap_or_default();
        let dropped = match compaction {
            Compaction::Minor => RowSet::new(),
            Compaction::Major => deleted.clone(),
        };
        let mut open = Open::new(store, file, layout, dropped).await?;
        while let Some((rows, _, ids)) = open.next().await? {
            writer.write_in(&file.partition, &tracked(&rows, ids, layout)?).await?;
            plan.rows_copied += rows.num_rows() as u64;
        }
        if compaction == Compaction::Minor {
            plan.rows_copied = plan.rows_copied.saturating_sub(deleted.len());
            deleted.iter().for_each(|row| {
                hidden.insert(offset + row);
            });
        }
        offset += open.num_rows();
        let dropped = add.deletion_vector.as_ref().filter(|_| compaction == Compaction::Major);
        let mut source = json!({"path": &*add.path, "rows": open.num_rows()});
        if let (Some(dropped), Some(source)) = (dropped, source.as_object_mut()) {
            source.insert("dropped".to_owned(), serde_json::to_value(dropped).unwrap_or(Value::Null));
        }
        sources.push(source);
        plan.removed.push(file.id.clone());
    }
    let tag = (SOURCES.to_owned(), Value::Array(sources).to_string());
    for mut file in writer.take().await? {
        file.deleted = std::mem::take(&mut hidden);
        file.tags.push(tag.clone());
        plan.added.push(file);
    }
    Ok(())
}
