//! The bytes of one attempt.

use super::pending::Pending;
use super::policy::JudgedBy;
use super::row_tracking;
use crate::DeltaError;
use crate::action::{Action, Metadata, write_action, write_tagged};
use bytes::Bytes;
use lakebed_conflict::delta::IsolationLevel;
use lakebed_naming::Version;
use serde::Serialize;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// What stands in `commitInfo.engineInfo`.
pub(super) const ENGINE: &str = concat!("lakebed/", env!("CARGO_PKG_VERSION"));
/// Since which version commits carry their own timestamps, where they did not always.
pub(super) const ENABLEMENT_VERSION: &str = "delta.inCommitTimestampEnablementVersion";
/// The timestamp of that version.
pub(super) const ENABLEMENT_TIMESTAMP: &str = "delta.inCommitTimestampEnablementTimestamp";

/// The log entry of ours as version `at`.
pub(super) fn render(pending: &mut Pending, policy: JudgedBy, at: Version, now_ms: u64) -> Result<Bytes, DeltaError> {
    pending.check_once()?;
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
    write_tagged("commitInfo", &info, &mut out)?;
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

/// Our actions as they are written at a version: protocol and metadata first, the rest in the order given, files numbered
/// where the table tracks rows.
pub(super) fn persisted(pending: &Pending, at: Version, stamp: Option<i64>) -> Vec<Action> {
    let mut ordered = pending.transaction.actions.clone();
    // A bulk commit states the metadata that it was made under, so that nobody who changes it can miss the other.
    if pending.transaction.large && pending.transaction.metadata().is_none() {
        ordered.extend(pending.own_metadata().cloned().map(Action::Metadata));
    }
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
    ordered.sort_by_key(rank);
    if let (true, Some(stamp)) = (pending.enables_timestamps(), stamp) {
        for action in &mut ordered {
            if let Action::Metadata(metadata) = action {
                metadata.configuration.set(ENABLEMENT_VERSION, Some(&at.to_string()));
                metadata.configuration.set(ENABLEMENT_TIMESTAMP, Some(&stamp.to_string()));
            }
        }
    }
    if let (Some(protocol), Some(metadata)) = (pending.own_protocol(), pending.own_metadata())
        && row_tracking::numbers(protocol, metadata)
    {
        row_tracking::number(pending, &mut ordered, at);
    }
    ordered
}

/// A `commitInfo`, in the order of Spark's fields.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Info<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    in_commit_timestamp: Option<i64>,
    timestamp: i64,
    operation: &'a str,
    operation_parameters: Cow<'a, Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    read_version: Option<u64>,
    isolation_level: &'a str,
    is_blind_append: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    operation_metrics: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_metadata: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<Map<String, Value>>,
    engine_info: &'a str,
    txn_id: &'a str,
    lakebed: OwnNotes,
}

/// What only we write: the policy that judged, and how many entries were offered until this one.
#[derive(Serialize)]
struct OwnNotes {
    policy: String,
    attempts: u32,
    /// Written only where there were any.
    #[serde(skip_serializing_if = "is_none_lost")]
    lost_plannings: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over the field by reference")]
const fn is_none_lost(plannings: &u32) -> bool {
    *plannings == 0
}

fn commit_info(pending: &Pending, policy: JudgedBy, now_ms: i64, stamp: Option<i64>) -> Result<Info<'_>, DeltaError> {
    let transaction = &pending.transaction;
    let level = if transaction.large {
        // A bulk commit meets nobody, whatever the table's level.
        IsolationLevel::Serializable
    } else {
        policy
            .level(&pending.facts)
            .map_err(|error| DeltaError::invalid(error.to_string(), "unset the property or set it to Serializable"))?
    };
    let measured = !transaction.metrics.is_empty() || transaction.large;
    Ok(Info {
        in_commit_timestamp: stamp,
        timestamp: now_ms,
        operation: &transaction.operation,
        operation_parameters: parameters(pending),
        read_version: pending.read_version.map(Version::get),
        isolation_level: level.name(),
        is_blind_append: !transaction.large && pending.facts.derived_blind(),
        operation_metrics: measured.then(|| text_object(&transaction.metrics)),
        user_metadata: transaction.user_metadata.as_deref(),
        tags: (!transaction.tags.is_empty()).then(|| text_object(&transaction.tags)),
        engine_info: ENGINE,
        txn_id: transaction.id.as_str(),
        lakebed: OwnNotes {
            policy: policy.label(&pending.facts),
            attempts: pending.attempts.saturating_add(transaction.lost_plannings),
            lost_plannings: transaction.lost_plannings,
        },
    })
}

/// The operation's parameters. A replaced table that keeps its metadata says which properties that has.
fn parameters(pending: &Pending) -> Cow<'_, Map<String, Value>> {
    const PROPERTIES: &str = "properties";
    let mut parameters = Cow::Borrowed(&pending.transaction.parameters);
    if let (true, None, Some(core)) =
        (replaces_table(&pending.transaction.operation), pending.transaction.metadata(), &pending.core)
        && parameters.contains_key(PROPERTIES)
        && let Ok(text) = serde_json::to_string(&core.metadata.configuration)
    {
        parameters.to_mut().insert(PROPERTIES.into(), text.into());
    }
    parameters
}

/// Whether an operation of this name puts a new table in the place of the old one.
pub(super) fn replaces_table(operation: &str) -> bool {
    matches!(
        operation,
        "REPLACE TABLE" | "REPLACE TABLE AS SELECT" | "CREATE OR REPLACE TABLE" | "CREATE OR REPLACE TABLE AS SELECT"
    )
}

fn text_object(pairs: &[(String, String)]) -> Map<String, Value> {
    pairs.iter().map(|(key, value)| (key.clone(), Value::String(value.clone()))).collect()
}
