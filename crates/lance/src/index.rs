//! Entries of the index list: coverage, roles, and which of them outlive a change.

use crate::proto::table::IndexMetadata;
use bytes::Bytes;
use roaring::RoaringBitmap;
use std::collections::{BTreeMap, BTreeSet};

/// The entry that records where rows of compacted fragments went.
pub const FRAGMENT_REUSE: &str = "__lance_frag_reuse";

/// The entry that holds the state of memtable shards.
pub const MEM_WAL: &str = "__lance_mem_wal";

/// Whether the entry serves the table itself and no query.
#[must_use]
pub fn is_system(index: &IndexMetadata) -> bool {
    index.name == FRAGMENT_REUSE || index.name == MEM_WAL
}

/// The fragments whose rows are in the index; `None` where the entry does not say or cannot be read.
#[must_use]
pub fn coverage(index: &IndexMetadata) -> Option<RoaringBitmap> {
    if index.fragment_bitmap.is_empty() {
        return None;
    }
    RoaringBitmap::deserialize_from(index.fragment_bitmap.as_ref()).ok()
}

/// Sets the fragments whose rows are in the index.
pub fn set_coverage(index: &mut IndexMetadata, mut fragments: RoaringBitmap) {
    fragments.optimize();
    let mut bytes = Vec::with_capacity(fragments.serialized_size());
    // Writing to a vector does not fail; were it to, the coverage would become unknown, which promises nothing.
    index.fragment_bitmap = match fragments.serialize_into(&mut bytes) {
        Ok(()) => Bytes::from(bytes),
        Err(_) => Bytes::new(),
    };
}

/// The last part of the type of an index's details, such as `BTreeIndexDetails`.
#[must_use]
pub fn details_type(index: &IndexMetadata) -> &str {
    let url = index.index_details.as_ref().map_or("", |details| details.type_url.as_str());
    url.rsplit(['.', '/']).next().unwrap_or("")
}

/// Whether the index holds row addresses even where rows have stable ids.
#[must_use]
pub fn holds_addresses(index: &IndexMetadata) -> bool {
    match details_type(index) {
        "BTreeIndexDetails" => index.index_version.unwrap_or(0) >= 1,
        "ZoneMapIndexDetails" | "BloomFilterIndexDetails" | "FMIndexDetails" | "FmIndexDetails" => true,
        _ => false,
    }
}

/// Drops entries that lost a field, and segments that cover nothing while another of their name does. Of segments that all
/// cover nothing, the oldest stays.
pub(crate) fn retain_relevant(indices: &mut Vec<IndexMetadata>, fields: &BTreeSet<i32>, fragments: &BTreeSet<u64>) {
    indices.retain(|index| is_system(index) || index.fields.iter().all(|field| fields.contains(field)));
    let mut by_name: BTreeMap<String, Vec<(u64, usize, bool)>> = BTreeMap::new();
    for (at, index) in indices.iter().enumerate().filter(|(_, index)| !is_system(index)) {
        let empty = coverage(index)
            .is_some_and(|covered| !covered.iter().any(|fragment| fragments.contains(&u64::from(fragment))));
        by_name.entry(index.name.clone()).or_default().push((index.dataset_version, at, empty));
    }
    let mut dropped = BTreeSet::new();
    for segments in by_name.values_mut().filter(|segments| segments.len() > 1) {
        let kept = if segments.iter().all(|(_, _, empty)| *empty) {
            segments.iter().min_by_key(|(version, at, _)| (*version, *at)).map(|(_, at, _)| *at)
        } else {
            None
        };
        dropped.extend(segments.iter().filter(|(_, at, empty)| *empty && Some(*at) != kept).map(|(_, at, _)| *at));
    }
    let mut at = 0;
    indices.retain(|_| {
        let keep = !dropped.contains(&at);
        at += 1;
        keep
    });
}
