//! Delta commits.

use super::case::{Answer, Bases, Case, decisive, read};
use super::maxcompute::Side;
use super::rebased;
use crate::error::CliError;
use lakebed_conflict::delta::{DeltaFacts, DeltaPolicy};
use lakebed_conflict::maxcompute::{Hints, MaxComputeFacts};
use lakebed_delta::{Core, Landed, Transaction};
use lakebed_naming::Version;
use lakebed_table::{OpenOptions, Snapshot, Table, TableFormat, VersionSpec, parse_prepared_delta};
use lakebed_transaction::Judgement;
use std::path::Path;
use std::sync::Arc;

pub(super) async fn judge(case: &Case, policy: DeltaPolicy, bases: &mut Bases) -> Result<Answer, CliError> {
    let (transaction, core) = ours(case, bases).await?;
    let facts = transaction.facts(core.as_deref());
    let (judgement, at, landed) = over_all(case, policy, &facts)?;
    let rebased = if case.rebased && judgement.verdict.accepts() {
        let core = core.ok_or_else(|| {
            CliError::usage("--rebased needs the version that ours read", "name the table's folder with --base")
        })?;
        Some(rebased::written_next(&core, transaction, policy, &case.landed)?)
    } else {
        None
    };
    Ok(Answer {
        policy: case.policy.clone(),
        label: policy.label(&facts),
        ours: describe(&facts),
        landed,
        judgement,
        landed_index: at,
        wanted: None,
        effective_level: policy.effective_level(&facts).ok().map(lakebed_conflict::delta::IsolationLevel::name),
        rebased,
    })
}

/// Ours and what landed, in the words of the matrix of MaxCompute.
pub(super) async fn in_the_matrix(case: &Case, hints: Hints, bases: &mut Bases) -> Result<(Side, Vec<Side>), CliError> {
    let (transaction, core) = ours(case, bases).await?;
    let facts = transaction.facts(core.as_deref());
    let columns = core.as_deref().map(Core::partition_columns).unwrap_or_default();
    let side = |facts: &DeltaFacts| Side::new(&describe(facts), MaxComputeFacts::of_delta(facts, &columns, hints));
    let landed = (1..).zip(&case.landed).map(|(at, path)| Ok(side(landed(at, path)?.facts())));
    Ok((side(&facts), landed.collect::<Result<_, CliError>>()?))
}

/// Ours, and the version that it read.
pub(super) async fn ours(case: &Case, bases: &mut Bases) -> Result<(Transaction, Option<Arc<Core>>), CliError> {
    let core = match &case.base {
        Some(path) => Some(Arc::clone(table(path, case.at, bases).await?.core())),
        None => None,
    };
    let columns = core.as_deref().map(Core::partition_columns).unwrap_or_default();
    let mut prepared = parse_prepared_delta(&case.ours.display().to_string(), &read(&case.ours)?, &columns)?;
    if let Some(core) = &core {
        prepared.fill_in(core);
    }
    Ok((prepared.transaction, core))
}

pub(super) fn landed(at: u64, path: &Path) -> Result<Landed, CliError> {
    Landed::parse(Version::new(at), &read(path)?)
        .map_err(|error| CliError::failed(format!("{}: {error}", path.display()), "give the file of a Delta commit"))
}

/// Judges as a commit does: each landed commit in order, what it changed adopted before the next, up to the first refusal.
fn over_all(
    case: &Case,
    policy: DeltaPolicy,
    facts: &DeltaFacts,
) -> Result<(Judgement, Option<usize>, Option<String>), CliError> {
    let alone = policy.judge_alone(facts);
    if !alone.verdict.accepts() {
        return Ok((alone, None, None));
    }
    let mut facts = facts.clone();
    let (mut judgements, mut landed) = (Vec::new(), Vec::new());
    for (at, path) in (1..).zip(&case.landed) {
        let theirs = self::landed(at, path)?;
        let judgement = policy.judge(&facts, theirs.facts());
        let refused = !judgement.verdict.accepts();
        judgements.push(judgement);
        landed.push(describe(theirs.facts()));
        if refused {
            break;
        }
        facts.follow(theirs.facts());
    }
    let (judgement, at) = decisive(judgements);
    Ok((judgement, at, at.and_then(|at| landed.get(at).cloned())))
}

/// A version of the table in a folder; the newest where nobody says.
pub(super) async fn table(
    path: &Path,
    at: Option<u64>,
    bases: &mut Bases,
) -> Result<Arc<lakebed_delta::Snapshot>, CliError> {
    let key = (path.to_owned(), at);
    if let Some(known) = bases.delta.get(&key) {
        return Ok(Arc::clone(known));
    }
    let options = OpenOptions { format: Some(TableFormat::Delta), isolated: true, ..OpenOptions::default() };
    let table = Table::open(&path.display().to_string(), &options).await?;
    let snapshot = match at {
        Some(version) => table.at(VersionSpec::Number(version)).await?,
        None => table.snapshot().clone(),
    };
    match snapshot {
        Snapshot::Delta(held) => {
            bases.delta.insert(key, Arc::clone(&held.snapshot));
            Ok(held.snapshot)
        }
        Snapshot::Lance(_) => Err(CliError::usage(
            format!("{} is a Lance table", path.display()),
            "give the folder of a Delta table as the base of a Delta commit",
        )),
    }
}

pub(super) fn describe(facts: &DeltaFacts) -> String {
    if facts.operation.is_empty() { facts.kind.to_string() } else { facts.operation.to_string() }
}
