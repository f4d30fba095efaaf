//! A policy of the engine's own: snapshot validation in the manner of Iceberg.
//!
//! An append is never checked. Whoever takes files out needs them to be there still, and whoever looked for rows must not have missed
//! any. What a compaction adds is nothing new.

use crate::log::{Commit, Operation};
use lakebed_conflict::predicate::{Finding, selects_in_unit};
use lakebed_conflict::{Cell, Check, Marks, Policy, Row};
use lakebed_transaction::{
    BinaryOp, ColumnBounds, Evidence, Expr, Footprint, Judgement, Kind, ReadPredicate, Reason, Scalar, Unit, UnitId,
    Verdict,
};

/// The files that ours takes out must still be there.
static REMOVED_FILES_MUST_EXIST: Check<Footprint> = Check {
    reason: Reason {
        check: "removed-files-must-exist",
        sentence: "both take out the same file",
        advice: "read the newest version and plan the operation again",
        error_class: None,
    },
    verdict: Verdict::Retryable,
    needs: Marks::NONE,
    fires: |ours, landed| {
        let both = ours.removed_units.common(&landed.removed_units, 5);
        (!both.is_empty()).then_some(Evidence::Units(both))
    },
};

/// No landed file may hold rows that ours looked for.
static NEW_FILES_MAY_MATCH: Check<Footprint> = Check {
    reason: Reason {
        check: "new-files-may-match",
        sentence: "landed added a file that may hold rows that ours looked for",
        advice: "read the newest version and look again; a narrower filter meets fewer files",
        error_class: None,
    },
    verdict: Verdict::Retryable,
    needs: Marks::NONE,
    fires: |ours, landed| {
        // A filter that mentions no column has no column to show; then the file itself is the place.
        let met = |unit: &Unit| {
            let mut findings = ours.predicates.iter().map(|read| selects_in_unit(read, unit));
            let finding = findings.find(Finding::is_possible)?;
            Some(finding.evidence.unwrap_or_else(|| Evidence::Units(vec![unit.id.clone()])))
        };
        landed.added_units.iter().find_map(met)
    },
};

const FREE: Cell<Footprint> = Cell::Clear;
const FILES: Cell<Footprint> = Cell::If(&[&REMOVED_FILES_MUST_EXIST]);
const FILES_AND_ROWS: Cell<Footprint> = Cell::If(&[&REMOVED_FILES_MUST_EXIST, &NEW_FILES_MAY_MATCH]);

/// Rows are ours, columns what landed.
pub static VALIDATION: Policy<Footprint, { Operation::COUNT }> = Policy {
    name: "snapshot-validation",
    revision: 1,
    marks: |_, _| Marks::ALL,
    first: &[],
    rows: [
        // Columns: append, overwrite, delete, compact.
        Row { ours: 0, cells: [FREE, FREE, FREE, FREE] },
        Row { ours: 1, cells: [FREE, FILES, FILES, FILES] },
        Row { ours: 2, cells: [FILES_AND_ROWS, FILES_AND_ROWS, FILES_AND_ROWS, FILES] },
        Row { ours: 3, cells: [FREE, FILES, FILES, FILES] },
    ],
}
.checked();

/// Judges two of the engine's commits.
pub fn judge(ours: &Commit, landed: &Commit) -> Judgement {
    let (mine, theirs) = (footprint(ours), footprint(landed));
    VALIDATION.judge((ours.operation.index(), &mine), (landed.operation.index(), &theirs))
}

/// The engine's record in the terms of the rules.
fn footprint(commit: &Commit) -> Footprint {
    let looked_for = |id| Expr::column("id").binary(BinaryOp::Equal, Expr::Literal(Scalar::Int(id)));
    Footprint {
        removed_units: commit.removed.iter().map(|file| UnitId::file(&file.path)).collect(),
        added_units: commit.added.iter().map(unit).collect(),
        predicates: commit
            .looked_for_id
            .map(|id| ReadPredicate { partition: Vec::new(), data: vec![looked_for(id)] })
            .into_iter()
            .collect(),
        ..Footprint::default()
    }
}

fn unit(file: &crate::log::DataFile) -> Unit {
    let bounds =
        |(low, high)| ColumnBounds { min: Some(Scalar::Int(low)), max: Some(Scalar::Int(high)), null_count: Some(0) };
    Unit {
        partition: vec![("day".into(), Scalar::Int(file.day))],
        bounds: file.ids.map(|ids| ("id".into(), bounds(ids))).into_iter().collect(),
        ..Unit::named(UnitId::file(&file.path))
    }
}
