//! What the rules know of ours.

use super::moves::Moves;
use super::{DeletedRows, deleted_rows};
use crate::Pending;
use crate::proto::table::transaction::{Operation, UpdateMode};
use crate::proto::table::{DataFragment, Transaction as Message};
use lakebed_commit::{Fetched, ObjectName};
use lakebed_conflict::precise::PreciseFacts;
use lakebed_transaction::{Footprint, KeyProbe, LanceKind, PreciseKind, ReadPredicate, RowSet, UnitId, UnitSet};
use std::collections::BTreeMap;

/// The transaction property by which an Append says that it read nothing of the table.
pub const BLIND: &str = "lakebed.blind";

/// The transaction property that names the policy under which this program committed.
const POLICY: &str = "lakebed.policy";

/// What a transaction looked at, captured when it was built.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reads {
    /// Predicates under which rows were looked for.
    pub predicates: Vec<ReadPredicate>,
    /// Keys that were looked up.
    pub keys: Vec<KeyProbe>,
    /// The whole table was read.
    pub whole_table: bool,
    /// It takes out every row that its predicates and keys met, and no other.
    pub all_met: bool,
    /// The ids of the fields by which rows were looked for, from which values were computed, and that were set. `None`: any.
    pub fields: Option<Vec<i64>>,
    /// The new schema is the one that was read, with its metadata.
    pub keeps_schema: bool,
}

impl Reads {
    /// Nothing was looked at.
    #[must_use]
    pub fn nothing() -> Self {
        Self { fields: Some(Vec::new()), ..Self::default() }
    }

    /// What a message alone tells: a Delete and an Update may have looked at any row, and everything else read nothing.
    pub(crate) fn of_message(message: &Message) -> Self {
        match message.operation {
            Some(Operation::Delete(_) | Operation::Update(_)) => Self { whole_table: true, ..Self::default() },
            Some(
                Operation::Append(_)
                | Operation::Overwrite(_)
                | Operation::CreateIndex(_)
                | Operation::Rewrite(_)
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
            | None => Self::nothing(),
        }
    }

    fn is_blind(&self) -> bool {
        self.predicates.is_empty() && self.keys.is_empty() && !self.whole_table
    }
}

/// What the rules know of ours, or the objects that must be read first.
pub(super) fn facts(pending: &Pending, fetched: &Fetched) -> Result<PreciseFacts, Vec<ObjectName>> {
    let kind = match pending.kind() {
        LanceKind::Append => PreciseKind::Insert,
        LanceKind::Delete => PreciseKind::Delete,
        LanceKind::Update => PreciseKind::Change,
        LanceKind::Overwrite => PreciseKind::Overwrite,
        LanceKind::Rewrite => PreciseKind::Layout,
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
        | LanceKind::Unknown => PreciseKind::Note,
    };
    let (reads, written) = (&pending.reads, &pending.facts.footprint);
    let mut ours = PreciseFacts { kind, ..PreciseFacts::default() };
    ours.footprint = Footprint {
        predicates: reads.predicates.clone(),
        keys: reads.keys.clone(),
        read_whole_table: reads.whole_table,
        removed_units: written.removed_units.clone(),
        updated_units: written.updated_units.clone(),
        added_units: written.added_units.clone(),
        blind: kind == PreciseKind::Insert && reads.is_blind(),
        data_change: written.data_change,
        ..Footprint::default()
    };
    if kind == PreciseKind::Delete {
        ours.columns_touched.clone_from(&reads.fields);
    }
    match kind {
        PreciseKind::Delete | PreciseKind::Change => take_rows(pending, fetched, &mut ours)?,
        PreciseKind::Layout => ours.mapped_units = placed(pending, fetched)?,
        PreciseKind::Note | PreciseKind::Insert | PreciseKind::Overwrite | PreciseKind::Unknown | PreciseKind::Hole => {
        }
    }
    Ok(ours)
}

/// The fragments of which a compaction of ours knows where it put every row: those that it did not sort.
fn placed(pending: &Pending, fetched: &Fetched) -> Result<UnitSet, Vec<ObjectName>> {
    match (&pending.message.operation, &pending.base) {
        (Some(Operation::Rewrite(rewrite)), Some(base)) if is_from_here(&pending.message) => {
            Moves::of_ours(rewrite, base, fetched).map(|moves| moves.sources())
        }
        _ => Ok(UnitSet::default()),
    }
}

/// The rows that ours takes out. Where they are not known, or columns were rewritten in place, its fragments count as copies.
fn take_rows(pending: &Pending, fetched: &Fetched, ours: &mut PreciseFacts) -> Result<(), Vec<ObjectName>> {
    let taken = if rewrites_columns(&pending.message) { None } else { taken(pending, fetched)? };
    let Some(taken) = taken else {
        ours.copied_units = ours.footprint.modified_units();
        return Ok(());
    };
    let rows: Vec<(UnitId, RowSet)> =
        taken.into_iter().map(|(fragment, rows)| (UnitId::Fragment(fragment), rows)).collect();
    // Whole fragments go row by row, too: a row of them may stand elsewhere by then.
    ours.footprint.removed_units = UnitSet::default();
    ours.footprint.updated_units = rows.iter().map(|(unit, _)| unit.clone()).collect();
    if pending.reads.all_met {
        ours.matched = Some(rows.clone());
        ours.follows_met_rows = true;
    }
    ours.footprint.rows = rows;
    Ok(())
}

fn rewrites_columns(message: &Message) -> bool {
    matches!(&message.operation, Some(Operation::Update(update)) if update.update_mode == UpdateMode::RewriteColumns as i32)
}

/// The rows that ours takes out, by fragment: as its builder says, else what its deletion files say beyond those that were read.
/// `None`: that cannot be told.
fn taken(pending: &Pending, fetched: &Fetched) -> Result<Option<BTreeMap<u64, RowSet>>, Vec<ObjectName>> {
    if let Some(known) = &pending.affected {
        return Ok(Some(known.clone()));
    }
    let (updated, removed) = changed_fragments(&pending.message);
    let Some(read) = &pending.base else { return Ok(None) };
    let mut needs = Vec::new();
    let mut deleted = |fragment: &DataFragment| match deleted_rows(read, fragment, fetched) {
        DeletedRows::Known(rows) => Some(rows),
        DeletedRows::In(name) => {
            needs.push(name);
            None
        }
        DeletedRows::Lost => None,
    };
    let mut taken = BTreeMap::new();
    let mut is_known = true;
    for fragment in updated {
        let rows = read.fragment(fragment.id).map(|was| (deleted(was), deleted(fragment)));
        match rows {
            Some((Some(before), Some(after))) => {
                taken.insert(fragment.id, after.difference(&before));
            }
            Some(_) | None => is_known = false,
        }
    }
    for id in removed {
        let was = read.fragment(*id).filter(|was| was.physical_rows > 0);
        match was.and_then(|was| Some((was.physical_rows, deleted(was)?))) {
            Some((rows, before)) => {
                taken.insert(*id, (0..rows).collect::<RowSet>().difference(&before));
            }
            None => is_known = false,
        }
    }
    if !needs.is_empty() {
        return Err(needs);
    }
    Ok(is_known.then_some(taken))
}

/// The fragments that a Delete or Update changes, and those that it removes.
pub(super) fn changed_fragments(message: &Message) -> (&[DataFragment], &[u64]) {
    if let Some(Operation::Delete(delete)) = &message.operation {
        return (&delete.updated_fragments, &delete.deleted_fragment_ids);
    }
    if let Some(Operation::Update(update)) = &message.operation {
        return (&update.updated_fragments, &update.removed_fragment_ids);
    }
    (&[], &[])
}

/// Whether a landed Append says of itself that it read nothing.
pub(super) fn says_blind(message: &Message) -> bool {
    message.transaction_properties.get(BLIND).is_some_and(|text| text == "true")
}

/// Whether this program built what landed, whose compactions keep the order of rows.
pub(super) fn is_from_here(message: &Message) -> bool {
    message.transaction_properties.contains_key(POLICY)
}
