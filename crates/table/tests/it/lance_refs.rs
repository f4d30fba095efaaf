//! Tags, branches, detached versions and restoring.

use crate::mortal::Mortal;
use crate::support::{
    add, committed, isolated, once, opened, prepared_add, three_rows, try_remove, unique_id, written_fragment,
};
use lakebed_lance::transaction::{Head, Transaction, append};
use lakebed_storage::{LocalStore, Store};
use lakebed_table::{
    CommitOptions, NewTable, OpenOptions, Prepared, Snapshot, Table, TableError, TableFormat, VersionSpec,
};
use lakebed_transaction::{Outcome, RowSet};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

async fn json(store: &Arc<dyn Store>, name: &str) -> Value {
    serde_json::from_slice(&store.get(name).await.unwrap().unwrap()).unwrap()
}

fn rows(table: &Table) -> u64 {
    table.snapshot().summary().unwrap().num_rows.unwrap()
}

async fn five_versions() -> (Arc<dyn Store>, Table) {
    let (store, mut table) = three_rows(TableFormat::Lance).await;
    for id in 4..7 {
        committed(&add(&mut table, &[id]).await);
    }
    (store, table)
}

#[tokio::test]
async fn tags_are_made_moved_and_removed_in_the_layout_of_lance() {
    let (store, table) = five_versions().await;
    assert!(table.tags().await.unwrap().is_empty());
    table.create_tag("v1.0", 2).await.unwrap();
    let size = store.head("_versions/18446744073709551613.manifest").await.unwrap().unwrap().size_bytes;
    let file = json(&store, "_refs/tags/v1.0.json").await;
    assert_eq!((&file["branch"], &file["version"]), (&Value::Null, &Value::from(2)));
    assert_eq!((&file["manifestSize"], &file["metadata"]), (&Value::from(size), &serde_json::json!({})));
    assert!(file["createdAt"].as_str().unwrap().ends_with('Z') && file["updatedAt"] == file["createdAt"]);
    // Taken, not there, and names that none may have.
    assert!(matches!(table.create_tag("v1.0", 3).await, Err(TableError::Invalid { .. })));
    assert!(matches!(table.create_tag("v2", 9).await, Err(TableError::Unavailable { .. })));
    for bad in ["", ".a", "a.", "a..b", "a/b", "a b", "x.lock"] {
        assert!(matches!(table.create_tag(bad, 2).await, Err(TableError::Invalid { .. })), "{bad:?}");
    }
    // What another client keeps in the file stays when the tag moves.
    let mut kept = file.clone();
    kept["metadata"] = serde_json::json!({"by": "somebody"});
    kept["later"] = Value::from(7);
    store.put("_refs/tags/v1.0.json", kept.to_string().into()).await.unwrap();
    assert_eq!(table.move_tag("v1.0", 4).await.unwrap().version, 4);
    let moved = json(&store, "_refs/tags/v1.0.json").await;
    assert_eq!(
        (&moved["version"], &moved["later"], &moved["metadata"]["by"]),
        (&Value::from(4), &Value::from(7), &Value::from("somebody"))
    );
    assert_eq!(moved["createdAt"], file["createdAt"]);
    assert!(table.move_tag("nobody", 4).await.is_err() && table.move_tag("v1.0", 77).await.is_err());
    assert_eq!(table.tag("v1.0").await.unwrap().version, 4);
    table.remove_tag("v1.0").await.unwrap();
    assert!(table.remove_tag("v1.0").await.is_err() && table.tags().await.unwrap().is_empty());
    let (_, delta) = three_rows(TableFormat::Delta).await;
    assert!(matches!(delta.tags().await, Err(TableError::Invalid { .. })));
}

/// Two move one tag at once: the store compares, and one of them is told.
#[tokio::test]
async fn of_two_that_move_a_tag_one_is_told() {
    let (store, table) = five_versions().await;
    table.create_tag("t", 2).await.unwrap();
    let before = store.get("_refs/tags/t.json").await.unwrap().unwrap();
    table.move_tag("t", 3).await.unwrap();
    let late = store.swap("_refs/tags/t.json", &before, before.clone()).await.unwrap();
    assert!(!late, "the file is not what it was");
    assert_eq!(table.tag("t").await.unwrap().version, 3);
}

#[tokio::test]
async fn a_branch_begins_with_a_version_and_goes_its_own_way() {
    let (store, mut table) = five_versions().await;
    let mut branch = table.create_branch("team/try", VersionSpec::Number(3), &once()).await.unwrap();
    assert_eq!((branch.version().get(), branch.branch_name(), rows(&branch)), (3, Some("team/try"), 4));
    let file = json(&store, "_refs/branches/team%2Ftry.json").await;
    assert_eq!((&file["parentBranch"], &file["parentVersion"]), (&Value::Null, &Value::from(3)));
    assert_eq!(file["identifier"]["version_mapping"][0][0], Value::from(3));
    assert_eq!(file["identifier"]["version_mapping"][0][1].as_str().unwrap().len(), 32);
    // Both go on from 3 without seeing each other.
    assert_eq!(committed(&add(&mut branch, &[50, 51]).await), 4);
    assert_eq!(committed(&add(&mut table, &[7]).await), 6);
    assert_eq!((rows(&branch), rows(&table)), (6, 7));
    assert!(store.head("tree/team/try/_versions/18446744073709551611.manifest").await.unwrap().is_some());
    // Rows of the table's own files are deleted on the branch only; its deletion files lie in the branch.
    committed(&branch.delete_rows(BTreeMap::from([(0, RowSet::from_iter([0, 1]))]), "two", &once()).await.unwrap());
    assert_eq!(rows(&branch), 4);
    // Found again by its name, from the table and from another branch.
    let again = opened(&store).await.checkout("team/try").await.unwrap();
    assert_eq!((again.version().get(), rows(&again)), (5, 4));
    let child = again.create_branch("team/try/deeper", VersionSpec::Newest, &once()).await.unwrap();
    assert_eq!((child.version().get(), rows(&child)), (5, 4));
    let file = json(&store, "_refs/branches/team%2Ftry%2Fdeeper.json").await;
    assert_eq!((&file["parentBranch"], &file["parentVersion"]), (&Value::from("team/try"), &Value::from(5)));
    assert_eq!(file["identifier"]["version_mapping"].as_array().unwrap().len(), 2);
    assert_eq!(child.checkout("main").await.unwrap().version().get(), 6);
    let names: Vec<String> = table.branches().await.unwrap().into_iter().map(|branch| branch.name).collect();
    assert_eq!(names, ["team/try", "team/try/deeper"]);
    // A fragment that the branch took over, with the deletion file that its parent has: the rebase reads it there.
    let (mut first, mut second) = (child.clone(), child.checkout("team/try/deeper").await.unwrap());
    committed(&first.delete_rows(BTreeMap::from([(0, RowSet::from_iter([2]))]), "a", &once()).await.unwrap());
    let report = second.delete_rows(BTreeMap::from([(1, RowSet::from_iter([0]))]), "b", &once()).await.unwrap();
    assert_eq!(committed(&report), 7);
    // The branch cannot go while another refers to it, nor while a tag does (field case 79).
    assert!(table.remove_branch("team/try").await.unwrap_err().to_string().contains("branch team/try/deeper"));
    child.create_tag("deep", 5).await.unwrap();
    assert!(table.remove_branch("team/try/deeper").await.unwrap_err().to_string().contains("tag deep"));
    assert_eq!(table.tag("deep").await.unwrap().branch.as_deref(), Some("team/try/deeper"));
    table.remove_tag("deep").await.unwrap();
    table.remove_branch("team/try/deeper").await.unwrap();
    assert_eq!(again.checkout("team/try").await.unwrap().version().get(), 5, "what lies beside it stays");
    table.remove_branch("team/try").await.unwrap();
    assert!(store.list("tree", None, 10).await.unwrap().is_empty() && table.branches().await.unwrap().is_empty());
    assert!(table.checkout("team/try").await.is_err() && table.remove_branch("team/try").await.is_err());
}

/// Deletion files that a branch took over lie in the table: a rebase over them reads them there, on local files too.
#[tokio::test]
async fn deletions_that_a_branch_took_over_are_merged_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("with blank.lance");
    let options = OpenOptions { isolated: true, ..OpenOptions::default() };
    let local: Arc<dyn Store> = Arc::new(LocalStore::new(&path, lakebed_storage::Durability::None).unwrap());
    let definition = NewTable::new(TableFormat::Lance, crate::support::columns());
    let (table, _) = Table::create_store(Arc::clone(&local), &isolated(), &definition, &once()).await.unwrap();
    let mut table = table.unwrap();
    committed(&add(&mut table, &[1, 2, 3, 4, 5]).await);
    committed(&try_remove(&mut table, 1, &once()).await.unwrap());
    let branch = table.create_branch("dev", VersionSpec::Newest, &once()).await.unwrap();
    // By its own path, as other clients open it.
    let by_path = path.join("tree/dev");
    let mut first = Table::open(by_path.to_str().unwrap(), &options).await.unwrap();
    assert_eq!(first.branch_name(), Some("dev"));
    let mut second = branch.clone();
    committed(&first.delete_rows(BTreeMap::from([(0, RowSet::from_iter([1]))]), "a", &once()).await.unwrap());
    committed(&second.delete_rows(BTreeMap::from([(0, RowSet::from_iter([3]))]), "b", &once()).await.unwrap());
    assert_eq!(rows(&second), 2);
    let Snapshot::Lance(held) = second.snapshot() else { panic!("a Lance table") };
    assert_eq!(
        held.snapshot.base_paths()[0].path,
        path.to_str().unwrap(),
        "a path without a scheme, as pylance writes it"
    );
}

/// Killed at every change while a branch is made: what is left can be removed, and the branch made anew.
#[tokio::test]
async fn a_branch_whose_making_was_broken_off_can_be_removed_and_made_anew() {
    for changes in 0.. {
        let (store, _) = five_versions().await;
        let doomed = opened(&Mortal::after(&store, changes)).await;
        let ended = doomed.create_branch("dev", VersionSpec::Newest, &once()).await;
        let table = opened(&store).await;
        assert_eq!(table.version().get(), 5);
        if ended.is_ok() {
            assert_eq!(changes, 3, "a transaction file, a manifest, the branch's file");
            break;
        }
        assert!(table.branches().await.unwrap().is_empty() && table.checkout("dev").await.is_err());
        if changes > 1 {
            let refused = table.create_branch("dev", VersionSpec::Newest, &once()).await.unwrap_err();
            assert!(refused.to_string().contains("remove the branch"), "{refused}");
        }
        if changes > 0 {
            table.remove_branch("dev").await.unwrap();
        }
        table.create_branch("dev", VersionSpec::Newest, &once()).await.unwrap();
    }
}

#[tokio::test]
async fn names_of_branches_are_checked() {
    let (_, table) = five_versions().await;
    for bad in ["", "main", "/a", "a/", "a//b", "a..b", "a\\b", "a.lock", "a b", "."] {
        let refused = table.create_branch(bad, VersionSpec::Newest, &once()).await;
        assert!(matches!(refused, Err(TableError::Invalid { .. })), "{bad:?}");
    }
}

/// Field case 40: a detached version is found by its number only.
#[tokio::test]
async fn a_detached_version_is_no_part_of_the_history() {
    let (store, mut table) = five_versions().await;
    let prepared = prepared_add(&table, unique_id(), 10).await;
    committed(&add(&mut table, &[8]).await);
    let detached = table.commit_detached(&prepared).await.unwrap();
    let number = detached.snapshot.version().get();
    assert!(number >= 1 << 63);
    assert!(store.head(&format!("_versions/d{number}.manifest")).await.unwrap().is_some());
    let mut fresh = opened(&store).await;
    assert_eq!((fresh.version().get(), fresh.history(None).await.unwrap().len()), (6, 6));
    let seen = fresh.at(VersionSpec::Number(number)).await.unwrap();
    assert_eq!(seen.summary().unwrap().num_rows, Some(3 + 3 + 10), "built on version 5 alone");
    // And on it another one.
    let head = Head { read_version: Some(seen.version()), id: unique_id(), properties: BTreeMap::new() };
    let message = Transaction::new(append(head, vec![written_fragment(&store, 1).await]));
    let next = fresh.commit_detached(&Prepared::LanceTransaction(message.encoded().clone())).await.unwrap();
    assert_eq!(next.snapshot.counts().unwrap().live(), 17);
    assert_eq!(committed(&add(&mut fresh, &[9]).await), 7);
}

#[tokio::test]
async fn an_old_version_is_made_current_again_and_no_counter_goes_back() {
    let (store, mut table) = five_versions().await;
    committed(&table.restore(VersionSpec::Number(3), &once()).await.unwrap());
    assert_eq!((table.version().get(), rows(&table)), (6, 4));
    let Snapshot::Lance(held) = table.snapshot().clone() else { panic!("a Lance table") };
    assert_eq!(held.snapshot.manifest().max_fragment_id, Some(3), "fragments 2 and 3 were given");
    committed(&add(&mut table, &[9]).await);
    assert_eq!(table.snapshot().fragments().last().unwrap().id, 4);
    let report = table.restore(VersionSpec::Newest, &once()).await.unwrap();
    assert!(matches!(report.outcome, Outcome::Nothing { .. }));
    // Prepared elsewhere, as pylance would.
    let head = Head { read_version: Some(table.version()), id: unique_id(), properties: BTreeMap::new() };
    let message = Transaction::new(lakebed_lance::transaction::restore(head, lakebed_naming::Version::new(2)));
    let prepared = Prepared::LanceTransaction(message.encoded().clone());
    committed(&table.commit_prepared(prepared, &CommitOptions::default()).await.unwrap());
    assert_eq!(rows(&table), 3);
    // Files that are gone are named, and nothing is written.
    let Snapshot::Lance(old) = table.at(VersionSpec::Number(3)).await.unwrap() else { panic!("a Lance table") };
    let file = old.snapshot.data_object(&old.snapshot.fragments()[1].files[0]).unwrap();
    store.delete(file.as_str()).await.unwrap();
    let refused = table.restore(VersionSpec::Number(3), &once()).await.unwrap_err();
    assert!(refused.to_string().contains(file.as_str()), "{refused}");
    assert_eq!(opened(&store).await.version().get(), 8);
}

/// A prepared transaction that says more than is known here would lose it.
#[tokio::test]
async fn a_transaction_with_fields_that_are_not_known_is_refused() {
    let (_, mut table) = five_versions().await;
    let Prepared::LanceTransaction(bytes) = prepared_add(&table, unique_id(), 2).await else { panic!("Lance") };
    let mut more = bytes.to_vec();
    more.extend([0xa0, 0x38, 0x05]);
    let refused = table.commit_prepared(Prepared::LanceTransaction(more.into()), &once()).await.unwrap_err();
    assert!(refused.to_string().contains("not known here"), "{refused}");
    committed(&table.commit_prepared(Prepared::LanceTransaction(bytes), &once()).await.unwrap());
}
