//! Delta's part in the commit machine, driven by hand.

use crate::support::snapshot_of;
use bytes::Bytes;
use lakebed_commit::{Fetched, Finished, Format, FormatError, Judged, Listed, ObjectName, Parsed, Rebased};
use lakebed_conflict::delta::DeltaPolicy;
use lakebed_delta::action::{Action, Add, Metadata, Protocol, TextMap};
use lakebed_delta::schema::StructType;
use lakebed_delta::{DeltaFormat, Landed, Pending, Snapshot, Transaction};
use lakebed_naming::Version;
use lakebed_transaction::{Column, ColumnType, Judgement, TransactionId, Verdict};
use serde_json::Value;

const FORMAT: DeltaFormat = DeltaFormat::new(DeltaPolicy::Serializable);
const ID: &str = "0f2c6a1e-0000-4000-8000-000000000001";

fn metadata(properties: &[(&str, &str)], partition_columns: &[&str]) -> Metadata {
    let columns = [Column::new("id", ColumnType::Long, true), Column::new("p", ColumnType::String, true)];
    Metadata {
        id: "11111111-2222-4333-8444-555555555555".into(),
        schema_string: StructType::from_columns(&columns).to_json(),
        partition_columns: partition_columns.iter().map(|name| (*name).to_owned()).collect(),
        configuration: properties.iter().map(|(key, value)| (*key, Some(*value))).collect::<TextMap>(),
        created_time: Some(1_000),
        ..Metadata::default()
    }
}

fn features(names: &[&str]) -> Protocol {
    Protocol {
        min_reader_version: 1,
        min_writer_version: 7,
        reader_features: None,
        writer_features: Some(names.iter().map(|name| (*name).to_owned()).collect()),
    }
}

fn transaction(id: &str, operation: &str, actions: Vec<Action>) -> Transaction {
    Transaction::new(TransactionId::new(id), operation, actions)
}

fn create(protocol: Protocol, metadata: Metadata) -> Pending {
    let actions = vec![Action::Metadata(metadata), Action::Protocol(protocol)];
    Pending::create(transaction("creation", "CREATE TABLE", actions)).unwrap()
}

fn render(pending: &mut Pending, at: u64, now_ms: u64) -> Bytes {
    let rendered = FORMAT.render(pending, Version::new(at), now_ms).unwrap();
    assert!(rendered.side.is_empty(), "a Delta commit is one object");
    rendered.entry
}

fn text(bytes: &Bytes) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn table(protocol: Protocol, metadata: Metadata) -> Snapshot {
    let created = render(&mut create(protocol, metadata), 0, 5_000);
    snapshot_of(&[&text(&created)])
}

fn landed(at: u64, bytes: &[u8]) -> Landed {
    match FORMAT.parse(Version::new(at), &Bytes::copy_from_slice(bytes), &Fetched::default()).unwrap() {
        Parsed::Done(landed) => landed,
        Parsed::Needs(names) => panic!("{names:?}"),
    }
}

fn judge(pending: &Pending, landed: &Landed) -> Judgement {
    match FORMAT.judge(pending, landed, &Fetched::default()).unwrap() {
        Judged::Verdict(judgement) => judgement,
        Judged::Needs(names) => panic!("{names:?}"),
    }
}

fn follow(pending: &mut Pending, landed: &Landed) {
    assert!(judge(pending, landed).verdict.accepts());
    assert_eq!(FORMAT.rebase(pending, landed, &Fetched::default()), Ok(Rebased::Done));
    assert_eq!(FORMAT.finish(pending, &Fetched::default()), Ok(Finished::Ready));
}

fn add(path: &str) -> Action {
    Action::Add(Add { stats: Some(r#"{"numRecords":3}"#.into()), ..Add::new(path, 100, 2_000) })
}

fn info(bytes: &Bytes) -> Value {
    serde_json::from_str::<Value>(text(bytes).lines().next().unwrap()).unwrap()["commitInfo"].clone()
}

#[test]
fn a_new_table_is_version_zero_with_protocol_and_metadata_first() {
    let bytes = render(&mut create(Protocol::default(), metadata(&[], &["p"])), 0, 5_000);
    let heads: Vec<String> = text(&bytes).lines().map(|line| line[2..12].to_owned()).collect();
    assert_eq!(heads, ["commitInfo", "protocol\":", "metaData\":"]);
    assert_eq!(info(&bytes).get("readVersion"), None);
    let snapshot = snapshot_of(&[&text(&bytes)]);
    assert_eq!(snapshot.version(), Version::new(0));
    assert_eq!(snapshot.partition_columns(), ["p"]);
    assert_eq!(snapshot.schema().columns()[0], Column::new("id", ColumnType::Long, true));
    assert_eq!(snapshot.num_rows(), Some(0));
}

#[test]
fn an_append_is_written_as_spark_would_and_read_back() {
    let base = table(Protocol::default(), metadata(&[], &[]));
    let mut append = transaction(ID, "WRITE", vec![add("a.parquet")]);
    append.parameters.insert("mode".into(), "Append".into());
    append.parameters.insert("partitionBy".into(), "[]".into());
    append.metrics = vec![("numFiles".into(), "1".into()), ("numOutputRows".into(), "3".into())];
    let mut pending = Pending::on(base.core(), append).unwrap();
    let bytes = render(&mut pending, 1, 6_000);
    let version = env!("CARGO_PKG_VERSION");
    let expected = format!(
        concat!(
            r#"{{"commitInfo":{{"timestamp":6000,"operation":"WRITE","operationParameters":{{"mode":"Append","partitionBy":"[]"}},"#,
            r#""readVersion":0,"isolationLevel":"Serializable","isBlindAppend":true,"operationMetrics":{{"numFiles":"1","numOutputRows":"3"}},"#,
            r#""engineInfo":"lakebed/{}","txnId":"{}","lakebed":{{"policy":"delta-serializable@1","attempts":1}}}}}}"#,
            "\n",
            r#"{{"add":{{"path":"a.parquet","partitionValues":{{}},"size":100,"modificationTime":2000,"dataChange":true,"stats":"{{\"numRecords\":3}}"}}}}"#,
            "\n"
        ),
        version, ID
    );
    assert_eq!(text(&bytes), expected);
    let next = base.advance(Version::new(1), &bytes).unwrap();
    assert_eq!((next.num_files(), next.num_rows(), next.size_bytes()), (1, Some(3), 100));
    assert_eq!(next.commit_info().unwrap().transaction_id(), Some(ID));
    assert_eq!((base.num_files(), base.version()), (0, Version::new(0)), "the older version is as it was");
    assert!(base.advance(Version::new(2), &bytes).is_err(), "a version cannot be passed over");
}

#[test]
fn our_own_commit_is_recognised_by_id_and_intent() {
    let base = table(Protocol::default(), metadata(&[], &[]));
    let mut pending = Pending::on(base.core(), transaction(ID, "WRITE", vec![add("a.parquet")])).unwrap();
    let bytes = render(&mut pending, 1, 6_000);
    assert!(FORMAT.is_ours(&pending, &landed(1, &bytes)));
    assert_eq!(FORMAT.landed_transaction_id(&landed(1, &bytes)), Some(TransactionId::new(ID)));
    // A later attempt has another clock; it is the same commit.
    let later = render(&mut pending, 1, 9_000);
    assert_ne!(later, bytes);
    assert!(FORMAT.is_ours(&pending, &landed(1, &later)));
    // The same id around something else is not.
    let foreign = text(&bytes).replace("a.parquet", "b.parquet");
    assert!(!FORMAT.is_ours(&pending, &landed(1, foreign.as_bytes())));
    let other = text(&bytes).replace(ID, "another");
    assert!(!FORMAT.is_ours(&pending, &landed(1, other.as_bytes())));
    let bare: String = text(&bytes).lines().skip(1).collect();
    assert!(!FORMAT.is_ours(&pending, &landed(1, bare.as_bytes())));
    assert_eq!(FORMAT.landed_transaction_id(&landed(1, bare.as_bytes())), None);
}

#[test]
fn a_rebase_adopts_what_landed_and_keeps_what_was_read() {
    let vectors = Protocol {
        min_reader_version: 3,
        reader_features: Some(vec!["deletionVectors".into()]),
        ..features(&["deletionVectors", "appendOnly"])
    };
    let base = table(vectors, metadata(&[], &[]));
    let mut pending = Pending::on(base.core(), transaction(ID, "WRITE", vec![add("a.parquet")])).unwrap();
    let enabling = metadata(&[("delta.enableDeletionVectors", "true")], &[]);
    let mut theirs =
        Pending::on(base.core(), transaction("theirs", "SET TBLPROPERTIES", vec![Action::Metadata(enabling)])).unwrap();
    let theirs = landed(1, &render(&mut theirs, 1, 6_000));
    follow(&mut pending, &theirs);
    let core = pending.core().unwrap().clone();
    assert_eq!(core.version, Version::new(1));
    assert!(core.metadata.flag("delta.enableDeletionVectors"));
    let bytes = render(&mut pending, 2, 7_000);
    assert_eq!(info(&bytes)["readVersion"], 0, "what was read does not change");
    // A property that a writer in flight cannot adopt is a conflict.
    let other = metadata(&[("delta.enableDeletionVectors", "true"), ("owner", "me")], &[]);
    let mut theirs =
        Pending::on(&core, transaction("theirs", "SET TBLPROPERTIES", vec![Action::Metadata(other)])).unwrap();
    let judgement = judge(&pending, &landed(2, &render(&mut theirs, 2, 8_000)));
    assert!(!judgement.verdict.accepts());
    assert_eq!(judgement.reason.unwrap().error_class, Some("DELTA_METADATA_CHANGED"));
}

#[test]
fn a_file_that_both_removed_is_a_conflict() {
    let base = table(Protocol::default(), metadata(&[], &[]));
    let mut first = Pending::on(base.core(), transaction("one", "WRITE", vec![add("a.parquet")])).unwrap();
    let base = base.advance(Version::new(1), &render(&mut first, 1, 6_000)).unwrap();
    let remove = || vec![Action::Remove(base.files().next().unwrap().to_remove(7_000, true))];
    let ours = Pending::on(base.core(), transaction(ID, "DELETE", remove())).unwrap();
    let mut theirs = Pending::on(base.core(), transaction("theirs", "DELETE", remove())).unwrap();
    let bytes = render(&mut theirs, 2, 7_000);
    assert_eq!(info(&bytes)["isBlindAppend"], false);
    let judgement = judge(&ours, &landed(2, &bytes));
    assert_eq!(judgement.reason.unwrap().error_class, Some("DELTA_CONCURRENT_DELETE_DELETE"));
    let gone = base.advance(Version::new(2), &bytes).unwrap();
    assert_eq!((gone.num_files(), gone.tombstones().count()), (0, 1));
}

#[test]
fn creating_a_table_that_is_there_is_refused_for_good() {
    let mut theirs = create(Protocol::default(), metadata(&[], &[]));
    let theirs = landed(0, &render(&mut theirs, 0, 5_000));
    let actions = vec![Action::Protocol(Protocol::default()), Action::Metadata(metadata(&[], &[]))];
    let mut ours = Pending::create(transaction("other", "CREATE TABLE", actions)).unwrap();
    let judgement = judge(&ours, &theirs);
    assert_eq!(judgement.verdict, Verdict::Incompatible);
    assert_eq!(judgement.reason.unwrap().check, "table-exists");
    assert!(FORMAT.rebase(&mut ours, &theirs, &Fetched::default()).is_err());
}

#[test]
fn in_commit_timestamps_only_grow() {
    let stamped = metadata(&[("delta.enableInCommitTimestamps", "true")], &[]);
    let base = table(features(&["inCommitTimestamp"]), stamped);
    assert_eq!(base.in_commit_timestamp_ms(), Some(5_000));
    assert_eq!(base.timestamp_ms(77), 5_000);
    // A clock that runs behind the log.
    let mut pending = Pending::on(base.core(), transaction(ID, "WRITE", vec![add("a.parquet")])).unwrap();
    let bytes = render(&mut pending, 1, 4_000);
    assert_eq!(info(&bytes)["inCommitTimestamp"], 5_001);
    assert!(text(&bytes).starts_with(r#"{"commitInfo":{"inCommitTimestamp":5001,"#), "it must be found first");
    // A winner far in the future, then one with a lower stamp.
    let winner = |stamp: i64| {
        format!(r#"{{"commitInfo":{{"inCommitTimestamp":{stamp},"operation":"WRITE","isBlindAppend":true}}}}"#)
    };
    follow(&mut pending, &landed(1, winner(4_102_444_800_000).as_bytes()));
    follow(&mut pending, &landed(2, winner(9_000).as_bytes()));
    assert_eq!(info(&render(&mut pending, 3, 10_000))["inCommitTimestamp"], 4_102_444_800_001_i64);
    // Winners without a stamp, or without any provenance, are no error.
    follow(&mut pending, &landed(3, br#"{"commitInfo":{"timestamp":1}}"#));
    follow(&mut pending, &landed(4, b""));
    assert_eq!(info(&render(&mut pending, 5, 10_000))["inCommitTimestamp"], 4_102_444_800_001_i64);
}

#[test]
fn switching_timestamps_on_records_since_when() {
    let base = table(features(&["inCommitTimestamp"]), metadata(&[], &[]));
    assert_eq!((base.in_commit_timestamp_ms(), base.timestamp_ms(77)), (None, 77));
    let stamped = metadata(&[("delta.enableInCommitTimestamps", "true")], &[]);
    let set = transaction(ID, "SET TBLPROPERTIES", vec![Action::Metadata(stamped)]);
    let mut pending = Pending::on(base.core(), set).unwrap();
    let bytes = render(&mut pending, 1, 4_000);
    let next = base.advance(Version::new(1), &bytes).unwrap();
    // Above the time of the commit before it, whose clock said 5,000.
    assert_eq!(next.in_commit_timestamp_ms(), Some(5_001));
    assert_eq!(next.properties().get("delta.inCommitTimestampEnablementVersion"), Some("1"));
    assert_eq!(next.properties().get("delta.inCommitTimestampEnablementTimestamp"), Some("5001"));
    assert!(FORMAT.is_ours(&pending, &landed(1, &bytes)), "the stamps are no part of the intent");
    // Rebased, both move.
    follow(&mut pending, &landed(1, br#"{"commitInfo":{"timestamp":8000,"isBlindAppend":true}}"#));
    let properties = text(&render(&mut pending, 2, 4_000));
    assert!(properties.contains(r#""delta.inCommitTimestampEnablementVersion":"2""#), "{properties}");
    assert!(properties.contains(r#""delta.inCommitTimestampEnablementTimestamp":"8001""#), "{properties}");
}

#[test]
fn a_level_that_names_no_level_stops_every_commit() {
    let good = text(&render(
        &mut create(Protocol::default(), metadata(&[("delta.isolationLevel", "Serializable")], &[])),
        0,
        1,
    ));
    let base = snapshot_of(&[
        &good.replace(r#""delta.isolationLevel":"Serializable""#, r#""delta.isolationLevel":"ReadCommitted""#)
    ]);
    let mut pending = Pending::on(base.core(), transaction(ID, "WRITE", vec![add("a.parquet")])).unwrap();
    let error = FORMAT.render(&mut pending, Version::new(1), 1).unwrap_err();
    assert!(matches!(error, FormatError::Invalid { .. }), "{error}");
    assert!(error.to_string().contains("ReadCommitted"), "{error}");
}

#[test]
fn the_log_is_listed_above_a_version() {
    let listing = FORMAT.listing(Some(Version::new(9)));
    let after = listing.after.unwrap();
    assert!(after.as_str() > "_delta_log/00000000000000000009.json");
    assert!(after.as_str() < "_delta_log/00000000000000000010.checkpoint.parquet");
    assert_eq!(FORMAT.listing(None).after, None);
    let listed = |name: &str| Listed { name: ObjectName::new(name), size_bytes: 1, modified_ms: 7 };
    let page = [
        listed("_delta_log/00000000000000000009.json"),
        listed("_delta_log/00000000000000000010.checkpoint.parquet"),
        listed("_delta_log/00000000000000000010.crc"),
        listed("_delta_log/00000000000000000010.json"),
        listed("_delta_log/_staged_commits/00000000000000000012.0f2c6a1e-0000-4000-8000-000000000001.json"),
        listed("_delta_log/_last_checkpoint"),
    ];
    let read = FORMAT.read_page(Some(Version::new(9)), &page, 1000).unwrap();
    assert_eq!(read.entries.iter().map(|entry| entry.version).collect::<Vec<_>>(), [Version::new(10)]);
    assert_eq!((read.entries[0].modified_ms, read.complete), (7, true));
    assert!(!FORMAT.read_page(None, &page[..4], 4).unwrap().complete);
    assert!(FORMAT.read_page(None, &page, 6).unwrap().complete, "behind such names no commit stands");
    assert_eq!(FORMAT.entry_name(Version::new(10)).as_str(), "_delta_log/00000000000000000010.json");
}

/// The row ids and commit versions of the files of an entry, and the mark that it sets.
fn numbers(bytes: &Bytes) -> (Vec<(i64, i64)>, Option<i64>) {
    let (mut files, mut mark) = (Vec::new(), None);
    for line in text(bytes).lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        if let Some(add) = line.get("add") {
            files.push((add["baseRowId"].as_i64().unwrap(), add["defaultRowCommitVersion"].as_i64().unwrap()));
        }
        if line["domainMetadata"]["domain"] == "delta.rowTracking" {
            let document: Value =
                serde_json::from_str(line["domainMetadata"]["configuration"].as_str().unwrap()).unwrap();
            mark = document["rowIdHighWaterMark"].as_i64();
        }
    }
    (files, mark)
}

#[test]
fn rows_are_numbered_anew_for_every_attempt_and_the_mark_never_goes_down() {
    let base = table(features(&["rowTracking", "domainMetadata"]), metadata(&[], &[]));
    let mut first = Pending::on(base.core(), transaction("one", "WRITE", vec![add("a.parquet")])).unwrap();
    let bytes = render(&mut first, 1, 6_000);
    assert_eq!(numbers(&bytes), (vec![(0, 1)], Some(2)), "three rows have the ids 0, 1 and 2");
    let base = base.advance(Version::new(1), &bytes).unwrap();
    assert_eq!(base.core().row_id_high_water_mark(), Some(2));
    let adds = vec![add("b.parquet"), add("c.parquet")];
    let mut pending = Pending::on(base.core(), transaction(ID, "WRITE", adds)).unwrap();
    assert_eq!(numbers(&render(&mut pending, 2, 7_000)), (vec![(3, 2), (6, 2)], Some(8)));
    let winner = |mark: i64| {
        let document = format!(r#"{{\"rowIdHighWaterMark\":{mark}}}"#);
        format!(r#"{{"domainMetadata":{{"domain":"delta.rowTracking","configuration":"{document}","removed":false}}}}"#)
    };
    follow(&mut pending, &landed(2, winner(9).as_bytes()));
    assert_eq!(numbers(&render(&mut pending, 3, 7_000)), (vec![(10, 3), (13, 3)], Some(15)));
    // A winner that says nothing of the mark leaves it where the one before had set it.
    follow(&mut pending, &landed(3, br#"{"commitInfo":{"timestamp":1,"isBlindAppend":true}}"#));
    assert_eq!(numbers(&render(&mut pending, 4, 7_000)), (vec![(10, 4), (13, 4)], Some(15)));
    // A winner that sets it lower is wrong: the ids above are in use.
    follow(&mut pending, &landed(4, winner(1).as_bytes()));
    let bytes = render(&mut pending, 5, 7_000);
    assert_eq!(numbers(&bytes), (vec![(10, 5), (13, 5)], Some(15)));
    assert!(FORMAT.is_ours(&pending, &landed(5, &bytes)), "what is drawn for an attempt is part of no intent");
    let uncounted = Action::Add(Add::new("d.parquet", 1, 1));
    let error = Pending::on(base.core(), transaction(ID, "WRITE", vec![uncounted])).unwrap_err().to_string();
    assert!(error.contains("DELTA_ROW_ID_ASSIGNMENT_WITHOUT_STATS"), "{error}");
}

#[test]
fn a_change_of_type_names_the_version_in_which_it_lands() {
    let base = table(features(&["typeWidening-preview", "appendOnly"]), metadata(&[], &[]));
    let widened = |at: u64| {
        let change = format!(r#"{{"toType":"long","fromType":"integer","tableVersion":{at}}}"#);
        format!(
            r#"{{"type":"struct","fields":[{{"name":"id","type":"long","nullable":true,"metadata":{{"delta.typeChanges":[{{"toType":"integer","fromType":"short","tableVersion":0}},{change}]}}}},{{"name":"p","type":"string","nullable":true,"metadata":{{}}}}]}}"#
        )
    };
    let ours = Metadata { schema_string: widened(1), ..metadata(&[], &[]) };
    let change = transaction(ID, "CHANGE COLUMN", vec![Action::Metadata(ours)]);
    let mut pending = Pending::on(base.core(), change).unwrap();
    follow(&mut pending, &landed(1, br#"{"commitInfo":{"timestamp":1,"isBlindAppend":true}}"#));
    let next = text(&render(&mut pending, 2, 7_000));
    let escaped = widened(2).replace('"', r#"\""#);
    assert!(next.contains(&escaped), "{next}\ndoes not hold\n{escaped}");
}
