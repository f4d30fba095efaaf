//! Many writers, long windows, and what the window must hold.

use crate::log::read_log;
use crate::stores::is_entry;
use crate::support::{
    BOTH, add, columns, committed, ids, isolated, once, opened, place, prepared_delta, sound, three_rows, try_add,
    unique_id,
};
use lakebed_naming::Version;
use lakebed_storage::testing::{Counting, Fault, Faulty, Operation, Script};
use lakebed_storage::{Create, Store};
use lakebed_table::{CommitOptions, NewTable, Snapshot, Table, TableFormat};
use lakebed_transaction::{Outcome, Verdict};
use std::sync::Arc;

/// Field case 32: of two that create the table at once one does, and the other is told at which version it is there. What it
/// wanted to write follows on a handle that it opens.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_32_of_two_creators_one_creates() {
    for format in BOTH {
        let store = place(format);
        let creators = (0..8).map(|_| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let definition = NewTable::new(format, columns());
                Table::create_store(store, &isolated(), &definition, &CommitOptions::default()).await.unwrap()
            })
        });
        let mut made = 0;
        for creator in futures::future::join_all(creators).await {
            let (table, report) = creator.unwrap();
            match report.outcome {
                Outcome::Committed { .. } => made += 1,
                Outcome::Conflict(conflict) => {
                    assert!(table.is_none(), "{format}");
                    assert_eq!(conflict.why.verdict, Verdict::Incompatible, "{format}: {conflict}");
                    let first = u64::from(format == TableFormat::Lance);
                    assert_eq!(conflict.with, Version::new(first), "{format}: {conflict}");
                }
                other @ (Outcome::Nothing { .. } | Outcome::Unknown { .. } | Outcome::Exhausted { .. }) => {
                    panic!("{format}: {other:?}")
                }
            }
            committed(&add(&mut opened(&store).await, &[1]).await);
        }
        assert_eq!(made, 1, "{format}");
        assert_eq!(sound(&store, format).await.rows(), 8, "{format}");
    }
}

/// Field case 34: a handle that is 40 versions behind commits with the first entry that it offers after it has looked, however
/// few rebases others would have called attempts.
#[tokio::test]
async fn case_34_a_handle_far_behind_commits() {
    for format in BOTH {
        let (store, mut rival) = three_rows(format).await;
        let counting = Arc::new(Counting::new(Arc::clone(&store)));
        let mut behind = opened(&(Arc::clone(&counting) as Arc<dyn Store>)).await;
        for id in 0..40 {
            committed(&add(&mut rival, &[10 + id]).await);
        }
        counting.reset();
        let options = CommitOptions { rebases_max: 40, ..once() };
        let report = try_add(&mut behind, &[4], &options).await.unwrap();
        assert_eq!(committed(&report), rival.version().get() + 1, "{format}");
        let entries = counting.take().names(Operation::Create).into_iter().filter(|name| is_entry(name)).count();
        assert!(entries <= 2, "{format}: {entries} entries were offered");
        assert_eq!(sound(&store, format).await.rows(), 44, "{format}");
    }
}

/// Field case 87: the version in the middle of the window is gone. What it held cannot be judged, so nothing is committed, and
/// the error names it.
#[tokio::test]
async fn case_87_a_hole_in_the_window_is_an_error() {
    for format in BOTH {
        let (store, mut rival) = three_rows(format).await;
        let mut ours = opened(&store).await;
        let read = ours.version().get();
        committed(&add(&mut rival, &[4]).await);
        committed(&add(&mut rival, &[5]).await);
        let hole = match format {
            TableFormat::Delta => format!("_delta_log/{:020}.json", read + 1),
            TableFormat::Lance => format!("_versions/{:020}.manifest", u64::MAX - (read + 1)),
        };
        store.delete(&hole).await.unwrap();
        // As long as a snapshot may be trusted no cleanup removes what follows it; this writer has slept for longer.
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        let slept = CommitOptions { trust: std::time::Duration::ZERO, ..CommitOptions::default() };
        let error = try_add(&mut ours, &[6], &slept).await.unwrap_err().to_string();
        assert!(error.contains(&format!("version {}", read + 1)), "{format}: {error}");
        assert!(store.head(&hole).await.unwrap().is_none(), "{format}: the hole stays a hole");
    }
}

/// Field case 111: rewrite all, append one row, ten times. One row more each time; nothing that was removed is back.
#[tokio::test]
async fn case_111_removed_files_do_not_come_back() {
    let (store, _) = three_rows(TableFormat::Delta).await;
    for cycle in 0..10_i64 {
        let mut table = opened(&store).await;
        let Snapshot::Delta(held) = table.snapshot() else { panic!("a Delta table") };
        let before: Vec<String> = held.snapshot.files().map(|add| add.path.to_string()).collect();
        let report = table.update(&[format!("p = '{cycle}'")], None, &once()).await.unwrap();
        committed(&report);
        let held = opened(&store).await;
        let Snapshot::Delta(held) = held.snapshot() else { panic!("a Delta table") };
        assert!(
            held.snapshot.files().all(|add| !before.contains(&add.path.to_string())),
            "every file was written anew"
        );
        if cycle == 4 {
            let _ = opened(&store).await.checkpoint().await.unwrap();
        }
        committed(&add(&mut opened(&store).await, &[100 + cycle]).await);
        assert_eq!(ids(&store).await.len() as i64, 4 + cycle);
    }
    sound(&store, TableFormat::Delta).await;
}

/// Field case 122: fifty rivals, each just before an attempt. Every version of the window is read once.
#[tokio::test]
async fn case_122_no_version_is_read_twice() {
    for format in BOTH {
        let (store, rival) = three_rows(format).await;
        let first = rival.version().get() + 1;
        let rival = Arc::new(tokio::sync::Mutex::new(rival));
        let mut meddled = crate::stores::Meddled::new(&store);
        for id in 0..50 {
            let rival = Arc::clone(&rival);
            meddled = meddled.act(crate::stores::Moment::Before, move || async move {
                committed(&add(&mut *rival.lock().await, &[10 + id]).await);
            });
        }
        let counting = Arc::new(Counting::new(meddled.shared()));
        let mut ours = opened(&(Arc::clone(&counting) as Arc<dyn Store>)).await;
        counting.reset();
        let report = add(&mut ours, &[4]).await;
        assert_eq!(committed(&report), first + 50, "{format}");
        let asked = counting.take();
        let mut read: Vec<&str> = asked.names(Operation::Get).into_iter().filter(|name| is_entry(name)).collect();
        let total = read.len();
        read.sort_unstable();
        read.dedup();
        assert_eq!((read.len(), total), (50, 50), "{format}: each version of the window, once");
        assert_eq!(sound(&store, format).await.rows(), 54, "{format}");
    }
}

/// Field case 128: whoever comes second to a name within the second is told *not now* (429), whether it is taken or free. Ten
/// writers append once each, and all ten land.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn case_128_being_turned_away_is_contention() {
    for format in BOTH {
        let (store, _) = three_rows(format).await;
        let mut seen = std::collections::BTreeMap::<String, u32>::new();
        let script = Script::each(move |call| {
            let times = seen.entry(call.name.to_owned()).or_default();
            *times += 1;
            // The first of a name passes, and so does every third after it: the others are turned away.
            (is_entry(call.name) && *times % 3 == 2).then_some(Fault::SpuriousRefusal(Create::NotNow { after_ms: 1 }))
        });
        let slow: Arc<dyn Store> = Arc::new(Faulty::new(Arc::clone(&store), script));
        let writers = (0..10).map(|id| {
            let slow = Arc::clone(&slow);
            tokio::spawn(async move { committed(&add(&mut opened(&slow).await, &[10 + id]).await) })
        });
        let mut versions: Vec<u64> =
            futures::future::join_all(writers).await.into_iter().map(|version| version.unwrap()).collect();
        versions.sort_unstable();
        versions.dedup();
        assert_eq!(versions.len(), 10, "{format}");
        assert_eq!(sound(&store, format).await.rows(), 13, "{format}");
    }
}

/// Field case 14: two processes loaded version 3 with batch 7 of an application and both write batch 8. However the second
/// refreshed meanwhile, its batch is there already, and nothing is written twice.
#[tokio::test]
async fn case_14_a_batch_is_written_once_whatever_was_refreshed() {
    let (store, table) = three_rows(TableFormat::Delta).await;
    let batch = |number: u32, file: &str| {
        let marker = format!(r#"{{"txn":{{"appId":"etl","version":{number},"lastUpdated":1700000000000}}}}"#);
        [marker, crate::support::add_action(file, 1, true)]
    };
    let give = |read: Version, number: u32, file: &str| {
        let prepared = prepared_delta(read, unique_id(), "STREAMING UPDATE", &batch(number, file));
        let store = Arc::clone(&store);
        async move { opened(&store).await.commit_prepared(prepared, &once()).await.unwrap().outcome }
    };
    let outcome = give(table.version(), 7, "seven.parquet").await;
    assert!(matches!(outcome, Outcome::Committed { .. }), "{outcome:?}");
    let read = opened(&store).await.version();
    let first = give(read, 8, "eight-a.parquet").await;
    assert!(matches!(first, Outcome::Committed { .. }), "{first:?}");
    let second = give(read, 8, "eight-b.parquet").await;
    assert!(matches!(second, Outcome::Conflict(_) | Outcome::Nothing { .. }), "{second:?}");
    let log = read_log(&store, TableFormat::Delta).await;
    assert!(log.files().contains_key("eight-a.parquet") && !log.files().contains_key("eight-b.parquet"));
}

/// The rules' case of a Lance overwrite and a compaction, on a real table and in both orders: the overwrite replaces what the
/// compaction wrote; a compaction of fragments that an overwrite replaced can never follow.
#[tokio::test]
async fn an_overwrite_and_a_compaction_of_lance_land_in_either_order() {
    for overwrite_first in [true, false] {
        let (store, mut table) = three_rows(TableFormat::Lance).await;
        committed(&add(&mut table, &[4, 5]).await);
        let overwrite = crate::isolation::lance_overwrite(&table, 7).await;
        let compaction = crate::isolation::compaction(&table).await;
        let (first, second) = if overwrite_first { (overwrite, compaction) } else { (compaction, overwrite) };
        let mut early = opened(&store).await;
        let mut late = opened(&store).await;
        committed(&early.commit_prepared(first, &once()).await.unwrap());
        let outcome = late.commit_prepared(second, &once()).await.unwrap().outcome;
        if overwrite_first {
            let Outcome::Conflict(conflict) = outcome else { panic!("{outcome:?}") };
            assert_eq!(conflict.why.verdict, Verdict::Incompatible, "{conflict}");
        } else {
            assert!(matches!(outcome, Outcome::Committed { .. }), "{outcome:?}");
        }
        let log = sound(&store, TableFormat::Lance).await;
        assert_eq!((log.rows(), log.files().len()), (7, 1), "the overwrite alone is left");
        assert_eq!(log.newest(), 4 + u64::from(!overwrite_first));
    }
}
