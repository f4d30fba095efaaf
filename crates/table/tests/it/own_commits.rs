//! A commit that finds itself among what landed is committed, whatever the policy says about two such commits.

use crate::isolation::under;
use crate::stores::{Meddled, Moment};
use crate::support::{BOTH, add, committed, opened, sound, three_rows, try_remove};
use lakebed_storage::{Create, Store};
use lakebed_table::TableFormat;
use std::sync::Arc;

/// Under every policy, with rivals before the entry that landed unanswered and after it: a deletion, which never could follow
/// itself, is recognised at its version, once, and its row is gone once.
#[tokio::test]
async fn a_deletion_among_what_landed_is_ours_and_is_not_judged() {
    for format in BOTH {
        let policies: &[&str] = match format {
            // Where what others added counts, a rival that appends would be a conflict of its own.
            TableFormat::Delta => &["delta-snapshot", "delta-write-serializable", "delta-serializable"],
            TableFormat::Lance => &["lance"],
        };
        for policy in policies {
            for (before, after) in [(0, 0), (0, 1), (0, 2), (1, 0), (2, 1), (2, 2)] {
                let is_judged_alone = matches!(*policy, "delta-write-serializable" | "delta-serializable");
                let before = if is_judged_alone { 0 } else { before };
                for answer in [Create::Exists, Create::Unknown("timed out".to_owned())] {
                    let what = format!("{policy}: {before} before, {after} after, answered {answer:?}");
                    let (store, table) = three_rows(format).await;
                    let read = table.version().get();
                    let mut meddled = Meddled::new(&store);
                    for _ in 0..before {
                        meddled = meddled.act(Moment::Before, rivals(&store, 1));
                    }
                    let meddled = meddled.act(Moment::After, rivals(&store, after)).answering(answer.clone()).shared();
                    let mut ours = opened(&meddled).await;
                    let report = try_remove(&mut ours, 2, &under(policy)).await.unwrap();
                    assert_eq!(committed(&report), read + before + 1, "{what}");
                    let log = sound(&store, format).await;
                    assert_eq!(log.versions_of(report.transaction_id.as_str()), vec![read + before + 1], "{what}");
                    assert_eq!((log.newest(), log.rows()), (read + before + 1 + after, 2 + before + after), "{what}");
                }
            }
        }
    }
}

/// As many appends by others.
fn rivals(
    store: &Arc<dyn Store>,
    count: u64,
) -> impl FnOnce() -> futures::future::BoxFuture<'static, ()> + Send + 'static {
    let store = Arc::clone(store);
    move || {
        Box::pin(async move {
            for _ in 0..count {
                committed(&add(&mut opened(&store).await, &[50]).await);
            }
        })
    }
}
