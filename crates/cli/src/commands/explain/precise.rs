//! Transactions of either format under the `precise` policies.

use super::case::{Answer, Bases, Case, decisive};
use super::delta;
use crate::error::CliError;
use lakebed_conflict::precise::{DeltaSide, PRECISE, PRECISE_REORDER, PreciseTable, judge_delta, wanted};
use lakebed_delta::inline_rows;
use lakebed_sql::print;
use lakebed_transaction::{Expr, RowsWanted, UnitId, Verdict};
use serde_json::{Value, json};

/// The table of this name.
pub(super) fn named(policy: &str) -> Option<&'static PreciseTable> {
    [&PRECISE, &PRECISE_REORDER].into_iter().find(|table| table.name == policy)
}

/// Judges as a commit does, up to the first refusal or the first rows that would have to be looked at.
pub(super) async fn judge(case: &Case, table: &'static PreciseTable, bases: &mut Bases) -> Result<Answer, CliError> {
    match case.ours.extension().and_then(|ending| ending.to_str()) {
        Some("json") => on_delta(case, table, bases).await,
        Some("txn") => super::lance::by_rows(case, table, bases),
        Some(_) | None => Err(CliError::usage(
            format!("{} cannot be judged under {}", case.ours.display(), table.name),
            "give a Delta commit (.json) or a Lance transaction (.txn)",
        )),
    }
}

async fn on_delta(case: &Case, table: &'static PreciseTable, bases: &mut Bases) -> Result<Answer, CliError> {
    let (transaction, core) = delta::ours(case, bases).await?;
    let base = match &case.base {
        Some(path) => Some(delta::table(path, case.at, bases).await?),
        None => None,
    };
    let mut definitions = transaction.facts(core.as_deref());
    let mut rows = transaction.images(base.as_deref(), &inline_rows);
    let (mut judgements, mut landed, mut open) = (Vec::new(), Vec::new(), None);
    for (at, path) in (1..).zip(&case.landed) {
        let version = base.as_ref().map_or(0, |base| base.version().get()) + at;
        let theirs = delta::landed(version, path)?;
        let images = theirs.images(base.as_deref(), &inline_rows);
        let ours = DeltaSide { definitions: &definitions, rows: &rows };
        let judgement = judge_delta(table, ours, DeltaSide { definitions: theirs.facts(), rows: &images });
        let verdict = judgement.verdict;
        judgements.push(judgement);
        landed.push(delta::describe(theirs.facts()));
        if !verdict.accepts() {
            open = wanted(&rows, &images).filter(|_| verdict == Verdict::NeedFacts);
            break;
        }
        definitions.follow(theirs.facts());
        rows.follow(&images, verdict == Verdict::Reordered);
    }
    let (judgement, at) = decisive(judgements);
    Ok(Answer {
        policy: case.policy.clone(),
        label: table.label(),
        ours: delta::describe(&transaction.facts(core.as_deref())),
        landed: at.and_then(|at| landed.get(at).cloned()),
        judgement,
        landed_index: at,
        wanted: open.as_ref().map(document),
        effective_level: None,
        rebased: None,
    })
}

/// What has to be looked at: rows of these files that meet one of the filters.
pub(super) fn document(wanted: &RowsWanted) -> Value {
    let names = |units: &[UnitId]| units.iter().map(ToString::to_string).collect::<Vec<_>>();
    let filters: Vec<String> = wanted.filters.iter().map(|filter: &Expr| print(filter)).collect();
    json!({
        "filters": filters,
        "removed": names(&wanted.removed),
        "shrunk": names(&wanted.shrunk),
        "added": names(&wanted.added),
    })
}
