//! A stream that appends for a long time with default upkeep.

use crate::local::{Local, classic, commit, now_ms};
use crate::support::{add_action, columns, committed, isolated, prepared_delta, unique_id};
use lakebed_storage::Store;
use lakebed_storage::testing::{Counting, Operation};
use lakebed_table::{CommitOptions, NewTable, Table, TableFormat, VersionSpec};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Appends; more of them on demand.
fn appends() -> u64 {
    std::env::var("LAKEBED_STREAM_APPENDS").ok().and_then(|text| text.parse().ok()).unwrap_or(600)
}

/// How old a version is made to look: 40 a day.
const APART_MS: i64 = 86_400_000 / 40;

/// Requests of an open.
async fn requests(local: &Local) -> (usize, usize) {
    let counting = Arc::new(Counting::new(local.store()));
    let store: Arc<dyn Store> = Arc::clone(&counting) as Arc<dyn Store>;
    drop(Table::open_store(store, &isolated()).await.unwrap());
    let seen = counting.take();
    (seen.count(Operation::List), seen.count(Operation::Get))
}

/// The log stays as long as its retention, opening stays constant, and nothing that a kept version needs is gone.
#[tokio::test]
async fn a_stream_keeps_the_log_bounded() {
    let total = appends();
    let local = Local::new();
    let properties = [("delta.logRetentionDuration".to_owned(), "interval 2 days".to_owned())].into();
    let definition = NewTable::new(TableFormat::Delta, columns()).with_properties(properties);
    let created = Table::create_store(local.store(), &isolated(), &definition, &CommitOptions::default()).await;
    let mut table = created.unwrap().0.unwrap();
    let start = now_ms() - i64::try_from(total + 1).unwrap() * APART_MS;
    local.age(&commit(0), start);
    let mut opens = BTreeSet::new();
    let mut longest = 0;
    for at in 1..=total {
        let action = add_action(&format!("f{at}.parquet"), 1, true);
        let prepared = prepared_delta(table.version(), unique_id(), "STREAMING UPDATE", &[action]);
        let report = table.commit_prepared(prepared, &CommitOptions::default()).await.unwrap();
        assert_eq!(committed(&report), at);
        // A checkpoint of the newest is written, and the log cleaned, behind the commit.
        assert!(table.settle().await.is_empty());
        let then = start + i64::try_from(at).unwrap() * APART_MS;
        for name in [commit(at), classic(at), format!("_delta_log/{at:020}.crc")] {
            if local.has(&name) {
                local.age(&name, then);
            }
        }
        if at % 10 == 7 && at > 200 {
            opens.insert(requests(&local).await);
            longest = longest.max(local.names("_delta_log").len());
        }
    }
    // The hint, the checkpoint, and seven commits above it; one listing.
    assert_eq!(opens.into_iter().collect::<Vec<_>>(), [(1, 9)]);
    // Three days of commits at most (the retention counts whole days), one checkpoint and checksum for ten of them.
    assert!(longest <= 3 * 40 + 10 + 2 * 14 + 2, "{longest} objects in the log");
    kept_versions_are_whole(&local, total).await;
}

/// Every version that is still listed can be read, and has the files that its number says.
async fn kept_versions_are_whole(local: &Local, total: u64) {
    let table = local.open().await;
    let history = table.history(None).await.unwrap();
    let oldest = history.last().unwrap().version.get();
    assert!(oldest > 0 && oldest % 10 == 0, "the log is cut at a checkpoint, not at {oldest}");
    assert_eq!(history.len() as u64, total - oldest + 1);
    assert!(total - oldest >= 2 * 40, "two days are kept");
    for version in oldest..=total {
        let snapshot = table.at(VersionSpec::Number(version)).await.unwrap();
        assert_eq!(snapshot.summary().unwrap().num_files, version);
    }
}
