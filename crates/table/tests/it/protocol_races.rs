//! Protocols that rivals raise while a statement of ours is on its way: what it commits keeps the rules of the protocol that it lands
//! under, or nothing is committed.

use crate::compaction::{actions, rows};
use crate::isolation::under;
use crate::rebased::{ALL, Op, base, perform};
use crate::support::{committed, opened, set};
use lakebed_delta::action::{Action, Add, CommitInfo};
use lakebed_naming::Version;
use lakebed_naming::delta::commit_path;
use lakebed_storage::Store;
use lakebed_table::{CommitOptions, Snapshot, Table};
use lakebed_transaction::{Outcome, Verdict};
use serde_json::{Value, json};
use std::sync::Arc;

const POLICIES: [&str; 2] = ["precise", "delta-write-serializable"];
/// The version that ours stands on, and that of the rival.
const READ: u64 = 3;
const RIVAL: u64 = 4;

/// The protocol and the metadata of the table's first commit.
async fn first(store: &Arc<dyn Store>) -> (Value, Value) {
    let bytes = store.get(&commit_path(Version::new(0))).await.unwrap().unwrap();
    let lines: Vec<Value> =
        std::str::from_utf8(&bytes).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| lines.iter().find_map(|line| line.get(kind)).unwrap().clone();
    (of("protocol"), of("metaData"))
}

/// A rival's commit of these actions.
async fn land(store: &Arc<dyn Store>, actions: &[Value]) {
    let info = json!({"commitInfo": {
        "timestamp": 1, "operation": "UPGRADE PROTOCOL", "operationParameters": {}, "isBlindAppend": false, "txnId": "rival"
    }});
    let lines: Vec<String> = std::iter::once(&info).chain(actions).map(Value::to_string).collect();
    store.put(&commit_path(Version::new(RIVAL)), lines.join("\n").into()).await.unwrap();
}

/// The protocol with a feature more, for writers or for both.
async fn with_feature(store: &Arc<dyn Store>, features: &[&str], readers: bool) -> Value {
    let (mut protocol, _) = first(store).await;
    for list in if readers { &["writerFeatures", "readerFeatures"][..] } else { &["writerFeatures"] } {
        protocol[list].as_array_mut().unwrap().extend(features.iter().map(|name| json!(name)));
    }
    json!({"protocol": protocol})
}

/// What our commit at a version holds.
async fn ours_at(store: &Arc<dyn Store>, version: u64) -> (Vec<Add>, bool, CommitInfo, Vec<Action>) {
    let actions = actions(store, version).await;
    let adds = actions.iter().filter_map(|action| if let Action::Add(add) = action { Some(add.clone()) } else { None });
    let cdc = actions.iter().any(|action| matches!(action, Action::Cdc(_)));
    let info =
        actions.iter().find_map(|action| if let Action::CommitInfo(info) = action { Some(info.clone()) } else { None });
    (adds.collect(), cdc, info.unwrap(), actions)
}

async fn names(store: &Arc<dyn Store>) -> Vec<String> {
    store.list("", None, 10_000).await.unwrap().into_iter().map(|entry| entry.name).collect()
}

/// Performs an operation; where it lost, once more on what is there now. The version that it made.
async fn performed(op: Op, table: &mut Table, options: &CommitOptions) -> u64 {
    let report = perform(op, table, options).await.unwrap();
    if let Outcome::Committed { version, .. } = report.outcome {
        return version.get();
    }
    let Outcome::Conflict(conflict) = &report.outcome else { panic!("{op:?}: {report:?}") };
    assert_eq!(conflict.why.verdict, Verdict::Retryable, "{op:?}: {conflict:?}");
    table.refresh().await.unwrap();
    committed(&perform(op, table, options).await.unwrap())
}

/// What a protocol asks that we do not know: nothing is committed, however often it is tried, and nothing is left.
#[tokio::test]
async fn what_is_not_known_here_lets_nothing_in() {
    for op in ALL {
        for (features, readers, versions) in [
            (&["someFutureFeature"][..], false, None),
            (&["someFutureFeature"], true, None),
            (&["catalogManaged"], true, None),
            (&[], true, Some((3, 8))),
            (&[], true, Some((4, 7))),
        ] {
            let store = base().await;
            let mut ours = opened(&store).await;
            let mut protocol = with_feature(&store, features, readers).await;
            if let Some((reader, writer)) = versions {
                protocol["protocol"]["minReaderVersion"] = reader.into();
                protocol["protocol"]["minWriterVersion"] = writer.into();
            }
            land(&store, &[protocol]).await;
            let before = names(&store).await;
            let named = features.first().copied().unwrap_or("version");
            let text = match perform(op, &mut ours, &CommitOptions::default()).await {
                Err(error) => error.to_string(),
                Ok(report) => {
                    let Outcome::Conflict(conflict) = &report.outcome else { panic!("{op:?} {named}: {report:?}") };
                    assert_ne!(conflict.why.verdict, Verdict::Rebase, "{op:?} {named}");
                    conflict.to_string()
                }
            };
            assert!(text.contains(named), "{op:?}: {text}");
            assert_eq!(names(&store).await, before, "{op:?} {named}");
        }
    }
}

/// Row tracking comes in between: what ours adds is numbered behind the mark that the rival set.
#[tokio::test]
async fn row_tracking_that_comes_in_between_numbers_what_ours_adds() {
    for (op, policy) in ALL.into_iter().flat_map(|op| POLICIES.map(|policy| (op, policy))) {
        let (store, alone) = (base().await, base().await);
        let mut ours = opened(&store).await;
        let protocol = with_feature(&store, &["rowTracking", "domainMetadata"], false).await;
        let mark = json!({"domainMetadata": {
            "domain": "delta.rowTracking", "configuration": "{\"rowIdHighWaterMark\":99}", "removed": false
        }});
        land(&store, &[protocol, mark]).await;
        let options = CommitOptions { plannings_max: 2, ..under(policy) };
        let version = committed(&perform(op, &mut ours, &options).await.unwrap());
        assert_eq!(version, RIVAL + 1, "{op:?}");
        let (adds, _, _, actions) = ours_at(&store, version).await;
        let mut next = 100;
        for add in &adds {
            let known = add.default_row_commit_version.is_some_and(|at| at < i64::try_from(version).unwrap());
            assert!(!known, "{op:?}: no file of the table had an id before");
            assert_eq!(add.base_row_id, Some(next), "{op:?} under {policy}: {add:?}");
            next += i64::try_from(add.num_records().unwrap()).unwrap();
        }
        let marked = actions
            .into_iter()
            .find_map(|action| if let Action::Domain(domain) = action { Some(domain) } else { None });
        // As Spark, which tells the mark in every commit that followed another, whether it gave ids or not.
        let expected = Some(json!(next - 1));
        let marked = marked.map(|domain| serde_json::from_str::<Value>(&domain.configuration).unwrap());
        let marked = marked.map(|document| document["rowIdHighWaterMark"].clone());
        assert_eq!(marked, expected, "{op:?} under {policy}");
        committed(&perform(op, &mut opened(&alone).await, &options).await.unwrap());
        let expected = rows(&opened(&alone).await).await.into_iter().map(|(id, (p, v, _))| (id, p, v));
        assert_eq!(read(&store).await, expected.collect::<Vec<_>>(), "{op:?} under {policy}");
    }
}

/// The rows of the newest version, by id.
async fn read(store: &Arc<dyn Store>) -> Vec<(i64, String, i64)> {
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    let table = opened(store).await;
    let mut found = Vec::new();
    for batch in table.scan(table.snapshot(), &lakebed_table::ScanRequest::default()).unwrap().all().await.unwrap() {
        let number = |name: &str| batch.column_by_name(name).unwrap().as_primitive::<Int64Type>().clone();
        let texts = batch.column_by_name("p").unwrap().as_string::<i32>();
        for at in 0..batch.num_rows() {
            found.push((number("id").value(at), texts.value(at).to_owned(), number("v").value(at)));
        }
    }
    found.sort();
    found
}

/// In-commit timestamps are switched on in between: ours has one, above the rival's, even where the clock stands below it.
#[tokio::test]
async fn timestamps_that_come_in_between_are_written_and_rise() {
    const AHEAD_MS: i64 = 9_000_000_000_000;
    for (op, policy) in ALL.into_iter().flat_map(|op| POLICIES.map(|policy| (op, policy))) {
        let store = base().await;
        let mut ours = opened(&store).await;
        let protocol = with_feature(&store, &["inCommitTimestamp"], false).await;
        let (_, mut metadata) = first(&store).await;
        for (key, value) in [
            ("delta.enableInCommitTimestamps", "true".to_owned()),
            ("delta.inCommitTimestampEnablementVersion", RIVAL.to_string()),
            ("delta.inCommitTimestampEnablementTimestamp", AHEAD_MS.to_string()),
        ] {
            metadata["configuration"][key] = value.into();
        }
        let info = json!({"commitInfo": {
            "inCommitTimestamp": AHEAD_MS, "timestamp": AHEAD_MS, "operation": "SET TBLPROPERTIES",
            "operationParameters": {}, "txnId": "rival"
        }});
        let lines: Vec<String> = [info, protocol, json!({"metaData": metadata})].iter().map(Value::to_string).collect();
        store.put(&commit_path(Version::new(RIVAL)), lines.join("\n").into()).await.unwrap();
        let options = CommitOptions { plannings_max: 2, ..under(policy) };
        let version = performed(op, &mut ours, &options).await;
        let (_, _, info, _) = ours_at(&store, version).await;
        assert_eq!(info.in_commit_timestamp_ms(), Some(AHEAD_MS + 1), "{op:?} under {policy}");
    }
}

/// A change feed is switched on in between: a statement that changes rows tells which, or is planned again until it does.
#[tokio::test]
async fn a_change_feed_that_comes_in_between_is_fed() {
    for (op, policy) in ALL.into_iter().flat_map(|op| POLICIES.map(|policy| (op, policy))) {
        let store = base().await;
        let mut ours = opened(&store).await;
        let report =
            set(&mut opened(&store).await, "delta.enableChangeDataFeed", "true", &CommitOptions::default()).await;
        assert_eq!(committed(&report), RIVAL);
        let version = performed(op, &mut ours, &under(policy)).await;
        let (_, cdc, _, _) = ours_at(&store, version).await;
        let of_rows = matches!(op, Op::Delete | Op::Update | Op::Merge | Op::OverwriteRange);
        assert_eq!(cdc, of_rows, "{op:?} under {policy}");
    }
}

/// Deletion vectors are given up in between: ours marks no row any more.
#[tokio::test]
async fn a_feature_that_goes_in_between_is_not_used() {
    for (op, policy) in ALL.into_iter().flat_map(|op| POLICIES.map(|policy| (op, policy))) {
        let store = base().await;
        // Nothing is marked when the feature goes.
        let mut table = opened(&store).await;
        committed(
            &table
                .compact(&crate::compaction::of(lakebed_table::Compaction::Major), &CommitOptions::default())
                .await
                .unwrap(),
        );
        let read = table.version().get();
        let mut ours = opened(&store).await;
        let (mut protocol, mut metadata) = first(&store).await;
        for list in ["writerFeatures", "readerFeatures"] {
            protocol[list].as_array_mut().unwrap().retain(|name| name != "deletionVectors");
        }
        metadata["configuration"].as_object_mut().unwrap().remove("delta.enableDeletionVectors");
        let info = json!({"commitInfo": {"timestamp": 1, "operation": "DROP FEATURE", "operationParameters": {}, "txnId": "rival"}});
        let lines: Vec<String> =
            [info, json!({"protocol": protocol}), json!({"metaData": metadata})].iter().map(Value::to_string).collect();
        store.put(&commit_path(Version::new(read + 1)), lines.join("\n").into()).await.unwrap();
        if !matches!(op, Op::Compact | Op::CompactMinor) {
            performed(op, &mut ours, &under(policy)).await;
        }
        let Snapshot::Delta(held) = opened(&store).await.snapshot().clone() else { panic!("not Delta") };
        assert!(!held.snapshot.protocol().supports("deletionVectors"), "{op:?} under {policy}");
        assert!(held.snapshot.files().all(|add| add.deletion_vector.is_none()), "{op:?} under {policy}");
    }
}

/// Two that switch features on at once: the second is told so, and given again it keeps what the first turned on.
#[tokio::test]
async fn of_two_that_raise_the_protocol_both_get_what_they_asked_for() {
    const RAISES: [(&str, &str); 5] = [
        ("delta.enableChangeDataFeed", "changeDataFeed"),
        ("delta.appendOnly", "appendOnly"),
        ("delta.enableInCommitTimestamps", "inCommitTimestamp"),
        ("delta.feature.v2Checkpoint", "v2Checkpoint"),
        ("delta.feature.domainMetadata", "domainMetadata"),
    ];
    for (one, other) in RAISES.iter().flat_map(|one| RAISES.iter().map(move |other| (one, other))) {
        if one == other {
            continue;
        }
        let store = base().await;
        let mut tables: Vec<Table> = vec![opened(&store).await, opened(&store).await];
        assert_eq!(tables[0].version().get(), READ);
        for (table, (key, _)) in tables.iter_mut().zip([one, other]) {
            let value = if key.contains(".feature.") { "supported" } else { "true" };
            let report = set(table, key, value, &CommitOptions::default()).await;
            if matches!(report.outcome, Outcome::Conflict(_)) {
                table.refresh().await.unwrap();
                committed(&set(table, key, value, &CommitOptions::default()).await);
            }
        }
        let table = opened(&store).await;
        let Snapshot::Delta(held) = table.snapshot() else { panic!("not Delta") };
        for (key, feature) in [one, other] {
            assert!(held.snapshot.protocol().supports(feature), "{feature} of {one:?} and {other:?}");
            let property = held.snapshot.properties().get(key);
            assert_eq!(property.is_some(), !key.contains(".feature."), "{key} of {one:?} and {other:?}");
        }
        assert!(held.snapshot.protocol().supports("deletionVectors"));
    }
}
