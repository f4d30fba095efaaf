//! What ours did, against what pylance did.

use super::case::Case;
use super::statement::Answer;
use super::{place, run_after};
use crate::support::scan;
use lakebed_lance::index;
use lakebed_storage::Store;
use lakebed_table::{ScanRequest, Snapshot};
use lakebed_transaction::{Outcome, Verdict};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::Arc;

/// A table after ours, and what ours answered.
pub(crate) struct Ended {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) answer: Answer,
}

/// Whether ours did as pylance, and what it did.
pub(crate) struct Told {
    pub(crate) agrees: bool,
    pub(crate) text: String,
}

/// Ours against the measured answer, rows and state.
pub(crate) async fn judge(root: &Path, case: &Case, ended: &Ended) -> Told {
    let answered = kind(&ended.answer);
    let accepted = answered == "accepted";
    if !accepted || !case.ok {
        // What a statement would do again is a contention where it may not.
        let failed_as = if case.failed_as == "contention" { "retryable" } else { &case.failed_as };
        let measured = if case.ok { "accepted" } else { failed_as };
        let agrees = answered == measured;
        let reason = reason(&ended.answer);
        return Told { agrees, text: format!("{answered}{reason}; pylance: {measured}") };
    }
    let seen = seen(&ended.store).await;
    let [rows, state] = [("rows", &case.rows), ("state", &case.state)].map(|(folder, hash)| {
        let text = std::fs::read_to_string(root.join(folder).join(format!("{hash}.json"))).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()
    });
    let rows = json!({"columns": rows["columns"], "rows": sorted(rows["rows"].as_array().unwrap().clone())});
    let differ: Vec<&str> = [("rows", seen.rows == rows), ("state", seen.state == state)]
        .iter()
        .filter(|one| !one.1)
        .map(|one| one.0)
        .collect();
    if differ.is_empty() {
        return Told { agrees: true, text: "as pylance".to_owned() };
    }
    let serial = match run_after(root, case).await {
        Some(after) if kind(&after.answer) == "accepted" => {
            let after = self::seen(&after.store).await;
            if after == seen {
                "winner, then ours".to_owned()
            } else {
                format!("{} are neither's", differ.join(" and "))
            }
        }
        Some(_) => format!("{} are neither's", differ.join(" and ")),
        None => format!("other {}", what_differs(&seen, &rows, &state)),
    };
    Told { agrees: false, text: serial }
}

/// What of rows and state is not as measured, and what of the state it is instead.
fn what_differs(seen: &Seen, rows: &Value, state: &Value) -> String {
    let mut found = Vec::new();
    for (key, measured) in state.as_object().unwrap() {
        if seen.state[key] != *measured {
            found.push(format!("{key} are {}", seen.state[key]));
        }
    }
    if seen.rows != *rows {
        found.push("rows".to_owned());
    }
    found.join(", ")
}

/// What an answer is called in the measurements.
pub(super) fn kind(answer: &Answer) -> &'static str {
    match answer {
        Err(_) => "other",
        Ok(report) => match &report.outcome {
            Outcome::Committed { .. } | Outcome::Nothing { .. } => "accepted",
            Outcome::Conflict(conflict) => match conflict.why.verdict {
                Verdict::Incompatible => "incompatible",
                Verdict::Retryable => "retryable",
                other @ (Verdict::Compatible
                | Verdict::Rebase
                | Verdict::Reordered
                | Verdict::LaterOverwrites
                | Verdict::Unspecified
                | Verdict::NeedFacts) => panic!("{other:?} is no conflict"),
            },
            Outcome::Exhausted { .. } => "contention",
            other @ Outcome::Unknown { .. } => panic!("{other:?}"),
        },
    }
}

fn reason(answer: &Answer) -> String {
    match answer {
        Err(error) => format!(" ({})", problem(&error.to_string())),
        Ok(report) => match &report.outcome {
            Outcome::Conflict(conflict) => {
                conflict.why.reason.map_or_else(String::new, |why| format!(" ({})", why.check))
            }
            Outcome::Committed { .. }
            | Outcome::Nothing { .. }
            | Outcome::Exhausted { .. }
            | Outcome::Unknown { .. } => String::new(),
        },
    }
}

/// An error without the place and without the advice.
fn problem(text: &str) -> &str {
    let told = text.split_once("nothing was committed: ").map_or(text, |(_, told)| told);
    told.split([',', ';']).next().unwrap_or(told)
}

/// Rows and state in the form of the measurements.
#[derive(Debug, PartialEq)]
pub(super) struct Seen {
    rows: Value,
    state: Value,
}

pub(super) async fn seen(store: &Arc<dyn Store>) -> Seen {
    let table = place::handle(store).await;
    let Snapshot::Lance(held) = table.snapshot() else { panic!("a Lance table") };
    let version = &*held.snapshot;
    let names: Vec<&str> = version.fields().iter().map(|field| field.name.as_str()).collect();
    let kinds: Value = version.fields().iter().map(|field| json!([field.name, field.logical_type])).collect();
    let rows = scan(&table, &ScanRequest::default()).await;
    let rows = rows.iter().map(|row| names.iter().map(|name| row[*name].clone()).collect::<Value>());
    let texts = |map: &std::collections::BTreeMap<String, bytes::Bytes>| {
        map.iter().map(|(key, value)| (key.clone(), json!(std::str::from_utf8(value).unwrap()))).collect::<Map<_, _>>()
    };
    let columns: Value = version
        .fields()
        .iter()
        .map(|field| json!([field.name, field.logical_type, field.nullable, texts(&field.metadata)]))
        .collect();
    let mut indices: Vec<Value> = Vec::new();
    for entry in version.indices() {
        let name = |id: &i32| version.fields().iter().find(|field| field.id == *id).map(|field| field.name.clone());
        let name = |id| name(id).unwrap_or_else(|| "<unknown>".to_owned());
        let fields: Vec<_> = entry.fields.iter().map(name).collect();
        let kind = index::details_type(entry).trim_end_matches("IndexDetails");
        indices.push(json!([entry.name, fields, kind]));
    }
    indices.sort_by_key(Value::to_string);
    Seen {
        rows: json!({"columns": kinds, "rows": sorted(rows.collect())}),
        state: json!({
            "columns": columns,
            "config": version.config(),
            "metadata": version.table_metadata(),
            "schema_metadata": texts(version.schema_metadata()),
            "indices": indices,
        }),
    }
}

fn sorted(mut rows: Vec<Value>) -> Value {
    rows.sort_by_key(Value::to_string);
    rows.into()
}
