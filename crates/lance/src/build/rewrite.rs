//! Rewrite: fragments replaced by fewer or better ones with the same rows.

use super::Inputs;
use super::draft::Draft;
use super::fragments::invalid;
use crate::proto::table::DataFragment;
use crate::proto::table::transaction::Rewrite;
use crate::proto::table::transaction::rewrite::RewriteGroup;
use crate::{LanceError, Snapshot, index, reuse};
use roaring::RoaringBitmap;
use std::collections::{BTreeMap, BTreeSet};

/// Each group's old fragments are replaced by its new ones; rewritten indices get their new ids, files and coverage.
pub(super) fn rewrite(draft: &mut Draft, rewrite: &Rewrite, inputs: &Inputs<'_>) -> Result<(), LanceError> {
    let legacy =
        RewriteGroup { old_fragments: rewrite.old_fragments.clone(), new_fragments: rewrite.new_fragments.clone() };
    let groups = if rewrite.groups.is_empty() { std::slice::from_ref(&legacy) } else { rewrite.groups.as_slice() };
    let (mut moves, mut replaced) = (Vec::new(), Vec::new());
    for group in groups {
        let new = replace(draft, group)?;
        moves.push(Move { old: narrow(&group.old_fragments), new: narrow(&new) });
        replaced.push((group.old_fragments.as_slice(), new));
    }
    // Where the index was dropped meanwhile, nobody would read the record.
    if let Some(moved) = inputs.moved.filter(|_| inputs.base.is_none_or(|base| is_indexed(base, &moves))) {
        let before = inputs.base.map_or(inputs.at, Snapshot::version);
        reuse::extend(&mut draft.indices, moved, &replaced, before, inputs.now_ms)?;
    }
    if draft.stable_row_ids {
        return follow_row_ids(draft, &moves);
    }
    let rewritten: BTreeMap<_, _> = rewrite
        .rewritten_indices
        .iter()
        .filter_map(|entry| Some((entry.old_id.as_ref()?.uuid.clone(), entry)))
        .collect();
    for entry in &mut draft.indices {
        let Some(change) = entry.uuid.as_ref().and_then(|uuid| rewritten.get(&uuid.uuid)) else { continue };
        if let Some(covered) = index::coverage(entry) {
            let moved = follow(&covered, &moves, &entry.name)?;
            index::set_coverage(entry, moved);
        }
        entry.uuid.clone_from(&change.new_id);
        entry.files.clone_from(&change.new_index_files);
    }
    Ok(())
}

/// The ids of one group, before and after.
struct Move {
    old: Vec<u32>,
    new: Vec<u32>,
}

/// Whether an index of the version finds rows of fragments that move.
fn is_indexed(version: &Snapshot, moves: &[Move]) -> bool {
    let mut indices = version.indices().iter().filter(|entry| !index::is_system(entry));
    indices.any(|entry| {
        let covered = reuse::coverage(version, entry);
        covered.is_none_or(|covered| moves.iter().flat_map(|group| &group.old).any(|id| covered.contains(*id)))
    })
}

/// Puts the new fragments of a group in the place of the old ones; the new ones with their ids.
fn replace(draft: &mut Draft, group: &RewriteGroup) -> Result<Vec<DataFragment>, LanceError> {
    let old: Vec<u64> = group.old_fragments.iter().map(|fragment| fragment.id).collect();
    if draft.stable_row_ids && group.new_fragments.iter().any(|fragment| fragment.row_id_sequence.is_none()) {
        return Err(invalid(
            "a rewritten fragment has no row ids although the table's rows keep theirs",
            "carry them over",
        ));
    }
    let new = draft.prepare_new(&group.new_fragments, false)?;
    let before = draft.manifest.fragments.len();
    let gone: BTreeSet<u64> = old.iter().copied().collect();
    draft.manifest.fragments.retain(|fragment| !gone.contains(&fragment.id));
    if before.checked_sub(draft.manifest.fragments.len()) != Some(old.len()) {
        return Err(invalid(
            "a fragment that was rewritten is not in the table",
            "read the newest version and plan again",
        ));
    }
    draft.manifest.fragments.extend(new.iter().cloned());
    Ok(new)
}

fn narrow(fragments: &[DataFragment]) -> Vec<u32> {
    fragments.iter().filter_map(|fragment| u32::try_from(fragment.id).ok()).collect()
}

/// The coverage after the groups moved.
fn follow(covered: &RoaringBitmap, moves: &[Move], name: &str) -> Result<RoaringBitmap, LanceError> {
    let mut after = covered.clone();
    for group in moves {
        let inside = group.old.iter().filter(|id| covered.contains(**id)).count();
        if inside == 0 {
            continue;
        }
        if inside != group.old.len() {
            return Err(invalid(
                &format!("index {name} covers only some of the fragments that were rewritten together"),
                "rewrite covered and uncovered fragments in groups of their own",
            ));
        }
        after -= group.old.iter().copied().collect::<RoaringBitmap>();
        after.extend(group.new.iter().copied());
    }
    Ok(after)
}

/// Indices of row ids cover the new fragments as they did the old ones; indices of addresses lose them.
fn follow_row_ids(draft: &mut Draft, moves: &[Move]) -> Result<(), LanceError> {
    for entry in draft.indices.iter_mut().filter(|entry| !index::is_system(entry)) {
        let Some(covered) = index::coverage(entry) else { continue };
        let after = if index::holds_addresses(entry) {
            let old: RoaringBitmap = moves.iter().flat_map(|group| group.old.iter().copied()).collect();
            &covered - &old
        } else {
            follow(&covered, moves, &entry.name)?
        };
        if after != covered {
            index::set_coverage(entry, after);
        }
    }
    Ok(())
}
