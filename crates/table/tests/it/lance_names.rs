//! Names of manifests: both schemes, the migration between them, and what else may lie in the folder.

use crate::mortal::Mortal;
use crate::stores::Meddled;
use crate::support::{add, columns, committed, created, isolated, opened, place, sound, three_rows, try_add};
use bytes::Bytes;
use lakebed_storage::Store;
use lakebed_table::{CommitOptions, NewTable, Snapshot, Table, TableError, TableFormat, VersionSpec};
use lakebed_transaction::Outcome;
use std::sync::Arc;

fn old(version: u64) -> String {
    format!("_versions/{version}.manifest")
}

/// 18446744073709551614 is version 1 (field case 38): u64::MAX less the version, 20 digits.
fn new(version: u64) -> String {
    format!("_versions/{:020}.manifest", u64::MAX - version)
}

async fn rename(store: &Arc<dyn Store>, from: &str, to: &str) {
    store.copy(from, to).await.unwrap();
    store.delete(from).await.unwrap();
}

/// A table of twelve versions whose names are of the old scheme, as an older client would have left it.
async fn twelve_old() -> Arc<dyn Store> {
    let (store, mut table) = three_rows(TableFormat::Lance).await;
    for id in 4..14 {
        committed(&add(&mut table, &[id]).await);
    }
    to_old_names(&store, 12).await;
    store
}

/// Gives the manifests names of the old scheme.
pub(crate) async fn to_old_names(store: &Arc<dyn Store>, newest: u64) {
    for version in 1..=newest {
        rename(store, &new(version), &old(version)).await;
    }
}

async fn names(store: &Arc<dyn Store>) -> Vec<String> {
    store.list("_versions", None, 1_000).await.unwrap().into_iter().map(|listed| listed.name).collect()
}

/// The table at its newest version and at every earlier one, and its history.
async fn reads(store: &Arc<dyn Store>, newest: u64) -> Table {
    let table = opened(store).await;
    assert_eq!(table.version().get(), newest);
    for version in 1..=newest {
        let rows = table.at(VersionSpec::Number(version)).await.unwrap().summary().unwrap().num_rows;
        let expected = if version == 1 { 0 } else { 3 + version - 2 };
        assert_eq!(rows, Some(expected), "version {version}");
    }
    let history = table.history(None).await.unwrap();
    assert_eq!(
        history.iter().map(|entry| entry.version.get()).collect::<Vec<_>>(),
        (1..=newest).rev().collect::<Vec<_>>()
    );
    table
}

/// The one version of a table cannot be read: that is told, by the object's name, and the place is not taken for an empty one.
#[tokio::test]
async fn case_38_the_first_version_is_not_skipped_where_it_cannot_be_read() {
    for name in [new(1), old(1)] {
        let store = place(TableFormat::Lance);
        let definition = NewTable::new(TableFormat::Lance, columns());
        created(&store, &definition).await;
        if name == old(1) {
            to_old_names(&store, 1).await;
        }
        let before = names(&store).await;
        let broken = Meddled::new(&store).unreadable(&name).shared();
        let error = Table::open_store(Arc::clone(&broken), &isolated()).await.unwrap_err().to_string();
        assert!(error.contains(&name) && error.contains("connection reset"), "{name}: {error}");
        let again = Table::create_store(broken, &isolated(), &definition, &CommitOptions::default()).await;
        if let Ok((_, report)) = &again {
            assert!(!matches!(report.outcome, Outcome::Committed { .. }), "{name}: {report:?}");
        }
        assert_eq!(names(&store).await, before, "{name}");
        assert_eq!(opened(&store).await.version().get(), 1, "{name}");
    }
}

#[tokio::test]
async fn old_names_are_read_by_their_numbers_and_kept() {
    // Field case 39: as text 10 and 12 sort before 9.
    let store = twelve_old().await;
    let mut table = reads(&store, 12).await;
    assert_eq!(committed(&add(&mut table, &[14]).await), 13);
    assert!(store.head(&old(13)).await.unwrap().is_some() && store.head(&new(13)).await.unwrap().is_none());
    reads(&store, 13).await;
}

#[tokio::test]
async fn a_migration_gives_every_manifest_its_new_name_once() {
    let store = twelve_old().await;
    let mut table = opened(&store).await;
    assert_eq!(table.migrate_naming().await.unwrap(), 12);
    let mut expected: Vec<String> = (1..=12).map(new).collect();
    expected.sort();
    assert_eq!(names(&store).await, expected);
    reads(&store, 12).await;
    assert_eq!(table.migrate_naming().await.unwrap(), 0);
    assert_eq!(committed(&add(&mut table, &[14]).await), 13);
    sound(&store, TableFormat::Lance).await;
    let (_, mut delta) = three_rows(TableFormat::Delta).await;
    assert!(matches!(delta.migrate_naming().await, Err(TableError::Invalid { .. })));
}

/// Killed at every change: the table reads as before, nobody writes to it, and whoever resumes ends where it should.
#[tokio::test]
async fn a_migration_that_is_killed_anywhere_leaves_a_table_to_read_and_to_resume() {
    for changes in 0.. {
        let store = twelve_old().await;
        let mut stale = opened(&store).await;
        let mut doomed = opened(&Mortal::after(&store, changes)).await;
        let ended = doomed.migrate_naming().await;
        let table = reads(&store, 12).await;
        let untouched = changes == 0;
        if ended.is_ok() {
            assert!(changes > 24, "the mark, twelve copies, twelve removals, the mark");
            break;
        }
        for (who, mut table) in [("fresh", table), ("stale", stale.clone())] {
            let answer = try_add(&mut table, &[14], &CommitOptions::default()).await;
            if untouched {
                break;
            }
            let error = answer.unwrap_err().to_string();
            assert!(error.contains("resume migrate-naming"), "{who} after {changes} changes: {error}");
        }
        let newest = if untouched { 13 } else { 12 };
        opened(&store).await.migrate_naming().await.unwrap();
        let left = names(&store).await;
        assert_eq!(left.len() as u64, newest, "after {changes}: {left:?}");
        let mut table = reads(&store, newest).await;
        // Who had it open under the old names puts none beside the new ones.
        if !untouched {
            assert!(try_add(&mut stale, &[14], &CommitOptions::default()).await.is_err());
        }
        assert_eq!(committed(&add(&mut table, &[15]).await), newest + 1);
        assert!(names(&store).await.iter().all(|name| name.len() == new(1).len()));
        sound(&store, TableFormat::Lance).await;
    }
}

/// Field case 39: a version under both names with different contents is nobody's to choose.
#[tokio::test]
async fn a_version_with_two_contents_is_refused_by_both_names() {
    let store = twelve_old().await;
    // A handle of another client that stayed open wrote version 12 under its old name, after a migration had begun.
    store.copy(&old(11), &new(12)).await.unwrap();
    let error = Table::open_store(Arc::clone(&store), &crate::support::isolated()).await.unwrap_err().to_string();
    assert!(error.contains(&old(12)) && error.contains(&new(12)), "{error}");
    store.copy(&old(12), &new(12)).await.unwrap();
    let mut table = reads(&store, 12).await;
    assert!(try_add(&mut table, &[14], &CommitOptions::default()).await.is_err());
    // The newest of a mixed folder counts, whichever its name.
    rename(&store, &old(12), &new(12)).await;
    reads(&store, 12).await;
}

/// Field cases 38, 40, 47 and 48: what else may lie there, and hints that say anything at all.
#[tokio::test]
async fn strays_and_hints_decide_nothing() {
    let (store, mut table) = three_rows(TableFormat::Lance).await;
    for stray in [
        "d9223372036854775850.manifest",
        "18446744073709551614.manifest#1",
        ".tmp_7.manifest",
        "00000000000000000007.manifest",
        "7.manifest-d2c639aa-8816-431a-aaf6-d3fe2512ff61",
        "notes.txt",
        "07.manifest",
    ] {
        store.put(&format!("_versions/{stray}"), Bytes::from_static(b"stray")).await.unwrap();
    }
    for hint in ["", "abc", r#"{"version":1}"#, r#"{"version":99}"#, r#"{"version":-1}"#] {
        store.put("_versions/latest_version_hint.json", Bytes::from_static(hint.as_bytes())).await.unwrap();
        let before = table.version().get();
        assert_eq!(opened(&store).await.version().get(), before, "hint {hint:?}");
        assert_eq!(committed(&add(&mut table, &[9]).await), before + 1);
        assert_eq!(opened(&store).await.history(None).await.unwrap().len() as u64, before + 1);
    }
}

/// Where names do not sort newest first, the hint follows each commit, and never goes back.
#[tokio::test]
async fn the_hint_follows_commits_under_old_names() {
    let store = twelve_old().await;
    let hint = async || store.get("_versions/latest_version_hint.json").await.unwrap();
    for (before, after) in
        [(None, 13), (Some("abc"), 14), (Some(r#"{"version":3}"#), 15), (Some(r#"{"version":99999}"#), 16)]
    {
        if let Some(text) = before {
            store.put("_versions/latest_version_hint.json", Bytes::from_static(text.as_bytes())).await.unwrap();
        }
        let mut table = opened(&store).await;
        assert_eq!(committed(&add(&mut table, &[1]).await), after);
        assert_eq!(table.settle().await, Vec::<String>::new());
        assert_eq!(hint().await.unwrap(), format!(r#"{{"version":{after}}}"#));
    }
    // Somebody went on by one meanwhile.
    let further = Bytes::from_static(br#"{"version":18}"#);
    store.put("_versions/latest_version_hint.json", further.clone()).await.unwrap();
    let mut table = opened(&store).await;
    committed(&add(&mut table, &[1]).await);
    table.settle().await;
    assert_eq!(hint().await.unwrap(), further);
    // New names sort, and need none.
    let (store, mut table) = three_rows(TableFormat::Lance).await;
    committed(&add(&mut table, &[4]).await);
    table.settle().await;
    assert!(store.head("_versions/latest_version_hint.json").await.unwrap().is_none());
}

/// Field case 47: folders and loose files are no table.
#[tokio::test]
async fn without_a_manifest_there_is_no_table_and_one_can_be_made() {
    for leftovers in
        [&[][..], &["data/a.lance"], &["_versions/.tmp_1.manifest"], &["data/a.lance", "_transactions/0-x.txn"]]
    {
        let store = place(TableFormat::Lance);
        for name in leftovers {
            store.put(name, Bytes::from_static(b"left")).await.unwrap();
        }
        let error = Table::open_store(Arc::clone(&store), &crate::support::isolated()).await.unwrap_err();
        assert!(matches!(error, TableError::NotATable { .. }), "{leftovers:?}: {error}");
        let definition = lakebed_table::NewTable::new(TableFormat::Lance, crate::support::columns());
        let table = crate::support::created(&store, &definition).await;
        assert_eq!(table.version().get(), 1);
    }
}

/// A gap that a cleanup left: versions beside it are read, the one that is gone is named.
#[tokio::test]
async fn gaps_are_passed_over_and_named() {
    let (store, mut table) = three_rows(TableFormat::Lance).await;
    for id in 4..8 {
        committed(&add(&mut table, &[id]).await);
    }
    for version in [1, 3] {
        store.delete(&new(version)).await.unwrap();
    }
    let mut table = opened(&store).await;
    assert_eq!(table.version().get(), 6);
    let history: Vec<u64> = table.history(None).await.unwrap().iter().map(|entry| entry.version.get()).collect();
    assert_eq!(history, [6, 5, 4, 2]);
    let error = table.at(VersionSpec::Number(3)).await.unwrap_err().to_string();
    assert!(error.contains("version 3 is not there"), "{error}");
    assert_eq!(committed(&add(&mut table, &[9]).await), 7);
    // A window with a hole is refused: what stood there cannot be judged.
    let mut stale = opened(&store).await;
    let before = stale.at(VersionSpec::Number(2)).await.unwrap();
    let Snapshot::Lance(held) = &before else { panic!("a Lance table") };
    let head = lakebed_lance::transaction::Head {
        read_version: Some(held.snapshot.version()),
        id: crate::support::unique_id(),
        properties: Default::default(),
    };
    let fragment = crate::support::written_fragment(&store, 2).await;
    let message =
        lakebed_lance::transaction::Transaction::new(lakebed_lance::transaction::append(head, vec![fragment]));
    let prepared = lakebed_table::Prepared::LanceTransaction(message.encoded().clone());
    let refused = stale.commit_prepared(prepared, &CommitOptions::default()).await;
    let text = match refused {
        Err(error) => error.to_string(),
        Ok(report) => panic!("{report:?}"),
    };
    assert!(text.contains("version 3"), "{text}");
}
