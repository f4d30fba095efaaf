//! Batches of streaming writers: each is committed once on either format.

use crate::support::{BOTH, add, committed, once, opened, prepared_add, set, sound, three_rows, try_add, unique_id};
use lakebed_lance::application::AppTransaction;
use lakebed_lance::transaction::Transaction;
use lakebed_table::{ApplicationBatch, CommitOptions, Prepared, Report, TableFormat, VersionSpec};
use lakebed_transaction::Outcome;
use std::collections::BTreeMap;

fn batch(app_id: &str, version: i64) -> CommitOptions {
    CommitOptions { application: Some(ApplicationBatch::new(app_id, version)), ..once() }
}

fn skipped(report: &Report) -> bool {
    matches!(report.outcome, Outcome::Nothing { .. })
}

#[tokio::test]
async fn what_is_given_again_is_skipped_and_what_races_is_told() {
    for format in BOTH {
        let (store, mut table) = three_rows(format).await;
        let mut stale = opened(&store).await;
        committed(&try_add(&mut table, &[4], &batch("a", 7)).await.unwrap());
        for version in [7, 6, -1] {
            assert!(skipped(&try_add(&mut table, &[4], &batch("a", version)).await.unwrap()), "{format} {version}");
        }
        // A handle of before meets it as a conflict, or finds it there.
        let report = try_add(&mut stale, &[4], &batch("a", 7)).await.unwrap();
        assert!(matches!(report.outcome, Outcome::Conflict(_)) || skipped(&report), "{format} {report:?}");
        let mut stale = opened(&store).await;
        committed(&try_add(&mut table, &[5], &batch("b", 1)).await.unwrap());
        // Another application's batch is in nobody's way.
        committed(&try_add(&mut stale, &[6], &batch("a", 8)).await.unwrap());
        assert_eq!(sound(&store, format).await.rows(), 6, "{format}");
        let summary = opened(&store).await.snapshot().summary().unwrap();
        let last = BTreeMap::from([("a".to_owned(), 8), ("b".to_owned(), 1)]);
        assert_eq!(summary.app_transactions, last, "{format}");
    }
}

/// A batch stays committed when its rows are taken back, and whoever replaces a property takes none.
#[tokio::test]
async fn a_restore_forgets_no_batch() {
    for format in BOTH {
        let (store, mut table) = three_rows(format).await;
        let before = table.version().get();
        committed(&try_add(&mut table, &[4], &batch("a", 1)).await.unwrap());
        committed(&set(&mut table, "test.k", "v", &once()).await);
        committed(&table.restore(VersionSpec::Number(before), &once()).await.unwrap());
        assert!(skipped(&try_add(&mut table, &[4], &batch("a", 1)).await.unwrap()), "{format}");
        committed(&try_add(&mut table, &[4], &batch("a", 2)).await.unwrap());
        assert_eq!(sound(&store, format).await.newest(), table.version().get());
    }
}

/// A Lance transaction that an engine prepared says in its properties which batch it is.
#[tokio::test]
async fn a_prepared_lance_transaction_is_a_batch_by_its_properties() {
    let (store, mut table) = three_rows(TableFormat::Lance).await;
    let marked = |prepared: &Prepared, batch: AppTransaction| {
        let Prepared::LanceTransaction(bytes) = prepared else { panic!("a Lance transaction") };
        let mut message = Transaction::decode("prepared", bytes).unwrap().message().clone();
        batch.mark(&mut message);
        Prepared::LanceTransaction(Transaction::new(message).encoded().clone())
    };
    let one = AppTransaction { app_id: "engine".to_owned(), version: 1 };
    let first = marked(&prepared_add(&table, unique_id(), 2).await, one.clone());
    let again = marked(&prepared_add(&table, unique_id(), 2).await, one.clone());
    let at = committed(&table.commit_prepared(first.clone(), &once()).await.unwrap());
    // The same transaction is found, the same batch in another one skipped, whichever version that read.
    assert_eq!(committed(&opened(&store).await.commit_prepared(first, &once()).await.unwrap()), at);
    assert!(skipped(&opened(&store).await.commit_prepared(again, &once()).await.unwrap()));
    let late = marked(&prepared_add(&opened(&store).await, unique_id(), 2).await, one);
    assert!(skipped(&opened(&store).await.commit_prepared(late, &once()).await.unwrap()));
    committed(&add(&mut table, &[9]).await);
    assert_eq!(sound(&store, TableFormat::Lance).await.rows(), 3 + 2 + 1);
    // Half a batch is none.
    let Prepared::LanceTransaction(bytes) = prepared_add(&table, unique_id(), 2).await else { panic!() };
    let mut message = Transaction::decode("prepared", &bytes).unwrap().message().clone();
    message.transaction_properties.insert("lakebed.app.id".to_owned(), "engine".to_owned());
    let half = Prepared::LanceTransaction(Transaction::new(message).encoded().clone());
    let error = table.commit_prepared(half, &once()).await.unwrap_err().to_string();
    assert!(error.contains("lakebed.app.version"), "{error}");
}
