//! How new index entries of ours follow what landed.

use crate::build::shards;
use crate::facts::rewritten_from;
use crate::proto::table::transaction::{Operation, UpdateMode};
use crate::proto::table::{CompactedSsTable, IndexMetadata, MemWalIndexDetails, Transaction as Message};
use crate::{Landed, index};
use prost::Message as _;
use std::collections::BTreeSet;

/// Takes out of our new entries what landed made untrue: fragments whose indexed columns an Update rewrote in place are
/// no longer covered (nor are the fragments that they were compacted from), and of each memtable shard the higher
/// generation stays.
pub(crate) fn follow(ours: &mut Message, landed: &Landed) {
    let Some(Operation::CreateIndex(create)) = &mut ours.operation else { return };
    let Some(operation) = landed.transaction().and_then(|transaction| transaction.operation()) else { return };
    if let Operation::UpdateMemWalState(state) = operation {
        raise_shards(&mut create.new_indices, &state.compacted_sstables);
    }
    let Operation::Update(update) = operation else { return };
    raise_shards(&mut create.new_indices, &update.compacted_sstables);
    if update.update_mode != UpdateMode::RewriteColumns as i32 {
        return;
    }
    let rewritten: BTreeSet<u64> = update.updated_fragments.iter().map(|fragment| fragment.id).collect();
    let rewritten = rewritten_from(landed.snapshot(), rewritten);
    for entry in &mut create.new_indices {
        let holds = |field: &u32| i32::try_from(*field).is_ok_and(|field| entry.fields.contains(&field));
        if !update.fields_modified.iter().any(holds) {
            continue;
        }
        if let Some(mut covered) = index::coverage(entry) {
            for fragment in rewritten.iter().filter_map(|id| u32::try_from(*id).ok()) {
                covered.remove(fragment);
            }
            index::set_coverage(entry, covered);
        }
    }
}

/// Takes over the generations that are higher than ours, or of shards that ours does not list.
fn raise_shards(entries: &mut [IndexMetadata], landed: &[CompactedSsTable]) {
    for entry in entries.iter_mut().filter(|entry| entry.name == index::MEM_WAL && !landed.is_empty()) {
        let Some(any) = &mut entry.index_details else { continue };
        let Ok(mut details) = MemWalIndexDetails::decode(any.value.as_slice()) else { continue };
        shards::raise(&mut details.compacted_sstables, landed);
        any.value = details.encode_to_vec();
    }
}
