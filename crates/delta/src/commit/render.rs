//! The bytes of one attempt.

use super::pending::Pending;
use crate::DeltaError;
use crate::action::{Action, CommitInfo, Metadata, write_action};
use bytes::Bytes;
use lakebed_conflict::delta::DeltaPolicy;
use lakebed_naming::Version;
use serde_json::{Map, Value};

/// What stands in `commitInfo.engineInfo`.
pub(super) const ENGINE: &str = concat!("lakebed/", env!("CARGO_PKG_VERSION"));
/// The tag under which the policy that judged stands.
const POLICY_TAG: &str = "lakebed.policy";
/// How many entries were offered until this one.
const ATTEMPTS_TAG: &str = "lakebed.attempts";
/// Since which version commits carry their own timestamps, where they did not always.
pub(super) const ENABLEMENT_VERSION: &str = "delta.inCommitTimestampEnablementVersion";
/// The timestamp of that version.
pub(super) const ENABLEMENT_TIMESTAMP: &str = "delta.inCommitTimestampEnablementTimestamp";

/// The log entry of ours as version `at`.
pub(super) fn render(
    pending: &mut Pending,
    policy: DeltaPolicy,
    at: Version,
    now_ms: u64,
) -> Result<Bytes, DeltaError> {
    pending.check()?;
    let alone = policy.judge_alone(&pending.facts);
    if !alone.verdict.accepts() {
        let (sentence, advice) =
            alone.reason.map_or(("no rule allows it", "plan it again"), |r| (r.sentence, r.advice));
        let detail = alone.evidence.map(|evidence| format!(" ({evidence})")).unwrap_or_default();
        return Err(DeltaError::invalid(format!("{sentence}{detail}"), advice));
    }
    let now_ms = i64::try_from(now_ms).unwrap_or(i64::MAX);
    let stamp = timestamp(pending, now_ms);
    let info = commit_info(pending, policy, now_ms, stamp)?;
    let mut out = Vec::new();
    write_action(&Action::CommitInfo(info), &mut out)?;
    for action in persisted(pending, at, stamp) {
        write_action(&action, &mut out)?;
    }
    pending.stamped_ms = stamp;
    Ok(Bytes::from(out))
}

/// The in-commit timestamp: the clock, but above everything in the log and never below an earlier attempt.
fn timestamp(pending: &Pending, now_ms: i64) -> Option<i64> {
    if !pending.own_metadata().is_some_and(Metadata::in_commit_timestamps) {
        return None;
    }
    let after_log = pending.floor_ms.map_or(i64::MIN, |floor| floor.saturating_add(1));
    Some(now_ms.max(after_log).max(pending.stamped_ms.unwrap_or(i64::MIN)))
}

/// Our actions as they are written at a version: protocol and metadata first, the rest in the order given.
pub(super) fn persisted(pending: &Pending, at: Version, stamp: Option<i64>) -> Vec<Action> {
    let actions = &pending.transaction.actions;
    let rank = |action: &Action| match action {
        Action::Protocol(_) => 0,
        Action::Metadata(_) => 1,
        Action::Add(_)
        | Action::Remove(_)
        | Action::Cdc(_)
        | Action::Txn(_)
        | Action::Domain(_)
        | Action::CommitInfo(_)
        | Action::CheckpointMetadata(_)
        | Action::Sidecar(_) => 2,
    };
    let mut ordered: Vec<Action> = actions.clone();
    ordered.sort_by_key(rank);
    if let (true, Some(stamp)) = (pending.enables_timestamps(), stamp) {
        for action in &mut ordered {
            if let Action::Metadata(metadata) = action {
                metadata.configuration.set(ENABLEMENT_VERSION, Some(&at.to_string()));
                metadata.configuration.set(ENABLEMENT_TIMESTAMP, Some(&stamp.to_string()));
            }
        }
    }
    ordered
}

/// In the order of Spark's fields.
fn commit_info(
    pending: &Pending,
    policy: DeltaPolicy,
    now_ms: i64,
    stamp: Option<i64>,
) -> Result<CommitInfo, DeltaError> {
    let transaction = &pending.transaction;
    let level = policy
        .effective_level(&pending.facts)
        .map_err(|error| DeltaError::invalid(error.to_string(), "unset the property or set it to Serializable"))?;
    let mut info = Map::new();
    if let Some(stamp) = stamp {
        info.insert("inCommitTimestamp".into(), stamp.into());
    }
    info.insert("timestamp".into(), now_ms.into());
    info.insert("operation".into(), transaction.operation.clone().into());
    info.insert("operationParameters".into(), Value::Object(transaction.parameters.clone()));
    if let Some(read) = pending.read_version {
        info.insert("readVersion".into(), read.get().into());
    }
    info.insert("isolationLevel".into(), level.name().into());
    info.insert("isBlindAppend".into(), pending.facts.derived_blind().into());
    info.insert("operationMetrics".into(), Value::Object(text_object(&transaction.metrics)));
    if let Some(text) = &transaction.user_metadata {
        info.insert("userMetadata".into(), text.clone().into());
    }
    let mut tags = text_object(&transaction.tags);
    tags.insert(POLICY_TAG.into(), policy.label(&pending.facts).into());
    tags.insert(ATTEMPTS_TAG.into(), pending.attempts.to_string().into());
    info.insert("tags".into(), Value::Object(tags));
    info.insert("engineInfo".into(), ENGINE.into());
    info.insert("txnId".into(), transaction.id.as_str().into());
    Ok(CommitInfo(info))
}

fn text_object(pairs: &[(String, String)]) -> Map<String, Value> {
    pairs.iter().map(|(key, value)| (key.clone(), Value::String(value.clone()))).collect()
}
