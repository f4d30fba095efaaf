//! Lance transactions.

use super::case::{Answer, Bases, Case, decisive, read};
use super::maxcompute::Side;
use crate::error::CliError;
use lakebed_commit::{Fetched, Format, Rebased};
use lakebed_conflict::lance::{LANCE, LanceFacts, judge as rule};
use lakebed_conflict::maxcompute::{Hints, MaxComputeFacts};
use lakebed_conflict::precise::PreciseTable;
use lakebed_lance::proto::table::transaction::Operation;
use lakebed_lance::transaction::Transaction;
use lakebed_lance::{JudgedBy, LanceFormat, Landed, Pending, Snapshot, facts_of, judge_unseen};
use lakebed_naming::lance::Scheme;
use lakebed_transaction::LanceKind;
use std::path::Path;
use std::sync::Arc;

pub(super) fn judge(case: &Case, bases: &mut Bases) -> Result<Answer, CliError> {
    let base = match &case.base {
        Some(path) => Some(manifest(path, bases)?),
        None => None,
    };
    let ours = transaction(&case.ours)?;
    let facts = ours_facts(&ours, base.as_ref())?;
    let landed = case.landed.iter().map(|path| transaction(path)).collect::<Result<Vec<_>, _>>()?;
    let judgements = landed.iter().map(|landed| {
        let theirs = facts_of(landed.message(), base.as_deref(), None);
        rule((ours.kind(), &facts), (landed.kind(), &theirs))
    });
    let (judgement, at) = if landed.is_empty() && ours.kind() == LanceKind::Unknown {
        // An operation that we do not know is refused whatever landed; any kind gives the reason.
        (rule((ours.kind(), &facts), (LanceKind::Append, &LanceFacts::default())), None)
    } else {
        decisive(judgements.collect())
    };
    Ok(Answer {
        policy: case.policy.clone(),
        label: LANCE.label(),
        ours: ours.kind().to_string(),
        landed: at.and_then(|at| landed.get(at)).map(|landed| landed.kind().to_string()),
        judgement,
        landed_index: at,
        wanted: None,
        effective_level: None,
        rebased: None,
    })
}

/// Judges by rows as a commit does, up to the first refusal or the first rows that would have to be looked at. What landed is put on
/// the base one after the other, as if it had landed there; deletion files are not at hand.
pub(super) fn by_rows(case: &Case, table: &'static PreciseTable, bases: &mut Bases) -> Result<Answer, CliError> {
    let Some(path) = &case.base else {
        return Err(CliError::usage(
            format!("{} needs the version that {} read", table.name, case.ours.display()),
            "give its manifest with --base",
        ));
    };
    let base = manifest(path, bases)?;
    let ours = transaction(&case.ours)?;
    let message = ours.message().clone();
    let reads = match &message.operation {
        Some(Operation::Delete(delete)) => lakebed_table::deleted_by(&base, &delete.predicate),
        Some(_) | None => None,
    };
    let mut pending = Pending::new(Arc::clone(&base), message, 0)?;
    if let Some(reads) = reads {
        pending = pending.with_reads(reads);
    }
    let format = LanceFormat::judged_by(Scheme::V2, JudgedBy::Rows(table));
    let (mut judgements, mut landed, mut open) = (Vec::new(), Vec::new(), None);
    let mut standing = base;
    for path in &case.landed {
        let theirs = Landed::on(&standing, transaction(path)?)?;
        let mut fetched = Fetched::default();
        let (judgement, wanted) = loop {
            match judge_unseen(table, &pending, &theirs, &fetched) {
                Ok(judged) => break judged,
                Err(needs) => needs.into_iter().for_each(|name| fetched.insert(name, None)),
            }
        };
        let accepts = judgement.verdict.accepts();
        judgements.push(judgement);
        landed.push(theirs.describe());
        if !accepts {
            open = wanted;
            break;
        }
        while let Rebased::Needs(needs) = format.rebase(&mut pending, &theirs, &fetched)? {
            needs.into_iter().for_each(|name| fetched.insert(name, None));
        }
        standing = Arc::clone(theirs.snapshot());
    }
    let (judgement, at) = decisive(judgements);
    Ok(Answer {
        policy: case.policy.clone(),
        label: table.label(),
        ours: ours.kind().to_string(),
        landed: at.and_then(|at| landed.get(at).cloned()),
        judgement,
        landed_index: at,
        wanted: open.as_ref().map(super::precise::document),
        effective_level: None,
        rebased: None,
    })
}

/// Ours and what landed, in the words of the matrix of MaxCompute.
pub(super) fn in_the_matrix(case: &Case, hints: Hints, bases: &mut Bases) -> Result<(Side, Vec<Side>), CliError> {
    let base = case.base.as_ref().map(|path| manifest(path, bases)).transpose()?;
    let side = |kind: LanceKind, facts: &LanceFacts| {
        Side::new(&kind.to_string(), MaxComputeFacts::of_lance(kind, facts, hints))
    };
    let ours = transaction(&case.ours)?;
    let mine = side(ours.kind(), &ours_facts(&ours, base.as_ref())?);
    let landed = case.landed.iter().map(|path| {
        let theirs = transaction(path)?;
        Ok(side(theirs.kind(), &facts_of(theirs.message(), base.as_deref(), None)))
    });
    Ok((mine, landed.collect::<Result<_, CliError>>()?))
}

fn manifest(path: &Path, bases: &mut Bases) -> Result<Arc<Snapshot>, CliError> {
    if let Some(known) = bases.lance.get(path) {
        return Ok(Arc::clone(known));
    }
    let read = Arc::new(Snapshot::open(&path.display().to_string(), &read(path)?)?);
    bases.lance.insert(path.to_owned(), Arc::clone(&read));
    Ok(read)
}

fn transaction(path: &Path) -> Result<Transaction, CliError> {
    Ok(Transaction::decode(&path.display().to_string(), &read(path)?)?)
}

/// What the rules see of ours: with the version that it read, also the files that it changes as they were there.
fn ours_facts(ours: &Transaction, base: Option<&Arc<Snapshot>>) -> Result<LanceFacts, CliError> {
    match base {
        Some(base) if ours.kind() != LanceKind::Unknown => {
            Ok(Pending::new(Arc::clone(base), ours.message().clone(), 0)?.facts().clone())
        }
        Some(_) | None => Ok(facts_of(ours.message(), base.map(|base| &**base), None)),
    }
}
