//! Entries of the index list.

use super::{take_shards, uuid_bytes};
use crate::proto::table::transaction::CreateIndex;
use crate::proto::table::{IndexMetadata, MemWalIndexDetails};
use crate::{Snapshot, index};
use lakebed_conflict::lance::{FragmentSet, IndexFacts, IndexRole, LanceFacts};
use prost::Message;
use std::sync::Arc;

pub(super) fn fill(facts: &mut LanceFacts, create: &CreateIndex, before: Option<&Snapshot>) {
    let stable = before.is_some_and(Snapshot::has_stable_row_ids);
    facts.new_indices = create.new_indices.iter().map(|entry| entry_facts(entry, stable)).collect();
    facts.removed_indices = create.removed_indices.iter().map(|entry| entry_facts(entry, stable)).collect();
    let reuse = |entries: &[IndexFacts]| {
        !entries.is_empty() && entries.iter().all(|entry| entry.role == IndexRole::FragmentReuse)
    };
    facts.trims_history = facts.tagged_history && reuse(&facts.new_indices) && reuse(&facts.removed_indices);
    for entry in create.new_indices.iter().filter(|entry| entry.name == index::MEM_WAL) {
        let details = entry.index_details.as_ref().map_or(&[][..], |details| details.value.as_slice());
        match MemWalIndexDetails::decode(details) {
            Ok(details) => take_shards(facts, &details.compacted_sstables),
            Err(_) => facts.shards_unknown = true,
        }
    }
}

fn entry_facts(entry: &IndexMetadata, stable: bool) -> IndexFacts {
    let role = match entry.name.as_str() {
        index::FRAGMENT_REUSE => IndexRole::FragmentReuse,
        index::MEM_WAL => IndexRole::MemWal,
        _ if index::details_type(entry) == "NGramIndexDetails" => IndexRole::NGram,
        _ => IndexRole::Regular,
    };
    IndexFacts {
        name: Arc::from(entry.name.as_str()),
        uuid: uuid_bytes(entry.uuid.as_ref()).unwrap_or_default(),
        fields: entry.fields.iter().map(|field| i64::from(*field)).collect(),
        coverage: index::coverage(entry).map(|covered| covered.iter().map(u64::from).collect::<FragmentSet>()),
        role,
        stores_row_ids: stable && !index::holds_addresses(entry),
    }
}
