//! A compaction of ours under which rows were deleted, or fragments went: the rows are deleted where it put them, and what it made of
//! fragments that are not what they were is left out.

use super::judge::Seen;
use super::moves::Moves;
use super::{DeletedRows, Rows, deleted_rows, same_values};
use crate::pending::Merged;
use crate::proto::table::transaction::rewrite::RewriteGroup;
use crate::proto::table::transaction::{Operation, Rewrite};
use crate::proto::table::{DataFragment, DeletionFile};
use crate::reuse::MovedRows;
use crate::{LanceError, Landed, Pending, Snapshot};
use lakebed_commit::{Fetched, Finished, Need};
use lakebed_naming::lance::{DeletionFileName, DeletionKind};
use lakebed_transaction::{Reason, RowSet, UnitId};
use std::collections::BTreeMap;
use std::sync::Arc;

const NOTHING_LEFT: Reason = Reason {
    check: "input-gone",
    sentence: "landed changed the fragments that ours compacts, and nothing else is left to compact or the indices that ours carried over hold their rows",
    advice: "compact again on the newest version",
    error_class: None,
};

/// What became of a fragment that ours compacts.
enum Fate<'a> {
    Same,
    /// It lost these rows, and ours knows where it put them.
    Lost(&'a RowSet),
    Changed,
}

/// Takes in a landed version. `Err`: a fragment that changed, where nothing is left of ours.
pub(super) fn follow(
    rewrite: &mut Rewrite,
    moved: &mut Option<Arc<MovedRows>>,
    rows: &mut Rows,
    (before, landed, seen): (&Snapshot, &Landed, &Seen),
) -> Result<(), (Reason, u64)> {
    let carries_indices = !rewrite.rewritten_indices.is_empty();
    let fate = |id: u64| -> Fate<'_> {
        let (was, is) = (before.fragment(id), landed.snapshot.fragment(id));
        if was == is {
            return Fate::Same;
        }
        let unit = UnitId::Fragment(id);
        let stays = matches!((was, is), (Some(was), Some(is)) if same_values(was, is));
        let followed = rows.facts.get().is_some_and(|facts| facts.mapped_units.contains(&unit));
        let lost = seen.images.footprint.rows.iter().find(|(lost, _)| *lost == unit);
        match lost.filter(|_| stays && followed && !carries_indices) {
            Some((_, lost)) => Fate::Lost(lost),
            None => Fate::Changed,
        }
    };
    let (mut keeps, mut lost, mut changed) = (Vec::new(), Vec::new(), None);
    for group in &rewrite.groups {
        let found = group.old_fragments.iter().find(|old| matches!(fate(old.id), Fate::Changed));
        changed = changed.or(found.map(|old| old.id));
        keeps.push(found.is_none());
        for old in group.old_fragments.iter().filter(|_| found.is_none()) {
            if let Fate::Lost(rows) = fate(old.id) {
                lost.push((old.id, rows.clone()));
            }
        }
    }
    if let Some(changed) = changed
        && (carries_indices || !keeps.contains(&true))
    {
        return Err((NOTHING_LEFT, changed));
    }
    if changed.is_some() {
        leave_out(&mut rewrite.groups, &keeps);
        if let Some(planned) = &mut rows.planned {
            leave_out(&mut planned.groups, &keeps);
        }
        if let Some(moved) = moved {
            leave_out(&mut Arc::make_mut(moved).groups, &keeps);
        }
    }
    for (id, lost) in lost {
        let marked = rows.marks.get_or_insert_default().entry(id).or_default();
        *marked = marked.union(&lost);
    }
    Ok(())
}

fn leave_out<T>(groups: &mut Vec<T>, keeps: &[bool]) {
    let mut keeps = keeps.iter();
    groups.retain(|_| keeps.next().is_none_or(|keeps| *keeps));
}

/// Gives the fragments of ours deletion files for the rows that were deleted since it read. Such a file has its fragment's id in its
/// name, so that they take the next free ids.
pub(super) fn settle(pending: &mut Pending, base: &Snapshot, fetched: &Fetched) -> Result<Finished, LanceError> {
    let marks = pending.rows.marks.clone().unwrap_or_default();
    let Some(Operation::Rewrite(rewrite)) = &pending.message.operation else { return Ok(Finished::Ready) };
    if marks.is_empty() {
        return Ok(Finished::Ready);
    }
    let mut rewrite = pending.rows.planned.get_or_insert_with(|| rewrite.clone()).clone();
    let moves = match Moves::of_ours(&rewrite, base, fetched) {
        Ok(moves) => moves,
        Err(names) => return Ok(Finished::Needs(names.into_iter().map(Need::Read).collect())),
    };
    let mut gone = BTreeMap::<u64, RowSet>::new();
    for (at, rows) in marks.iter().flat_map(|(id, rows)| moves.places(*id, rows).unwrap_or_default()) {
        let all = gone.entry(at).or_default();
        *all = all.union(&rows);
    }
    let (mut needs, mut numbers, mut free) = (Vec::new(), 0_u64.., free_id(base));
    for RewriteGroup { new_fragments, .. } in &mut rewrite.groups {
        let mut kept = Vec::new();
        for (mut fragment, number) in std::mem::take(new_fragments).into_iter().zip(&mut numbers) {
            if fragment.id == 0 {
                fragment.id = free;
                free += 1;
            }
            match gone.get(&number).map(|rows| marked(pending, base, (number, &fragment, rows), fetched)).transpose()? {
                None => kept.push(fragment),
                Some(Marked::Gone) => {}
                Some(Marked::By(deletion_file)) => {
                    kept.push(DataFragment { deletion_file: Some(deletion_file), ..fragment });
                }
                Some(Marked::Needs(need)) => needs.push(need),
            }
        }
        *new_fragments = kept;
    }
    if !needs.is_empty() {
        return Ok(Finished::Needs(needs));
    }
    pending.message.operation = Some(Operation::Rewrite(rewrite));
    Ok(Finished::Ready)
}

/// The next id that no fragment ever had.
fn free_id(base: &Snapshot) -> u64 {
    let given = base.header().max_fragment_id.map(u64::from);
    given.max(base.fragments().iter().map(|fragment| fragment.id).max()).map_or(0, |id| id.saturating_add(1))
}

/// What becomes of a fragment of ours in which more rows are deleted.
enum Marked {
    /// No row of it is left.
    Gone,
    By(DeletionFile),
    Needs(Need),
}

fn marked(
    pending: &mut Pending,
    base: &Snapshot,
    (number, fragment, rows): (u64, &DataFragment, &RowSet),
    fetched: &Fetched,
) -> Result<Marked, LanceError> {
    let known = pending.rows.merged.get(&number).filter(|merged| merged.on == base.version()).cloned();
    let merged = match known {
        Some(merged) => merged,
        None => {
            let before = match deleted_rows(base, fragment, fetched) {
                DeletedRows::Known(rows) => rows,
                DeletedRows::In(object) => return Ok(Marked::Needs(Need::Read(object))),
                DeletedRows::Lost => return Err(super::settle::lost(base, fragment.id)),
            };
            let all = before.union(rows);
            if all.len() == fragment.physical_rows {
                return Ok(Marked::Gone);
            }
            let (read_version, id) = (base.version(), pending.next_id());
            let name = DeletionFileName { fragment: fragment.id, read_version, id, kind: DeletionKind::Bitmap };
            let merged = Merged::of(base.version(), &name, &all)?;
            pending.rows.merged.insert(number, merged.clone());
            merged
        }
    };
    if fetched.is_written(&merged.name) {
        return Ok(Marked::By(merged.entry));
    }
    Ok(Marked::Needs(Need::Write(merged.name, merged.bytes)))
}
