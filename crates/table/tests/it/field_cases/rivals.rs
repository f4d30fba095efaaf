//! Others commit between our read and our attempt.

use crate::isolation::under;
use crate::log::State;
use crate::stores::{Meddled, Moment};
use crate::support::{
    BOTH, add, batch_of, columns, committed, created, ids, once, opened, place, prepared_add, set, sound, source,
    three_rows, try_remove, unique_id,
};
use lakebed_table::{CommitOptions, NewTable, TableFormat};
use lakebed_transaction::{Evidence, Outcome, Verdict};
use std::sync::Arc;

/// Field case 11: two handles read one version, and both commit. The second is told its version, not an error, and it knows
/// what the first one wrote.
#[tokio::test]
async fn case_11_a_rebased_commit_is_a_success() {
    for format in BOTH {
        let (store, mut first) = three_rows(format).await;
        let mut second = opened(&store).await;
        let read = first.version().get();
        assert_eq!(committed(&add(&mut first, &[4]).await), read + 1);
        let report = add(&mut second, &[5]).await;
        assert_eq!(committed(&report), read + 2, "{format}");
        assert_eq!(second.version().get(), read + 2, "{format}: the handle moved on");
        let log = sound(&store, format).await;
        assert_eq!(second.snapshot().summary().unwrap().num_rows, Some(log.rows()), "{format}");
        assert_eq!((log.newest(), log.rows()), (read + 2, 5), "{format}");
        assert_eq!(log.versions_of(report.transaction_id.as_str()), vec![read + 2], "{format}");
    }
}

/// Field case 11 with a delete: it follows without being planned again. On Delta the statistics of the appended file rule its rows
/// out, and on Lance its rows are rows by position. Delta's own rules see a file added and plan again.
#[tokio::test]
async fn case_11_a_delete_that_lost_to_an_append_is_a_success() {
    for format in BOTH {
        let (store, mut first) = three_rows(format).await;
        let mut second = opened(&store).await;
        let read = first.version().get();
        committed(&add(&mut first, &[4]).await);
        let report = try_remove(&mut second, 1, &CommitOptions::default()).await.unwrap();
        assert_eq!((committed(&report), report.plannings), (read + 2, 1), "{format}");
        let log = sound(&store, format).await;
        assert_eq!((log.newest(), log.rows()), (read + 2, 3), "{format}");
        if format == TableFormat::Delta {
            assert_eq!(ids(&store).await, vec![2, 3, 4]);
        }
    }
}

/// The same under Delta's own rules.
#[tokio::test]
async fn case_11_a_delete_judged_by_files_is_planned_again() {
    let (store, mut first) = three_rows(TableFormat::Delta).await;
    let mut second = opened(&store).await;
    committed(&add(&mut first, &[4]).await);
    let options = CommitOptions { policy: Some("delta-serializable".to_owned()), ..CommitOptions::default() };
    let report = try_remove(&mut second, 1, &options).await.unwrap();
    assert_eq!((committed(&report), report.plannings), (3, 2));
    assert_eq!(ids(&store).await, vec![2, 3, 4]);
}

/// Field case 22 on Delta: the first rival is harmless, the second is not; the window reaches from the version that was
/// read to the one that is tried.
#[tokio::test]
async fn case_22_delta_every_rival_in_the_window_is_judged() {
    let store = place(TableFormat::Delta);
    let definition = NewTable::new(TableFormat::Delta, columns()).with_partition_columns(vec!["p".to_owned()]);
    let mut table = created(&store, &definition).await;
    let rows = [(1, Some("1")), (2, Some("2"))];
    committed(&table.append(source(batch_of(&rows)), &once()).await.unwrap());
    let read = table.version().get();
    let rival = |partition: &'static str| {
        let store = Arc::clone(&store);
        move || async move {
            let rows = [(7, Some(partition))];
            opened(&store).await.append(source(batch_of(&rows)), &once()).await.map(drop).unwrap();
        }
    };
    let meddled = Meddled::new(&store).act(Moment::Before, rival("2")).act(Moment::Before, rival("1")).shared();
    let mut ours = opened(&meddled).await;
    let report = ours.delete("p = '1'", &once()).await.unwrap();
    let Outcome::Conflict(conflict) = &report.outcome else { panic!("{:?}", report.outcome) };
    assert_eq!(conflict.with.get(), read + 2, "refused because of the second rival");
    assert_eq!(conflict.why.verdict, Verdict::Retryable);
    let log = sound(&store, TableFormat::Delta).await;
    assert_eq!((log.newest(), log.rows()), (read + 2, 4));
    // Planned again, it takes the rival's row too.
    let report = ours.delete("p = '1'", &CommitOptions::default()).await.unwrap();
    assert_eq!(committed(&report), read + 3);
    assert_eq!(ids(&store).await, vec![2, 7]);
}

/// Field case 22 on Lance: another row of the fragment is harmless, the same row is not.
#[tokio::test]
async fn case_22_lance_every_rival_in_the_window_is_judged() {
    let (store, table) = three_rows(TableFormat::Lance).await;
    let read = table.version().get();
    let rival = |id: i64| {
        let store = Arc::clone(&store);
        move || async move {
            try_remove(&mut opened(&store).await, id, &once()).await.map(drop).unwrap();
        }
    };
    let meddled = Meddled::new(&store).act(Moment::Before, rival(1)).act(Moment::Before, rival(2)).shared();
    let mut ours = opened(&meddled).await;
    let report = try_remove(&mut ours, 2, &under("lance")).await.unwrap();
    let Outcome::Conflict(conflict) = &report.outcome else { panic!("{:?}", report.outcome) };
    assert_eq!(conflict.with.get(), read + 2, "refused because of the second rival");
    assert_eq!(conflict.why.verdict, Verdict::Retryable);
    let Some(Evidence::Rows(_, rows)) = &conflict.why.evidence else { panic!("{conflict:?}") };
    assert_eq!(rows.iter().collect::<Vec<_>>(), vec![1]);
    let log = sound(&store, TableFormat::Lance).await;
    assert_eq!((log.newest(), log.rows()), (read + 2, 1));
}

/// Field case 23: every attempt is built on the newest version, so that a rival's file is not lost by ours.
#[tokio::test]
async fn case_23_a_retry_keeps_what_the_rival_wrote() {
    for format in BOTH {
        let (store, _) = three_rows(format).await;
        let others = Arc::clone(&store);
        let rival = move || async move {
            committed(&add(&mut opened(&others).await, &[4, 5]).await);
        };
        let meddled = Meddled::new(&store).act(Moment::Before, rival).shared();
        let mut ours = opened(&meddled).await;
        let prepared = prepared_add(&ours, unique_id(), 4).await;
        let read = ours.version().get();
        assert_eq!(committed(&ours.commit_prepared(prepared, &once()).await.unwrap()), read + 2, "{format}");
        committed(&set(&mut ours, "owner", "us", &once()).await);
        let log = sound(&store, format).await;
        assert_eq!((log.newest(), log.rows(), log.files().len()), (read + 3, 3 + 2 + 4, 3), "{format}");
        for (version, state) in &log.0 {
            let before = version.checked_sub(1).and_then(|before| log.0.get(&before));
            let lost = |before: &State| before.files.keys().any(|file| !state.files.contains_key(file));
            assert!(!before.is_some_and(lost), "{format}: version {version} lost a file");
        }
    }
}
