//! Cleaning up Lance tables: what goes, and what must never go.

use crate::local::{Local, now_ms};
use crate::mortal::Mortal;
use crate::support::{
    add, columns, committed, isolated, once, opened, prepared_add, read_back, three_rows, try_add, unique_id,
};
use bytes::Bytes;
use lakebed_storage::testing::Aged;
use lakebed_storage::{Create, Store};
use lakebed_table::{CommitOptions, NewTable, Prepared, Snapshot, Table, TableError, TableFormat, VersionSpec};
use lakebed_transaction::{Outcome, RowSet};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(86_400);

/// Versions 1 to 8: a table, three rows, an append and a deletion in each of the next, and nothing of it left at last but an
/// overwrite's rows.
async fn eight_versions() -> (Arc<dyn Store>, Table) {
    let (store, mut table) = three_rows(TableFormat::Lance).await;
    for id in [4, 5] {
        committed(&add(&mut table, &[id, id + 10]).await);
        let rows = BTreeMap::from([(u64::try_from(id - 3).unwrap(), RowSet::from_iter([0]))]);
        committed(&table.delete_rows(rows, "first", &once()).await.unwrap());
    }
    let Snapshot::Lance(held) = table.snapshot().clone() else { panic!("a Lance table") };
    let head = lakebed_lance::transaction::Head {
        read_version: Some(held.snapshot.version()),
        id: unique_id(),
        properties: BTreeMap::new(),
    };
    let fragments = vec![crate::support::written_fragment(&store, 9).await];
    let fields = held.snapshot.fields().to_vec();
    let message = lakebed_lance::transaction::overwrite(head, fragments, fields, BTreeMap::new());
    let message = lakebed_lance::transaction::Transaction::new(message);
    let prepared = Prepared::LanceTransaction(message.encoded().clone());
    committed(&table.commit_prepared(prepared, &once()).await.unwrap());
    committed(&add(&mut table, &[30]).await);
    assert_eq!(table.version().get(), 8);
    (store, table)
}

async fn names(store: &Arc<dyn Store>) -> BTreeSet<String> {
    store.list("", None, 10_000).await.unwrap().into_iter().map(|listed| listed.name).collect()
}

/// Everything that the version names is there.
async fn whole(store: &Arc<dyn Store>, table: &Table, version: u64) {
    let Snapshot::Lance(held) = table.at(VersionSpec::Number(version)).await.unwrap() else { panic!("a Lance table") };
    for name in read_back(&held.snapshot) {
        assert!(store.head(&name).await.unwrap().is_some(), "version {version} names {name}, which is gone");
    }
}

async fn versions(store: &Arc<dyn Store>) -> Vec<u64> {
    opened(store).await.history(None).await.unwrap().iter().map(|entry| entry.version.get()).rev().collect()
}

#[tokio::test]
async fn versions_beyond_the_retention_go_with_their_files() {
    let (store, _) = eight_versions().await;
    let before = names(&store).await;
    let aged: Arc<dyn Store> = Aged::by(&store, 30 * DAY);
    let mut table = opened(&aged).await;
    let dry = table.vacuum(None, false, true).await.unwrap();
    assert_eq!(names(&store).await, before, "a dry run removes nothing");
    let removed = table.vacuum(None, false, false).await.unwrap();
    assert_eq!(removed, dry);
    assert_eq!(versions(&store).await, [8]);
    whole(&store, &table, 8).await;
    let left = names(&store).await;
    let gone: BTreeSet<String> = removed.files.into_iter().collect();
    assert_eq!(&before - &left, gone);
    // Two data files, the transaction and the manifest of version 8; the rest was named by what went, or by nobody for weeks.
    assert_eq!(left.len(), 4, "{left:?}");
    assert!(table.vacuum(None, false, false).await.unwrap().files.is_empty());
    assert_eq!(committed(&add(&mut opened(&store).await, &[31]).await), 9);
}

#[tokio::test]
async fn what_stood_at_some_moment_of_the_retention_stays() {
    let (store, _) = eight_versions().await;
    let aged = Aged::by(&store, 30 * DAY);
    // Version 6 is young: what stood before it stood until then.
    aged.keep_young(&format!("_versions/{:020}.manifest", u64::MAX - 6));
    let through: Arc<dyn Store> = aged;
    let mut table = opened(&through).await;
    table.vacuum(None, false, false).await.unwrap();
    let left = versions(&store).await;
    assert!(left.contains(&5) && left.contains(&6) && left.contains(&8) && !left.contains(&4), "{left:?}");
    whole(&store, &table, 5).await;
}

/// Tagged versions, those that branches were made of, and detached ones keep what they name.
#[tokio::test]
async fn tags_branches_and_detached_versions_protect_their_files() {
    let (store, table) = eight_versions().await;
    table.create_tag("keep", 3).await.unwrap();
    let mut branch = table.create_branch("dev", VersionSpec::Number(5), &once()).await.unwrap();
    committed(&add(&mut branch, &[60]).await);
    let Snapshot::Lance(four) = table.at(VersionSpec::Number(4)).await.unwrap() else { panic!("a Lance table") };
    let head = lakebed_lance::transaction::Head {
        read_version: Some(four.snapshot.version()),
        id: unique_id(),
        properties: BTreeMap::new(),
    };
    let message = lakebed_lance::transaction::append(head, vec![crate::support::written_fragment(&store, 1).await]);
    let message = lakebed_lance::transaction::Transaction::new(message);
    let detached = table.commit_detached(&Prepared::LanceTransaction(message.encoded().clone())).await.unwrap();
    let aged: Arc<dyn Store> = Aged::by(&store, 30 * DAY);
    opened(&aged).await.vacuum(None, false, false).await.unwrap();
    assert_eq!(versions(&store).await, [3, 5, 8]);
    let table = opened(&store).await;
    for version in [3, 5, 8, detached.snapshot.version().get()] {
        whole(&store, &table, version).await;
    }
    // The branch reads what it took over, and is cleaned up for itself.
    let mut branch = opened(&aged).await.checkout("dev").await.unwrap();
    let Snapshot::Lance(held) = branch.snapshot().clone() else { panic!("a Lance table") };
    for fragment in held.snapshot.fragments() {
        for file in &fragment.files {
            let name = held.snapshot.data_object(file).unwrap();
            assert!(branch.store().head(name.as_str()).await.unwrap().is_some(), "{name}");
        }
    }
    branch.vacuum(None, false, false).await.unwrap();
    assert_eq!(branch.history(None).await.unwrap().len(), 1);
    whole(&store, &table, 5).await;
    // Field case 78: the tag holds its own files and no others; without it they go.
    table.remove_tag("keep").await.unwrap();
    opened(&aged).await.vacuum(None, false, false).await.unwrap();
    assert_eq!(versions(&store).await, [5, 8]);
}

/// Field case 78: what is left below the folders of files is exactly what the versions name that are left.
#[tokio::test]
async fn case_78_a_tag_keeps_its_own_files_and_no_others() {
    let (store, table) = eight_versions().await;
    table.create_tag("keep", 3).await.unwrap();
    for stray in
        ["data/abandoned.lance", "_deletions/0-3-7.bin", "_transactions/3-2b1c0d5e-0000-4000-8000-000000000001.txn"]
    {
        store.put(stray, Bytes::from_static(b"rows")).await.unwrap();
    }
    let aged: Arc<dyn Store> = Aged::by(&store, 30 * DAY);
    opened(&aged).await.vacuum(None, false, false).await.unwrap();
    assert_eq!(versions(&store).await, [3, 8]);
    let mut named = BTreeSet::new();
    for version in [3, 8] {
        let Snapshot::Lance(held) = table.at(VersionSpec::Number(version)).await.unwrap() else { panic!("Lance") };
        named.extend(read_back(&held.snapshot));
        named.extend(held.snapshot.transaction_file().map(|name| name.to_string()));
    }
    let is_file = |name: &String| !["_versions/", "_refs/"].iter().any(|folder| name.starts_with(folder));
    assert_eq!(names(&store).await.into_iter().filter(is_file).collect::<BTreeSet<_>>(), named);
}

#[tokio::test]
async fn files_that_nobody_names_wait_for_a_week() {
    let (store, _) = eight_versions().await;
    store.put("data/abandoned.lance", Bytes::from_static(b"rows")).await.unwrap();
    store.put("data/abandoned/blob.bin", Bytes::from_static(b"rows")).await.unwrap();
    store.put("_deletions/0-1-7.bin", Bytes::from_static(b"rows")).await.unwrap();
    store.put("notes.txt", Bytes::from_static(b"mine")).await.unwrap();
    store.put("data/in-flight.lance", Bytes::from_static(b"rows")).await.unwrap();
    let in_flight = "data/in-flight.lance";
    let week = Aged::by(&store, 8 * DAY);
    week.keep_young(in_flight);
    let aged: Arc<dyn Store> = week;
    opened(&aged).await.vacuum(None, false, false).await.unwrap();
    let left = names(&store).await;
    assert!(left.contains(in_flight) && left.contains("notes.txt"));
    assert!(!left.iter().any(|name| name.contains("abandoned") || name.ends_with("0-1-7.bin")), "{left:?}");
    // A shorter retention does not shorten that.
    store.put("data/abandoned.lance", Bytes::from_static(b"rows")).await.unwrap();
    let aged: Arc<dyn Store> = Aged::by(&store, 6 * DAY);
    opened(&aged).await.vacuum(Some(DAY), false, false).await.unwrap();
    assert!(names(&store).await.contains("data/abandoned.lance"));
}

/// Field case 66: temporary files of writers that died go with the next cleanup, once nobody can be at work on them.
#[tokio::test]
async fn temporary_files_of_the_dead_go() {
    let local = Local::new();
    let definition = NewTable::new(TableFormat::Lance, columns());
    let (_, report) =
        Table::create_store(local.store(), &isolated(), &definition, &CommitOptions::default()).await.unwrap();
    let _ = committed(&report);
    let week = 7 * 86_400_000;
    local.put("_versions/.tmp-0-1", b"half", now_ms() - week - 1_000);
    local.put("data/.tmp-0-2", b"half", now_ms() - week - 1_000);
    local.put("_transactions/.tmpl9CJoE", b"half", now_ms() - week - 1_000);
    local.put("_versions/.tmp-0-3", b"half", now_ms() - week + 60_000);
    local.put("_transactions/.tmpXXXXXX", b"half", now_ms() - week + 60_000);
    let mut table = opened(&local.store()).await;
    let mut removed = table.vacuum(None, false, false).await.unwrap().files;
    removed.sort_unstable();
    assert_eq!(removed, ["_transactions/.tmpl9CJoE", "_versions/.tmp-0-1", "data/.tmp-0-2"]);
    assert!(local.has("_versions/.tmp-0-3") && !local.has("data/.tmp-0-2"));
}

/// Field case 35: a writer looked before version 2 was there and sleeps. No cleanup frees a number that it could use.
#[tokio::test]
async fn no_number_is_freed_while_a_sleeping_writer_could_use_it() {
    let (store, _) = eight_versions().await;
    let sleeper = opened(&store).await.at(VersionSpec::Number(1)).await.unwrap();
    let mut table = opened(&store).await;
    assert!(matches!(table.vacuum(Some(Duration::ZERO), false, false).await, Err(TableError::Invalid { .. })));
    // Nothing that came within the hour is freed, whatever is asked for.
    assert!(table.vacuum(Some(Duration::ZERO), true, false).await.unwrap().files.is_empty());
    assert_eq!(versions(&store).await, (1..=8).collect::<Vec<_>>());
    let half: Arc<dyn Store> = Aged::by(&store, Duration::from_secs(1_800));
    assert!(opened(&half).await.vacuum(Some(Duration::ZERO), true, false).await.unwrap().files.is_empty());
    let Snapshot::Lance(held) = &sleeper else { panic!("a Lance table") };
    let name = format!("_versions/{:020}.manifest", u64::MAX - 2);
    let woken = store.create(&name, Bytes::from_static(b"the sleeper's")).await.unwrap();
    assert_eq!((held.snapshot.version().get(), woken), (1, Create::Exists));
    // A writer of ours that slept through a cleanup after all is told so, and does not fill the hole.
    let prepared = prepared_add(&opened(&store).await, unique_id(), 2).await;
    let Prepared::LanceTransaction(bytes) = prepared else { panic!("Lance") };
    let mut message = lakebed_lance::transaction::Transaction::decode("x", &bytes).unwrap().message().clone();
    message.read_version = 1;
    let message = lakebed_lance::transaction::Transaction::new(message);
    let mut late = opened(&store).await;
    let aged: Arc<dyn Store> = Aged::by(&store, 2 * Duration::from_secs(3_600));
    opened(&aged).await.vacuum(Some(Duration::ZERO), true, false).await.unwrap();
    assert_eq!(versions(&store).await, [8]);
    let ended = late.commit_prepared(Prepared::LanceTransaction(message.encoded().clone()), &once()).await;
    assert!(!matches!(&ended, Ok(report) if matches!(report.outcome, Outcome::Committed { .. })), "{ended:?}");
    assert_eq!(versions(&store).await, [8]);
}

/// Killed at every removal: every version that is still there has its files.
#[tokio::test]
async fn a_cleanup_that_is_killed_anywhere_leaves_whole_versions() {
    for changes in 0.. {
        let (store, _) = eight_versions().await;
        let mortal = Mortal::after(&store, changes);
        let aged: Arc<dyn Store> = Aged::by(&mortal, 30 * DAY);
        let ended = opened(&aged).await.vacuum(None, false, false).await;
        let table = opened(&store).await;
        let left = versions(&store).await;
        assert_eq!(left, (left[0]..=8).collect::<Vec<_>>(), "after {changes}: no hole");
        for version in left {
            whole(&store, &table, version).await;
        }
        if ended.is_ok() {
            assert!(changes > 10);
            break;
        }
        let again: Arc<dyn Store> = Aged::by(&store, 30 * DAY);
        opened(&again).await.vacuum(None, false, false).await.unwrap();
        assert_eq!(names(&store).await.len(), 4, "after {changes}");
        let answer = try_add(&mut opened(&store).await, &[40], &CommitOptions::default()).await;
        assert_eq!(committed(&answer.unwrap()), 9);
    }
}
