//! The `precise` tables on Lance tables: what stands beside the rows is judged by Lance's own checks, by field and by name.

use super::{PreciseFacts, PreciseTable, judge};
use crate::lance::{DEFINITIONS, LanceFacts};
use lakebed_transaction::{Judgement, LanceKind, Verdict};

/// One side on a Lance table.
#[derive(Clone, Copy, Debug)]
pub struct LanceSide<'a> {
    /// The operation.
    pub kind: LanceKind,
    /// Schema, indices, configuration, shards, base paths.
    pub definitions: &'a LanceFacts,
    /// Rows.
    pub rows: &'a PreciseFacts,
}

/// Judges ours against one landed transaction: definitions by Lance's checks, rows by the table.
///
/// Whoever goes on calls [`PreciseFacts::follow`].
pub fn judge_lance(table: &PreciseTable, ours: LanceSide<'_>, landed: LanceSide<'_>) -> Judgement {
    let definitions = judge_definitions(ours, landed);
    if !definitions.verdict.accepts() || !is_judged_by_rows(ours.kind) {
        return definitions;
    }
    let rows = judge(table, ours.rows, landed.rows);
    if rows.verdict == Verdict::Compatible { definitions } else { rows }
}

fn judge_definitions(ours: LanceSide<'_>, landed: LanceSide<'_>) -> Judgement {
    DEFINITIONS.judge((ours.kind.at(), ours.definitions), (landed.kind.at(), landed.definitions))
}

/// Whether the rows of ours are judged, too, and may have to be followed to where landed put them: what only lays columns over fragments by
/// position, or changes definitions, is not.
#[must_use]
pub const fn is_judged_by_rows(ours: LanceKind) -> bool {
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
