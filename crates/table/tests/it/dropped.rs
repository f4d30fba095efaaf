//! A commit's future may be dropped at any await: the table is then as after a crash there.

use crate::stores::{Meddled, is_entry};
use crate::support::{
    BOTH, add, columns, committed, created, isolated, once, opened, place as empty, prepared_add, sound, three_rows,
    try_remove, unique_id,
};
use lakebed_storage::Store;
use lakebed_table::{NewTable, OpenOptions, Report, Table, TableError};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// Runs a future until its store stands still at a place, then drops it. What it gave, if it ended before.
async fn dropped_at<T>(store: &Meddled, place: u32, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    store.stop_at(place);
    let ended = loop {
        if let Poll::Ready(value) = futures::poll!(&mut future) {
            break Some(value);
        }
        if store.stands() {
            break None;
        }
        // Rests of the commit machine need time, not polls.
        tokio::time::sleep(Duration::from_micros(200)).await;
    };
    store.release();
    ended
}

fn halting(store: &Arc<dyn Store>) -> (Arc<Meddled>, Arc<dyn Store>) {
    let halting = Arc::new(Meddled::new(store));
    (Arc::clone(&halting), halting)
}

/// Places after which every future here has ended.
const PLACES_MAX: u32 = 100;

/// An append that nobody races, dropped at every await, on its own and behind a rival.
#[tokio::test]
async fn a_dropped_append_landed_or_did_not() {
    for format in BOTH {
        for contended in [false, true] {
            let mut landed_unseen = 0;
            for place in 0..PLACES_MAX {
                let (store, mut rival) = three_rows(format).await;
                let (halts, through) = halting(&store);
                let mut table = shared(&through).await;
                let mut neighbour = shared(&through).await;
                let id = unique_id();
                let prepared = prepared_add(&table, id, 10).await;
                if contended {
                    committed(&add(&mut rival, &[4]).await);
                }
                let before = sound(&store, format).await;
                let ended = dropped_at(&halts, place, table.commit_prepared(prepared.clone(), &once())).await;
                let what = format!("{format}, contended {contended}, at place {place}");
                let log = sound(&store, format).await;
                let landed = log.versions_of(&id.to_string());
                assert!(landed.len() <= 1, "{what}: {landed:?}");
                assert_eq!(log.rows(), before.rows() + 10 * landed.len() as u64, "{what}");
                let done = ended.is_some();
                if let Some(report) = ended {
                    assert_eq!(vec![committed(&report.unwrap())], landed, "{what}");
                } else {
                    landed_unseen += landed.len();
                }
                goes_on(&store, &mut table, &what).await;
                committed(&add(&mut neighbour, &[102]).await);
                // Whoever gives it again is told where it landed, or lands it; it is there once.
                let again = opened(&store).await.commit_prepared(prepared, &once()).await.unwrap();
                let log = sound(&store, format).await;
                assert_eq!(log.versions_of(&id.to_string()), vec![committed(&again)], "{what}");
                assert!(landed.is_empty() || landed == vec![committed(&again)], "{what}: {landed:?}");
                assert_eq!(log.rows(), before.rows() + 3 + 10, "{what}");
                if done {
                    break;
                }
                assert!(place < PLACES_MAX - 1, "{what}: it never ends");
            }
            assert!(landed_unseen > 0, "{format}: it was never dropped between the create and its answer");
        }
    }
}

/// A handle that shares what it knows with the others on this store.
async fn shared(store: &Arc<dyn Store>) -> Table {
    Table::open_store(Arc::clone(store), &OpenOptions::default()).await.unwrap()
}

/// A fresh handle and the one whose future was dropped both commit after it.
async fn goes_on(store: &Arc<dyn Store>, table: &mut Table, what: &str) {
    let format = table.format();
    let before = sound(store, format).await;
    let mut fresh = opened(store).await;
    assert_eq!(committed(&add(&mut fresh, &[100]).await), before.newest() + 1, "{what}");
    assert_eq!(committed(&add(table, &[101]).await), before.newest() + 2, "{what}");
    let after = sound(store, format).await;
    assert_eq!(after.rows(), before.rows() + 2, "{what}");
}

/// A statement that reads, writes files and commits, dropped at every await.
#[tokio::test]
async fn a_dropped_delete_landed_or_did_not() {
    for format in BOTH {
        for place in 0..PLACES_MAX {
            let (store, _) = three_rows(format).await;
            let (halts, through) = halting(&store);
            let mut table = opened(&through).await;
            let read = table.version().get();
            let ended = dropped_at(&halts, place, try_remove(&mut table, 2, &once())).await;
            let what = format!("{format} at place {place}");
            let log = sound(&store, format).await;
            let rows = if log.newest() == read { 3 } else { 2 };
            assert_eq!(log.rows(), rows, "{what}");
            let done = match ended {
                Some(report) => {
                    assert_eq!(committed(&report.unwrap()), read + 1, "{what}");
                    true
                }
                None => false,
            };
            goes_on(&store, &mut table, &what).await;
            if done {
                break;
            }
            assert!(place < PLACES_MAX - 1, "{what}: it never ends");
        }
    }
}

/// A creation, dropped at every await: there is a table or there is none, and who creates it then gets one.
#[tokio::test]
async fn a_dropped_creation_leaves_a_table_or_none() {
    for format in BOTH {
        let mut unseen = 0;
        for place in 0..PLACES_MAX {
            let store = empty(format);
            let (halts, through) = halting(&store);
            let definition = NewTable::new(format, columns());
            let options = isolated();
            let commit = once();
            let creation = Table::create_store(through, &options, &definition, &commit);
            let ended: Option<Result<(Option<Table>, Report), TableError>> = dropped_at(&halts, place, creation).await;
            let what = format!("{format} at place {place}");
            let entries = store.list("", None, 100).await.unwrap();
            let there = entries.iter().any(|listed| is_entry(&listed.name));
            if there {
                assert_eq!(sound(&store, format).await.rows(), 0, "{what}");
                let mut table = opened(&store).await;
                committed(&add(&mut table, &[1]).await);
            } else {
                committed(&add(&mut created(&store, &definition).await, &[1]).await);
            }
            assert_eq!(sound(&store, format).await.rows(), 1, "{what}");
            match ended {
                Some(answer) => {
                    assert!(answer.unwrap().0.is_some() && there, "{what}");
                    break;
                }
                None => unseen += usize::from(there),
            }
            assert!(place < PLACES_MAX - 1, "{what}: it never ends");
        }
        assert!(unseen > 0, "{format}: it was never dropped between the create and its answer");
    }
}
