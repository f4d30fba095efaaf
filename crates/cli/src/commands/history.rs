//! `lakebed history`.

use crate::args::{Global, HistoryArgs};
use crate::clock;
use crate::error::CliError;
use crate::exit::Exit;
use crate::{commands, output};
use lakebed_table::{HistoryEntry, Table, TableFormat};
use serde_json::{Value, json};

/// A version with the newest change of data up to it: version and time.
pub(crate) struct Timed {
    pub(crate) entry: HistoryEntry,
    pub(crate) time_version: Option<(u64, Option<i64>)>,
}

pub(crate) async fn run(args: HistoryArgs, global: &Global) -> Result<Exit, CliError> {
    let table = commands::open(&args.table, global).await?;
    let mut entries = timed(&table, if args.data_changes_only { None } else { args.limit }).await?;
    if args.data_changes_only {
        entries.retain(|timed| timed.entry.data_change);
        entries.truncate(args.limit.unwrap_or(usize::MAX));
    }
    if global.json {
        output::document(&Value::Array(entries.iter().map(document).collect()))?;
    } else {
        output::text(&text(&entries))?;
    }
    Ok(Exit::Done)
}

/// The newest versions, newest first.
pub(crate) async fn timed(table: &Table, limit: Option<usize>) -> Result<Vec<Timed>, CliError> {
    let mut entries = table.history(limit).await?;
    // The newest change of data may lie below what was asked for.
    if entries.last().is_some_and(|oldest| !oldest.data_change) && limit.is_some() {
        entries = table.history(None).await?;
    }
    let first = match table.format() {
        TableFormat::Delta => 0,
        TableFormat::Lance => 1,
    };
    let mut newest_change = None;
    let mut out: Vec<Timed> = Vec::with_capacity(entries.len());
    for entry in entries.into_iter().rev() {
        let version = entry.version.get();
        // With its first version a table comes to be, rows or not.
        if entry.data_change || version == first {
            newest_change = Some((version, entry.timestamp_ms));
        }
        out.push(Timed { entry, time_version: newest_change });
    }
    out.reverse();
    out.truncate(limit.unwrap_or(usize::MAX));
    Ok(out)
}

fn document(timed: &Timed) -> Value {
    let entry = &timed.entry;
    json!({
        "version": entry.version.get(),
        "timestamp_ms": entry.timestamp_ms,
        "operation": entry.operation,
        "read_version": entry.read_version,
        "transaction_id": entry.transaction_id,
        "data_change": entry.data_change,
        "time_version": timed.time_version.map(|(version, _)| version),
        "time_version_ms": timed.time_version.and_then(|(_, ms)| ms),
        "attempts": entry.attempts,
        "policy": entry.policy,
        "parameters": entry.parameters,
        "metrics": entry.metrics,
    })
}

/// Longer predicates are cut in the table; `--json` has them whole.
const PREDICATE_CHARS_MAX: usize = 60;

/// An operation with its predicate, where it had one: Spark and we write a list of conditions that hold together.
fn statement(operation: &str, predicate: Option<&String>) -> String {
    let Some(text) = predicate else { return operation.to_owned() };
    let list = serde_json::from_str::<Vec<String>>(text).map(|list| list.join(" AND "));
    let text = list.unwrap_or_else(|_| text.clone());
    if text.is_empty() {
        return operation.to_owned();
    }
    let mut cut: String = text.chars().take(PREDICATE_CHARS_MAX).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    format!("{operation} ({cut})")
}

/// The versions as a table.
pub(crate) fn text(entries: &[Timed]) -> String {
    let rows = entries.iter().map(|timed| {
        let entry = &timed.entry;
        [
            entry.version.to_string(),
            output::or_dash(entry.timestamp_ms.map(clock::utc)),
            output::or_dash(entry.operation.as_deref().map(|name| statement(name, entry.parameters.get("predicate")))),
            output::or_dash(entry.read_version),
            if entry.data_change { "yes" } else { "no" }.to_owned(),
            output::or_dash(entry.attempts),
        ]
    });
    output::table(["version", "time", "operation", "read", "data change", "attempts"], rows)
}
