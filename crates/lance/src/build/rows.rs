//! Append, Delete and Update.

use super::draft::Draft;
use super::fragments::{self, invalid};
use crate::LanceError;
use crate::index;
use crate::proto::table::transaction::{Append, Delete, Update, UpdateMode};
use std::collections::BTreeSet;

/// The current fragments and the new ones; indices do not cover the new ones.
pub(super) fn append(draft: &mut Draft, append: &Append) -> Result<(), LanceError> {
    let new = draft.prepare_new(&append.fragments, false)?;
    draft.manifest.fragments.extend(new);
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
pub(super) fn update(draft: &mut Draft, update: &Update) -> Result<(), LanceError> {
    if draft.stable_row_ids {
        return Err(unsupported("an Update of a table with stable row ids"));
    }
    if !update.compacted_sstables.is_empty() {
        return Err(unsupported("an Update that takes in memtable shards"));
    }
    let live = draft.field_ids();
    let removed: BTreeSet<u64> = update.removed_fragment_ids.iter().copied().collect();
    for updated in update.updated_fragments.iter().filter(|fragment| !removed.contains(&fragment.id)) {
        let current = draft.fragment_mut(updated.id).ok_or_else(|| missing(updated.id))?;
        let overlays = std::mem::take(&mut current.overlays);
        *current = updated.clone();
        current.overlays = overlays;
        fragments::prune_files(current, &live);
    }
    draft.manifest.fragments.retain(|fragment| !removed.contains(&fragment.id));
    let new = draft.prepare_new(&update.new_fragments, false)?;
    draft.manifest.fragments.extend(new);
    if update.update_mode == UpdateMode::RewriteColumns as i32 {
        uncover(draft, update);
    }
    retain_indices(draft);
    Ok(())
}

/// Fragments whose columns were rewritten leave the coverage of indices on those columns.
fn uncover(draft: &mut Draft, update: &Update) {
    let modified: BTreeSet<i64> = update.fields_modified.iter().map(|field| i64::from(*field)).collect();
    for entry in &mut draft.indices {
        if index::is_system(entry) || !entry.fields.iter().any(|field| modified.contains(&i64::from(*field))) {
            continue;
        }
        let Some(mut covered) = index::coverage(entry) else { continue };
        let before = covered.len();
        for fragment in &update.updated_fragments {
            if let Ok(id) = u32::try_from(fragment.id) {
                covered.remove(id);
            }
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

fn missing(fragment: u64) -> LanceError {
    invalid(&format!("fragment {fragment}, which it changes, is not in the table"), "read the newest version and plan again")
}

fn unsupported(feature: &str) -> LanceError {
    LanceError::Unsupported {
        object: "the next version".to_owned(),
        feature: feature.to_owned(),
        advice: "commit it with a client that has it".to_owned(),
    }
}
