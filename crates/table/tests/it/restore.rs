//! A new version that equals an old one.

use crate::local::{Local, add, commit, first, now_ms, remove};
use crate::support::{add as add_rows, columns, committed, created, ids, place, set};
use lakebed_storage::Store;
use lakebed_table::{CommitOptions, NewTable, TableFormat, VersionSpec};
use lakebed_transaction::Outcome;
use serde_json::Value;
use std::sync::Arc;

/// The actions of a version, read by a JSON parser.
async fn actions(store: &Arc<dyn Store>, version: u64) -> Vec<Value> {
    let bytes = store.get(&commit(version)).await.unwrap().unwrap();
    bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

#[tokio::test]
async fn rows_and_properties_come_back() {
    let store = place(TableFormat::Delta);
    let mut table = created(&store, &NewTable::new(TableFormat::Delta, columns())).await;
    committed(&add_rows(&mut table, &[1, 2]).await);
    committed(&add_rows(&mut table, &[3]).await);
    committed(&table.delete("id = 1", &CommitOptions::default()).await.unwrap());
    committed(&set(&mut table, "owner", "us", &CommitOptions::default()).await);
    let report = table.restore(VersionSpec::Number(2), &CommitOptions::default()).await.unwrap();
    assert_eq!(committed(&report), 5);
    assert_eq!(ids(&store).await, [1, 2, 3]);
    let old = table.at(VersionSpec::Number(2)).await.unwrap();
    assert_eq!(old.files(), table.snapshot().files());
    assert_eq!(old.summary().unwrap().properties, table.snapshot().summary().unwrap().properties);
    let written = actions(&store, 5).await;
    let info = &written[0]["commitInfo"];
    // As Spark writes it: the version a number, the time null, counts as text.
    assert_eq!(info["operation"], "RESTORE");
    assert_eq!(info["operationParameters"], serde_json::json!({"version": 2, "timestamp": null}));
    let metrics = &info["operationMetrics"];
    assert_eq!((&metrics["numRestoredFiles"], &metrics["numRemovedFiles"]), (&"1".into(), &"1".into()));
    assert_eq!(metrics["numOfFilesAfterRestore"], "2");
    let count = |kind: &str| written.iter().filter(|action| action.get(kind).is_some()).count();
    assert_eq!((count("add"), count("remove"), count("metaData"), count("protocol")), (1, 1, 1, 0));
    // And again: there is nothing left to do.
    let again = table.restore(VersionSpec::Number(2), &CommitOptions::default()).await.unwrap();
    assert!(matches!(again.outcome, Outcome::Nothing { .. }), "{again:?}");
}

#[tokio::test]
async fn a_version_whose_files_are_gone_is_refused_before_anything_is_written() {
    let store = place(TableFormat::Delta);
    let mut table = created(&store, &NewTable::new(TableFormat::Delta, columns())).await;
    committed(&add_rows(&mut table, &[1]).await);
    let file = table.snapshot().files()[0].path.clone();
    committed(&table.truncate(None, &CommitOptions::default()).await.unwrap());
    store.delete(&file).await.unwrap();
    let before = store.list("", None, 1_000).await.unwrap();
    let error = table.restore(VersionSpec::Number(1), &CommitOptions::default()).await.unwrap_err().to_string();
    assert!(error.contains(&file) && error.contains("nothing was written"), "{error}");
    assert_eq!(store.list("", None, 1_000).await.unwrap(), before);
}

/// A file that changed its deletion vector comes back with the one that it had; a vector's file must be there too.
#[tokio::test]
async fn deletion_vectors_come_back() {
    let vector = |cardinality: u32, name: &str| {
        format!(
            r#""deletionVector":{{"storageType":"u","pathOrInlineDv":"{name}","offset":1,"sizeInBytes":36,"cardinality":{cardinality}}}"#
        )
    };
    // Z85 of two UUIDs; the first from the protocol's text.
    let (one, two) = ("ab^-aqEH.-t@S}K{vb[*k^", "^-aqEH.-t@S}K{vb[*k^");
    let with = |action: &str, vector: &str| {
        let stats = r#""stats":"{\"numRecords\":9,\"tightBounds\":false}""#;
        let more = if action == "add" {
            format!(r#""modificationTime":1,{stats}"#)
        } else {
            r#""deletionTimestamp":1"#.to_owned()
        };
        format!(
            r#"{{"{action}":{{"path":"a.parquet","partitionValues":{{}},"size":4,"dataChange":true,{more},{vector}}}}}"#
        )
    };
    let local = Local::new();
    let features = r#""deletionVectors""#;
    let protocol = format!(
        r#"{{"protocol":{{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":[{features}],"writerFeatures":[{features}]}}}}"#
    );
    local.commit(0, &[protocol, crate::local::metadata(&[], r#""delta.enableDeletionVectors":"true""#)], now_ms());
    local.commit(1, &[with("add", &vector(1, one))], now_ms());
    local.commit(2, &[with("remove", &vector(1, one)), with("add", &vector(2, two))], now_ms());
    local.put("a.parquet", b"rows", now_ms());
    let mut table = local.open().await;
    let error = table.restore(VersionSpec::Number(1), &CommitOptions::default()).await.unwrap_err().to_string();
    assert!(error.contains("ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"), "{error}");
    local.put("ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin", b"bits", now_ms());
    let report = table.restore(VersionSpec::Number(1), &CommitOptions::default()).await.unwrap();
    assert_eq!(committed(&report), 3);
    let summary = local.open().await.snapshot().summary().unwrap();
    assert_eq!((summary.num_files, summary.num_rows, summary.num_deleted_rows), (1, Some(8), Some(1)));
    let written = actions(&local.store(), 3).await;
    let find = |kind: &str| written.iter().find_map(|action| action.get(kind)).unwrap();
    assert_eq!(find("remove")["deletionVector"]["pathOrInlineDv"], two);
    assert_eq!(find("add")["deletionVector"]["pathOrInlineDv"], one);
}

#[tokio::test]
async fn a_rival_between_plan_and_commit_is_a_conflict_and_the_restore_is_planned_again() {
    let local = Local::new();
    local.commit(0, &first(""), now_ms());
    local.commit(1, &[add("a.parquet")], now_ms());
    local.commit(2, &[remove("a.parquet", now_ms())], now_ms());
    local.put("a.parquet", b"rows", now_ms());
    let mut table = local.open().await;
    local.commit(3, &[add("b.parquet")], now_ms());
    let report = table.restore(VersionSpec::Number(1), &CommitOptions::default()).await.unwrap();
    assert_eq!(committed(&report), 4, "{report:?}");
    let files: Vec<_> = table.snapshot().files().into_iter().map(|file| file.path).collect();
    assert_eq!(files, ["a.parquet"], "what the rival added is gone too");
}
