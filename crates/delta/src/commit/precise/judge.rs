//! Asking the rules, with the facts that they need.

use super::look::{Look, LookAtRows, look};
use super::{adds, at_hand, matrix, removes};
use crate::DeltaError;
use crate::action::DeletionVector;
use crate::commit::format::Landed;
use crate::commit::moves::Moves;
use crate::commit::pending::Pending;
use crate::commit::policy::JudgedBy;
use crate::commit::vectors::rows_of;
use lakebed_commit::{Fetched, ObjectName};
use lakebed_conflict::precise::{DeltaSide, PreciseFacts, judge_delta, wanted};
use lakebed_transaction::{Judgement, RowsSeen, Verdict};
use std::collections::BTreeMap;

/// What came of asking.
#[derive(Debug)]
pub(in crate::commit) enum Decided {
    /// These objects must be read first.
    Needs(Vec<ObjectName>),
    /// The judgement, and what the rules saw of landed.
    Verdict(Judgement, Box<PreciseFacts>),
}

/// Judges ours against one landed commit.
pub(in crate::commit) fn decide(
    judged_by: JudgedBy,
    pending: &Pending,
    landed: &Landed,
    fetched: &Fetched,
    looker: Option<&dyn LookAtRows>,
) -> Result<Decided, DeltaError> {
    let ours = pending.rows.facts(&pending.transaction);
    let needs = missing(needed_vectors(ours, landed), fetched);
    if !needs.is_empty() {
        return Ok(Decided::Needs(needs));
    }
    let mut images = landed.images(pending.rows.table.as_deref(), &|vector| at_hand(vector, fetched));
    let table = match judged_by {
        JudgedBy::Rows(table) => table,
        JudgedBy::Files(policy) => {
            return Ok(Decided::Verdict(policy.judge(&pending.facts, landed.facts()), Box::new(images)));
        }
        JudgedBy::Matrix => {
            let judgement = matrix::judge(pending, ours, landed, &images);
            return Ok(Decided::Verdict(judgement, Box::new(images)));
        }
    };
    let judged = |images: &PreciseFacts| {
        let ours = DeltaSide { definitions: &pending.facts, rows: ours };
        judge_delta(table, ours, DeltaSide { definitions: landed.facts(), rows: images })
    };
    let mut judgement = judged(&images);
    if judgement.verdict == Verdict::NeedFacts
        && let Some(wanted) = wanted(ours, &images)
    {
        images.seen = match looker {
            None => RowsSeen::Refused,
            Some(looker) => match look(pending, landed, &images, &wanted, (fetched, looker)) {
                Look::Needs(names) => return Ok(Decided::Needs(names)),
                Look::Seen(seen) => seen,
            },
        };
        judgement = judged(&images);
    }
    Ok(Decided::Verdict(judgement, Box::new(images)))
}

/// The vectors of landed that tell ours which rows went: none for ours that looks for nothing and takes nothing out.
fn needed_vectors(ours: &PreciseFacts, landed: &Landed) -> Vec<DeletionVector> {
    let footprint = &ours.footprint;
    let reads = !footprint.predicates.is_empty() || !footprint.keys.is_empty() || footprint.read_whole_table;
    let mut taken = footprint.modified_units();
    ours.followed.moved_to.as_slice().iter().for_each(|unit| taken.insert(unit.clone()));
    if !reads && taken.is_empty() {
        return Vec::new();
    }
    let added: BTreeMap<_, _> = adds(landed.actions()).map(|add| (&*add.path, add)).collect();
    let mut vectors = Vec::new();
    for remove in removes(landed.actions()) {
        let Some(add) = added.get(&*remove.path) else { continue };
        vectors.extend(remove.deletion_vector.iter().chain(&add.deletion_vector).cloned());
    }
    let follows = Moves::named_sources(landed.actions()).intersects(&taken);
    vectors.extend(Moves::vectors_of(landed.actions()).filter(|_| follows));
    vectors
}

/// The objects of vectors that were not fetched; a vector that cannot be had is not asked for.
pub(super) fn missing(vectors: impl IntoIterator<Item = DeletionVector>, fetched: &Fetched) -> Vec<ObjectName> {
    let mut names = Vec::new();
    for vector in vectors {
        if let Ok(Err(name)) = rows_of(Some(&vector), fetched)
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}
