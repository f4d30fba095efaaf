//! Carrying the rows of ours over to where they stand after a landed version.

use super::judge::{Decided, Seen, decide};
use super::layout;
use super::look::LookAtRows;
use super::{Obstacle, Rows};
use crate::proto::table::transaction::{CreateIndex, Operation};
use crate::{JudgedBy, LanceError, Landed, Pending, Snapshot};
use lakebed_commit::{Fetched, ObjectName};
use lakebed_conflict::precise::PreciseFacts;
use lakebed_transaction::{Evidence, Judgement, Reason, RowSet, RowsSeen, UnitId, Verdict};
use std::collections::BTreeMap;

const ROWS_MOVED: Reason = Reason {
    check: "rows-moved",
    sentence: "landed moved rows that ours deletes or changes, and where they stand now is not recorded",
    advice: "read the newest version and plan the operation again",
    error_class: None,
};

/// Takes in a landed version that was accepted, before the base of ours moves; the objects that must be read first, if any.
pub(crate) fn follow(
    judged_by: JudgedBy,
    pending: &mut Pending,
    landed: &Landed,
    fetched: &Fetched,
    looker: Option<&dyn LookAtRows>,
) -> Result<Vec<ObjectName>, LanceError> {
    let (judgement, seen) = match decide(judged_by, pending, landed, fetched, looker)? {
        Decided::Needs(names) => return Ok(names),
        Decided::Verdict(judgement, seen) => (judgement, seen),
    };
    let blocked = match &mut pending.message.operation {
        Some(Operation::Rewrite(rewrite)) => pending.base.as_deref().and_then(|base| {
            layout::follow(rewrite, &mut pending.moved, &mut pending.rows, (base, landed, &seen)).err()
        }),
        Some(Operation::CreateIndex(create)) => {
            drop_by_name(create, landed);
            None
        }
        Some(
            Operation::Append(_)
            | Operation::Delete(_)
            | Operation::Update(_)
            | Operation::Overwrite(_)
            | Operation::Merge(_)
            | Operation::Restore(_)
            | Operation::ReserveFragments(_)
            | Operation::Project(_)
            | Operation::UpdateConfig(_)
            | Operation::DataReplacement(_)
            | Operation::UpdateMemWalState(_)
            | Operation::Clone(_)
            | Operation::UpdateBases(_)
            | Operation::DataOverlay(_),
        )
        | None => pending.base.as_deref().and_then(|base| carry_over(&mut pending.rows, base, landed, &seen).err()),
    };
    if let Some((reason, fragment)) = blocked {
        let evidence = Some(Evidence::Units(vec![UnitId::Fragment(fragment)]));
        let why = Judgement::by(Verdict::Retryable, reason, evidence);
        pending.rows.obstacle = Some(Obstacle { with: landed.version(), landed: landed.describe(), why });
    }
    if let Some(facts) = pending.rows.facts.get_mut() {
        facts.follow(&seen.images, judgement.verdict == Verdict::Reordered);
    }
    Ok(Vec::new())
}

/// Moves the marks of ours to where the rows stand now. `Err`: a fragment whose rows cannot be followed.
fn carry_over(rows: &mut Rows, before: &Snapshot, landed: &Landed, seen: &Seen) -> Result<(), (Reason, u64)> {
    let Some(facts) = rows.facts.get() else { return Ok(()) };
    let first = || -> BTreeMap<u64, RowSet> {
        let fragment = |(unit, rows): &(UnitId, RowSet)| match unit {
            UnitId::Fragment(id) => Some((*id, rows.clone())),
            UnitId::File { .. } => None,
        };
        facts.footprint.rows.iter().filter_map(fragment).collect()
    };
    let mut marks = rows.marks.take().unwrap_or_else(first);
    let looked = if let RowsSeen::Looked(found) = &seen.images.seen { Some(found) } else { None };
    let mut moved = Vec::new();
    for (id, marked) in std::mem::take(&mut marks) {
        match (before.fragment(id), landed.snapshot.fragment(id)) {
            (_, None) => {
                rows.dirty.insert(id);
                match seen.moves.places(id, &marked) {
                    Some(places) => moved.extend(places),
                    // What the look found carried over is marked below; in what changes rows, the others are gone.
                    None if looked.is_some() || seen.images.changes_rows() => {}
                    None => return Err((ROWS_MOVED, id)),
                }
            }
            // Those of its rows that ours still takes out are among what the look found.
            (_, Some(_)) if looked.is_some() && was_looked_at(facts, &seen.images, id) => {
                rows.dirty.insert(id);
            }
            (was, Some(is)) => {
                if was != Some(is) {
                    rows.dirty.insert(id);
                }
                marks.insert(id, marked);
            }
        }
    }
    let carried = looked.filter(|_| facts.follows_met_rows).map_or(&[][..], |found| &found.carried);
    let carried = carried.iter().filter_map(|(unit, rows)| match unit {
        UnitId::Fragment(id) => Some((*id, rows.clone())),
        UnitId::File { .. } => None,
    });
    for (id, found) in moved.into_iter().chain(carried) {
        let marked = marks.entry(id).or_default();
        *marked = marked.union(&found);
        rows.dirty.insert(id);
    }
    rows.marks = Some(marks);
    Ok(())
}

/// Whether a fragment that stayed was among those that a look went through.
fn was_looked_at(ours: &PreciseFacts, landed: &PreciseFacts, fragment: u64) -> bool {
    let (unit, print) = (UnitId::Fragment(fragment), &landed.footprint);
    let touched = |columns: &Vec<i64>| print.columns.iter().any(|column| columns.contains(column));
    let columns = !print.columns.is_empty() && ours.columns_touched.as_ref().is_none_or(touched);
    print.removed_units.contains(&unit) || (columns && print.updated_units.contains(&unit))
}

/// A drop takes out what stands under the name by now.
fn drop_by_name(create: &mut CreateIndex, landed: &Landed) {
    if !create.new_indices.is_empty() {
        return;
    }
    let names: Vec<String> = create.removed_indices.iter().map(|entry| entry.name.clone()).collect();
    let standing = landed.snapshot.indices().iter();
    create.removed_indices = standing.filter(|entry| names.contains(&entry.name)).cloned().collect();
}
