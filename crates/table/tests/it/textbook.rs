//! The textbook history of the two levels: a long DELETE starts, an INSERT commits, the DELETE commits. See `docs/isolation.md`,
//! which tells the same story.

use crate::compaction::{append, batch, table};
use crate::support::{committed, once, opened, set, source};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use lakebed_storage::Store;
use lakebed_table::{Report, ScanRequest, VersionSpec};
use lakebed_transaction::{Outcome, Verdict};
use std::sync::Arc;

const LEVEL: &str = "delta.isolationLevel";

/// The ids that a reader sees at each version from 1 on.
async fn seen(store: &Arc<dyn Store>) -> Vec<Vec<i64>> {
    let table = opened(store).await;
    let mut versions = Vec::new();
    for version in 1..=table.version().get() {
        let snapshot = table.at(VersionSpec::Number(version)).await.unwrap();
        let read = table.scan(&snapshot, &ScanRequest::default()).unwrap().all().await.unwrap();
        let ids = read
            .iter()
            .flat_map(|rows| rows.column_by_name("id").unwrap().as_primitive::<Int64Type>().values().to_vec());
        let mut ids: Vec<i64> = ids.collect();
        ids.sort_unstable();
        versions.push(ids);
    }
    versions
}

/// The DELETE of everything above 1 has read the rows 1 to 3 when the row 9 is inserted, which it would have deleted.
async fn history(level: &str) -> (Arc<dyn Store>, Report) {
    let (store, mut insert) = table(false, &[(LEVEL, level)]).await;
    append(&mut insert, batch([(1, "a", 1), (2, "a", 2), (3, "a", 3)])).await;
    let mut delete = opened(&store).await;
    append(&mut insert, batch([(9, "a", 9)])).await;
    let report = delete.delete("id > 1", &once()).await.unwrap();
    (store, report)
}

#[tokio::test]
async fn under_serializable_the_delete_is_refused() {
    let (store, report) = history("Serializable").await;
    let Outcome::Conflict(conflict) = &report.outcome else { panic!("{report:?}") };
    assert_eq!((conflict.why.verdict, conflict.with.get()), (Verdict::Retryable, 2));
    assert_eq!(seen(&store).await, [vec![1, 2, 3], vec![1, 2, 3, 9]]);
    // Run again it deletes what is there by then.
    committed(&opened(&store).await.delete("id > 1", &once()).await.unwrap());
    assert_eq!(seen(&store).await.last(), Some(&vec![1]));
}

/// The result is that of the DELETE before the INSERT, although a reader of version 2 saw the new row beside those that the DELETE
/// took; the history tells it by the version that the DELETE read.
#[tokio::test]
async fn under_write_serializable_the_delete_commits_as_if_it_had_come_first() {
    let (store, report) = history("WriteSerializable").await;
    assert_eq!(committed(&report), 3);
    assert_eq!(seen(&store).await, [vec![1, 2, 3], vec![1, 2, 3, 9], vec![1, 9]]);
    let newest = opened(&store).await.history(Some(1)).await.unwrap().remove(0);
    assert_eq!((newest.version.get(), newest.read_version), (3, Some(1)), "it read what was there before the INSERT");
    let policy = newest.policy.unwrap_or_default();
    assert!(["delta-write-serializable", "precise-reorder"].iter().any(|known| policy.starts_with(known)), "{policy}");
}

/// The level is a property like others: changing it aborts what is in flight, and history shows which one a commit used.
#[tokio::test]
async fn changing_the_level_aborts_what_is_in_flight() {
    let (store, mut table) = table(false, &[(LEVEL, "Serializable")]).await;
    append(&mut table, batch([(1, "a", 1)])).await;
    let mut in_flight = opened(&store).await;
    committed(&set(&mut table, LEVEL, "WriteSerializable", &once()).await);
    let report = in_flight.append(source(batch([(2, "a", 2)])), &once()).await.unwrap();
    assert!(matches!(report.outcome, Outcome::Conflict(_)), "{report:?}");
    let _ = in_flight.refresh().await.unwrap();
    committed(&in_flight.append(source(batch([(2, "a", 2)])), &once()).await.unwrap());
    let history = in_flight.history(None).await.unwrap();
    let policies: Vec<&str> = history.iter().map(|entry| entry.policy.as_deref().unwrap_or_default()).collect();
    assert!(policies[0] != policies[2], "before and after the change: {policies:?}");
}
