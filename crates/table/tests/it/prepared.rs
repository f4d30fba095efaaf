//! Transactions that engines prepare elsewhere and hand in.

use crate::support::{
    BOTH, add, add_action, batch_of, columns, committed, created, once, opened, place, prepared_add, prepared_delta,
    remove_action, sound, source, three_rows, unique_id,
};
use lakebed_naming::Version;
use lakebed_table::{NewTable, Prepared, TableError, TableFormat};
use lakebed_transaction::Outcome;

/// A transaction that landed behind a rival is found there when it is given again.
#[tokio::test]
async fn a_rebased_transaction_that_is_given_again_is_found() {
    for format in BOTH {
        let (store, mut rival) = three_rows(format).await;
        let mut table = opened(&store).await;
        let read = table.version().get();
        let id = unique_id();
        let prepared = prepared_add(&table, id, 10).await;
        committed(&add(&mut rival, &[4]).await);
        let report = table.commit_prepared(prepared.clone(), &once()).await.unwrap();
        assert_eq!(committed(&report), read + 2, "{format}");
        assert_eq!(report.transaction_id.as_str(), id.to_string(), "{format}: the caller's id");
        committed(&add(&mut rival, &[5]).await);
        for _ in 0..2 {
            let again = opened(&store).await.commit_prepared(prepared.clone(), &once()).await.unwrap();
            assert_eq!(committed(&again), read + 2, "{format}");
        }
        let log = sound(&store, format).await;
        assert_eq!((log.newest(), log.rows()), (read + 3, 3 + 10 + 2), "{format}");
        assert_eq!(log.versions_of(&id.to_string()), vec![read + 2], "{format}");
    }
}

/// The version that a transaction read decides what it is judged against, not the version that the handle knows.
#[tokio::test]
async fn a_handle_commits_what_was_built_on_an_older_or_newer_version() {
    for format in BOTH {
        let (store, mut writer) = three_rows(format).await;
        let (mut old, read) = (opened(&store).await, writer.version().get());
        let on_old = prepared_add(&old, unique_id(), 10).await;
        committed(&add(&mut writer, &[4]).await);
        let on_new = prepared_add(&writer, unique_id(), 100).await;
        assert_eq!(committed(&old.commit_prepared(on_new, &once()).await.unwrap()), read + 2, "{format}");
        assert_eq!(old.version().get(), read + 2, "{format}: the handle moved on");
        assert_eq!(committed(&old.commit_prepared(on_old, &once()).await.unwrap()), read + 3, "{format}");
        assert_eq!(old.snapshot().summary().unwrap().num_rows, Some(114), "{format}");
        assert_eq!(sound(&store, format).await.rows(), 114, "{format}");
    }
}

/// What cannot be read, or was built on a version that is not there, is an error, and nothing is committed.
#[tokio::test]
async fn what_does_not_fit_is_refused() {
    for format in BOTH {
        let (store, mut table) = three_rows(format).await;
        let before = sound(&store, format).await.newest();
        let mut ahead = table.clone();
        committed(&add(&mut ahead, &[4]).await);
        let ahead = prepared_add(&ahead, unique_id(), 1).await;
        let newest = before + 1;
        // The version that it read is taken away.
        let entry = match format {
            TableFormat::Delta => format!("_delta_log/{newest:020}.json"),
            TableFormat::Lance => format!("_versions/{:020}.manifest", u64::MAX - newest),
        };
        assert!(store.head(&entry).await.unwrap().is_some());
        store.delete(&entry).await.unwrap();
        let error = table.commit_prepared(ahead, &once()).await.unwrap_err();
        assert!(error.to_string().contains(&newest.to_string()), "{format}: {error}");
        for bytes in ["\u{0}\u{1}\u{2}", "{", "{\"add\":{}}", "[]", "\u{7f}\u{7f}\u{7f}\u{7f}\u{7f}\u{7f}\u{7f}"] {
            let prepared = match format {
                TableFormat::Delta => Prepared::DeltaActions(bytes.into()),
                TableFormat::Lance => Prepared::LanceTransaction(bytes.into()),
            };
            assert!(table.commit_prepared(prepared, &once()).await.is_err(), "{format}: {bytes:?}");
        }
        let foreign = match format {
            TableFormat::Delta => Prepared::LanceTransaction("".into()),
            TableFormat::Lance => Prepared::DeltaActions("".into()),
        };
        let error = table.commit_prepared(foreign, &once()).await.unwrap_err();
        assert!(matches!(error, TableError::Invalid { .. } | TableError::Format { .. }), "{format}: {error}");
        assert_eq!(sound(&store, format).await.newest(), before, "{format}");
    }
}

/// A header says what was read: with it a rewrite of one partition stands beside an append to another, and without it it
/// counts as a read of the whole table.
#[tokio::test]
async fn a_header_says_what_was_read() {
    for with_header in [false, true] {
        let store = place(TableFormat::Delta);
        let definition = NewTable::new(TableFormat::Delta, columns()).with_partition_columns(vec!["p".to_owned()]);
        let mut table = created(&store, &definition).await;
        committed(&table.append(source(batch_of(&[(1, Some("1")), (2, Some("2"))])), &once()).await.unwrap());
        let file = table.snapshot().files()[0].path.clone();
        assert!(file.starts_with("p=1/"), "{file}");
        store.put("rest.parquet", "rows".into()).await.unwrap();
        let actions = [remove_action(&file, true), add_action("rest.parquet", 5, true)]
            .map(|action| action.replace(r#""partitionValues":{}"#, r#""partitionValues":{"p":"1"}"#));
        let Prepared::DeltaActions(bytes) = prepared_delta(Version::new(1), unique_id(), "DELETE", &actions) else {
            panic!("Delta actions")
        };
        let mut lines = String::from_utf8(bytes.to_vec()).unwrap();
        if with_header {
            lines.insert_str(0, "{\"reads\":{\"predicates\":[[\"p = '1'\"]]},\"operation\":\"DELETE\"}\n");
        }
        let mut rival = opened(&store).await;
        committed(&rival.append(source(batch_of(&[(3, Some("2"))])), &once()).await.unwrap());
        let report = table.commit_prepared(Prepared::DeltaActions(lines.into()), &once()).await.unwrap();
        let log = sound(&store, TableFormat::Delta).await;
        if with_header {
            assert_eq!((committed(&report), log.rows()), (3, 5 + 2));
        } else {
            assert!(matches!(report.outcome, Outcome::Conflict(_)), "{report:?}");
            assert_eq!((log.newest(), log.rows()), (2, 3));
        }
    }
}
