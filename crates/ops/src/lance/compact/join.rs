//! Fragments joined, their rows in the order in which they stand.

use super::lineage::{self, Lineage};
use super::{LanceCompaction, LanceGroup};
use crate::OpsError;
use crate::compact::Compaction;
use crate::lance::fragment::{FragmentRows, Which, deleted_rows};
use crate::lance::table::LanceTable;
use crate::lance::write::Writer;
use lakebed_lance::proto::table::DataFragment;
use lakebed_transaction::RowSet;

/// Writes the rows of a group anew: of a minor compaction all, of a major one those that are not deleted.
pub(super) async fn join(
    table: &LanceTable,
    group: Vec<DataFragment>,
    compaction: Compaction,
    plan: &mut LanceCompaction,
) -> Result<LanceGroup, OpsError> {
    table.refuse_writing_blobs("a compaction")?;
    let all: Vec<usize> = (0..table.columns().len()).collect();
    let mut writer = Writer::new(table);
    let mut joined = LanceGroup::default();
    let (mut versions, mut deleted, mut written) = (Vec::new(), RowSet::new(), 0_u64);
    for fragment in &group {
        let gone = deleted_rows(&table.store, &table.snapshot, fragment).await?;
        let lineage = Lineage::of(table, fragment)?;
        let which = match compaction {
            Compaction::Major => Which::Without(gone.clone()),
            Compaction::Minor => Which::Without(RowSet::new()),
        };
        let mut rows = FragmentRows::open(table, fragment, &all, which).await?;
        let mut moved = RowSet::new();
        while let Some((batch, places)) = rows.next().await? {
            let known = lineage.as_ref().map(|lineage| lineage.at(fragment, &places)).transpose()?;
            let ids: Option<Vec<u64>> = known.as_ref().map(|known| known.iter().map(|(id, ..)| *id).collect());
            versions.extend(known.into_iter().flatten().map(|(_, created, updated)| (created, updated)));
            for (place, at) in places.iter().zip(written..) {
                moved.insert(*place);
                if gone.contains(*place) {
                    deleted.insert(at);
                }
            }
            written += places.len() as u64;
            plan.rows_copied += writer.write(&batch, ids.as_deref()).await?;
        }
        joined.moved.insert(fragment.id, moved);
    }
    let mut fragments = writer.finish().await?;
    if table.snapshot.has_stable_row_ids() {
        lineage::write_down(&mut fragments, versions)?;
    }
    let mut from = 0;
    for fragment in fragments {
        let to = from + fragment.physical_rows;
        let own = deleted.iter().filter(|row| (from..to).contains(row)).map(|row| row - from).collect();
        joined.new.push((fragment, own));
        from = to;
    }
    joined.old = group;
    Ok(joined)
}
