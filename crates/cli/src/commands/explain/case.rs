//! One question and its answer.

use super::{delta, lance, maxcompute, precise};
use crate::error::CliError;
use bytes::Bytes;
use lakebed_conflict::delta::DeltaPolicy;
use lakebed_conflict::lance::LANCE;
use lakebed_conflict::maxcompute::{Compaction, MAXCOMPUTE};
use lakebed_conflict::precise::{PRECISE, PRECISE_REORDER};
use lakebed_transaction::{Judgement, Verdict};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One question.
pub(super) struct Case {
    pub(super) policy: String,
    pub(super) ours: PathBuf,
    pub(super) landed: Vec<PathBuf>,
    pub(super) base: Option<PathBuf>,
    /// Which version of a Delta table; the newest where nobody says.
    pub(super) at: Option<u64>,
    /// Which compaction a compaction is, ours or landed; matters to the matrix of MaxCompute.
    pub(super) compaction: Compaction,
    /// Whether the actions of ours as they would be written next are asked for.
    pub(super) rebased: bool,
}

/// The judgement that counts, and which landed transaction it is about.
pub(super) struct Answer {
    /// The policy by the name that was asked for.
    pub(super) policy: String,
    /// `name@revision` of the table that decided.
    pub(super) label: String,
    /// What ours does.
    pub(super) ours: String,
    /// What the landed transaction of the judgement does; `None` where none is in the way.
    pub(super) landed: Option<String>,
    pub(super) judgement: Judgement,
    /// Which landed transaction it is about, from 0.
    pub(super) landed_index: Option<usize>,
    /// What has to be looked at before the policy can say more.
    pub(super) wanted: Option<Value>,
    /// The isolation level that applied (Delta).
    pub(super) effective_level: Option<&'static str>,
    /// The actions of ours as they would be written next, or why they cannot be; `None` where nobody asked or ours may not be
    /// written.
    pub(super) rebased: Option<Result<Vec<Value>, String>>,
}

/// What several cases have in common, read once.
#[derive(Default)]
pub(super) struct Bases {
    pub(super) lance: HashMap<PathBuf, Arc<lakebed_lance::Snapshot>>,
    pub(super) delta: HashMap<(PathBuf, Option<u64>), Arc<lakebed_delta::Snapshot>>,
}

impl Case {
    /// Judges it.
    pub(super) async fn judge(&self, bases: &mut Bases) -> Result<Answer, CliError> {
        let mut answer = self.judged(bases).await?;
        if self.rebased && answer.rebased.is_none() && answer.judgement.verdict.accepts() {
            answer.rebased = Some(Err(format!("--rebased is for the delta policies, not for {}", self.policy)));
        }
        Ok(answer)
    }

    async fn judged(&self, bases: &mut Bases) -> Result<Answer, CliError> {
        if self.policy == LANCE.name {
            lance::judge(self, bases)
        } else if let Some(policy) = DeltaPolicy::named(&self.policy) {
            delta::judge(self, policy, bases).await
        } else if self.policy == MAXCOMPUTE.name {
            maxcompute::judge(self, bases).await
        } else if let Some(table) = precise::named(&self.policy) {
            precise::judge(self, table, bases).await
        } else {
            let mut names = vec![LANCE.name];
            names.extend(DeltaPolicy::ALL.iter().map(|policy| policy.name()));
            names.extend([MAXCOMPUTE.name, PRECISE.name, PRECISE_REORDER.name]);
            Err(CliError::usage(
                format!("there is no policy `{}`", self.policy),
                format!("the policies are: {}", names.join(", ")),
            ))
        }
    }
}

/// The judgement that counts among those of all landed transactions, in order: the first refusal, else the first that asks
/// for more than nothing, else the first that has something to say.
pub(super) fn decisive(judgements: Vec<Judgement>) -> (Judgement, Option<usize>) {
    let by = |wanted: fn(&Judgement) -> bool| judgements.iter().position(wanted);
    let at = by(|judgement| !judgement.verdict.accepts())
        .or_else(|| by(|judgement| judgement.verdict != Verdict::Compatible))
        .or_else(|| by(|judgement| judgement.reason.is_some()));
    match at.and_then(|at| Some((judgements.get(at)?.clone(), at))) {
        Some((judgement, at)) => (judgement, Some(at)),
        None => (Judgement::clear(), None),
    }
}

impl Answer {
    pub(super) fn document(&self) -> Value {
        let reason = self.judgement.reason;
        let about = if self.judgement.verdict == Verdict::Compatible { None } else { self.landed_index };
        let class = about.and(reason).and_then(|reason| reason.error_class);
        let alone = self.landed_index.is_none();
        let mut document = json!({
            "policy": self.policy,
            "verdict": self.judgement.verdict.name(),
            "check": reason.map(|reason| reason.check),
            "reason": reason.map(|reason| reason.sentence),
            "overlap": self.judgement.evidence.as_ref().map(ToString::to_string),
            "advice": reason.map(|reason| reason.advice),
            "wanted": self.wanted,
            "error_class": class.or_else(|| reason.filter(|_| alone).and_then(|reason| reason.error_class)),
            "landed_index": about,
            "ours": self.ours,
            "landed": self.landed,
            "rules": self.label,
        });
        if let (Some(level), Some(document)) = (self.effective_level, document.as_object_mut()) {
            document.insert("effective_level".to_owned(), json!(level));
        }
        if let (Some(rebased), Some(document)) = (&self.rebased, document.as_object_mut()) {
            document.insert("rebased".to_owned(), json!(rebased.as_ref().ok()));
            if let Err(problem) = rebased {
                document.insert("rebased_error".to_owned(), json!(problem));
            }
        }
        document
    }

    pub(super) fn text(&self) -> String {
        let mut out = format!("{} under {}", self.judgement.verdict, self.label);
        match (&self.landed, self.landed_index) {
            (Some(landed), Some(at)) if self.judgement.verdict.accepts() => {
                out.push_str(&format!(": our {} may follow the {landed} (landed {at})\n", self.ours));
            }
            (Some(landed), Some(at)) => {
                out.push_str(&format!(": our {} cannot follow the {landed} (landed {at})\n", self.ours));
            }
            (_, _) if self.judgement.verdict.accepts() => {
                out.push_str(&format!(": nothing is in the way of our {}\n", self.ours))
            }
            (_, _) => out.push_str(&format!(": our {} cannot be committed at all\n", self.ours)),
        }
        if let Some(reason) = &self.judgement.reason {
            out.push_str(&format!("  check    {}\n  reason   {}\n", reason.check, reason.sentence));
            if let Some(evidence) = &self.judgement.evidence {
                out.push_str(&format!("  overlap  {evidence}\n"));
            }
            out.push_str(&format!("  advice   {}\n", reason.advice));
            if let Some(class) = reason.error_class {
                out.push_str(&format!("  class    {class}\n"));
            }
        }
        match &self.rebased {
            None => {}
            Some(Ok(actions)) => {
                out.push_str("written next\n");
                actions.iter().for_each(|action| out.push_str(&format!("  {action}\n")));
            }
            Some(Err(problem)) => out.push_str(&format!("it cannot be written: {problem}\n")),
        }
        out
    }
}

/// A local file.
pub(super) fn read(path: &Path) -> Result<Bytes, CliError> {
    std::fs::read(path).map(Bytes::from).map_err(|source| CliError::file(path, source))
}
