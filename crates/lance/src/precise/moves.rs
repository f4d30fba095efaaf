//! Where a compaction put the rows of the fragments that it joined.

use super::images::Changes;
use super::{at_hand, ours};
use crate::proto::table::DataFragment;
use crate::proto::table::data_fragment::RowIdSequence;
use crate::proto::table::transaction::Operation;
use crate::proto::table::transaction::rewrite::RewriteGroup;
use crate::row_ids::RowIds;
use crate::{Landed, facts};
use lakebed_commit::Fetched;
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
            let sorted = group.new_fragments.iter().any(|new| new.metadata.contains_key(CLUSTERED_BY));
            let ordered = (from_here && !sorted) || facts::is_recorded(changes.after, &ids);
            moves.0.extend(of_group(group, changes, fetched, ordered).unwrap_or_default());
        }
        moves
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

fn of_group(
    group: &RewriteGroup,
    changes: &Changes<'_>,
    fetched: &Fetched,
    ordered: bool,
) -> Option<BTreeMap<u64, Move>> {
    let sources = group.old_fragments.iter().map(|old| changes.gone.iter().find(|was| was.id == old.id).copied());
    let sources: Vec<&DataFragment> = sources.collect::<Option<_>>()?;
    let targets = group.new_fragments.iter().map(|new| {
        // The ids of new fragments are given at commit; their files tell which is which.
        changes
            .came
            .iter()
            .find(|is| is.files.first().map(|file| &file.path) == new.files.first().map(|file| &file.path))
    });
    let targets: Vec<&DataFragment> = targets.map(|found| found.copied()).collect::<Option<_>>()?;
    let total = targets.iter().try_fold(0_u64, |sum, target| sum.checked_add(target.physical_rows))?;
    let physical = sources.iter().try_fold(0_u64, |sum, source| sum.checked_add(source.physical_rows))?;
    let keeps_deleted = total == physical;
    let mut moves = BTreeMap::new();
    let mut offset = 0;
    let rows: Arc<[(u64, u64)]> = targets.iter().map(|target| (target.id, target.physical_rows)).collect();
    for source in &sources {
        let dropped = if keeps_deleted { RowSet::new() } else { at_hand(changes.before, source, fetched)? };
        let shift = Shift { offset, rows: source.physical_rows, dropped };
        offset = shift.end()?;
        moves.insert(source.id, Move { shift, targets: Arc::clone(&rows) });
    }
    (offset == total && (ordered || keeps_ids(&sources, &targets, &moves))).then_some(moves)
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
