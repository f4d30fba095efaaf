//! Checkpoints of both kinds, and crashes and failures on the way.

use crate::local::{Local, add, metadata, now_ms};
use crate::stores::Meddled;
use crate::support::{add as add_rows, columns, committed, created, opened, place, set, sound};
use lakebed_storage::Store;
use lakebed_storage::testing::{Fault, Faulty, Script};
use lakebed_table::{CommitOptions, NewTable, Table, TableFormat, VersionSpec};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A table of four versions with properties of its own, and what it shows.
async fn small(properties: &[(&str, &str)]) -> (Arc<dyn Store>, Table) {
    let store = place(TableFormat::Delta);
    let properties = properties.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let definition = NewTable::new(TableFormat::Delta, columns()).with_properties(properties);
    let mut table = created(&store, &definition).await;
    committed(&add_rows(&mut table, &[1, 2]).await);
    committed(&add_rows(&mut table, &[3]).await);
    committed(&table.delete("id = 3", &CommitOptions::default()).await.unwrap());
    (store, table)
}

/// Everything that a reader sees of a version.
async fn seen(
    store: &Arc<dyn Store>,
    version: u64,
) -> (Vec<lakebed_table::FileSummary>, BTreeMap<String, String>, Option<u64>) {
    let table = opened(store).await;
    let snapshot = table.at(VersionSpec::Number(version)).await.unwrap();
    let summary = snapshot.summary().unwrap();
    (snapshot.files(), summary.properties, summary.num_rows)
}

const KINDS: [&[(&str, &str)]; 4] = [
    &[],
    &[("delta.checkpointPolicy", "v2")],
    &[("delta.checkpoint.writeStatsAsJson", "false"), ("delta.checkpoint.writeStatsAsStruct", "true")],
    &[("delta.checkpointPolicy", "v2"), ("delta.checkpoint.writeStatsAsStruct", "true")],
];

/// State from a checkpoint alone is the state from the log.
#[tokio::test]
async fn a_checkpoint_stands_for_the_log_below() {
    for kind in KINDS {
        let (store, table) = small(kind).await;
        let before = seen(&store, 3).await;
        assert_eq!(table.checkpoint().await.unwrap().get(), 3);
        for version in 0..=3 {
            store.delete(&crate::local::commit(version)).await.unwrap();
        }
        assert_eq!(seen(&store, 3).await, before, "{kind:?}");
        let names: Vec<_> = store.list("_delta_log", None, 100).await.unwrap().into_iter().map(|e| e.name).collect();
        let sidecars = names.iter().filter(|name| name.contains("_sidecars/")).count();
        let v2 = kind.iter().any(|(_, value)| *value == "v2");
        assert_eq!(sidecars, usize::from(v2), "{names:?}");
        assert_eq!(names.iter().any(|name| name.ends_with(".checkpoint.parquet")), !v2, "{names:?}");
        let mut again = opened(&store).await;
        committed(&add_rows(&mut again, &[9]).await);
        assert_eq!(seen(&store, 4).await.2, before.2.map(|rows| rows + 1));
    }
}

/// A crash at any point of a checkpoint, before or after each request, leaves the table as readable as before.
#[tokio::test]
async fn a_crash_at_any_point_leaves_the_table_as_readable_as_before() {
    for kind in KINDS {
        let mut ended = false;
        for place in 0..40 {
            let (store, _) = small(kind).await;
            let before = seen(&store, 3).await;
            let standing = Arc::new(Meddled::new(&store));
            let through: Arc<dyn Store> = Arc::clone(&standing) as Arc<dyn Store>;
            let table = opened(&through).await;
            standing.stop_at(place);
            let writes = tokio::spawn(async move { table.checkpoint().await });
            while !standing.stands() && !writes.is_finished() {
                tokio::task::yield_now().await;
            }
            ended = writes.is_finished();
            writes.abort();
            standing.release();
            for version in [3, 2] {
                assert_eq!(
                    seen(&store, version).await.0,
                    if version == 3 { before.0.clone() } else { seen(&store, 2).await.0 }
                );
            }
            assert_eq!(seen(&store, 3).await, before, "{kind:?}, stopped at {place}");
            // The next writer carries on as if nothing had been.
            let mut next = opened(&store).await;
            committed(&add_rows(&mut next, &[7]).await);
            next.checkpoint().await.unwrap();
            assert_eq!(sound(&store, TableFormat::Delta).await.rows(), 3, "{kind:?}, stopped at {place}");
            if ended {
                break;
            }
        }
        assert!(ended, "{kind:?}: a checkpoint has fewer requests");
    }
}

/// A request that fails: the error is told, and the table is as readable as before. A checksum file is nobody's need.
#[tokio::test]
async fn a_failure_at_any_request_leaves_the_table_as_readable_as_before() {
    for kind in KINDS {
        for part in ["_sidecars/", ".checkpoint.", "_last_checkpoint"] {
            let (store, _) = small(kind).await;
            let before = seen(&store, 3).await;
            let refusing = Meddled::new(&store).refusing(part).shared();
            let outcome = opened(&refusing).await.checkpoint().await;
            let has_sidecars = kind.iter().any(|(_, value)| *value == "v2");
            assert_eq!(outcome.is_err(), has_sidecars || part != "_sidecars/", "{kind:?}, {part}");
            assert_eq!(seen(&store, 3).await, before, "{kind:?}, {part}");
        }
        let (store, _) = small(kind).await;
        let before = seen(&store, 3).await;
        let denied: Arc<dyn Store> = Arc::new(Faulty::new(Arc::clone(&store), Script::always(Fault::Denied)));
        opened(&denied).await.checkpoint().await.unwrap();
        assert_eq!(seen(&store, 3).await, before, "{kind:?}");
    }
}

/// The log of a table of the conformance data, in memory.
async fn copied(table: &std::path::Path) -> Arc<dyn Store> {
    let store = place(TableFormat::Delta);
    for entry in std::fs::read_dir(table.join("_delta_log")).unwrap() {
        let path = entry.unwrap().path();
        let name = format!("_delta_log/{}", path.file_name().unwrap().to_str().unwrap());
        store.put(&name, std::fs::read(path).unwrap().into()).await.unwrap();
    }
    store
}

/// Readers that listed a checkpoint go by its size, so a sound one of another client is not put over; a damaged one is.
#[tokio::test]
async fn a_sound_checkpoint_of_another_client_stays_and_a_damaged_one_is_replaced() {
    let Some(tables) = crate::time_travel::conformance("delta") else { return };
    let store = copied(&tables.join("delta-rs/simple_table_with_checkpoint")).await;
    let name = "_delta_log/00000000000000000010.checkpoint.parquet";
    let theirs = store.get(name).await.unwrap().unwrap();
    let before = seen(&store, 10).await;
    let hinted = || async {
        let hint = store.get("_delta_log/_last_checkpoint").await.unwrap().unwrap();
        serde_json::from_slice::<serde_json::Value>(&hint).unwrap()
    };
    let known = hinted().await;
    opened(&store).await.checkpoint().await.unwrap();
    assert_eq!(store.get(name).await.unwrap().unwrap(), theirs);
    let hint = hinted().await;
    assert_eq!((&hint["version"], &hint["size"]), (&known["version"], &known["size"]));
    assert_eq!(hint["sizeInBytes"], theirs.len());
    // Half of it, and one of another state.
    let other =
        std::fs::read(tables.join("delta-rs/checkpoints_vacuumed/_delta_log/00000000000000000010.checkpoint.parquet"));
    for damaged in [theirs.slice(..theirs.len() / 2), other.unwrap().into()] {
        let log = copied(&tables.join("delta-rs/simple_table_with_checkpoint")).await;
        let table = opened(&log).await;
        log.put(name, damaged.clone()).await.unwrap();
        table.checkpoint().await.unwrap();
        let put = log.get(name).await.unwrap().unwrap();
        assert_ne!(put, damaged);
        assert_eq!(seen(&log, 10).await, before);
    }
}

/// Policy and statistics follow the properties of the version that the checkpoint is of.
#[tokio::test]
async fn a_table_changes_to_the_second_version_and_back() {
    let (store, mut table) = small(&[]).await;
    committed(&set(&mut table, "delta.checkpointPolicy", "v2", &CommitOptions::default()).await);
    table.checkpoint().await.unwrap();
    let summary = table.snapshot().summary().unwrap();
    let lakebed_table::ProtocolSummary::Delta { reader_features, .. } = &summary.protocol else {
        panic!("{summary:?}")
    };
    assert_eq!(reader_features, &["v2Checkpoint"]);
    committed(&set(&mut table, "delta.checkpointPolicy", "classic", &CommitOptions::default()).await);
    committed(&add_rows(&mut table, &[5]).await);
    table.checkpoint().await.unwrap();
    for version in 0..=3 {
        store.delete(&crate::local::commit(version)).await.unwrap();
    }
    for version in 4..=6 {
        assert_eq!(seen(&store, version).await.2, Some(if version == 6 { 3 } else { 2 }), "version {version}");
    }
    let names: Vec<_> = store.list("_delta_log", None, 100).await.unwrap().into_iter().map(|e| e.name).collect();
    assert!(names.contains(&crate::local::classic(6)), "{names:?}");
    assert!(!names.contains(&crate::local::classic(4)), "{names:?}");
}

/// A large table is split into several sidecars.
#[tokio::test]
async fn many_files_take_several_sidecars() {
    let local = Local::new();
    let features = r#"["v2Checkpoint"]"#;
    let protocol = format!(
        r#"{{"protocol":{{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":{features},"writerFeatures":{features}}}}}"#
    );
    let mut lines = vec![protocol, metadata(&[], r#""delta.checkpointPolicy":"v2""#)];
    lines.extend((0..50_001).map(|at| add(&format!("f{at}.parquet"))));
    local.commit(0, &lines, now_ms());
    let table = local.open().await;
    table.checkpoint().await.unwrap();
    assert_eq!(local.names("_delta_log/_sidecars").len(), 2);
    std::fs::remove_file(local.path(&crate::local::commit(0))).unwrap();
    let again = local.open().await;
    assert_eq!(again.snapshot().summary().unwrap().num_rows, Some(50_001));
    assert_eq!(again.snapshot().files(), table.snapshot().files());
}

/// What a checksum file says is what an independent replay finds, and it is never overwritten.
#[tokio::test]
async fn a_checksum_file_says_what_the_version_holds() {
    let (store, table) = small(&[]).await;
    let name = format!("_delta_log/{:020}.crc", 3);
    table.checkpoint().await.unwrap();
    let document: serde_json::Value = serde_json::from_slice(&store.get(&name).await.unwrap().unwrap()).unwrap();
    let log = sound(&store, TableFormat::Delta).await;
    assert_eq!(document["numFiles"], log.files().len());
    let mut size = 0;
    for file in log.files().keys() {
        size += store.head(file).await.unwrap().unwrap().size_bytes;
    }
    assert_eq!(document["tableSizeBytes"], size);
    assert_eq!(document["txnId"], log.state().id.as_str());
    assert_eq!((&document["numMetadata"], &document["numProtocol"]), (&1.into(), &1.into()));
    assert_eq!(document["protocol"], serde_json::json!({"minReaderVersion": 1, "minWriterVersion": 2}));
    store.put(&name, "theirs".into()).await.unwrap();
    table.checkpoint().await.unwrap();
    assert_eq!(store.get(&name).await.unwrap().unwrap(), "theirs");
}

/// A compacted log stands for its commits; later words win in it, and what it hides below stays hidden.
#[tokio::test]
async fn a_compacted_log_stands_for_its_commits() {
    let (store, table) = small(&[]).await;
    let before = seen(&store, 3).await;
    let written = table.compact_log().await.unwrap().unwrap();
    assert_eq!((written.first.get(), written.last.get()), (0, 3));
    let bytes = store.get(&written.object).await.unwrap().unwrap();
    let actions: Vec<serde_json::Value> = bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    let count = |kind: &str| actions.iter().filter(|action| action.get(kind).is_some()).count();
    // The file that came and went is there as a tombstone only.
    assert_eq!((count("add"), count("remove"), count("commitInfo")), (1, 1, 0), "{actions:?}");
    assert_eq!((count("protocol"), count("metaData")), (1, 1));
    assert_eq!(seen(&store, 3).await, before);
    table.checkpoint().await.unwrap();
    assert_eq!(table.compact_log().await.unwrap(), None, "nothing stands above the checkpoint");
}
