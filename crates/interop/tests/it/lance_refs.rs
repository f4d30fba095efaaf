//! Tags, branches, detached versions, names, restoring and cleanups: what we make pylance reads, and the other way round.

use crate::support::lance::{create, write};
use crate::support::{Python, Texts, committed, integers, list, open, plainly};
use lakebed_lance::transaction::{Head, Transaction, append};
use lakebed_naming::Uuid;
use lakebed_table::{Prepared, Table, VersionSpec};
use lakebed_transaction::RowSet;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

async fn act(python: &Python, words: &[&str], path: &Path, more: &[&str]) -> Value {
    python.on("lance_refs.py", words, path, more).await
}

async fn grow(python: &Python, table: &mut Table, path: &Path, rows: usize, start: i64) -> Vec<i64> {
    let file = write(python, path, 1, rows, start).await.remove(0);
    committed(&table.append_fragments(vec![file.fragment], &plainly()).await.unwrap());
    file.ids
}

fn rows_of(table: &Table) -> u64 {
    table.snapshot().summary().unwrap().num_rows.unwrap()
}

/// Everything below the folder is older than any retention.
fn age(folder: &Path) {
    let long_ago = UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            age(&path);
        } else {
            std::fs::File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
        }
    }
}

/// Everything that a version names is there, and every data file is named by one, be it a branch's.
async fn sound(path: &Path) {
    let verified = open(path).await.verify(|_| ()).await.unwrap();
    assert!(verified.is_sound() && verified.strays.is_empty(), "{verified:#?}");
}

#[tokio::test]
async fn tags_and_branches_of_both_are_read_by_both() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    let mut table = create(&path, Texts::new()).await;
    let mut ids = grow(&python, &mut table, &path, 5, 0).await;
    ids.extend(grow(&python, &mut table, &path, 5, 100).await);
    let gone = BTreeMap::from([(0, RowSet::from_iter([0]))]);
    committed(&table.delete_rows(gone, "first", &plainly()).await.unwrap());
    ids.retain(|id| *id != 0);

    table.create_tag("ours", 2).await.unwrap();
    let mut branch = table.create_branch("dev/ours", VersionSpec::Newest, &plainly()).await.unwrap();
    let tree = path.join("tree/dev/ours");
    let mut on_branch = ids.clone();
    on_branch.extend(grow(&python, &mut branch, &tree, 3, 500).await);
    // Fragment 0 came with a deletion file that lies in the table.
    let gone = BTreeMap::from([(0, RowSet::from_iter([1]))]);
    committed(&branch.delete_rows(gone, "second", &plainly()).await.unwrap());
    on_branch.retain(|id| *id != 1);
    let seen = act(&python, &["look"], &path, &[]).await;
    assert_eq!(seen["tags"], json!({"ours": [null, 2]}));
    assert_eq!(integers(&seen["by_version"]["ours"]), [0, 1, 2, 3, 4]);
    assert_eq!(integers(&seen["ids"]), ids);
    let theirs = &seen["branches"]["dev/ours"];
    assert_eq!((theirs["version"].as_u64(), theirs["from"].as_u64()), (Some(6), Some(4)));
    assert_eq!(integers(&theirs["ids"]), on_branch);

    // pylance goes on on ours, and makes its own.
    act(&python, &["delete"], &path, &["dev/ours", "--where", "id = 501"]).await;
    on_branch.retain(|id| *id != 501);
    act(&python, &["tag"], &path, &["theirs", "--version", "3"]).await;
    let seen = act(&python, &["branch"], &path, &["dev/theirs", "--version", "3"]).await;
    assert_eq!(integers(&seen["branches"]["dev/ours"]["ids"]), on_branch);
    assert!(branch.refresh().await.unwrap());
    assert_eq!(rows_of(&branch), on_branch.len() as u64);
    let tags: Vec<_> = table.tags().await.unwrap().into_iter().map(|tag| (tag.name, tag.version)).collect();
    assert_eq!(tags, [("ours".to_owned(), 2), ("theirs".to_owned(), 3)]);
    let mut other = table.checkout("dev/theirs").await.unwrap();
    assert_eq!((other.version().get(), rows_of(&other)), (4, 12));

    // We go on on theirs, and make a branch of it.
    let gone = BTreeMap::from([(1, RowSet::from_iter([4])), (2, RowSet::from_iter([0]))]);
    committed(&other.delete_rows(gone, "two", &plainly()).await.unwrap());
    other.create_branch("deeper", VersionSpec::Newest, &plainly()).await.unwrap();
    table.move_tag("theirs", 4).await.unwrap();
    let seen = act(&python, &["look"], &path, &[]).await;
    let expected: Vec<i64> = (0..5).chain(100..104).chain([9_002]).collect();
    for name in ["dev/theirs", "deeper"] {
        assert_eq!(integers(&seen["branches"][name]["ids"]), expected, "{name}");
    }
    assert_eq!(seen["branches"]["deeper"]["parent"], "dev/theirs");
    assert_eq!(integers(&seen["by_version"]["theirs"]), ids);

    // A cleanup of ours leaves what they name; one of theirs leaves what we need.
    age(&path);
    let removed = open(&path).await.vacuum(None, false, false).await.unwrap();
    assert!(removed.files.iter().any(|name| name.ends_with(".manifest")), "{removed:?}");
    let seen = act(&python, &["look"], &path, &[]).await;
    assert_eq!(seen["versions"], json!([2, 3, 4]), "version 1 goes, tags hold 2 and 4, a branch holds 3");
    assert_eq!(integers(&seen["by_version"]["ours"]), [0, 1, 2, 3, 4]);
    assert_eq!(integers(&seen["branches"]["dev/ours"]["ids"]), on_branch);
    assert_eq!(integers(&seen["branches"]["deeper"]["ids"]), expected);
    sound(&path).await;
    act(&python, &["clean"], &path, &[]).await;
    sound(&path).await;
    let mut table = open(&path).await;
    assert_eq!(rows_of(&table), ids.len() as u64);
    committed(&table.delete_rows(BTreeMap::from([(1, RowSet::from_iter([0]))]), "x", &plainly()).await.unwrap());
    table.remove_tag("ours").await.unwrap();
    table.remove_branch("deeper").await.unwrap();
    let seen = act(&python, &["look"], &path, &[]).await;
    assert_eq!(seen["tags"].as_object().unwrap().len(), 1);
    assert_eq!(seen["branches"].as_object().unwrap().len(), 2);
}

#[tokio::test]
async fn detached_and_restored_versions_of_ours_are_read_by_pylance() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    let mut table = create(&path, Texts::new()).await;
    let first = grow(&python, &mut table, &path, 5, 0).await;
    grow(&python, &mut table, &path, 5, 100).await;
    let file = write(&python, &path, 1, 2, 700).await.remove(0);
    let head =
        Head { read_version: Some(table.version()), id: Uuid::from_random([3; 16]), properties: BTreeMap::new() };
    let message = Transaction::new(append(head, vec![file.fragment]));
    let prepared = Prepared::LanceTransaction(message.encoded().clone());
    let detached = table.commit_detached(&prepared).await.unwrap();
    let number = detached.snapshot.version().get().to_string();
    let seen = act(&python, &["detached"], &path, &[&number]).await;
    let expected: Vec<i64> = (0..5).chain(100..105).chain([700, 701]).collect();
    assert_eq!(integers(&seen["ids"]), expected);
    committed(&table.restore(VersionSpec::Number(2), &plainly()).await.unwrap());
    let seen = act(&python, &["look"], &path, &[]).await;
    assert_eq!((seen["version"].as_u64(), integers(&seen["ids"])), (Some(4), first));
    assert_eq!(list(&seen["versions"]).len(), 4);
    // pylance gives fragments ids that were never given.
    python.on("lance_write.py", &["append"], &path, &["--rows", "2", "--start", "800"]).await;
    assert!(table.refresh().await.unwrap());
    let ids: Vec<u64> = table.snapshot().fragments().iter().map(|fragment| fragment.id).collect();
    assert_eq!(ids, [0, 2]);
}

#[tokio::test]
async fn names_that_we_migrated_are_read_by_pylance() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    python.on("lance_write.py", &["create"], &path, &["--v1-names", "--rows", "4"]).await;
    for start in ["50", "60", "70"] {
        python.on("lance_write.py", &["append"], &path, &["--rows", "5", "--start", start]).await;
    }
    let before = act(&python, &["look"], &path, &[]).await;
    let mut table = open(&path).await;
    assert_eq!(table.migrate_naming().await.unwrap(), 4);
    let after = act(&python, &["look"], &path, &[]).await;
    assert_eq!(before, after);
    // The mark of a migration that stopped does not disturb pylance.
    let mark = path.join("_versions/.migrate-naming");
    std::fs::write(&mark, "stopped").unwrap();
    assert_eq!(act(&python, &["look"], &path, &[]).await, after);
    std::fs::remove_file(&mark).unwrap();
    python.on("lance_write.py", &["append"], &path, &["--rows", "1", "--start", "90"]).await;
    assert!(path.join(format!("_versions/{:020}.manifest", u64::MAX - 5)).is_file());
    assert!(table.refresh().await.unwrap());
    assert_eq!(rows_of(&table), 4 + 15 + 1);
}
