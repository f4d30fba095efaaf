//! What deltalake commits to Delta tables, read by this program, which then goes on.

use crate::support::delta::{plain_rows, printed, scan, source};
use crate::support::{Python, Texts, arguments, committed, list, names, open, plainly, texts};
use lakebed_table::{Scope, VersionSpec};

#[tokio::test]
async fn we_read_fifty_commits_of_deltalake_and_go_on() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    let written = python.on("delta_write.py", &["mixed"], &path, &["--commits", "50", "--seed", "3"]).await;
    assert!(names(&path.join("_delta_log"), ".checkpoint.parquet").len() >= 4, "deltalake wrote checkpoints");
    let more: Vec<_> = ["--rows".to_owned(), "--each".to_owned()].into_iter().chain(arguments(0..50)).collect();
    let read = python.on("delta_read.py", &[], &path, &more).await;
    let mut table = open(&path).await;
    assert_eq!(table.version().get(), 49);
    let (commits, each) = (list(&written["commits"]), list(&read["each"]));
    assert_eq!((commits.len(), each.len()), (50, 50));
    for ((version, commit), theirs) in (0..).zip(commits).zip(each) {
        assert_eq!(commit["version"].as_u64(), Some(version));
        // What deltalake reads now is what it had when it committed.
        assert_eq!(commit["rows_hash"], theirs["rows_hash"], "rows of version {version}");
        let ours = table.at(VersionSpec::Number(version)).await.unwrap();
        assert_eq!(ours.version().get(), version);
        assert_eq!(scan(&table, &ours).await, printed(&theirs["rows"]), "rows of version {version}");
        let summary = ours.summary().unwrap();
        assert_eq!(summary.properties, texts(&commit["properties"]), "properties of version {version}");
        assert_eq!(commit["num_files"].as_u64(), Some(summary.num_files), "files of version {version}");
        assert_eq!(summary.table_id.as_deref(), theirs["table_id"].as_str());
        assert_eq!(summary.partition_columns, ["w"]);
        let paths: Vec<_> = list(&theirs["files"]).iter().map(|file| file["path"].as_str().unwrap()).collect();
        assert_eq!(ours.files().iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), paths);
    }

    // Every kind of commit of ours on files that deltalake wrote, each read by deltalake.
    let mut rows = printed(&written["rows"]);
    let first = *rows.keys().next().unwrap();
    rows.remove(&first);
    assert_eq!(committed(&table.delete(&format!("id = {first}"), &plainly()).await.unwrap()), 50);
    let added = plain_rows(900_000..900_010, 2);
    rows.extend(added.clone());
    assert_eq!(committed(&table.append(source(&added), &plainly()).await.unwrap()), 51);
    let set = Texts::from([("interop.ours".to_owned(), "yes".to_owned())]);
    assert_eq!(committed(&table.set_properties(set, Vec::new(), &plainly()).await.unwrap()), 52);
    let replacing = plain_rows(910_000..910_004, 0);
    rows.retain(|_, (_, w)| *w != Some(0));
    rows.extend(replacing.clone());
    let scope = Scope::Where("w = 0".to_owned());
    assert_eq!(committed(&table.overwrite(source(&replacing), &scope, &plainly()).await.unwrap()), 53);
    let read = python.on("delta_read.py", &[], &path, &["--rows"]).await;
    assert_eq!(read["version"].as_u64(), Some(53));
    assert_eq!(printed(&read["rows"]), rows);
    assert_eq!(read["properties"]["interop.ours"], "yes");
    assert_eq!(scan(&table, table.snapshot()).await, rows);
}

#[tokio::test]
async fn a_checkpoint_of_deltalake_is_enough_for_us() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    python.on("delta_write.py", &["create"], &path, &["--property", "interop.owner=deltalake"]).await;
    let mut rows = plain_rows(0..10, 0);
    python.on("delta_write.py", &["append"], &path, &["--rows", "10", "--start", "0"]).await;
    python.on("delta_write.py", &["delete"], &path, &["--where", "id = 4"]).await;
    python.on("delta_write.py", &["checkpoint"], &path, &[""; 0]).await;
    rows.remove(&4);
    let log = path.join("_delta_log");
    for name in names(&log, "0.json").iter().chain(&names(&log, "1.json")) {
        std::fs::remove_file(log.join(name)).unwrap();
    }
    let mut table = open(&path).await;
    assert_eq!(table.version().get(), 2);
    assert_eq!(scan(&table, table.snapshot()).await, rows);
    assert_eq!(table.snapshot().summary().unwrap().properties["interop.owner"], "deltalake");
    let more = plain_rows(20..25, 1);
    rows.extend(more.clone());
    assert_eq!(committed(&table.append(source(&more), &plainly()).await.unwrap()), 3);
    let read = python.on("delta_read.py", &[], &path, &["--rows"]).await;
    assert_eq!(printed(&read["rows"]), rows);
}
