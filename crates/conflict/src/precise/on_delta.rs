//! The `precise` tables on Delta tables: what stands beside the rows is judged by Delta's own checks.

use super::{PreciseFacts, PreciseTable, judge};
use crate::delta::{DEFINITIONS, DeltaFacts, DeltaPolicy};
use lakebed_transaction::{Judgement, Kind, Verdict};

/// One side on a Delta table.
#[derive(Clone, Copy, Debug)]
pub struct DeltaSide<'a> {
    /// Protocol, metadata, domains, applications.
    pub definitions: &'a DeltaFacts,
    /// Rows.
    pub rows: &'a PreciseFacts,
}

/// Judges ours against one landed commit: protocol, metadata, domains and applications by Delta's checks, rows by the table.
///
/// Whoever goes on calls [`DeltaFacts::follow`] and [`PreciseFacts::follow`].
pub fn judge_delta(table: &PreciseTable, ours: DeltaSide<'_>, landed: DeltaSide<'_>) -> Judgement {
    let alone = DeltaPolicy::TableLevel.judge_alone(ours.definitions);
    if !alone.verdict.accepts() {
        return alone;
    }
    let kinds = (ours.definitions.kind.index(), landed.definitions.kind.index());
    let definitions = DEFINITIONS.judge((kinds.0, ours.definitions), (kinds.1, landed.definitions));
    if !definitions.verdict.accepts() {
        return definitions;
    }
    let rows = judge(table, ours.rows, landed.rows);
    if rows.verdict == Verdict::Compatible { definitions } else { rows }
}
