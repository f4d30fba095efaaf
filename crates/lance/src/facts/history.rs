//! Rewrites, and the record of where the rows of compacted fragments went.

use super::uuid_bytes;
use crate::proto::table::fragment_reuse_index_details::{Content, FragmentDigest, InlineContent};
use crate::proto::table::transaction::Rewrite;
use crate::proto::table::transaction::rewrite::RewriteGroup as Group;
use crate::proto::table::{DataFragment, FragmentReuseIndexDetails};
use crate::{Snapshot, index};
use lakebed_conflict::lance::{RewriteFacts, RewriteGroup};
use prost::Message;
use std::collections::BTreeSet;

/// Whether the version records fragment reuse with tagged transitions.
pub(super) fn is_tagged(snapshot: &Snapshot) -> bool {
    record(snapshot).is_some_and(|record| !record.transitions.is_empty())
}

/// The groups of a Rewrite; `after` is the version that it made.
pub(super) fn rewrite(rewrite: &Rewrite, after: Option<&Snapshot>) -> RewriteFacts {
    let record = after.and_then(record);
    let groups: Vec<(&[DataFragment], &[DataFragment])> = if rewrite.groups.is_empty() {
        vec![(&rewrite.old_fragments, &rewrite.new_fragments)]
    } else {
        rewrite
            .groups
            .iter()
            .map(|Group { old_fragments, new_fragments }| (&old_fragments[..], &new_fragments[..]))
            .collect()
    };
    let groups = groups.into_iter().map(|(old, new)| {
        let ids = |fragments: &[DataFragment]| fragments.iter().map(|fragment| fragment.id).collect::<Vec<_>>();
        let folds_overlays = old.iter().any(|fragment| !fragment.overlays.is_empty());
        let (old, new) = (ids(old), ids(new));
        let recorded = record.as_ref().is_some_and(|record| holds(record, &old));
        RewriteGroup { old, new, recorded, folds_overlays }
    });
    let remapped = rewrite.rewritten_indices.iter().filter_map(|entry| uuid_bytes(entry.old_id.as_ref()));
    RewriteFacts { groups: groups.collect(), extends_reuse_index: false, remapped: remapped.collect() }
}

/// The record, where it stands in the manifest; one in a file of its own is not read, so it proves nothing.
pub(crate) fn record(snapshot: &Snapshot) -> Option<InlineContent> {
    let entry = snapshot.indices().iter().find(|entry| entry.name == index::FRAGMENT_REUSE)?;
    let details = FragmentReuseIndexDetails::decode(entry.index_details.as_ref()?.value.as_slice()).ok()?;
    match details.content? {
        Content::Inline(content) => Some(content),
        Content::External(_) => None,
    }
}

/// Whether the version's record of fragment reuse tells where the rows of these fragments went, which were rewritten together.
pub(crate) fn is_recorded(version: &Snapshot, old: &[u64]) -> bool {
    record(version).is_some_and(|record| holds(&record, old))
}

/// These fragments, and those that they were compacted from as far as the version's record goes.
pub(crate) fn rewritten_from(snapshot: &Snapshot, mut fragments: BTreeSet<u64>) -> BTreeSet<u64> {
    let Some(record) = record(snapshot) else { return fragments };
    let untagged = record.legacy_versions.iter().flat_map(|version| &version.groups);
    let groups: Vec<_> = untagged
        .map(|group| (&group.old_fragments, &group.new_fragments))
        .chain(record.transitions.iter().map(|transition| (&transition.sources, &transition.destinations)))
        .collect();
    // Each round takes in the sources of at least one more group, so there are no more rounds than groups.
    for _ in 0..groups.len() {
        let before = fragments.len();
        for (old, new) in &groups {
            if new.iter().any(|digest| fragments.contains(&digest.id)) {
                fragments.extend(old.iter().map(|digest| digest.id));
            }
        }
        if fragments.len() == before {
            break;
        }
    }
    fragments
}

fn holds(record: &InlineContent, old: &[u64]) -> bool {
    let same = |digests: &[FragmentDigest]| digests.iter().map(|digest| digest.id).eq(old.iter().copied());
    record.transitions.iter().any(|transition| same(&transition.sources))
        || record.legacy_versions.iter().flat_map(|version| &version.groups).any(|group| same(&group.old_fragments))
}
