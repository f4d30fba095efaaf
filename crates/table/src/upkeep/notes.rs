//! What the history says of a vacuum: commits without actions, in Spark's words.

use super::Vacuumed;
use crate::create::fresh_id;
use lakebed_delta::action::TextMap;
use lakebed_delta::{Retention, Transaction, VacuumScope};
use lakebed_storage::Listed;
use lakebed_transaction::TransactionId;
use serde_json::Value;
use std::collections::BTreeSet;

/// What is to go.
pub(super) fn start(properties: &TextMap, scope: VacuumScope, doomed: &Vacuumed) -> Transaction {
    let mut note = note("VACUUM START");
    note.parameters.insert("retentionCheckEnabled".to_owned(), Value::Bool(!scope.allow_shorter));
    if let Some(own_ms) = Retention::of(properties).deleted_files_ms {
        note.parameters.insert("defaultRetentionMillis".to_owned(), own_ms.into());
    }
    if let Some(told_ms) = scope.retain_ms {
        note.parameters.insert("specifiedRetentionMillis".to_owned(), told_ms.into());
    }
    note.metrics = vec![
        ("numFilesToDelete".to_owned(), doomed.files.len().to_string()),
        ("sizeOfDataToDelete".to_owned(), doomed.size_bytes.to_string()),
    ];
    note
}

/// What became of it.
pub(super) fn end(completed: bool, removed: usize, folders: usize) -> Transaction {
    let mut note = note("VACUUM END");
    let status = if completed { "COMPLETED" } else { "FAILED" };
    note.parameters.insert("status".to_owned(), Value::String(status.to_owned()));
    note.metrics = vec![
        ("numDeletedFiles".to_owned(), removed.to_string()),
        ("numVacuumedDirectories".to_owned(), folders.to_string()),
    ];
    note
}

fn note(operation: &str) -> Transaction {
    Transaction::new(TransactionId::new(fresh_id().to_string()), operation, Vec::new())
}

/// How many folders a vacuum looks into: the root, and those that are not hidden and hold anything.
pub(super) fn folders(listed: &[Listed]) -> usize {
    let mut folders = BTreeSet::from([""]);
    for entry in listed.iter().filter(|entry| !entry.name.starts_with(['_', '.'])) {
        folders.extend(entry.name.match_indices('/').filter_map(|(end, _)| entry.name.get(..end)));
    }
    folders.len()
}
