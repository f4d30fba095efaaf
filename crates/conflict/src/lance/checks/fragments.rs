//! Fragments, rows and cells.

use super::{PLAN_AGAIN, check, gone_fragments, shared_fields, shared_fragments};
use crate::lance::marks;
use crate::lance::{FileList, LanceFacts, OverlayFacts, UpdateMode};
use lakebed_transaction::{Evidence, RowSet, UnitId, UnitSet};

check! {
    /// Both sides change one fragment, and there are no rows to tell them apart.
    OVERLAP, Retryable, "fragment-overlap",
    "both transactions change or replace the same fragment",
    "read the newest version and plan the operation again; a smaller scope per transaction meets others less often",
    needs marks::FRAGMENTS,
    shared_fragments,
}

check! {
    /// A row-level rebase needs to know ours' rows; a Delete or Update that only removes whole fragments has none.
    ROWS_UNKNOWN, Retryable, "affected-rows-unknown",
    "both transactions change the same fragment and ours does not say which of its rows it takes out",
    "read the newest version and plan the operation again, or give the rows with the transaction",
    needs marks::FRAGMENTS,
    rows_unknown,
}

check! {
    /// Rows are addressed by position; other data files may hold other values at the same position.
    FILES_CHANGED, Retryable, "data-files-changed",
    "landed put other data files into a fragment that ours changes",
    PLAN_AGAIN,
    needs marks::FRAGMENTS.and(marks::FILES),
    files_changed,
}

check! {
    /// Nothing is left to delete from.
    FRAGMENT_GONE, Retryable, "fragment-removed",
    "landed removed a fragment that ours changes",
    PLAN_AGAIN,
    needs marks::FRAGMENTS.and(marks::REMOVED),
    gone_fragments,
}

check! {
    /// The format compares the rows when it finishes: a common row makes it retryable, else deletions are united.
    ROWS_COMPARED, Rebase, "rows-compared",
    "both transactions delete rows of the same fragment; their deletions are united if no row is in both",
    "nothing to do, unless a row turns out to be in both",
    needs marks::FRAGMENTS,
    shared_fragments,
}

check! {
    /// An Update by columns writes post-images without the overlaid cells.
    OVERLAY_ON_COLUMN, Retryable, "overlay-on-rewritten-column",
    "landed put an overlay over a column of a fragment in which ours rewrote that column",
    PLAN_AGAIN,
    overlay_on_column,
}

check! {
    /// An Update by rows copied the values as they were before the overlay.
    OVERLAY_ON_MOVED_ROW, Retryable, "overlay-on-moved-row",
    "landed put an overlay over rows that ours moves to new fragments, or may move",
    PLAN_AGAIN,
    overlay_on_moved_row,
}

check! {
    /// A file cannot replace a column of a fragment that is gone.
    TARGET_GONE, Incompatible, "replaced-fragment-removed",
    "landed removed a fragment whose data file ours replaces",
    "drop the fragment from the replacement; its rows are gone",
    needs marks::FRAGMENTS.and(marks::REMOVED),
    gone_fragments,
}

check! {
    /// The replacement was computed from rows or values that have moved or changed.
    TARGET_REWRITTEN, Retryable, "replaced-fragment-updated",
    "landed moved rows out of a fragment, or changed a column, that ours replaces",
    PLAN_AGAIN,
    target_rewritten,
}

check! {
    /// Two files for one column of one fragment.
    REPLACED_TWICE, Retryable, "column-replaced-twice",
    "both transactions replace the same column of the same fragment",
    PLAN_AGAIN,
    replaced_twice,
}

check! {
    /// An overlay needs its fragment.
    OVERLAID_GONE, Retryable, "overlaid-fragment-removed",
    "landed removed a fragment over which ours puts an overlay",
    PLAN_AGAIN,
    needs marks::FRAGMENTS.and(marks::REMOVED),
    gone_fragments,
}

check! {
    /// The format compares deletions with the overlay's coverage when it finishes.
    OVERLAID_ROWS_COMPARED, Rebase, "overlaid-rows-compared",
    "landed moved rows out of a fragment over which ours puts an overlay; both stand if none of them is covered",
    "nothing to do, unless a moved row turns out to be covered",
    needs marks::FRAGMENTS,
    |ours, landed| if moves_rows(landed) { shared_fragments(ours, landed) } else { None },
}

fn rows_unknown(ours: &LanceFacts, landed: &LanceFacts) -> Option<Evidence> {
    if knows_rows(ours) && names_rows_of_shared(ours, landed) { None } else { shared_fragments(ours, landed) }
}

/// Whether ours names rows of every fragment that both change.
fn names_rows_of_shared(ours: &LanceFacts, landed: &LanceFacts) -> bool {
    let (rows, theirs) = (&ours.footprint.rows, &landed.footprint);
    let updated = ours.footprint.updated_units.as_slice();
    if ours.footprint.removed_units.is_empty() && rows.iter().map(|(id, _)| id).eq(updated) {
        return true;
    }
    // Both lists usually ascend, so the next fragment is looked for from where the last one was found.
    let mut next = 0;
    let mut named = |unit: &UnitId| {
        let (before, after) = rows.split_at(next.min(rows.len()));
        let found = after.iter().chain(before).position(|(id, _)| id == unit);
        next = found.map_or(next, |steps| (next + steps + 1) % rows.len().max(1));
        found.is_some()
    };
    let mut all_named = |mine: &UnitSet| {
        mine.every_common(&theirs.updated_units, &mut named) && mine.every_common(&theirs.removed_units, &mut named)
    };
    all_named(&ours.footprint.updated_units) && all_named(&ours.footprint.removed_units)
}

fn knows_rows(facts: &LanceFacts) -> bool {
    facts.affected_rows_known && !facts.footprint.updated_units.is_empty()
}

/// Rows leave their fragments for new ones.
fn moves_rows(facts: &LanceFacts) -> bool {
    !facts.footprint.added_units.is_empty() && mode_is(facts, UpdateMode::RewriteRows)
}

fn mode_is(facts: &LanceFacts, mode: UpdateMode) -> bool {
    facts.update.as_ref().is_some_and(|update| update.mode == mode)
}

fn fields_modified(facts: &LanceFacts) -> &[i64] {
    facts.update.as_ref().map_or(&[], |update| &update.fields_modified)
}

#[inline]
fn changes(facts: &LanceFacts, unit: &UnitId) -> bool {
    facts.footprint.updated_units.contains(unit) || facts.footprint.removed_units.contains(unit)
}

fn files_changed(ours: &LanceFacts, landed: &LanceFacts) -> Option<Evidence> {
    let other = |(fragment, files): &&(u64, FileList)| {
        changes(ours, &UnitId::Fragment(*fragment)) && files_at(&ours.files_read, *fragment) != Some(files)
    };
    let (fragment, _) = landed.files_written.iter().find(other)?;
    Some(Evidence::Units(vec![UnitId::Fragment(*fragment)]))
}

fn files_at(lists: &[(u64, FileList)], fragment: u64) -> Option<&FileList> {
    let at = lists.binary_search_by_key(&fragment, |(id, _)| *id).ok()?;
    lists.get(at).map(|(_, files)| files)
}

fn overlay_on_column(ours: &LanceFacts, landed: &LanceFacts) -> Option<Evidence> {
    if !mode_is(ours, UpdateMode::RewriteColumns) {
        return None;
    }
    landed.overlays.iter().find_map(|overlay| {
        let unit = UnitId::Fragment(overlay.fragment);
        (ours.footprint.updated_units.contains(&unit) && fields_modified(ours).contains(&overlay.field))
            .then(|| Evidence::text(format!("{unit}, field {}", overlay.field)))
    })
}

fn overlay_on_moved_row(ours: &LanceFacts, landed: &LanceFacts) -> Option<Evidence> {
    if !moves_rows(ours) {
        return None;
    }
    landed.overlays.iter().find_map(|overlay| covered_moved_rows(ours, overlay))
}

fn covered_moved_rows(ours: &LanceFacts, overlay: &OverlayFacts) -> Option<Evidence> {
    let unit = UnitId::Fragment(overlay.fragment);
    if !changes(ours, &unit) {
        return None;
    }
    let moved = ours.footprint.rows.iter().find(|(id, _)| *id == unit).map(|(_, rows)| rows);
    let (true, Some(moved)) = (knows_rows(ours), moved) else {
        return Some(Evidence::Units(vec![unit]));
    };
    let common: RowSet = overlay.rows.as_ref().map_or_else(|| moved.clone(), |covered| covered.intersection(moved));
    (!common.is_empty()).then_some(Evidence::Rows(unit, common))
}

fn target_rewritten(ours: &LanceFacts, landed: &LanceFacts) -> Option<Evidence> {
    ours.replacements.iter().find_map(|(fragment, fields)| {
        let unit = UnitId::Fragment(*fragment);
        if !landed.footprint.updated_units.contains(&unit) {
            return None;
        }
        if moves_rows(landed) {
            return Some(Evidence::Units(vec![unit]));
        }
        shared_fields(fields, fields_modified(landed))
    })
}

fn replaced_twice(ours: &LanceFacts, landed: &LanceFacts) -> Option<Evidence> {
    ours.replacements.iter().find_map(|(fragment, fields)| {
        let mut same = landed.replacements.iter().filter(|(other, _)| other == fragment);
        same.find_map(|(_, others)| shared_fields(fields, others))
    })
}
