//! What pylance commits to Lance tables, read by this program, which then goes on.

use crate::support::lance::{distinct_row_ids, same_version, tended, write};
use crate::support::{Python, Texts, arguments, committed, integers, list, open, plainly};
use lakebed_table::{Table, VersionSpec};
use lakebed_transaction::RowSet;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;

/// Fragment, position and id of every row that pylance sees.
async fn addresses(python: &Python, path: &Path) -> (Value, Vec<(u64, u64, i64)>) {
    let read = python.on("lance_read.py", &[], path, &["--rows", "--addresses"]).await;
    let found = list(&read["addresses"])
        .iter()
        .map(|one| (one[0].as_u64().unwrap(), one[1].as_u64().unwrap(), one[2].as_i64().unwrap()))
        .collect();
    (read, found)
}

/// Commits of ours of every kind on a table of pylance: what it reads after them is checked, and that it can go on.
async fn go_on(python: &Python, path: &Path, table: &mut Table, start: i64) {
    let base = table.version().get();
    let (before, rows) = addresses(python, path).await;
    let mut expected: BTreeMap<i64, String> = list(&before["rows"])
        .iter()
        .map(|row| (row[0].as_i64().unwrap(), row[1].as_str().unwrap().to_owned()))
        .collect();

    // Every third row goes, and the last fragment as a whole.
    let last = rows.iter().map(|(fragment, ..)| *fragment).max().unwrap();
    let physical = list(&before["fragments"]).last().unwrap()["physical_rows"].as_u64().unwrap();
    let mut gone: BTreeMap<u64, RowSet> = BTreeMap::from([(last, (0..physical).collect())]);
    for (at, (fragment, position, id)) in rows.iter().enumerate() {
        if *fragment == last || at % 3 == 0 {
            gone.entry(*fragment).or_default().insert(*position);
            expected.remove(id);
        }
    }
    assert_eq!(committed(&table.delete_rows(gone, "every third", &plainly()).await.unwrap()), base + 1);

    let file = write(python, path, 1, 6, start).await.remove(0);
    expected.extend(file.ids.iter().map(|id| (*id, format!("s{id}"))));
    assert_eq!(committed(&table.append_fragments(vec![file.fragment], &plainly()).await.unwrap()), base + 2);
    let set = Texts::from([("interop.ours".to_owned(), "yes".to_owned())]);
    assert_eq!(committed(&table.set_properties(set, Vec::new(), &plainly()).await.unwrap()), base + 3);

    let wanted = |expected: &BTreeMap<i64, String>| expected.iter().map(|(id, s)| json!([id, s])).collect::<Value>();
    let (read, rows) = addresses(python, path).await;
    assert_eq!(read["rows"], wanted(&expected));
    assert_eq!(read["config"]["interop.ours"], "yes");
    same_version(table.snapshot(), &read);

    // pylance deletes a row that we appended and one that it had, and appends.
    let ids = [file.ids[0], rows.iter().map(|(.., id)| *id).min().unwrap()];
    let predicate = format!("id IN ({}, {})", ids[0], ids[1]);
    python.on("lance_write.py", &["delete"], path, &["--where", &predicate]).await;
    ids.iter().for_each(|id| drop(expected.remove(id)));
    let more = (start + 100).to_string();
    let theirs = python.on("lance_write.py", &["append"], path, &["--rows", "4", "--start", &more]).await;
    expected.extend((start + 100..start + 104).map(|id| (id, format!("s{id}"))));
    assert_eq!(theirs["rows"], wanted(&expected));
    assert!(table.refresh().await.unwrap());
    assert_eq!(table.version().get(), base + 5);
    same_version(table.snapshot(), list(&theirs["commits"]).last().unwrap());
}

#[tokio::test]
async fn we_read_fifty_commits_of_pylance_and_go_on() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    let written = python.on("lance_write.py", &["mixed"], &path, &["--commits", "50", "--seed", "3"]).await;
    let mut more: Vec<_> = ["--rows", "--addresses", "--history", "--each"].map(str::to_owned).into();
    more.extend(arguments(1..=50));
    let read = python.on("lance_read.py", &[], &path, &more).await;
    let mut table = open(&path).await;
    assert_eq!(table.version().get(), 50);
    let (commits, each) = (list(&written["commits"]), list(&read["each"]));
    assert_eq!((commits.len(), each.len()), (50, 50));
    for ((version, commit), theirs) in (1..).zip(commits).zip(each) {
        let ours = table.at(VersionSpec::Number(version)).await.unwrap();
        same_version(&ours, commit);
        // What pylance reads now is what it had when it committed.
        assert_eq!(commit["rows_hash"], theirs["rows_hash"], "rows of version {version}");
        same_version(&ours, theirs);
    }
    let history = table.history(None).await.unwrap();
    let theirs: Vec<_> = list(&read["history"]).iter().rev().collect();
    assert_eq!(history.len(), theirs.len());
    for (ours, theirs) in history.iter().zip(theirs) {
        assert_eq!(Some(ours.version.get()), theirs["version"].as_u64());
        assert_eq!(ours.operation.as_deref(), theirs["operation"].as_str(), "version {}", ours.version);
        assert_eq!(ours.transaction_id.as_deref(), theirs["uuid"].as_str(), "version {}", ours.version);
        assert_eq!(ours.read_version, theirs["read_version"].as_u64(), "version {}", ours.version);
    }
    assert_eq!(integers(&read["ids"]).len() as u64, table.snapshot().summary().unwrap().num_rows.unwrap());
    go_on(&python, &path, &mut table, 500_000).await;
    tended(&python, &path, &mut table, 600_000).await;
}

#[tokio::test]
async fn we_go_on_where_pylance_named_manifests_the_old_way() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    python.on("lance_write.py", &["create"], &path, &["--v1-names"]).await;
    python.on("lance_write.py", &["append"], &path, &["--rows", "5", "--start", "50"]).await;
    let mut table = open(&path).await;
    assert_eq!(table.version().get(), 2);
    go_on(&python, &path, &mut table, 1_000).await;
    assert!(path.join("_versions/7.manifest").is_file(), "the old names are kept");
    tended(&python, &path, &mut table, 2_000).await;
}

#[tokio::test]
async fn we_go_on_where_pylance_gave_stable_row_ids() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    let more = ["--stable-row-ids", "--rows", "12"];
    let created = python.on("lance_write.py", &["create"], &path, &more).await;
    python.on("lance_write.py", &["append"], &path, &["--rows", "5", "--start", "50"]).await;
    let mut table = open(&path).await;
    same_version(&table.at(VersionSpec::Number(1)).await.unwrap(), &created["commits"][0]);
    go_on(&python, &path, &mut table, 1_000).await;
    let (read, _) = addresses(&python, &path).await;
    assert_eq!(read["stable_row_ids"], true);
    distinct_row_ids(&read);
    tended(&python, &path, &mut table, 2_000).await;
}
