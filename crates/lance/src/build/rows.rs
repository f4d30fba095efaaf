//! Append, Delete and Update.

use super::draft::Draft;
use super::fragments::{self, invalid};
use super::{Inputs, lineage, overlay, shards};
use crate::LanceError;
use crate::index;
use crate::proto::table::transaction::{Append, Delete, Update, UpdateMode};
use std::collections::BTreeSet;

/// The current fragments and the new ones; indices do not cover the new ones.
pub(super) fn append(draft: &mut Draft, append: &Append) -> Result<(), LanceError> {
    let new = draft.prepare_new(&append.fragments, false)?;
    draft.put_in(new);
    Ok(())
}

/// Whole fragments go; of an updated fragment only its deletion file is taken over.
pub(super) fn delete(draft: &mut Draft, delete: &Delete) -> Result<(), LanceError> {
    let removed: BTreeSet<u64> = delete.deleted_fragment_ids.iter().copied().collect();
    for updated in delete.updated_fragments.iter().filter(|fragment| !removed.contains(&fragment.id)) {
        let current = draft.fragment_mut(updated.id).ok_or_else(|| missing(updated.id))?;
        current.deletion_file = updated.deletion_file;
    }
    draft.manifest.fragments.retain(|fragment| !removed.contains(&fragment.id));
    retain_indices(draft);
    Ok(())
}

/// Whole fragments go, updated ones are replaced by what they became, new ones are put in.
pub(super) fn update(draft: &mut Draft, update: &Update, inputs: &Inputs<'_>) -> Result<(), LanceError> {
    let live = draft.field_ids();
    let rewrites_columns = update.update_mode == UpdateMode::RewriteColumns as i32;
    let removed: BTreeSet<u64> = update.removed_fragment_ids.iter().copied().collect();
    let moved: Vec<bool> = update.new_fragments.iter().map(lineage::is_moved).collect();
    // Rows of new fragments are looked up where they were, so this comes before anything is taken out.
    let new = draft.prepare_new(&update.new_fragments, false)?;
    let (stable, version) = (draft.stable_row_ids, draft.manifest.version);
    for updated in update.updated_fragments.iter().filter(|fragment| !removed.contains(&fragment.id)) {
        let current = draft.fragment_mut(updated.id).ok_or_else(|| missing(updated.id))?;
        let overlays = std::mem::take(&mut current.overlays);
        *current = updated.clone();
        current.overlays = overlays;
        fragments::prune_files(current, &live);
        if stable && rewrites_columns {
            lineage::touch(current, update, version)?;
        }
    }
    if rewrites_columns {
        let modified: BTreeSet<i64> = update.fields_modified.iter().map(|field| i64::from(*field)).collect();
        let changed: Vec<u64> = update.updated_fragments.iter().map(|fragment| fragment.id).collect();
        uncover(draft, &modified, &changed);
    } else if stable {
        let moved = new.iter().zip(moved).filter(|(_, moved)| *moved).map(|(fragment, _)| fragment.id).collect();
        cover_moved(draft, update, &moved);
    }
    draft.manifest.fragments.retain(|fragment| !removed.contains(&fragment.id));
    draft.manifest.fragments.extend(new);
    retain_indices(draft);
    shards::take_in(draft, &update.compacted_sstables, inputs)
}

/// Indices of row ids cover rows that moved, where the indexed values did not change.
fn cover_moved(draft: &mut Draft, update: &Update, moved: &BTreeSet<u64>) {
    let changed: BTreeSet<i64> =
        update.fields_for_preserving_frag_bitmap.iter().map(|field| i64::from(*field)).collect();
    let narrow = |id: u64| u32::try_from(id).ok();
    let sources: Vec<u32> = update
        .updated_fragments
        .iter()
        .map(|fragment| fragment.id)
        .chain(update.removed_fragment_ids.iter().copied())
        .filter_map(narrow)
        .collect();
    let overlaid: Vec<_> = draft.manifest.fragments.iter().filter(|fragment| !fragment.overlays.is_empty()).collect();
    for entry in draft.indices.iter_mut().filter(|entry| !index::is_system(entry)) {
        let unchanged = !entry.fields.iter().any(|field| changed.contains(&i64::from(*field)));
        let Some(mut covered) = index::coverage(entry) else { continue };
        let stale = overlaid.iter().filter(|fragment| narrow(fragment.id).is_some_and(|id| sources.contains(&id)));
        let stale =
            stale.into_iter().any(|fragment| overlay::newer_than(fragment, &entry.fields, entry.dataset_version));
        let follows =
            unchanged && !stale && !index::holds_addresses(entry) && sources.iter().all(|id| covered.contains(*id));
        if follows && !moved.is_empty() {
            covered.extend(moved.iter().copied().filter_map(narrow));
            index::set_coverage(entry, covered);
        }
    }
}

/// Fragments whose values changed in place leave the coverage of indices on the fields that changed.
pub(super) fn uncover(draft: &mut Draft, fields: &BTreeSet<i64>, fragments: &[u64]) {
    for entry in &mut draft.indices {
        if index::is_system(entry) || !entry.fields.iter().any(|field| fields.contains(&i64::from(*field))) {
            continue;
        }
        let Some(mut covered) = index::coverage(entry) else { continue };
        let before = covered.len();
        for id in fragments.iter().filter_map(|id| u32::try_from(*id).ok()) {
            covered.remove(id);
        }
        if covered.len() != before {
            index::set_coverage(entry, covered);
        }
    }
}

pub(super) fn retain_indices(draft: &mut Draft) {
    let (fields, fragments) = (draft.field_ids(), draft.fragment_ids());
    index::retain_relevant(&mut draft.indices, &fields, &fragments);
}

pub(super) fn missing(fragment: u64) -> LanceError {
    invalid(
        &format!("fragment {fragment}, which it changes, is not in the table"),
        "read the newest version and plan again",
    )
}
