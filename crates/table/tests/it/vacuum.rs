//! Which files a vacuum takes, and which it never does.

use crate::local::{DAY_MS, Local, commit, first, metadata, now_ms, remove};
use crate::support::{add_action, opened};
use lakebed_storage::Store;
use lakebed_table::CommitOptions;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

const PROTOCOL: &str = r#"{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}"#;

fn add(path: &str, partition: &str) -> String {
    add_action(path, 1, true).replace(r#""partitionValues":{}"#, &format!(r#""partitionValues":{{{partition}}}"#))
}

async fn removed(local: &Local) -> Vec<String> {
    local.open().await.vacuum(None, false, false).await.unwrap().files
}

#[tokio::test]
async fn what_a_version_within_the_retention_needs_stays() {
    let local = Local::new();
    let now = now_ms();
    local.commit(0, &first(""), now - 30 * DAY_MS);
    let names = ["live", "expired", "young-tombstone", "restored", "in-flight", "orphan"];
    let all: Vec<_> = names.iter().map(|name| add(&format!("{name}.parquet"), "")).collect();
    local.commit(1, &all[..4], now - 20 * DAY_MS);
    let gone = [remove("expired.parquet", now - 8 * DAY_MS), remove("young-tombstone.parquet", now - 6 * DAY_MS)];
    local.commit(2, &gone, now - 6 * DAY_MS);
    local.commit(3, &[remove("restored.parquet", now - 9 * DAY_MS)], now - 5 * DAY_MS);
    local.commit(4, &all[3..4], now - 4 * DAY_MS);
    for name in names {
        let days = if name == "in-flight" { 6 } else { 20 };
        local.put(&format!("{name}.parquet"), b"rows", now - days * DAY_MS);
    }
    let before = local.names("");
    let mut table = local.open().await;
    let dry = table.vacuum(None, false, true).await.unwrap();
    assert_eq!(dry.files, ["expired.parquet", "orphan.parquet"]);
    assert_eq!(dry.size_bytes, 8);
    assert_eq!(local.names(""), before, "a dry run removes nothing");
    assert_eq!(table.vacuum(None, false, false).await.unwrap(), dry);
    assert_eq!(before.len() - local.names("").len(), 2);
    assert_eq!(local.open().await.vacuum(None, false, false).await.unwrap().files, Vec::<String>::new());
}

#[tokio::test]
async fn a_shorter_retention_needs_a_word() {
    let local = Local::new();
    local.commit(0, &first(r#""delta.deletedFileRetentionDuration":"interval 3 days""#), now_ms());
    local.put("orphan.parquet", b"rows", now_ms() - DAY_MS);
    let mut table = local.open().await;
    let day = Duration::from_secs(86_400);
    let error = table.vacuum(Some(Duration::ZERO), false, false).await.unwrap_err().to_string();
    assert!(error.contains("shorter than the table's own") && error.contains("still at work"), "{error}");
    assert!(local.has("orphan.parquet"));
    assert!(table.vacuum(Some(day * 3), false, false).await.unwrap().files.is_empty());
    assert_eq!(table.vacuum(Some(Duration::ZERO), true, false).await.unwrap().files, ["orphan.parquet"]);
}

/// The history tells of a vacuum in the words in which Spark does (its `vacuumed` and `vacuum_protocol_check` tables have them),
/// where that is asked for.
#[tokio::test]
async fn a_noted_vacuum_stands_in_the_history() {
    let local = Local::new();
    local.commit(0, &first(""), now_ms());
    local.put("orphan.parquet", b"rows", now_ms() - 9 * DAY_MS);
    local.put("p=1/orphan.parquet", b"more", now_ms() - 9 * DAY_MS);
    let mut table = local.open().await;
    let removed = table.vacuum_noted(None, false, &CommitOptions::default()).await.unwrap();
    assert_eq!((removed.files.len(), removed.size_bytes), (2, 8));
    assert!(!local.has("orphan.parquet") && !local.has("p=1/orphan.parquet"));
    assert_eq!(table.version().get(), 2);
    let told = |version: u64| {
        let text = std::fs::read_to_string(local.path(&commit(version))).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let [line] = lines.as_slice() else { panic!("one line: {lines:?}") };
        let mut info = line["commitInfo"].clone();
        for own in ["timestamp", "engineInfo", "txnId", "lakebed"] {
            info.as_object_mut().unwrap().remove(own).unwrap();
        }
        info
    };
    let start = json!({
        "operation": "VACUUM START",
        "operationParameters": {"retentionCheckEnabled": true, "defaultRetentionMillis": 604_800_000},
        "readVersion": 0, "isolationLevel": "SnapshotIsolation", "isBlindAppend": true,
        "operationMetrics": {"numFilesToDelete": "2", "sizeOfDataToDelete": "8"},
    });
    let end = json!({
        "operation": "VACUUM END", "operationParameters": {"status": "COMPLETED"},
        "readVersion": 1, "isolationLevel": "SnapshotIsolation", "isBlindAppend": true,
        "operationMetrics": {"numDeletedFiles": "2", "numVacuumedDirectories": "2"},
    });
    assert_eq!((told(1), told(2)), (start, end));
    let _ = table.vacuum_noted(Some(Duration::ZERO), true, &CommitOptions::default()).await.unwrap();
    let parameters = told(3)["operationParameters"].clone();
    assert_eq!(
        (&parameters["retentionCheckEnabled"], &parameters["specifiedRetentionMillis"]),
        (&json!(false), &json!(0))
    );
    assert!(table.vacuum_noted(Some(Duration::ZERO), false, &CommitOptions::default()).await.is_err());
    assert!(!local.has(&commit(5)), "what is refused is not noted");
    assert!(table.vacuum(None, false, false).await.unwrap().files.is_empty());
    assert!(!local.has(&commit(5)), "unless it is asked for, nothing is noted");
}

/// Field case: names of partition folders are escaped on disk, and once more in the log.
#[tokio::test]
async fn escaped_partition_folders_are_told_apart() {
    let values = [
        "2031-05-06 07:08:09",
        "a/b",
        "100%",
        "%41",
        "é日本",
        "a b",
        "x=y",
        "#?&",
        "'\"",
        "[z]",
        "back\\slash",
        "+",
        "~",
    ];
    let local = Local::new();
    let old = now_ms() - 20 * DAY_MS;
    let mut lines = vec![PROTOCOL.to_owned(), metadata(&["ts"], "")];
    let mut dead = Vec::new();
    for (at, value) in values.iter().enumerate() {
        let folder = lakebed_naming::delta::partition_folder("ts", Some(value));
        let live = format!("{folder}/live-{at}.parquet");
        let json = serde_json::to_string(value).unwrap();
        let path = serde_json::to_string(&lakebed_naming::delta::encode_path(&live)).unwrap();
        lines.push(add("PATH", &format!(r#""ts":{json}"#)).replace(r#""PATH""#, &path));
        local.put(&live, b"rows", old);
        dead.push(format!("{folder}/dead-{at}.parquet"));
        local.put(&dead[at], b"rows", old);
    }
    local.commit(0, &lines, old);
    dead.sort();
    assert_eq!(removed(&local).await, dead);
}

/// Field case: hidden names stay, but for change data and for folders of partition columns that look hidden.
#[tokio::test]
async fn hidden_names_stay_as_in_spark() {
    let local = Local::new();
    let old = now_ms() - 20 * DAY_MS;
    local.commit(0, &[PROTOCOL.to_owned(), metadata(&["_group", ".dot"], "")], old);
    let goes = [
        "_group=1/a.parquet",
        "_group=1/.dot=2/b.parquet",
        ".dot=1/c.parquet",
        "_change_data/cdc-1.parquet",
        "_change_data/_group=1/cdc-2.parquet",
        "plain/d.parquet",
        "metadata/v1.json",
        "deletion_vector_0f2c6a1e-0000-4000-8000-000000000001.bin",
        "notes.txt",
    ];
    let stays = [
        "_group=1/_hidden.parquet",
        "_group/a.parquet",
        "_group",
        ".dot=",
        "_delta_index/x.parquet",
        "_delta_log/_staged_commits/00000000000000000001.0f2c6a1e-0000-4000-8000-000000000001.json",
        "_started_1",
        "_SUCCESS",
        ".hidden/a.parquet",
        ".part-0.parquet.crc",
        "p=1/.part-0.parquet.crc",
        "_other=1/a.parquet",
    ];
    for name in goes.iter().chain(stays.iter().filter(|name| **name != "_group")) {
        local.put(name, b"x", old);
    }
    let mut expected: Vec<_> = goes.iter().map(|name| (*name).to_owned()).collect();
    expected.sort();
    assert_eq!(removed(&local).await, expected);
    for name in stays.iter().filter(|name| **name != "_group") {
        assert!(local.has(name), "{name}");
    }
    // Iceberg's metadata belongs to the table where it is kept in both formats.
    local.put("metadata/v2.json", b"x", old);
    let both = r#""delta.universalFormat.enabledFormats":"iceberg""#;
    local.commit(1, &[metadata(&["_group", ".dot"], both)], old + 1);
    assert_eq!(removed(&local).await, Vec::<String>::new());
}

/// Files of deletion vectors belong to live files and to tombstones alike, in every form of their names.
#[tokio::test]
async fn deletion_vector_files_go_with_their_files() {
    let local = Local::new();
    let now = now_ms();
    let old = now - 20 * DAY_MS;
    let uuid = |n: u32| lakebed_naming::Uuid::parse(&format!("0f2c6a1e-0000-4000-8000-00000000000{n}")).unwrap();
    let name = |n: u32, prefix: &str| lakebed_naming::delta::DeletionVectorName::with_prefix(prefix, uuid(n)).unwrap();
    let root = local.path("").to_str().unwrap().trim_end_matches('/').to_owned();
    let file = |action: &str, n: u32, storage: &str, path: &str, more: &str| {
        let path = serde_json::to_string(path).unwrap();
        format!(
            r#"{{"{action}":{{"path":"f{n}.parquet","partitionValues":{{}},"size":4,"dataChange":true,{more},"deletionVector":{{"storageType":"{storage}","pathOrInlineDv":{path},"offset":1,"sizeInBytes":36,"cardinality":1}}}}}}"#
        )
    };
    let live = r#""modificationTime":1,"stats":"{\"numRecords\":9}""#;
    let gone = |days: i64| format!(r#""deletionTimestamp":{}"#, now - days * DAY_MS);
    let features = r#"["deletionVectors"]"#;
    let protocol = format!(
        r#"{{"protocol":{{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":{features},"writerFeatures":{features}}}}}"#
    );
    local.commit(0, &[protocol, metadata(&[], "")], old);
    let absolute = format!("file://{root}/{}", name(4, "").path());
    local.commit(
        1,
        &[
            file("add", 1, "u", &name(1, "ab").descriptor(), live),
            file("remove", 2, "u", &name(2, "").descriptor(), &gone(3)),
            file("remove", 3, "u", &name(3, "").descriptor(), &gone(9)),
            file("add", 4, "p", &absolute, live),
        ],
        old,
    );
    for n in 1..=4 {
        local.put(&format!("f{n}.parquet"), b"rows", old);
        local.put(&name(n, if n == 1 { "ab" } else { "" }).path(), b"bits", old);
    }
    local.put(&name(5, "").path(), b"bits", old);
    let mut expected = vec![name(3, "").path(), name(5, "").path(), "f3.parquet".to_owned()];
    expected.sort();
    assert_eq!(removed(&local).await, expected);
}

/// Absolute paths that point into the table keep their files, however the root is spelled; nothing outside is touched.
#[tokio::test]
async fn a_vacuum_stays_inside_the_root_and_knows_absolute_paths() {
    let local = Local::new();
    let old = now_ms() - 20 * DAY_MS;
    let root = local.path("table").to_str().unwrap().to_owned();
    local.put("outside.parquet", b"rows", old);
    let lines = [
        PROTOCOL.to_owned(),
        metadata(&[], ""),
        add(&format!("file://{root}/in%20side.parquet"), ""),
        add(&format!("{root}/sub/plain.parquet"), ""),
        add(&format!("file:{}/elsewhere.parquet", local.path("").display()), ""),
    ];
    local.put(&format!("table/{}", commit(0)), lines.join("\n").as_bytes(), old);
    for name in ["in side.parquet", "sub/plain.parquet", "dead.parquet"] {
        local.put(&format!("table/{name}"), b"rows", old);
    }
    let store: Arc<dyn Store> =
        Arc::new(lakebed_storage::LocalStore::new(local.path("table"), lakebed_storage::Durability::None).unwrap());
    let files = opened(&store).await.vacuum(None, false, false).await.unwrap().files;
    assert_eq!(files, ["dead.parquet"]);
    assert!(local.has("outside.parquet"));
}

#[tokio::test]
async fn a_writer_protocol_that_is_not_known_stops_a_vacuum() {
    for (reader, writer, named) in
        [(r#"["vacuumProtocolCheck"]"#, r#"["vacuumProtocolCheck","someNewWriterFeature"]"#, "someNewWriterFeature")]
    {
        let local = Local::new();
        let old = now_ms() - 20 * DAY_MS;
        let protocol = format!(
            r#"{{"protocol":{{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":{reader},"writerFeatures":{writer}}}}}"#
        );
        local.commit(0, &[protocol, metadata(&[], "")], old);
        local.put("orphan.parquet", b"rows", old);
        let error = local.open().await.vacuum(None, false, false).await.unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
        let error = local.open().await.clean_log(false).await.unwrap_err().to_string();
        assert!(error.contains(named), "{error}");
        assert!(local.has("orphan.parquet"));
    }
}

/// Field case: a version that lands between the listing and the removal keeps what it names.
#[tokio::test]
async fn a_version_that_brings_a_file_back_in_between_keeps_it() {
    let local = Local::new();
    let old = now_ms() - 20 * DAY_MS;
    local.commit(0, &first(""), old);
    local.commit(1, &[add("a.parquet", "")], old + 1);
    local.commit(2, &[remove("a.parquet", old + 2)], old + 2);
    local.put("a.parquet", b"rows", old);
    local.put("b.parquet", b"rows", old);
    let mut table = local.open().await;
    // The handle still stands at version 2 when the vacuum starts.
    local.commit(3, &[add("a.parquet", "")], now_ms());
    assert_eq!(table.vacuum(None, false, false).await.unwrap().files, ["b.parquet"]);
    assert!(local.has("a.parquet"));
}

/// Field case 66: temporary files of writers that died go with the next vacuum, wherever they lie; those of writers that may be at
/// work stay.
#[tokio::test]
async fn temporary_files_of_the_dead_go() {
    let local = Local::new();
    local.commit(0, &first(""), now_ms() - 30 * DAY_MS);
    let left = ["_delta_log/.tmp-0-1", ".tmp-0-2", "_delta_log/00000000000000000001.json#3"];
    for name in left {
        local.put(name, b"half", now_ms() - 8 * DAY_MS);
    }
    local.put("_delta_log/.tmp-0-9", b"half", now_ms() - 6 * DAY_MS);
    let mut sorted: Vec<_> = left.to_vec();
    sorted.sort_unstable();
    let mut removed = removed(&local).await;
    removed.sort_unstable();
    assert_eq!(removed, sorted);
    assert!(local.has("_delta_log/.tmp-0-9") && left.iter().all(|name| !local.has(name)));
}
