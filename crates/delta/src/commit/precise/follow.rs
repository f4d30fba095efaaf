//! Carrying the rows of ours over to where they stand after a landed commit.

use super::judge::{Decided, decide, missing};
use super::look::LookAtRows;
use super::{adds, at_hand, removes};
use crate::DeltaError;
use crate::commit::format::Landed;
use crate::commit::images::has_vectors;
use crate::commit::moves::Moves;
use crate::commit::pending::Pending;
use crate::commit::policy::JudgedBy;
use crate::commit::vectors::Obstacle;
use crate::path;
use lakebed_commit::{Fetched, ObjectName};
use lakebed_conflict::precise::PreciseFacts;
use lakebed_conflict::predicate::{Selects, selects_in_unit};
use lakebed_transaction::{Judgement, PreciseKind, ReadPredicate, Reason, RowsSeen, UnitId, Verdict};
use std::collections::BTreeSet;

const INPUT_LOST: Reason = Reason {
    check: "input-gone",
    sentence: "landed took out rows that ours compacts, and where ours put them is not recorded",
    advice: "compact again on the newest version",
    error_class: Some("DELTA_CONCURRENT_DELETE_READ"),
};

const SCOPE_OPEN: Reason = Reason {
    check: "scope-taken-anew",
    sentence: "whether a file that landed added stands in the range that ours overwrites cannot be told by its partition values",
    advice: "run the statement again on the newest version",
    error_class: Some("DELTA_CONCURRENT_APPEND"),
};

/// Follows a landed commit that was accepted; the objects that must be read first, if any.
pub(in crate::commit) fn follow(
    judged_by: JudgedBy,
    pending: &mut Pending,
    landed: &Landed,
    fetched: &Fetched,
    looker: Option<&dyn LookAtRows>,
) -> Result<Vec<ObjectName>, DeltaError> {
    let (judgement, images) = match decide(judged_by, pending, landed, fetched, looker)? {
        Decided::Needs(names) => return Ok(names),
        Decided::Verdict(judgement, images) => (judgement, images),
    };
    let ours = pending.rows.facts(&pending.transaction);
    let compacts = ours.kind == PreciseKind::Layout;
    if compacts {
        let needs = missing(Moves::vectors_of(&pending.transaction.actions), fetched);
        if !needs.is_empty() {
            return Ok(needs);
        }
    }
    let vectors = |vector: &_| at_hand(vector, fetched);
    let own = compacts.then(|| Moves::of(&pending.transaction.actions, &vectors));
    let own =
        own.map(|own| if pending.rows.table.as_deref().is_some_and(has_vectors) { own } else { Moves::default() });
    if let Some(facts) = pending.rows.facts.get() {
        pending.rows.places.start(facts);
    }
    let followed = take_in(pending, landed, &images, &Moves::of(landed.actions(), &vectors), own.as_ref());
    if let Err(reason) = followed {
        let why = Judgement::by(Verdict::Retryable, reason, None);
        pending.rows.obstacle = Some(Obstacle { with: landed.version(), why });
    }
    pending.rows.places.stand(landed.actions());
    if let Some(facts) = pending.rows.facts.get_mut() {
        facts.follow(&images, judgement.verdict == Verdict::Reordered);
    }
    Ok(Vec::new())
}

fn take_in(
    pending: &mut Pending,
    landed: &Landed,
    images: &PreciseFacts,
    moves: &Moves,
    own: Option<&Moves>,
) -> Result<(), Reason> {
    let scope = pending.transaction.taking.as_ref().and_then(|taking| taking.scope.clone());
    let places = &mut pending.rows.places;
    let came: BTreeSet<_> = adds(landed.actions()).map(|add| path::identity(&add.path).into_owned()).collect();
    let nowhere = Moves::default();
    // What stands in an overwrite's scope goes wherever it is.
    let moves = if scope.is_some() { &nowhere } else { moves };
    for remove in removes(landed.actions()) {
        let identity = path::identity(&remove.path);
        if !came.contains(&*identity) {
            places.gone(&identity, moves, own).map_err(|()| INPUT_LOST)?;
            continue;
        }
        if places.marks.contains_key(&*identity) || places.wholes.contains(&*identity) {
            places.dirty.insert(identity.clone().into_owned());
        }
        if let Some(own) = own.filter(|_| places.wholes.contains(&*identity)) {
            let unit = UnitId::file(&remove.path);
            let lost = images.footprint.rows.iter().find(|(id, _)| *id == unit).ok_or(INPUT_LOST)?;
            places.lost(&identity, &lost.1, own).map_err(|()| INPUT_LOST)?;
        }
    }
    if let Some(scope) = scope {
        return take_scope(pending, landed, images, &scope);
    }
    let follows = pending.rows.facts.get().is_some_and(|facts| facts.follows_met_rows);
    if let RowsSeen::Looked(found) = &images.seen
        && follows
    {
        for (unit, rows) in &found.carried {
            if let UnitId::File { path, .. } = unit {
                pending.rows.places.mark(path, rows);
            }
        }
    }
    Ok(())
}

/// What landed put into the scope of an overwrite goes, too.
fn take_scope(
    pending: &mut Pending,
    landed: &Landed,
    images: &PreciseFacts,
    scope: &ReadPredicate,
) -> Result<(), Reason> {
    for add in adds(landed.actions()) {
        let identity = path::identity(&add.path).into_owned();
        let id = UnitId::file(&add.path);
        if pending.rows.places.wholes.contains(&identity) {
            continue;
        }
        let known = images.footprint.added_units.iter().chain(&images.known_units).find(|unit| unit.id == id);
        match known.map(|unit| selects_in_unit(scope, unit).selects) {
            Some(Selects::Never) => {}
            Some(Selects::Always) => {
                pending.rows.places.dirty.insert(identity.clone());
                pending.rows.places.wholes.insert(identity);
            }
            Some(Selects::Possibly) | None => return Err(SCOPE_OPEN),
        }
    }
    Ok(())
}
