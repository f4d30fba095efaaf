//! A commit that finds itself among what landed is committed, whatever the policy says about two such commits (property 6 of
//! the reference's list).

use crate::isolation::under;
use crate::stores::{Meddled, Moment};
use crate::support::{BOTH, add, committed, opened, set, sound, three_rows, try_add, try_remove};
use lakebed_storage::{Create, Store};
use lakebed_table::{CommitOptions, TableFormat};
use proptest::prelude::*;
use std::sync::Arc;

/// What others commit around ours.
#[derive(Clone, Copy, Debug)]
enum Rival {
    Append,
    Configure,
}

fn rival() -> impl Strategy<Value = Rival> {
    prop_oneof![Just(Rival::Append), Just(Rival::Configure)]
}

fn answer() -> impl Strategy<Value = Create> {
    prop_oneof![Just(Create::Exists), Just(Create::Unknown("timed out".to_owned()))]
}

/// What ours is.
#[derive(Clone, Copy, Debug)]
enum Ours {
    Append,
    Delete,
}

#[derive(Clone, Debug)]
struct Case {
    format: TableFormat,
    policy: &'static str,
    ours: Ours,
    before: Vec<Rival>,
    after: Vec<Rival>,
    answer: Create,
}

fn cases() -> impl Strategy<Value = Case> {
    let policies = prop_oneof![
        Just((TableFormat::Delta, "delta-snapshot")),
        Just((TableFormat::Delta, "delta-write-serializable")),
        Just((TableFormat::Delta, "delta-serializable")),
        Just((TableFormat::Lance, "lance")),
    ];
    let ours = prop_oneof![Just(Ours::Append), Just(Ours::Delete)];
    let rivals = || prop::collection::vec(rival(), 0..4);
    (policies, ours, rivals(), rivals(), answer()).prop_map(|((format, policy), ours, before, after, answer)| {
        // Where what others added counts, or metadata does, a rival before a deletion is a conflict of its own; Delta's metadata
        // is one for everybody.
        let harmless = |one: &Rival| match (format, ours, one) {
            (TableFormat::Delta, _, Rival::Configure) => false,
            (TableFormat::Delta, Ours::Delete, Rival::Append) => policy == "delta-snapshot",
            (TableFormat::Delta, Ours::Append, Rival::Append) | (TableFormat::Lance, _, _) => true,
        };
        let before = before.into_iter().filter(harmless).collect();
        Case { format, policy, ours, before, after, answer }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    /// However many stood before it and came after it, ours is answered at the version at which it stands, and stands there once.
    #[test]
    fn an_own_commit_in_the_window_is_committed_once(case in cases()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(found(&case));
    }
}

async fn found(case: &Case) {
    let Case { format, policy, .. } = *case;
    let (store, table) = three_rows(format).await;
    let read = table.version().get();
    let mut meddled = Meddled::new(&store);
    for rival in &case.before {
        meddled = meddled.act(Moment::Before, some(&store, vec![*rival]));
    }
    let meddled = meddled.act(Moment::After, some(&store, case.after.clone())).answering(case.answer.clone()).shared();
    let mut ours = opened(&meddled).await;
    let report = match case.ours {
        Ours::Append => try_add(&mut ours, &[60], &under(policy)).await.unwrap(),
        Ours::Delete => try_remove(&mut ours, 2, &under(policy)).await.unwrap(),
    };
    let at = read + case.before.len() as u64 + 1;
    assert_eq!(committed(&report), at, "{case:?}");
    let log = sound(&store, format).await;
    assert_eq!(log.versions_of(report.transaction_id.as_str()), vec![at], "{case:?}");
    let appended = case.before.iter().chain(&case.after).filter(|rival| matches!(rival, Rival::Append)).count() as u64;
    let rows = match case.ours {
        Ours::Append => 4 + appended,
        Ours::Delete => 2 + appended,
    };
    assert_eq!((log.newest(), log.rows()), (at + case.after.len() as u64, rows), "{case:?}");
}

/// These commits, by others.
fn some(
    store: &Arc<dyn Store>,
    rivals: Vec<Rival>,
) -> impl FnOnce() -> futures::future::BoxFuture<'static, ()> + Send + 'static {
    let store = Arc::clone(store);
    move || {
        Box::pin(async move {
            for (at, rival) in rivals.into_iter().enumerate() {
                let mut table = opened(&store).await;
                let report = match rival {
                    Rival::Append => add(&mut table, &[50]).await,
                    Rival::Configure => set(&mut table, "note", &format!("{at}"), &CommitOptions::default()).await,
                };
                committed(&report);
            }
        })
    }
}

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
