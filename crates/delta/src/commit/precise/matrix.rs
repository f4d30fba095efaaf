//! The matrix of MaxCompute on Delta tables: operations and partitions decide, and rows follow as under the policies that judge them.

use super::{adds, removes};
use crate::action::Action;
use crate::commit::format::Landed;
use crate::commit::pending::Pending;
use lakebed_conflict::maxcompute::{Compaction, Hints, MaxComputeFacts, judge as by_matrix};
use lakebed_conflict::precise::PreciseFacts;
use lakebed_transaction::{Evidence, Judgement, MaxComputeKind, Reason, UnitId, Verdict};

const SCOPE_UNKNOWN: Reason = Reason {
    check: "scope-unknown",
    sentence: "ours replaces a partition by the files that it read, and landed put others there",
    advice: "run the overwrite again on the newest version, or as a statement, which takes its scope when it commits",
    error_class: None,
};

const ROWS_MOVED: Reason = Reason {
    check: "rows-moved",
    sentence: "landed compacted files in which ours deletes or changes rows, and where these rows stand now is not recorded",
    advice: "run the statement again on the newest version; compact with lakebed, which records where rows went",
    error_class: None,
};

/// Judges ours against one landed commit.
pub(super) fn judge(pending: &Pending, ours: &PreciseFacts, landed: &Landed, images: &PreciseFacts) -> Judgement {
    let columns = pending.core.as_ref().map(crate::Core::partition_columns).unwrap_or_default();
    let compaction = |actions: &[Action], clusters: bool| {
        // Clustering is a minor compaction, whatever becomes of deleted rows.
        Compaction::dropping_deleted_rows(!clusters && drops_rows(actions))
    };
    let transaction = &pending.transaction;
    let own = Hints {
        compaction: compaction(&transaction.actions, clusters(|key| transaction.parameters.get(key)?.as_str())),
        // That the rows in an overwrite's scope go is no reading of them.
        reads_target: Some(ours.footprint.reads_rows()),
    };
    let parameters = landed.info().and_then(|info| info.0.get("operationParameters"));
    let their_own = Hints {
        compaction: compaction(landed.actions(), clusters(|key| parameters?.get(key)?.as_str())),
        reads_target: None,
    };
    let mine = MaxComputeFacts::of_delta(&pending.facts, &columns, own);
    let theirs = MaxComputeFacts::of_delta(landed.facts(), &columns, their_own);
    let judgement = by_matrix(&mine, &theirs);
    if !judgement.verdict.accepts() {
        return judgement;
    }
    let scope = pending.transaction.taking.as_ref().and_then(|taking| taking.scope.as_ref());
    if mine.kind == MaxComputeKind::Overwrite && scope.is_none() && mine.partitions.meets(&theirs.partitions) {
        let came = adds(landed.actions()).map(|add| UnitId::file(&add.path)).collect();
        return Judgement::by(Verdict::Retryable, SCOPE_UNKNOWN, Some(Evidence::Units(came)));
    }
    match lost(ours, images).filter(|_| mine.kind == MaxComputeKind::Update) {
        Some(unit) => Judgement::by(Verdict::Retryable, ROWS_MOVED, Some(Evidence::Units(vec![unit]))),
        None => judgement,
    }
}

/// A file in which ours takes rows out and that landed took out, from which ours cannot follow them.
fn lost(ours: &PreciseFacts, landed: &PreciseFacts) -> Option<UnitId> {
    let gone = &landed.footprint.removed_units;
    let follows = |unit: &UnitId| landed.mapped_units.contains(unit) && !ours.copied_units.contains(unit);
    let mut modified = ours.footprint.modified_units();
    ours.followed.moved_to.as_slice().iter().for_each(|unit| modified.insert(unit.clone()));
    modified.as_slice().iter().find(|unit| gone.contains(unit) && !follows(unit)).cloned()
}

/// Whether a compaction puts rows in an order, by the parameters under which clients write down which.
fn clusters<'a>(parameter: impl Fn(&str) -> Option<&'a str>) -> bool {
    ["zOrderBy", "clusterBy"].into_iter().filter_map(parameter).any(|columns| !matches!(columns, "" | "[]"))
}

/// Whether deleted rows of the files that a compaction takes out do not come along.
fn drops_rows(actions: &[Action]) -> bool {
    let had = removes(actions).any(|remove| remove.deletion_vector.is_some());
    had && !adds(actions).any(|add| add.deletion_vector.is_some())
}
