//! The record of where the rows of compacted fragments went, by which indices of row addresses are read until they are built anew.
//!
//! It stands in the list of indices, under a name of its own: for each compaction, group by group, the rows that moved by their old
//! addresses. They stand in the new fragments in the same order. Sources: the fragment-reuse index in Lance's table format pages, and
//! what released clients write.

use crate::facts::record;
use crate::proto::table::fragment_reuse_index_details::{
    Content, FragmentDigest, Group, InlineContent, Version as Compaction,
};
use crate::proto::table::{DataFragment, FragmentReuseIndexDetails, IndexMetadata, Uuid};
use crate::{LanceError, Snapshot, index};
use bytes::{BufMut, Bytes, BytesMut};
use lakebed_naming::Version;
use lakebed_transaction::RowSet;
use prost::Message as _;
use prost_types::Any;
use roaring::RoaringBitmap;
use std::collections::BTreeMap;

/// The type of the record.
const DETAILS_TYPE: &str = "/lance.table.FragmentReuseIndexDetails";

/// Rows that a Rewrite moves, for the record of them. A Rewrite's message does not say it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MovedRows {
    /// The id of the record's next state: 16 random bytes.
    pub id: [u8; 16],
    /// For each group of the Rewrite: the rows of its old fragments that stand in its new ones, in order.
    pub groups: Vec<BTreeMap<u64, RowSet>>,
}

/// Whether the record of a version can be read and gone on with: it stands inline, in the form without tags.
#[must_use]
pub fn can_be_extended(snapshot: &Snapshot) -> bool {
    let there = snapshot.indices().iter().any(|entry| entry.name == index::FRAGMENT_REUSE);
    !there || record(snapshot).is_some_and(|record| record.transitions.is_empty())
}

/// The fragments whose rows an index finds: those that it says it covers, led on by the record. `None` where the entry does not say.
#[must_use]
pub fn coverage(snapshot: &Snapshot, entry: &IndexMetadata) -> Option<RoaringBitmap> {
    let mut covered = index::coverage(entry)?;
    let Some(record) = record(snapshot) else { return Some(covered) };
    let narrow = |digest: &FragmentDigest| u32::try_from(digest.id).ok();
    for group in record.legacy_versions.iter().flat_map(|compaction| &compaction.groups) {
        let old: RoaringBitmap = group.old_fragments.iter().filter_map(narrow).collect();
        if !old.is_empty() && old.is_subset(&covered) {
            covered -= old;
            covered.extend(group.new_fragments.iter().filter_map(narrow));
        }
    }
    Some(covered)
}

/// Writes a compaction down in the record. `groups` are the fragments that went and those that came, group by group; `before` is
/// the version that the compaction follows.
pub(crate) fn extend(
    indices: &mut Vec<IndexMetadata>,
    moved: &MovedRows,
    groups: &[(&[DataFragment], Vec<DataFragment>)],
    before: Version,
    now_ms: u64,
) -> Result<(), LanceError> {
    let known = indices.iter().position(|entry| entry.name == index::FRAGMENT_REUSE);
    let mut content = match known.and_then(|at| indices.get(at)) {
        None => InlineContent::default(),
        Some(entry) => inline(entry).ok_or_else(|| LanceError::Unsupported {
            object: "the next version".to_owned(),
            feature: "a record of fragment reuse in a form that is not gone on with".to_owned(),
            advice: "compact the table with a Lance client".to_owned(),
        })?,
    };
    let mut recorded = Vec::with_capacity(groups.len());
    for ((old, new), rows) in groups.iter().zip(&moved.groups) {
        let group = Group {
            changed_row_addrs: addresses(rows)?,
            old_fragments: old.iter().map(digest).collect(),
            new_fragments: new.iter().map(digest).collect(),
        };
        recorded.push(group);
    }
    content.legacy_versions.push(Compaction { dataset_version: before.get(), groups: recorded });
    let mut covered = RoaringBitmap::new();
    for group in content.legacy_versions.iter().flat_map(|compaction| &compaction.groups) {
        covered.extend(group.new_fragments.iter().filter_map(|digest| u32::try_from(digest.id).ok()));
    }
    let details = FragmentReuseIndexDetails { content: Some(Content::Inline(content)) };
    let mut entry = IndexMetadata {
        uuid: Some(Uuid { uuid: Bytes::copy_from_slice(&moved.id) }),
        name: index::FRAGMENT_REUSE.to_owned(),
        dataset_version: before.get(),
        index_details: Some(Any { type_url: DETAILS_TYPE.to_owned(), value: details.encode_to_vec() }),
        index_version: Some(0),
        created_at: Some(now_ms),
        ..IndexMetadata::default()
    };
    index::set_coverage(&mut entry, covered);
    if let Some(at) = known {
        indices.remove(at);
    }
    indices.push(entry);
    Ok(())
}

fn inline(entry: &IndexMetadata) -> Option<InlineContent> {
    let details = FragmentReuseIndexDetails::decode(entry.index_details.as_ref()?.value.as_slice()).ok()?;
    match details.content? {
        Content::Inline(content) if content.transitions.is_empty() => Some(content),
        Content::Inline(_) | Content::External(_) => None,
    }
}

fn digest(fragment: &DataFragment) -> FragmentDigest {
    FragmentDigest {
        id: fragment.id,
        physical_rows: fragment.physical_rows,
        num_deleted_rows: fragment.deletion_file.as_ref().map_or(0, |file| file.num_deleted_rows),
    }
}

/// Row addresses as a 64-bit roaring map: their number of high halves, and for each the half and a bitmap of the low halves.
fn addresses(rows: &BTreeMap<u64, RowSet>) -> Result<Bytes, LanceError> {
    let refused = |problem: String| LanceError::Invalid { problem, advice: "plan the compaction again".to_owned() };
    let mut bytes = BytesMut::new();
    let moved = rows.iter().filter(|(_, rows)| !rows.is_empty());
    bytes.put_u64_le(moved.clone().count() as u64);
    for (fragment, rows) in moved {
        let high = u32::try_from(*fragment).map_err(|_| refused(format!("fragment {fragment} has no address")))?;
        let low: Result<RoaringBitmap, _> = rows.iter().map(u32::try_from).collect();
        let mut low = low.map_err(|_| refused(format!("a row of fragment {fragment} has no address")))?;
        low.optimize();
        bytes.put_u32_le(high);
        low.serialize_into((&mut bytes).writer()).map_err(|error| refused(error.to_string()))?;
    }
    Ok(bytes.freeze())
}
