//! Index entries, memtable shards and the record of fragment reuse.

use crate::Snapshot;
use crate::index::{FRAGMENT_REUSE, MEM_WAL, coverage, details_type, holds_addresses, is_system};
use crate::proto::table::fragment_reuse_index_details::{Content, InlineContent};
use crate::proto::table::transaction::CreateIndex;
use crate::proto::table::{CompactedSsTable, FragmentReuseIndexDetails, IndexMetadata, MemWalIndexDetails, Uuid};
use lakebed_conflict::lance::{IndexFacts, IndexRole, LanceFacts, ShardId};
use prost::Message as _;
use std::collections::BTreeSet;
use std::sync::Arc;

/// An id's bytes, cut or filled with 0 where there are not sixteen.
pub(super) fn uuid(id: Option<&Uuid>) -> [u8; 16] {
    let mut out = [0; 16];
    for (to, from) in out.iter_mut().zip(id.map_or(&[][..], |id| &id.uuid)) {
        *to = *from;
    }
    out
}

/// One entry of the index list.
pub(super) fn facts_of_entry(entry: &IndexMetadata, stable_row_ids: bool) -> IndexFacts {
    let role = match entry.name.as_str() {
        FRAGMENT_REUSE => IndexRole::FragmentReuse,
        MEM_WAL => IndexRole::MemWal,
        _ if details_type(entry) == "NGramIndexDetails" => IndexRole::NGram,
        _ => IndexRole::Regular,
    };
    IndexFacts {
        name: Arc::from(entry.name.as_str()),
        uuid: uuid(entry.uuid.as_ref()),
        fields: entry.fields.iter().map(|field| i64::from(*field)).collect(),
        coverage: coverage(entry).map(|fragments| fragments.iter().map(u64::from).collect()),
        role,
        stores_row_ids: stable_row_ids && !is_system(entry) && !holds_addresses(entry),
    }
}

/// Adds generations by shard.
pub(super) fn take_shards(facts: &mut LanceFacts, tables: &[CompactedSsTable]) {
    for table in tables {
        match &table.shard_id {
            Some(id) if id.uuid.len() == 16 => facts.shards.push((ShardId(uuid(Some(id))), table.generation)),
            Some(_) | None => facts.shards_unknown = true,
        }
    }
}

/// Adds generations by shard from the MemWAL entries of the list.
pub(super) fn take_memwal_shards(facts: &mut LanceFacts, entries: &[IndexMetadata]) {
    for entry in entries.iter().filter(|entry| entry.name == MEM_WAL) {
        let bytes = entry.index_details.as_ref().map_or(&[][..], |details| details.value.as_slice());
        match MemWalIndexDetails::decode(bytes) {
            Ok(details) => take_shards(facts, &details.compacted_sstables),
            Err(_) => facts.shards_unknown = true,
        }
    }
}

/// Whether the entry of fragment reuse is replaced, and nothing else.
pub(super) fn is_trim(create: &CreateIndex) -> bool {
    !create.new_indices.is_empty()
        && create.new_indices.iter().chain(&create.removed_indices).all(|entry| entry.name == FRAGMENT_REUSE)
}

/// Whether the history of fragment reuse holds tagged transitions. A history that cannot be read counts as untagged, of
/// which nothing is recorded.
pub(super) fn has_tagged_history(snapshot: &Snapshot) -> bool {
    reuse_content(snapshot).is_some_and(|content| !content.transitions.is_empty())
}

/// The compactions of which the fragment-reuse index says where rows went.
#[derive(Debug, Default)]
pub(super) struct ReuseRecord {
    sources: BTreeSet<Vec<u64>>,
}

impl ReuseRecord {
    /// The record in this version.
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let Some(content) = reuse_content(snapshot) else { return Self::default() };
        let untagged = content.legacy_versions.iter().flat_map(|version| &version.groups).map(|it| &it.old_fragments);
        let tagged = content.transitions.iter().map(|transition| &transition.sources);
        let sources = untagged.chain(tagged).map(|digests| digests.iter().map(|digest| digest.id).collect());
        Self { sources: sources.collect() }
    }

    /// Whether exactly these sources were rewritten together.
    pub(super) fn holds(&self, sources: &[u64]) -> bool {
        self.sources.contains(sources)
    }
}

fn reuse_content(snapshot: &Snapshot) -> Option<InlineContent> {
    let entry = snapshot.indices().iter().find(|entry| entry.name == FRAGMENT_REUSE)?;
    let details = FragmentReuseIndexDetails::decode(entry.index_details.as_ref()?.value.as_slice()).ok()?;
    match details.content? {
        Content::Inline(content) => Some(content),
        Content::External(_) => None,
    }
}
