//! What a DELETE counts, anew: others may have taken rows of it out before it landed.

use super::{adds, removes};
use crate::action::Add;
use crate::commit::pending::Pending;
use crate::path;
use lakebed_transaction::PreciseKind;
use std::collections::BTreeMap;

/// Writes the metrics of a DELETE from the actions that it has by now. Rows are not counted where a file does not tell how many
/// it has.
pub(super) fn recount(pending: &mut Pending) {
    if pending.rows.facts.get().is_none_or(|facts| facts.kind != PreciseKind::Delete) {
        return;
    }
    let (files, vectors, rows) = counted(pending);
    pending.transaction.metrics.retain(|(name, _)| name != "numDeletedRows" || rows.is_some());
    for (name, number) in &mut pending.transaction.metrics {
        match (name.as_str(), rows) {
            ("numRemovedFiles", _) => *number = files.to_string(),
            ("numDeletionVectorsAdded", _) => *number = vectors.to_string(),
            ("numDeletedRows", Some(rows)) => *number = rows.to_string(),
            (_, _) => {}
        }
    }
}

/// Files that go, files that get a vector, and rows that are live no more.
fn counted(pending: &Pending) -> (usize, usize, Option<u64>) {
    let actions = &pending.transaction.actions;
    let mut come: BTreeMap<_, &Add> = adds(actions).map(|add| (path::identity(&add.path), add)).collect();
    let (mut files, mut vectors) = (0, 0);
    let (mut before, mut after) = (Some(0), Some(0));
    let sum = |total: Option<u64>, add: Option<&Add>| total?.checked_add(live(add?)?);
    for remove in removes(actions) {
        let identity = path::identity(&remove.path);
        let stood = match pending.rows.places.standing(&identity) {
            Some(standing) => standing,
            None => pending.rows.table.as_deref().and_then(|table| table.file(&remove.key())).map(|add| &**add),
        };
        before = sum(before, stood);
        match come.remove(&identity) {
            None => files += 1,
            Some(add) => {
                vectors += 1;
                after = sum(after, Some(add));
            }
        }
    }
    for add in come.into_values() {
        after = sum(after, Some(add));
    }
    (files, vectors, before.zip(after).and_then(|(before, after)| before.checked_sub(after)))
}

/// The rows of a file that are not deleted.
fn live(add: &Add) -> Option<u64> {
    let deleted = add.deletion_vector.as_ref().map_or(Some(0), |vector| u64::try_from(vector.cardinality).ok())?;
    add.num_records()?.checked_sub(deleted)
}
