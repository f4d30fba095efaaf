//! Where a compaction put the rows of the fragments that it joined.

use super::images::Changes;
use super::{at_hand, ours, unread};
use crate::proto::table::DataFragment;
use crate::proto::table::data_fragment::RowIdSequence;
use crate::proto::table::transaction::rewrite::RewriteGroup;
use crate::proto::table::transaction::{Operation, Rewrite};
use crate::row_ids::RowIds;
use crate::{Landed, Snapshot, facts};
use lakebed_commit::{Fetched, ObjectName};
use lakebed_transaction::{RowSet, Shift, UnitId, UnitSet};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The metadata key under which a fragment says by which fields its rows were put in order: they do not stand as they stood before.
pub const CLUSTERED_BY: &str = "lakebed.clusteredBy";

/// The moves of one landed version, by the fragment that went.
#[derive(Clone, Debug, Default)]
pub(super) struct Moves(BTreeMap<u64, Move>);

/// The rows of one source among those of its group.
#[derive(Clone, Debug)]
struct Move {
    shift: Shift,
    /// The fragments that came for the group, in order, with their physical rows.
    targets: Arc<[(u64, u64)]>,
}

impl Moves {
    /// What is known: a group that keeps the order of rows, because this program made it, because the record of fragment reuse has
    /// it, or because the ids of rows say so, and that adds up.
    pub(super) fn of(landed: &Landed, changes: &Changes<'_>, fetched: &Fetched) -> Self {
        let mut moves = Self::default();
        let Some(transaction) = landed.transaction() else { return moves };
        let Some(Operation::Rewrite(rewrite)) = transaction.operation() else { return moves };
        let from_here = ours::is_from_here(transaction.message());
        for group in &rewrite.groups {
            let ids: Vec<u64> = group.old_fragments.iter().map(|fragment| fragment.id).collect();
            let ordered = (from_here && !is_sorted(group)) || facts::is_recorded(changes.after, &ids);
            moves.0.extend(of_group(group, (landed, changes), fetched, ordered).unwrap_or_default());
        }
        moves
    }

    /// Those of a compaction of ours, which keeps the order of rows where it does not say that it sorted them. The fragments that it makes
    /// have no ids yet: they are counted through. `Err`: these objects must be read first.
    pub(super) fn of_ours(rewrite: &Rewrite, read: &Snapshot, fetched: &Fetched) -> Result<Self, Vec<ObjectName>> {
        let (mut moves, mut needs, mut numbers) = (Self::default(), Vec::new(), 0_u64..);
        for group in &rewrite.groups {
            let targets = group.new_fragments.iter().zip(&mut numbers);
            let targets: Vec<(u64, u64)> = targets.map(|(new, number)| (number, new.physical_rows)).collect();
            if is_sorted(group) {
                continue;
            }
            let sources: Vec<&DataFragment> = group.old_fragments.iter().collect();
            if !keeps_deleted(&sources, &targets) {
                needs.extend(unread(sources.iter().map(|source| (read, *source)), fetched));
            }
            moves.0.extend(joined(&sources, &targets, read, fetched).unwrap_or_default());
        }
        if needs.is_empty() { Ok(moves) } else { Err(needs) }
    }

    /// The fragments whose rows can be followed.
    pub(super) fn sources(&self) -> UnitSet {
        self.0.keys().map(|id| UnitId::Fragment(*id)).collect()
    }

    /// Where rows of a fragment stand now; `None` where that is not known.
    pub(super) fn places(&self, fragment: u64, rows: &RowSet) -> Option<Vec<(u64, RowSet)>> {
        let Move { shift, targets } = self.0.get(&fragment)?;
        let moved = shift.places(rows);
        let mut first = 0_u64;
        let mut found = Vec::new();
        for (id, physical_rows) in targets.iter() {
            let end = first.saturating_add(*physical_rows);
            let here: RowSet = moved
                .iter()
                .skip_while(|row| *row < first)
                .take_while(|row| *row < end)
                .map(|row| row - first)
                .collect();
            if !here.is_empty() {
                found.push((*id, here));
            }
            first = end;
        }
        Some(found)
    }
}

/// A fragment that landed took out, as it was when landed read it: rows that were deleted since are deleted where they went.
pub(super) fn as_read<'a>(landed: &'a Landed, was: &'a DataFragment) -> &'a DataFragment {
    let operation = landed.transaction().and_then(|transaction| transaction.operation());
    let Some(Operation::Rewrite(rewrite)) = operation else { return was };
    let mut read = rewrite.groups.iter().flat_map(|group| &group.old_fragments);
    read.find(|old| old.id == was.id && old.files == was.files).unwrap_or(was)
}

fn is_sorted(group: &RewriteGroup) -> bool {
    group.new_fragments.iter().any(|new| new.metadata.contains_key(CLUSTERED_BY))
}

fn of_group(
    group: &RewriteGroup,
    (landed, changes): (&Landed, &Changes<'_>),
    fetched: &Fetched,
    ordered: bool,
) -> Option<BTreeMap<u64, Move>> {
    let sources = group.old_fragments.iter().map(|old| changes.gone.iter().find(|was| was.id == old.id).copied());
    let sources: Vec<&DataFragment> = sources.map(|was| Some(as_read(landed, was?))).collect::<Option<_>>()?;
    let targets = group.new_fragments.iter().map(|new| {
        // The ids of new fragments are given at commit; their files tell which is which.
        changes
            .came
            .iter()
            .find(|is| is.files.first().map(|file| &file.path) == new.files.first().map(|file| &file.path))
    });
    let targets: Vec<&DataFragment> = targets.map(|found| found.copied()).collect::<Option<_>>()?;
    let places: Vec<(u64, u64)> = targets.iter().map(|target| (target.id, target.physical_rows)).collect();
    let moves = joined(&sources, &places, changes.before, fetched)?;
    (ordered || keeps_ids(&sources, &targets, &moves)).then_some(moves)
}

/// Whether deleted rows come along, by the numbers of rows.
fn keeps_deleted(sources: &[&DataFragment], targets: &[(u64, u64)]) -> bool {
    let total = |rows: &mut dyn Iterator<Item = u64>| rows.fold(0_u64, u64::saturating_add);
    total(&mut sources.iter().map(|source| source.physical_rows)) == total(&mut targets.iter().map(|(_, rows)| *rows))
}

/// The rows of sources behind each other in targets, each with its name and its rows. `None` where the numbers do not add up.
fn joined(
    sources: &[&DataFragment],
    targets: &[(u64, u64)],
    version: &Snapshot,
    fetched: &Fetched,
) -> Option<BTreeMap<u64, Move>> {
    let keeps_deleted = keeps_deleted(sources, targets);
    let total = targets.iter().try_fold(0_u64, |sum, (_, rows)| sum.checked_add(*rows))?;
    let mut moves = BTreeMap::new();
    let mut offset = 0;
    let targets: Arc<[(u64, u64)]> = targets.into();
    for source in sources {
        let dropped = if keeps_deleted { RowSet::new() } else { at_hand(version, source, fetched)? };
        let shift = Shift { offset, rows: source.physical_rows, dropped };
        offset = shift.end()?;
        moves.insert(source.id, Move { shift, targets: Arc::clone(&targets) });
    }
    (offset == total).then_some(moves)
}

/// Whether the ids of rows, on a table whose rows keep theirs, stand in the targets in the order of the sources.
fn keeps_ids(sources: &[&DataFragment], targets: &[&DataFragment], moves: &BTreeMap<u64, Move>) -> bool {
    let ids = |fragment: &DataFragment| match &fragment.row_id_sequence {
        Some(RowIdSequence::InlineRowIds(bytes)) => RowIds::decode(bytes),
        Some(RowIdSequence::ColumnRowIds(_)) | None => None,
    };
    let (Some(old), Some(new)) = (
        sources.iter().map(|source| ids(source)).collect::<Option<Vec<_>>>(),
        targets.iter().map(|target| ids(target)).collect::<Option<Vec<_>>>(),
    ) else {
        return false;
    };
    let dropped = |id: u64| moves.get(&id).map(|moved| &moved.shift.dropped);
    let kept = sources.iter().zip(&old).flat_map(|(source, ids)| {
        let gone = dropped(source.id);
        (0_u64..).zip(ids.iter()).filter(move |(row, _)| gone.is_none_or(|gone| !gone.contains(*row))).map(|(_, id)| id)
    });
    kept.eq(new.iter().flat_map(RowIds::iter))
}
