//! Rows of Delta tables: written, replaced, deleted, found again at earlier versions.

use crate::log::read_log;
use crate::support::{
    BOTH, add, batch, batch_of, columns, committed, created, ids, isolated, once, opened, place, set, sound, source,
    three_rows,
};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use lakebed_storage::Store;
use lakebed_table::{
    Change, CommitOptions, NewTable, OpenOptions, ScanRequest, Scope, Snapshot, Table, TableError, TableFormat,
    VersionSpec,
};
use lakebed_transaction::{Outcome, Verdict};
use std::collections::BTreeMap;
use std::sync::Arc;

use TableFormat::Delta;

async fn files(store: &Arc<dyn Store>) -> Vec<String> {
    read_log(store, Delta).await.files().keys().cloned().collect()
}

#[tokio::test]
async fn a_new_table_is_version_0_and_appends_follow() {
    let store = place(Delta);
    let mut table = created(&store, &NewTable::new(Delta, columns())).await;
    assert_eq!(table.version().get(), 0);
    let summary = table.snapshot().summary().unwrap();
    assert_eq!((summary.num_rows, summary.num_files, summary.columns), (Some(0), 0, columns()));
    let report = table.append(source(batch_of(&[(1, Some("a")), (2, None)])), &once()).await.unwrap();
    assert_eq!(committed(&report), 1);
    assert_eq!((report.metrics["rows_inserted"], report.metrics["files_added"]), (2, 1));
    committed(&add(&mut table, &[3]).await);
    assert_eq!(ids(&store).await, vec![1, 2, 3]);
    let log = sound(&store, Delta).await;
    assert_eq!(log.state().info["isBlindAppend"], true);
    // Nothing to append: no version.
    let empty = table.append(|| Ok(Box::new(std::iter::empty())), &once()).await.unwrap();
    assert!(matches!(empty.outcome, Outcome::Nothing { version } if version.get() == 2), "{empty:?}");
}

#[tokio::test]
async fn an_overwrite_replaces_everything_or_a_range() {
    let (store, mut table) = three_rows(Delta).await;
    let range = Scope::Where("id >= 2".to_owned());
    let report = table.overwrite(source(batch(&[20, 30])), &range, &once()).await.unwrap();
    assert_eq!(committed(&report), 2);
    assert_eq!((report.metrics["rows_deleted"], report.metrics["rows_copied"]), (2, 1));
    assert_eq!(ids(&store).await, vec![1, 20, 30]);
    // A row outside of the range would be one that the statement does not own up to.
    let error = table.overwrite(source(batch(&[1])), &range, &once()).await.unwrap_err();
    assert!(error.to_string().contains("id >= 2"), "{error}");
    committed(&table.overwrite(source(batch(&[7])), &Scope::Whole, &once()).await.unwrap());
    assert_eq!(ids(&store).await, vec![7]);
    committed(&table.overwrite(|| Ok(Box::new(std::iter::empty())), &Scope::Whole, &once()).await.unwrap());
    assert_eq!(ids(&store).await, Vec::<i64>::new());
    assert_eq!(sound(&store, Delta).await.newest(), 4);
}

#[tokio::test]
async fn a_delete_takes_whole_files_parts_of_files_or_nothing() {
    let (store, mut table) = three_rows(Delta).await;
    committed(&add(&mut table, &[4, 5]).await);
    let before = files(&store).await;
    // Part of one file: the other one stays as it is.
    let report = table.delete("id = 2", &once()).await.unwrap();
    assert_eq!((committed(&report), report.metrics["rows_deleted"], report.metrics["rows_copied"]), (3, 1, 2));
    assert_eq!(ids(&store).await, vec![1, 3, 4, 5]);
    assert_eq!(files(&store).await.iter().filter(|file| before.contains(file)).count(), 1);
    // A whole file: nothing is copied.
    let report = table.delete("id > 3", &once()).await.unwrap();
    assert_eq!((report.metrics["files_removed"], report.metrics["rows_copied"]), (1, 0));
    assert_eq!(ids(&store).await, vec![1, 3]);
    // None, and NULL is not true.
    for predicate in ["id = 99", "p = 'x'", "p <> 'x'"] {
        let report = table.delete(predicate, &once()).await.unwrap();
        assert!(
            matches!(report.outcome, Outcome::Nothing { version } if version.get() == 4),
            "{predicate}: {report:?}"
        );
    }
    committed(&table.delete("TRUE", &once()).await.unwrap());
    assert_eq!(ids(&store).await, Vec::<i64>::new());
    let error = table.delete("nothing_like_it = 1", &once()).await.unwrap_err();
    assert!(error.to_string().contains("nothing_like_it"), "{error}");
    sound(&store, Delta).await;
}

#[tokio::test]
async fn properties_are_set_and_unset_and_bad_ones_refused() {
    let (store, mut table) = three_rows(Delta).await;
    committed(&set(&mut table, "owner", "us", &once()).await);
    let both = BTreeMap::from([("purpose".to_owned(), "tests".to_owned())]);
    committed(&table.set_properties(both, vec!["owner".to_owned()], &once()).await.unwrap());
    let properties = opened(&store).await.snapshot().summary().unwrap().properties;
    assert_eq!(properties, BTreeMap::from([("purpose".to_owned(), "tests".to_owned())]));
    for (key, value) in [
        ("delta.checkpointInterval", "0"),
        ("delta.isolationLevel", "sometimes"),
        ("lakebed.policy", "no-such-policy"),
        ("delta.enableIcebergCompatV1", "true"),
    ] {
        let pair = BTreeMap::from([(key.to_owned(), value.to_owned())]);
        let error = table.set_properties(pair, Vec::new(), &once()).await.unwrap_err();
        assert!(error.to_string().contains(if key.contains("Iceberg") { "icebergCompatV1" } else { value }), "{error}");
    }
    // Who was refused has not closed the table to the others.
    committed(&add(&mut table, &[4]).await);
    assert_eq!(sound(&store, Delta).await.newest(), 4);
}

#[tokio::test]
async fn versions_are_found_by_number_and_by_time() {
    let (store, mut table) = three_rows(Delta).await;
    let mut times = Vec::new();
    for id in 4..8 {
        tokio::time::sleep(std::time::Duration::from_millis(4)).await;
        committed(&add(&mut table, &[id]).await);
        times.push(opened(&store).await.snapshot().summary().unwrap().timestamp_ms.unwrap());
    }
    for (at, ms) in times.iter().enumerate() {
        let expected = at as u64 + 2;
        for (time, version) in [(*ms, expected), (*ms - 1, expected - 1)] {
            let found = table.at(VersionSpec::AtMs(time)).await.unwrap();
            assert_eq!(found.version().get(), version, "{time} of {times:?}");
        }
        let found = table.at(VersionSpec::Number(expected)).await.unwrap();
        assert_eq!(found.summary().unwrap().num_rows, Some(expected + 2));
    }
    let first = table.at(VersionSpec::Number(1)).await.unwrap();
    let batches = table.scan(&first, &ScanRequest::default()).unwrap().all().await.unwrap();
    assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), 3);
    let error = table.at(VersionSpec::AtMs(1)).await.unwrap_err();
    assert!(matches!(error, TableError::Unavailable { .. }), "{error}");
    let error = table.at(VersionSpec::Number(77)).await.unwrap_err();
    assert!(error.to_string().contains("77"), "{error}");
}

#[tokio::test]
async fn history_says_who_did_what() {
    let (_, mut table) = three_rows(Delta).await;
    committed(&set(&mut table, "owner", "us", &once()).await);
    let deleted = table.delete("id = 1", &once()).await.unwrap();
    let history = table.history(None).await.unwrap();
    let seen: Vec<_> = history
        .iter()
        .map(|entry| (entry.version.get(), entry.operation.as_deref().unwrap(), entry.read_version, entry.data_change))
        .collect();
    let expected = vec![
        (3, "DELETE", Some(2), true),
        (2, "SET TBLPROPERTIES", Some(1), false),
        (1, "WRITE", Some(0), true),
        (0, "CREATE TABLE", None, false),
    ];
    assert_eq!(seen, expected);
    assert_eq!(history[0].transaction_id.as_deref(), Some(deleted.transaction_id.as_str()));
    assert_eq!(history[0].metrics["numDeletedRows"], "1");
    assert_eq!(history[0].policy.as_deref(), Some("precise@1"), "{history:?}");
    assert_eq!(table.history(Some(2)).await.unwrap().len(), 2);
}

/// Checkpoints come every interval, after the answer; the state read from one is the state of the whole log.
#[tokio::test]
async fn a_table_read_from_its_checkpoint_is_the_table_of_its_log() {
    let (store, mut table) = three_rows(Delta).await;
    committed(&set(&mut table, "delta.checkpointInterval", "4", &once()).await);
    for id in 4..13 {
        committed(&add(&mut table, &[id]).await);
        if id % 3 == 0 {
            committed(&table.delete(&format!("id = {}", id - 3), &once()).await.unwrap());
        }
    }
    assert_eq!(table.settle().await, Vec::<String>::new());
    let names: Vec<_> =
        store.list("_delta_log", None, 1_000).await.unwrap().into_iter().map(|listed| listed.name).collect();
    let checkpoints: Vec<_> = names.iter().filter(|name| name.ends_with(".checkpoint.parquet")).collect();
    let expected: Vec<_> = [4, 8, 12].map(|version| format!("_delta_log/{version:020}.checkpoint.parquet")).into();
    assert_eq!(checkpoints, expected.iter().collect::<Vec<_>>());
    sound(&store, Delta).await;
    let by_checkpoint = opened(&store).await;
    assert_eq!(by_checkpoint.version().get(), 14);

    // The same log without its checkpoints.
    let plain = place(Delta);
    for name in names.iter().filter(|name| name.ends_with(".json")) {
        plain.put(name, store.get(name).await.unwrap().unwrap()).await.unwrap();
    }
    let by_log = opened(&plain).await;
    assert_same(by_checkpoint.snapshot(), by_log.snapshot());
    // And the handle that wrote it all.
    assert_same(table.snapshot(), by_log.snapshot());
    // The commits before the checkpoint are not needed any more.
    for version in 0..12 {
        store.delete(&format!("_delta_log/{version:020}.json")).await.unwrap();
    }
    assert_same(opened(&store).await.snapshot(), by_log.snapshot());
}

fn assert_same(a: &Snapshot, b: &Snapshot) {
    assert_eq!(a.version(), b.version());
    assert_eq!(a.files(), b.files());
    let (a, b) = (a.summary().unwrap(), b.summary().unwrap());
    assert_eq!((a.num_rows, a.size_bytes, a.columns), (b.num_rows, b.size_bytes, b.columns));
    assert_eq!((a.properties, a.table_id, a.protocol), (b.properties, b.table_id, b.protocol));
}

#[tokio::test]
async fn rows_that_do_not_fit_are_refused_and_nothing_is_committed() {
    let (store, mut table) = three_rows(Delta).await;
    let nullable = Schema::new(vec![Field::new("id", DataType::Int64, true)]);
    let null = RecordBatch::try_new(Arc::new(nullable), vec![Arc::new(Int64Array::from(vec![Some(1), None]))]).unwrap();
    let error = table.append(source(null), &once()).await.unwrap_err();
    assert!(error.to_string().contains("id"), "{error}");
    let extra = Schema::new(vec![Field::new("id", DataType::Int64, false), Field::new("q", DataType::Utf8, true)]);
    let arrays: Vec<Arc<dyn arrow_array::Array>> =
        vec![Arc::new(Int64Array::from(vec![1])), Arc::new(StringArray::from(vec!["x"]))];
    let extra = RecordBatch::try_new(Arc::new(extra), arrays).unwrap();
    let error = table.append(source(extra), &once()).await.unwrap_err();
    assert!(error.to_string().contains('q'), "{error}");
    let absent = Schema::new(vec![Field::new("p", DataType::Utf8, true)]);
    let absent = RecordBatch::try_new(Arc::new(absent), vec![Arc::new(StringArray::from(vec!["x"]))]).unwrap();
    let error = table.overwrite(source(absent), &Scope::Whole, &once()).await.unwrap_err();
    assert!(error.to_string().contains("id"), "{error}");
    assert_eq!(sound(&store, Delta).await.newest(), 1);
    assert_eq!(ids(&store).await, vec![1, 2, 3]);
}

#[tokio::test]
async fn a_table_that_is_there_is_a_conflict_and_the_other_format_is_refused() {
    for format in BOTH {
        let (store, _) = three_rows(format).await;
        let before = sound(&store, format).await.newest();
        let options = CommitOptions::default();
        let same = NewTable::new(format, columns());
        let (handle, report) = Table::create_store(Arc::clone(&store), &isolated(), &same, &options).await.unwrap();
        assert!(handle.is_none());
        let Outcome::Conflict(conflict) = &report.outcome else { panic!("{report:?}") };
        assert_eq!(conflict.why.verdict, Verdict::Incompatible);
        let other = if format == Delta { TableFormat::Lance } else { Delta };
        let other = NewTable::new(other, columns());
        let error = Table::create_store(Arc::clone(&store), &isolated(), &other, &options).await.unwrap_err();
        assert!(matches!(&error, TableError::Exists { format: there, .. } if *there == format.name()), "{error}");
        assert_eq!(sound(&store, format).await.newest(), before);
    }
}

#[tokio::test]
async fn where_nothing_is_there_is_no_table() {
    for format in BOTH {
        let error = Table::open_store(place(format), &isolated()).await.unwrap_err();
        assert!(matches!(error, TableError::NotATable { .. }), "{error}");
    }
}

/// A table that was removed and made anew in the same place is another table: what handles of the old one knew is not
/// taken for its log, whoever made it anew.
#[tokio::test]
async fn a_table_made_anew_in_the_same_place_starts_afresh() {
    for format in BOTH {
        for by_another_process in [false, true] {
            let store = place(format);
            let shared = OpenOptions::default();
            let definition = NewTable::new(format, columns());
            let commit = once();
            let create = async |options: &OpenOptions| {
                Table::create_store(Arc::clone(&store), options, &definition, &commit).await.unwrap().0.unwrap()
            };
            let mut old = create(&shared).await;
            for id in 0..5 {
                committed(&add(&mut old, &[id]).await);
            }
            for listed in store.list("", None, 1_000).await.unwrap() {
                store.delete(&listed.name).await.unwrap();
            }
            let mut fresh = if by_another_process {
                create(&isolated()).await;
                Table::open_store(Arc::clone(&store), &shared).await.unwrap()
            } else {
                create(&shared).await
            };
            let first = fresh.version().get();
            assert_eq!(committed(&add(&mut fresh, &[7]).await), first + 1, "{format}");
            assert_eq!(sound(&store, format).await.rows(), 1, "{format}");
            assert!(old.version() > fresh.version());
        }
    }
}

async fn changed(table: &Table, from: u64, to: VersionSpec) -> Vec<(u64, Change, Vec<i64>)> {
    let mut changes = table.changes(VersionSpec::Number(from), to).await.unwrap();
    let mut all = Vec::new();
    while let Some(changed) = changes.next().await.unwrap() {
        let ids = changed.batch.column_by_name("id").unwrap().as_primitive::<Int64Type>().values().to_vec();
        all.push((changed.version.get(), changed.change, ids));
    }
    all
}

#[tokio::test]
async fn changes_are_the_rows_that_came_and_went_and_no_copied_ones() {
    let (store, mut table) = three_rows(Delta).await;
    committed(&table.delete("id = 2", &once()).await.unwrap());
    let range = Scope::Where("id >= 3".to_owned());
    committed(&table.overwrite(source(batch(&[3, 4])), &range, &once()).await.unwrap());
    committed(&set(&mut table, "k", "v", &once()).await);
    committed(&add(&mut table, &[9]).await);
    let all = [
        (1, Change::Insert, vec![1, 2, 3]),
        (2, Change::Delete, vec![2]),
        (3, Change::Insert, vec![4]),
        (5, Change::Insert, vec![9]),
    ];
    assert_eq!(changed(&table, 0, VersionSpec::Newest).await, all);
    assert_eq!(changed(&opened(&store).await, 1, VersionSpec::Number(3)).await, all[1..3]);
    assert_eq!(changed(&table, 5, VersionSpec::Number(5)).await, []);
    let error = table.changes(VersionSpec::Number(3), VersionSpec::Number(2)).await.unwrap_err().to_string();
    assert!(error.contains("version 3") && error.contains("version 2"), "{error}");
    // A version whose commit a cleanup took: what it changed is gone, whatever checkpoint stands in for its state.
    table.checkpoint().await.unwrap();
    store.delete("_delta_log/00000000000000000003.json").await.unwrap();
    let error = table.changes(VersionSpec::Number(2), VersionSpec::Newest).await.unwrap().next().await.unwrap_err();
    assert!(error.to_string().contains("version 3 is not there any more"), "{error}");
    assert_eq!(changed(&table, 5, VersionSpec::Newest).await, []);
}
