//! Transactions of either format under the matrix of MaxCompute.

use super::case::{Answer, Bases, Case, decisive};
use super::{delta, lance};
use crate::error::CliError;
use lakebed_conflict::maxcompute::{Hints, MAXCOMPUTE, MaxComputeFacts, judge as rule};

/// Judges by the ending of ours: `.json` is a Delta commit, `.txn` a Lance transaction, and what landed is of the same format.
pub(super) async fn judge(case: &Case, bases: &mut Bases) -> Result<Answer, CliError> {
    let hints = Hints { compaction: case.compaction, reads_target: None };
    let ending = case.ours.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let (ours, landed) = match ending {
        "json" => delta::in_the_matrix(case, hints, bases).await?,
        "txn" => lance::in_the_matrix(case, hints, bases)?,
        _ => {
            return Err(CliError::usage(
                format!("{} is no transaction that can be judged", case.ours.display()),
                "give a Lance transaction (.txn) or a Delta commit (.json)",
            ));
        }
    };
    let (judgement, at) = decisive(landed.iter().map(|landed| rule(&ours.facts, &landed.facts)).collect());
    Ok(Answer {
        policy: case.policy.clone(),
        label: MAXCOMPUTE.label(),
        ours: ours.name,
        landed: at.and_then(|at| landed.get(at)).map(|landed| landed.name.clone()),
        judgement,
        landed_index: at,
        wanted: None,
        effective_level: None,
        rebased: None,
    })
}

/// One transaction: its own name, and what the matrix sees of it.
pub(super) struct Side {
    pub(super) name: String,
    pub(super) facts: MaxComputeFacts,
}

impl Side {
    /// The kind of the matrix stands beside the format's own name of the operation.
    pub(super) fn new(name: &str, facts: MaxComputeFacts) -> Self {
        Self { name: format!("{name} ({})", facts.kind), facts }
    }
}
