//! Asking the rules, with the facts that they need.

use super::images::{Changes, images};
use super::look::{Look, LookAtRows, look};
use super::moves::{CLUSTERED_BY, Moves};
use super::ours;
use crate::facts::facts_of;
use crate::proto::table::DataFragment;
use crate::proto::table::transaction::Operation;
use crate::{JudgedBy, LanceError, Landed, Pending, Snapshot};
use lakebed_commit::{Fetched, ObjectName};
use lakebed_conflict::lance::LanceFacts;
use lakebed_conflict::maxcompute::{Compaction, Hints, MaxComputeFacts, judge as judge_matrix};
use lakebed_conflict::precise::{LanceSide, PreciseFacts, PreciseTable, is_judged_by_rows, judge_lance, wanted};
use lakebed_transaction::{Judgement, RowsSeen, RowsWanted, Verdict};

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
    let mut seen = match seen(pending, base, landed, fetched) {
        Ok(seen) => seen,
        Err(needs) => return Ok(Decided::Needs(needs)),
    };
    let theirs = definitions(base, landed);
    let judgement = match judged_by {
        JudgedBy::Operations(policy) => {
            policy.judge((pending.kind().at(), &pending.facts), (landed.kind().at(), &theirs))
        }
        JudgedBy::Matrix => by_matrix(pending, base, landed, &theirs),
        JudgedBy::Rows(table) => match by_rows(table, pending, landed, &theirs, &mut seen, (base, fetched, looker)) {
            Ok(judgement) => judgement,
            Err(needs) => return Ok(Decided::Needs(needs)),
        },
    };
    Ok(Decided::Verdict(judgement, Box::new(seen)))
}

/// Judges ours as far as manifests and deletion files tell: the judgement, and the rows that would decide where the verdict is *need
/// facts*. Nothing is looked at.
///
/// # Errors
/// These objects must be read first; one that is answered as absent tells nothing.
pub fn judge_unseen(
    table: &PreciseTable,
    pending: &Pending,
    landed: &Landed,
    fetched: &Fetched,
) -> Result<(Judgement, Option<RowsWanted>), Vec<ObjectName>> {
    let Some(base) = pending.base.as_deref() else { return Ok((Judgement::clear(), None)) };
    let seen = seen(pending, base, landed, fetched)?;
    let theirs = definitions(base, landed);
    let judgement = judged(table, pending, landed, &theirs, &seen.images);
    let open = judgement.verdict == Verdict::NeedFacts;
    let wanted = pending.rows.facts.get().filter(|_| open).and_then(|ours| wanted(ours, &seen.images));
    Ok((judgement, wanted))
}

/// What ours and landed say of rows.
fn seen(pending: &Pending, base: &Snapshot, landed: &Landed, fetched: &Fetched) -> Result<Seen, Vec<ObjectName>> {
    if !is_judged_by_rows(pending.kind()) {
        return Ok(Seen::default());
    }
    if pending.rows.facts.get().is_none() {
        // Whoever comes second brings the same.
        drop(pending.rows.facts.set(ours::facts(pending, fetched)?));
    }
    let changes = Changes::between(base, &landed.snapshot);
    let needs = if has_rows(pending) { changes.needs(landed, fetched) } else { Vec::new() };
    if !needs.is_empty() {
        return Err(needs);
    }
    let (images, moves) = images(landed, &changes, fetched);
    Ok(Seen { images, moves })
}

fn definitions(base: &Snapshot, landed: &Landed) -> LanceFacts {
    match &landed.transaction {
        Some(transaction) => facts_of(transaction.message(), Some(base), Some(&landed.snapshot)),
        None => LanceFacts::default(),
    }
}

fn judged(
    table: &PreciseTable,
    pending: &Pending,
    landed: &Landed,
    theirs: &LanceFacts,
    images: &PreciseFacts,
) -> Judgement {
    let unknown = PreciseFacts::default();
    let rows = pending.rows.facts.get().unwrap_or(&unknown);
    let ours = LanceSide { kind: pending.kind(), definitions: &pending.facts, rows };
    judge_lance(table, ours, LanceSide { kind: landed.kind(), definitions: theirs, rows: images })
}

fn by_rows(
    table: &PreciseTable,
    pending: &Pending,
    landed: &Landed,
    theirs: &LanceFacts,
    seen: &mut Seen,
    (base, fetched, looker): (&Snapshot, &Fetched, Option<&dyn LookAtRows>),
) -> Result<Judgement, Vec<ObjectName>> {
    let judgement = judged(table, pending, landed, theirs, &seen.images);
    let open = pending.rows.facts.get().filter(|_| judgement.verdict == Verdict::NeedFacts);
    let Some(wanted) = open.and_then(|ours| wanted(ours, &seen.images)) else { return Ok(judgement) };
    seen.images.seen = match looker {
        None => RowsSeen::Refused,
        Some(looker) => match look(base, landed, &seen.images, &wanted, (fetched, looker)) {
            Look::Needs(names) => return Err(names),
            Look::Seen(found) => found,
        },
    };
    Ok(judged(table, pending, landed, theirs, &seen.images))
}

fn by_matrix(pending: &Pending, base: &Snapshot, landed: &Landed, theirs: &LanceFacts) -> Judgement {
    let read_target = pending.reads.whole_table || !pending.reads.predicates.is_empty();
    let ours = Hints { compaction: of_ours(pending), reads_target: Some(read_target) };
    let ours = MaxComputeFacts::of_lance(pending.kind(), &pending.facts, ours);
    let hints = Hints { compaction: of_landed(base, landed), reads_target: None };
    judge_matrix(&ours, &MaxComputeFacts::of_lance(landed.kind(), theirs, hints))
}

/// Which compaction ours is, if it is one: a major one leaves deleted rows out, and a minor one brings a deletion file for them.
/// Clustering is a minor one, whatever becomes of deleted rows.
fn of_ours(pending: &Pending) -> Compaction {
    let Some(Operation::Rewrite(rewrite)) = &pending.message.operation else { return Compaction::Unknown };
    let old = rewrite.groups.iter().flat_map(|group| &group.old_fragments);
    dropping(old, rewrite.groups.iter().flat_map(|group| &group.new_fragments))
}

/// The same of landed, by what went and what came.
fn of_landed(base: &Snapshot, landed: &Landed) -> Compaction {
    let changes = Changes::between(base, &landed.snapshot);
    dropping(changes.gone.iter().copied(), changes.came.iter().copied())
}

fn dropping<'a>(
    mut gone: impl Iterator<Item = &'a DataFragment>,
    mut came: impl Iterator<Item = &'a DataFragment>,
) -> Compaction {
    let is_minor = came.any(|fragment| is_worn(fragment) || fragment.metadata.contains_key(CLUSTERED_BY));
    Compaction::dropping_deleted_rows(gone.any(is_worn) && !is_minor)
}

/// Whether rows of a fragment are deleted.
fn is_worn(fragment: &DataFragment) -> bool {
    fragment.deletion_file.is_some()
}

/// Whether ours looked for rows or takes some out, so that which rows landed deleted matters.
fn has_rows(pending: &Pending) -> bool {
    let Some(ours) = pending.rows.facts.get() else { return false };
    let print = &ours.footprint;
    let reads = !print.predicates.is_empty() || !print.keys.is_empty() || print.read_whole_table;
    reads || !print.removed_units.is_empty() || !print.updated_units.is_empty()
}
