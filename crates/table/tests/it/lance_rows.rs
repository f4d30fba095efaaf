//! Fragments, deletion files and configuration of Lance tables.

use crate::isolation::under;
use crate::support::{
    add, columns, committed, created, isolated, once, opened, place, sound, three_rows, try_remove, written_fragment,
};
use lakebed_lance::deletion;
use lakebed_storage::Store;
use lakebed_table::{CommitOptions, NewTable, Snapshot, Table, TableError, TableFormat, VersionSpec};
use lakebed_transaction::{Evidence, Outcome, RowSet, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

fn rows(fragment: u64, positions: impl IntoIterator<Item = u64>) -> BTreeMap<u64, RowSet> {
    BTreeMap::from([(fragment, positions.into_iter().collect())])
}

/// The deleted rows of a fragment, read from its deletion file.
async fn deleted(store: &Arc<dyn Store>, fragment: u64) -> BTreeSet<u64> {
    let table = opened(store).await;
    let Snapshot::Lance(held) = table.snapshot() else { panic!("a Lance table") };
    let fragment = held.snapshot.fragment(fragment).unwrap();
    let file = fragment.deletion_file.as_ref().unwrap();
    let name = held.snapshot.deletion_object(fragment).unwrap().unwrap();
    let bytes = store.get(name.as_str()).await.unwrap().unwrap();
    let kind = deletion::kind_of(name.as_str(), file).unwrap();
    let rows = deletion::decode(name.as_str(), kind, &bytes, Some(fragment.physical_rows)).unwrap();
    assert_eq!(rows.len(), file.num_deleted_rows);
    rows.iter().collect()
}

#[tokio::test]
async fn a_new_table_is_version_1_and_fragments_get_their_ids_at_commit() {
    let store = place(TableFormat::Lance);
    let properties = BTreeMap::from([("owner".to_owned(), "us".to_owned())]);
    let definition = NewTable::new(TableFormat::Lance, columns()).with_properties(properties);
    let mut table = created(&store, &definition).await;
    let summary = table.snapshot().summary().unwrap();
    assert_eq!((summary.version.get(), summary.num_rows, summary.num_files), (1, Some(0), 0));
    assert_eq!(summary.columns, columns());
    assert_eq!(summary.properties.get("owner").map(String::as_str), Some("us"));
    let fragments = vec![written_fragment(&store, 5).await, written_fragment(&store, 7).await];
    assert_eq!(committed(&table.append_fragments(fragments, &once()).await.unwrap()), 2);
    committed(&add(&mut table, &[1]).await);
    let fragments: Vec<_> = opened(&store).await.snapshot().fragments();
    let seen: Vec<_> = fragments.iter().map(|f| (f.id, f.physical_rows, f.num_deleted)).collect();
    assert_eq!(seen, vec![(0, Some(5), Some(0)), (1, Some(7), Some(0)), (2, Some(1), Some(0))]);
    sound(&store, TableFormat::Lance).await;
}

/// Two handles delete different rows of one fragment: both commit, and the second one's deletion file holds both.
#[tokio::test]
async fn deletions_of_different_rows_are_merged() {
    let (store, mut first) = three_rows(TableFormat::Lance).await;
    committed(&add(&mut first, &[4, 5, 6, 7]).await);
    let mut second = opened(&store).await;
    let read = first.version().get();
    assert_eq!(committed(&first.delete_rows(rows(1, [0, 2]), "a", &once()).await.unwrap()), read + 1);
    assert_eq!(committed(&second.delete_rows(rows(1, [3]), "b", &once()).await.unwrap()), read + 2);
    assert_eq!(deleted(&store, 1).await, BTreeSet::from([0, 2, 3]));
    let log = sound(&store, TableFormat::Lance).await;
    assert_eq!(log.rows(), 3 + 1);
    // The earlier version still has its own deletion file.
    let earlier = second.at(VersionSpec::Number(read + 1)).await.unwrap();
    assert_eq!(earlier.fragments()[1].num_deleted, Some(2));
}

#[tokio::test]
async fn under_lance_a_deletion_of_the_same_row_is_a_retryable_conflict_that_names_the_row() {
    let (store, mut first) = three_rows(TableFormat::Lance).await;
    let mut second = opened(&store).await;
    let read = first.version().get();
    committed(&first.delete_rows(rows(0, [0, 1]), "a", &once()).await.unwrap());
    let report = second.delete_rows(rows(0, [1, 2]), "b", &under("lance")).await.unwrap();
    let Outcome::Conflict(conflict) = &report.outcome else { panic!("{:?}", report.outcome) };
    assert_eq!((conflict.with.get(), conflict.why.verdict), (read + 1, Verdict::Retryable));
    let Some(Evidence::Rows(unit, both)) = &conflict.why.evidence else { panic!("{conflict:?}") };
    assert_eq!((unit.to_string(), both.iter().collect::<Vec<_>>()), ("fragment 0".to_owned(), vec![1]));
    assert!(conflict.why.reason.is_some_and(|reason| !reason.advice.is_empty()));
    assert_eq!(sound(&store, TableFormat::Lance).await.rows(), 1);
    // Read again, the row that is gone already needs no refusal, and the other one goes.
    second.refresh().await.unwrap();
    let report = second.delete_rows(rows(0, [1]), "b", &once()).await.unwrap();
    assert!(matches!(report.outcome, Outcome::Nothing { version } if version.get() == read + 1), "{report:?}");
    committed(&second.delete_rows(rows(0, [1, 2]), "b", &once()).await.unwrap());
    let table = opened(&store).await;
    assert_eq!((table.snapshot().fragments(), table.version().get()), (Vec::new(), read + 2));
}

/// Rows that are gone already need no refusal: a deletion takes out what is left of its rows.
#[tokio::test]
async fn deletions_of_the_same_row_both_stand() {
    let (store, mut first) = three_rows(TableFormat::Lance).await;
    committed(&add(&mut first, &[4, 5]).await);
    let (mut second, mut third) = (opened(&store).await, opened(&store).await);
    let read = first.version().get();
    committed(&first.delete_rows(rows(0, [0, 1]), "a", &once()).await.unwrap());
    // Appended rows are no row of the ones that are named by their places.
    committed(&add(&mut first, &[6]).await);
    assert_eq!(committed(&second.delete_rows(rows(0, [1]), "b", &once()).await.unwrap()), read + 3);
    assert_eq!(deleted(&store, 0).await, BTreeSet::from([0, 1]), "nothing was left to do");
    let all = BTreeMap::from([(0, RowSet::from_iter([1, 2])), (1, RowSet::from_iter([0, 1]))]);
    assert_eq!(committed(&third.delete_rows(all, "c", &once()).await.unwrap()), read + 4);
    let log = sound(&store, TableFormat::Lance).await;
    assert_eq!((log.rows(), log.files().len()), (1, 1), "only the appended row is left");
}

/// The last live rows of a fragment take the fragment out; no deletion file is written for it.
#[tokio::test]
async fn a_fragment_without_a_live_row_goes() {
    let (store, mut table) = three_rows(TableFormat::Lance).await;
    committed(&add(&mut table, &[4, 5]).await);
    let whole = BTreeMap::from([(0, RowSet::from_iter([0, 1, 2])), (1, RowSet::from_iter([1]))]);
    committed(&table.delete_rows(whole, "id <> 4", &once()).await.unwrap());
    let log = sound(&store, TableFormat::Lance).await;
    assert_eq!((log.rows(), log.files().len()), (1, 1));
    let deletions: Vec<_> = log.state().side.iter().filter(|name| name.starts_with("_deletions/")).collect();
    assert_eq!(deletions.len(), 1);
    let error = table.delete_rows(rows(0, [0]), "again", &once()).await.unwrap_err();
    assert!(error.to_string().contains("fragment 0"), "{error}");
}

/// A deletion file of many rows is a bitmap, and a second one of a few rows is merged into it.
#[tokio::test]
async fn many_deleted_rows_are_kept_as_a_bitmap() {
    let (store, mut table) = three_rows(TableFormat::Lance).await;
    table.append_fragments(vec![written_fragment(&store, 20_000).await], &once()).await.map(drop).unwrap();
    committed(&table.delete_rows(rows(1, 0..6_000), "many", &once()).await.unwrap());
    committed(&table.delete_rows(rows(1, [7_000]), "one", &once()).await.unwrap());
    assert_eq!(deleted(&store, 1).await, (0..6_000).chain([7_000]).collect());
    assert_eq!(sound(&store, TableFormat::Lance).await.rows(), 3 + 20_000 - 6_001);
}

#[tokio::test]
async fn configuration_is_set_and_unset() {
    let (store, mut table) = three_rows(TableFormat::Lance).await;
    let mut other = opened(&store).await;
    let pair = |key: &str, value: &str| BTreeMap::from([(key.to_owned(), value.to_owned())]);
    committed(&table.set_properties(pair("a", "1"), Vec::new(), &once()).await.unwrap());
    // Another key is another register: both stand.
    committed(&other.set_properties(pair("b", "2"), Vec::new(), &once()).await.unwrap());
    committed(&other.set_properties(pair("c", "3"), vec!["a".to_owned()], &once()).await.unwrap());
    let properties = opened(&store).await.snapshot().summary().unwrap().properties;
    let expected = BTreeMap::from([("b".to_owned(), "2".to_owned()), ("c".to_owned(), "3".to_owned())]);
    assert_eq!(properties, expected);
    let nothing = other.set_properties(BTreeMap::new(), Vec::new(), &once()).await.unwrap();
    assert!(matches!(nothing.outcome, Outcome::Nothing { .. }));
}

#[tokio::test]
async fn statements_over_rows_say_that_this_build_has_none_of_lance() {
    let (_, mut table) = three_rows(TableFormat::Lance).await;
    let error = table.delete("id = 1", &once()).await.unwrap_err();
    assert!(matches!(&error, TableError::NoLanceRows { .. }) && error.to_string().contains("lance-data"), "{error}");
    let error = table.checkpoint().await.unwrap_err();
    assert!(error.to_string().contains("checkpoint"), "{error}");
}

#[tokio::test]
async fn history_and_time_travel_name_each_version() {
    let (store, mut table) = three_rows(TableFormat::Lance).await;
    let before = table.snapshot().summary().unwrap().timestamp_ms.unwrap();
    let report = try_remove(&mut table, 1, &once()).await.unwrap();
    let history = table.history(None).await.unwrap();
    let seen: Vec<_> = history.iter().map(|entry| (entry.version.get(), entry.operation.as_deref())).collect();
    assert_eq!(seen, vec![(3, Some("Delete")), (2, Some("Append")), (1, Some("Overwrite"))]);
    assert_eq!(history[0].transaction_id.as_deref(), Some(report.transaction_id.as_str()));
    assert_eq!(history[0].read_version, Some(2));
    assert_eq!(table.history(Some(1)).await.unwrap().len(), 1);
    assert_eq!(table.at(VersionSpec::Number(2)).await.unwrap().summary().unwrap().num_rows, Some(3));
    assert_eq!(table.at(VersionSpec::AtMs(before)).await.unwrap().version().get(), 2);
    let error = table.at(VersionSpec::AtMs(1)).await.unwrap_err();
    assert!(matches!(error, TableError::Unavailable { .. }), "{error}");
    let error = table.at(VersionSpec::Number(9)).await.unwrap_err();
    assert!(error.to_string().contains("version 9"), "{error}");
    let definition = NewTable::new(TableFormat::Lance, columns());
    let again = Table::create_store(store, &isolated(), &definition, &CommitOptions::default()).await;
    let (handle, report) = again.unwrap();
    assert!(handle.is_none() && matches!(report.outcome, Outcome::Conflict(_)), "{report:?}");
}
