//! Work beside the commit never decides about it.

use crate::stores::{Meddled, Moment};
use crate::support::{
    BOTH, add, columns, committed, created, impatient, opened, place, set, sound, three_rows, try_add,
};
use lakebed_table::{CommitOptions, NewTable, OpenOptions, Table, TableFormat};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A checkpoint, or its hint, that cannot be written takes nothing from the commit; who settles is told.
#[tokio::test]
async fn a_checkpoint_that_fails_leaves_the_commit_as_it_is() {
    for (part, missing) in [(".checkpoint.parquet", true), ("_last_checkpoint", false)] {
        let store = place(TableFormat::Delta);
        let refusing = Meddled::new(&store).refusing(part).shared();
        let mut table = created(&refusing, &NewTable::new(TableFormat::Delta, columns())).await;
        for id in 0..12 {
            committed(&add(&mut table, &[id]).await);
        }
        let problems = table.settle().await;
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains("checkpoint") && problems[0].contains("no space is left"), "{problems:?}");
        assert!(table.settle().await.is_empty(), "it is told once");
        let log = sound(&store, TableFormat::Delta).await;
        assert_eq!((log.newest(), log.rows()), (12, 12));
        let name = format!("_delta_log/{:020}.checkpoint.parquet", 10);
        assert_eq!(store.head(&name).await.unwrap().is_none(), missing);
        // The next one makes up for it.
        let mut fresh = opened(&store).await;
        for id in 12..20 {
            committed(&add(&mut fresh, &[id]).await);
        }
        assert!(fresh.settle().await.is_empty());
        assert!(store.get("_delta_log/_last_checkpoint").await.unwrap().is_some());
        assert_eq!(sound(&store, TableFormat::Delta).await.rows(), 20);
    }
}

/// A hint that is damaged, or that names a checkpoint that is not there, or is not there itself, hides nothing.
#[tokio::test]
async fn a_bad_hint_hides_nothing() {
    let (store, mut table) = three_rows(TableFormat::Delta).await;
    committed(&set(&mut table, "delta.checkpointInterval", "3", &CommitOptions::default()).await);
    for id in 4..10 {
        committed(&add(&mut table, &[id]).await);
    }
    assert!(table.settle().await.is_empty());
    let hint = "_delta_log/_last_checkpoint";
    let good = store.get(hint).await.unwrap().unwrap();
    let stale = r#"{"version":3,"size":5}"#;
    let gone = r#"{"version":5,"size":5}"#;
    let beyond = r#"{"version":500,"size":5}"#;
    for bad in ["", "{", "null", r#"{"version":-1}"#, r#"{"version":"6"}"#, stale, gone, beyond] {
        store.put(hint, bad.into()).await.unwrap();
        assert_eq!(sound(&store, TableFormat::Delta).await.newest(), 8, "{bad}");
    }
    store.put(hint, good).await.unwrap();
    store.delete(&format!("_delta_log/{:020}.checkpoint.parquet", 6)).await.unwrap();
    assert_eq!(sound(&store, TableFormat::Delta).await.newest(), 8);
    store.delete(hint).await.unwrap();
    assert_eq!(sound(&store, TableFormat::Delta).await.newest(), 8);
}

/// A neighbour whose request hangs holds the turn; who has less time than that goes ahead without it.
#[tokio::test]
async fn a_neighbour_that_hangs_does_not_use_up_others_time() {
    for format in BOTH {
        let (store, _) = three_rows(format).await;
        let hanging = Meddled::new(&store).act(Moment::Before, std::future::pending::<()>).shared();
        let options = OpenOptions::default();
        let mut stuck = Table::open_store(Arc::clone(&hanging), &options).await.unwrap();
        let mut table = Table::open_store(Arc::clone(&hanging), &options).await.unwrap();
        let read = table.version().get();
        let hung = tokio::spawn(async move { add(&mut stuck, &[4]).await });
        while !hung.is_finished() && store.list("", None, 1_000).await.unwrap().len() < objects(format) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let begun = now();
        let report = try_add(&mut table, &[5], &impatient()).await.unwrap();
        assert_eq!(committed(&report), read + 1, "{format}");
        assert!(begun.elapsed() < Duration::from_secs(5), "{format}: {:?}", begun.elapsed());
        hung.abort();
        assert_eq!(sound(&store, format).await.rows(), 4, "{format}");
    }
}

/// Objects of [`three_rows`], and those that stand before the create of one more append.
const fn objects(format: TableFormat) -> usize {
    match format {
        TableFormat::Delta => 4,
        TableFormat::Lance => 7,
    }
}

#[expect(clippy::disallowed_methods, reason = "the test measures how long it waited")]
fn now() -> Instant {
    Instant::now()
}
