//! Asking the rules, with the facts that they need.

use super::images::{Changes, images};
use super::look::{Look, LookAtRows, look};
use super::moves::Moves;
use super::ours;
use crate::facts::facts_of;
use crate::{JudgedBy, LanceError, Landed, Pending, Snapshot};
use lakebed_commit::{Fetched, ObjectName};
use lakebed_conflict::lance::LanceFacts;
use lakebed_conflict::maxcompute::{Compaction, Hints, MaxComputeFacts, judge as judge_matrix};
use lakebed_conflict::precise::{LanceSide, PreciseFacts, PreciseTable, judge_lance, wanted};
use lakebed_transaction::{Judgement, LanceKind, RowsSeen, Verdict};

/// What came of asking.
#[derive(Debug)]
pub(crate) enum Decided {
    /// These objects must be read first.
    Needs(Vec<ObjectName>),
    /// The judgement, and what the rules saw.
    Verdict(Judgement, Box<Seen>),
}

/// What the rules saw of landed.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(super) images: PreciseFacts,
    pub(super) moves: Moves,
}

/// Judges ours against one landed version.
pub(crate) fn decide(
    judged_by: JudgedBy,
    pending: &Pending,
    landed: &Landed,
    fetched: &Fetched,
    looker: Option<&dyn LookAtRows>,
) -> Result<Decided, LanceError> {
    let Some(base) = pending.base.as_deref() else {
        return Ok(Decided::Verdict(Judgement::clear(), Box::default()));
    };
    let mut seen = Seen::default();
    if looks_at_rows(pending.kind()) {
        if pending.rows.facts.get().is_none() {
            match ours::facts(pending, fetched) {
                // Whoever comes second brings the same.
                Ok(facts) => drop(pending.rows.facts.set(facts)),
                Err(needs) => return Ok(Decided::Needs(needs)),
            }
        }
        let changes = Changes::between(base, &landed.snapshot);
        if has_rows(pending) {
            let needs = changes.needs(landed, fetched);
            if !needs.is_empty() {
                return Ok(Decided::Needs(needs));
            }
        }
        (seen.images, seen.moves) = images(landed, &changes, fetched);
    }
    let theirs = match &landed.transaction {
        Some(transaction) => facts_of(transaction.message(), Some(base), Some(&landed.snapshot)),
        None => LanceFacts::default(),
    };
    let judgement = match judged_by {
        JudgedBy::Operations(policy) => {
            policy.judge((pending.kind().at(), &pending.facts), (landed.kind().at(), &theirs))
        }
        JudgedBy::Matrix => by_matrix(pending, landed, &theirs),
        JudgedBy::Rows(table) => match by_rows(table, pending, landed, &theirs, &mut seen, (base, fetched, looker)) {
            Ok(judgement) => judgement,
            Err(needs) => return Ok(Decided::Needs(needs)),
        },
    };
    Ok(Decided::Verdict(judgement, Box::new(seen)))
}

fn by_rows(
    table: &PreciseTable,
    pending: &Pending,
    landed: &Landed,
    theirs: &LanceFacts,
    seen: &mut Seen,
    (base, fetched, looker): (&Snapshot, &Fetched, Option<&dyn LookAtRows>),
) -> Result<Judgement, Vec<ObjectName>> {
    let unknown = PreciseFacts::default();
    let ours = pending.rows.facts.get().unwrap_or(&unknown);
    let side = LanceSide { kind: pending.kind(), definitions: &pending.facts, rows: ours };
    let judged = |images: &PreciseFacts| {
        judge_lance(table, side, LanceSide { kind: landed.kind(), definitions: theirs, rows: images })
    };
    let judgement = judged(&seen.images);
    let Some(wanted) = wanted(ours, &seen.images).filter(|_| judgement.verdict == Verdict::NeedFacts) else {
        return Ok(judgement);
    };
    seen.images.seen = match looker {
        None => RowsSeen::Refused,
        Some(looker) => match look(base, landed, &seen.images, &wanted, (fetched, looker)) {
            Look::Needs(names) => return Err(names),
            Look::Seen(found) => found,
        },
    };
    Ok(judged(&seen.images))
}

fn by_matrix(pending: &Pending, landed: &Landed, theirs: &LanceFacts) -> Judgement {
    // A compaction of a Lance table leaves deleted rows out.
    let hints = |reads_target| Hints { compaction: Compaction::Major, reads_target };
    let read_target = pending.reads.whole_table || !pending.reads.predicates.is_empty();
    let ours = MaxComputeFacts::of_lance(pending.kind(), &pending.facts, hints(Some(read_target)));
    judge_matrix(&ours, &MaxComputeFacts::of_lance(landed.kind(), theirs, hints(None)))
}

/// Whether rows of ours may stand elsewhere after landed, or are judged.
const fn looks_at_rows(ours: LanceKind) -> bool {
    match ours {
        LanceKind::Append | LanceKind::Delete | LanceKind::Update | LanceKind::Overwrite | LanceKind::Rewrite => true,
        LanceKind::CreateIndex
        | LanceKind::DataReplacement
        | LanceKind::DataOverlay
        | LanceKind::Merge
        | LanceKind::Restore
        | LanceKind::ReserveFragments
        | LanceKind::Project
        | LanceKind::UpdateConfig
        | LanceKind::UpdateMemWalState
        | LanceKind::UpdateBases
        | LanceKind::Clone
        | LanceKind::Unknown => false,
    }
}

/// Whether ours looked for rows or takes some out, so that which rows landed deleted matters.
fn has_rows(pending: &Pending) -> bool {
    let Some(ours) = pending.rows.facts.get() else { return false };
    let print = &ours.footprint;
    let reads = !print.predicates.is_empty() || !print.keys.is_empty() || print.read_whole_table;
    reads || !print.removed_units.is_empty() || !print.updated_units.is_empty()
}
