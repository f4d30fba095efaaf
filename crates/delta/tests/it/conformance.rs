//! Every table of the conformance folder, against what the real clients answered.

use crate::support::{conformance, load, load_names, names};
use lakebed_delta::{DeltaError, Load, LoadStep, Snapshot, write_checkpoint};
use lakebed_naming::Version;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// One row of the inventory.
struct Table {
    origin: String,
    name: String,
    folder: PathBuf,
    expected: Option<Value>,
}

fn tables(root: &Path) -> Vec<Table> {
    let inventory = std::fs::read_to_string(root.join("INVENTORY.tsv")).expect("the inventory is there");
    inventory
        .lines()
        .skip(1)
        .map(|line| {
            let cells: Vec<&str> = line.split('\t').collect();
            let (origin, name, folder) = (cells[0], cells[1], cells[2]);
            let expected = std::fs::read(root.join(origin).join(format!("{name}.expected.json"))).ok();
            Table {
                origin: origin.to_owned(),
                name: name.to_owned(),
                folder: root.join(origin).join(name).join(folder),
                expected: expected.map(|bytes| serde_json::from_slice(&bytes).expect("expected answers are JSON")),
            }
        })
        .collect()
}

/// Where our answer differs from the expected one.
fn differences(snapshot: &Snapshot, expected: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut compare = |what: &str, ours: Value, theirs: &Value| {
        if ours != *theirs {
            wrong.push(format!("{what}: ours {ours}, expected {theirs}"));
        }
    };
    let replay = &expected["replay"];
    compare("version", snapshot.version().get().into(), &expected["version"]);
    compare("num_files", snapshot.num_files().into(), &expected["num_files"]);
    compare("partition_columns", snapshot.partition_columns().into(), &expected["partition_columns"]);
    let protocol = snapshot.protocol();
    compare("reader version", protocol.min_reader_version.into(), &replay["protocol"]["minReaderVersion"]);
    compare("writer version", protocol.min_writer_version.into(), &replay["protocol"]["minWriterVersion"]);
    if expected.get("configuration").is_some() {
        let configuration = serde_json::to_value(snapshot.properties()).expect("properties are JSON");
        compare("configuration", configuration, &expected["configuration"]);
        compare("table_id", snapshot.table_id().into(), &expected["table_id"]);
        let sorted = |value: &Value| {
            let names: BTreeSet<&str> = value.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            serde_json::to_value(names).expect("names are JSON")
        };
        let list = |features: &Option<Vec<String>>| serde_json::to_value(features).expect("features are JSON");
        compare("reader features", sorted(&list(&protocol.reader_features)), &sorted(&expected["reader_features"]));
        compare("writer features", sorted(&list(&protocol.writer_features)), &sorted(&expected["writer_features"]));
    }
    // Where Spark's answer stands in for the replay, the replay's details do not apply.
    if replay.get("txns").is_some() && expected.get("note").is_none() {
        compare("size", snapshot.size_bytes().into(), &replay["table_size_bytes"]);
        let deleted = snapshot.files().filter(|add| add.deletion_vector.is_some()).count();
        compare("deletion vectors", deleted.into(), &replay["num_dv"]);
        let txns: BTreeMap<&str, i64> =
            snapshot.app_transactions().iter().map(|(app, txn)| (&**app, txn.version)).collect();
        compare("txns", serde_json::to_value(txns).expect("JSON"), &replay["txns"]);
        let domains: BTreeMap<&str, &str> =
            snapshot.domain_metadata().iter().map(|(name, domain)| (&**name, domain.configuration.as_str())).collect();
        compare("domains", serde_json::to_value(domains).expect("JSON"), &replay["domain_metadata"]);
        let ours: BTreeSet<&str> = snapshot.files().map(|add| &*add.path).collect();
        let theirs: BTreeSet<&str> =
            replay["files"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        compare("paths", serde_json::to_value(ours).expect("JSON"), &serde_json::to_value(theirs).expect("JSON"));
    }
    let rows = match expected.get("num_rows_error") {
        Some(_) => &replay["live_rows_from_stats"],
        None => &expected["num_rows"],
    };
    // Some files carry no statistics: then we say that we do not know, which is no answer to compare.
    if let (Some(ours), false) = (snapshot.num_rows(), rows.is_null()) {
        compare("rows", ours.into(), rows);
    } else if let Some(theirs) = replay.get("live_rows_from_stats") {
        compare("rows from statistics", snapshot.num_rows().into(), theirs);
    }
    wrong
}

/// Refusing is an answer only when it says what is missing or damaged.
fn is_clear(error: &DeltaError) -> bool {
    let text = error.to_string();
    text.len() > 30 && text.contains(';')
}

#[test]
fn every_table_agrees_or_is_refused_with_a_reason() {
    let Some(root) = conformance("delta") else { return };
    let mut counts: BTreeMap<String, [u32; 3]> = BTreeMap::new();
    let (mut wrong, mut unclear, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    let all = tables(&root);
    for table in &all {
        let label = format!("{}/{}", table.origin, table.name);
        let count = counts.entry(table.origin.clone()).or_default();
        match (load(&table.folder, None), &table.expected) {
            (Ok(snapshot), Some(expected)) => {
                let differences = differences(&snapshot, expected);
                if differences.is_empty() {
                    count[0] += 1;
                } else {
                    count[2] += 1;
                    wrong.push(format!("{label}: {}", differences.join("; ")));
                }
            }
            (Ok(_), None) => {
                count[2] += 1;
                wrong.push(format!("{label}: opened, and must be refused"));
            }
            (Err(error), expected) => {
                count[1] += 1;
                refused.push(format!("{label}{}: {error}", if expected.is_some() { " (has an answer)" } else { "" }));
                if !is_clear(&error) {
                    unclear.push(format!("{label}: {error}"));
                }
            }
        }
    }
    println!("{:<20} {:>6} {:>7} {:>6}", "origin", "agree", "refuse", "wrong");
    for (origin, [agree, refuse, wrong]) in &counts {
        println!("{origin:<20} {agree:>6} {refuse:>7} {wrong:>6}");
    }
    refused.iter().for_each(|line| println!("refused {line}"));
    let agree: u32 = counts.values().map(|count| count[0]).sum();
    println!("{agree} of {} tables agree", all.len());
    assert!(wrong.is_empty(), "wrong answers:\n{}", wrong.join("\n"));
    assert!(unclear.is_empty(), "refusals without a reason:\n{}", unclear.join("\n"));
    assert_eq!(all.len(), 263);
    assert!(agree >= 205, "only {agree} tables agree");
}

/// What two ways to one version must have in common.
fn state(snapshot: &Snapshot) -> String {
    let mut files: Vec<String> = snapshot
        .files()
        .map(|add| {
            format!(
                "{} {:?} {} {:?} {:?}",
                add.key(),
                add.partition_values,
                add.size,
                add.live_rows(),
                add.deletion_vector
            )
        })
        .collect();
    files.sort();
    format!(
        "{:?}\n{:?}\n{:?}\n{:?}\n{files:#?}",
        snapshot.protocol(),
        snapshot.metadata(),
        snapshot.app_transactions(),
        snapshot.domain_metadata()
    )
}

fn is_checkpoint(name: &str) -> bool {
    name.contains(".checkpoint.")
}

#[test]
fn a_checkpoint_and_its_tail_equal_a_full_replay() {
    let Some(root) = conformance("delta") else { return };
    let mut compared = 0;
    for table in tables(&root).iter().filter(|table| table.expected.is_some()) {
        let all = names(&table.folder);
        if !all.iter().any(|(name, _)| is_checkpoint(name)) {
            continue;
        }
        let commits: Vec<(String, u64)> = all.iter().filter(|(name, _)| !is_checkpoint(name)).cloned().collect();
        let from_checkpoint = load(&table.folder, None).expect("the table opens");
        let Ok(full) = load_names(&table.folder, &commits, Some(from_checkpoint.version())) else { continue };
        assert_eq!(state(&from_checkpoint), state(&full), "{}/{}", table.origin, table.name);
        compared += 1;
    }
    println!("{compared} tables have both");
    assert!(compared >= 20, "only {compared} tables have both");
}

#[test]
fn refreshing_one_commit_at_a_time_equals_loading_each_version() {
    let Some(root) = conformance("delta") else { return };
    let mut steps = 0;
    for table in tables(&root).iter().filter(|table| table.expected.is_some()) {
        let Ok(mut snapshot) = load(&table.folder, Some(Version::new(0))) else { continue };
        while let Some(next) = snapshot.version().next() {
            let commit = table.folder.join(lakebed_naming::delta::commit_path(next));
            let Ok(bytes) = std::fs::read(&commit) else { break };
            if next.get() > 40 {
                break;
            }
            snapshot = snapshot.advance(next, &bytes).expect("the commit can be applied");
            let loaded = load(&table.folder, Some(next)).expect("the version can be loaded");
            assert_eq!(state(&snapshot), state(&loaded), "{}/{} at {next}", table.origin, table.name);
            assert_eq!(snapshot.num_files(), loaded.num_files());
            assert_eq!(snapshot.size_bytes(), loaded.size_bytes());
            steps += 1;
        }
    }
    println!("{steps} refreshes");
    assert!(steps >= 200, "only {steps} refreshes");
}

/// A time at which every tombstone of the conformance tables has long expired, and one at which none has.
const AFTER_ALL_MS: i64 = 4_102_444_800_000;

#[test]
fn a_checkpoint_of_ours_reads_back_as_the_snapshot() {
    let Some(root) = conformance("delta") else { return };
    let mut written = 0;
    for table in tables(&root).iter().filter(|table| table.expected.is_some()) {
        let snapshot = load(&table.folder, None).expect("the table opens");
        for (now_ms, expires) in [(0, false), (AFTER_ALL_MS, true)] {
            let file = write_checkpoint(&snapshot, now_ms).expect("a checkpoint can be written");
            let name = file.name.as_str().to_owned();
            let mut load = Load::new([(name, file.bytes.len() as u64)], true, None);
            let LoadStep::Needs(needs) = load.step().expect("the checkpoint is enough") else {
                panic!("bytes are needed")
            };
            assert_eq!(needs, std::slice::from_ref(&file.name));
            load.feed(file.name, Some(file.bytes.clone()));
            let LoadStep::Done(again) = load.step().expect("the checkpoint can be read") else {
                panic!("no more is needed")
            };
            let label = format!("{}/{}", table.origin, table.name);
            assert_eq!(again.version(), snapshot.version(), "{label}");
            assert_eq!(again.num_files(), snapshot.num_files(), "{label}");
            assert_eq!(again.size_bytes(), snapshot.size_bytes(), "{label}");
            if snapshot.properties().get("delta.checkpoint.writeStatsAsJson") != Some("false") {
                assert_eq!(state(&again), state(&snapshot), "{label}");
            }
            if !expires {
                let paths = |of: &Snapshot| of.tombstones().map(|remove| remove.key()).collect::<BTreeSet<_>>();
                let timed = |of: &Snapshot| of.tombstones().all(|remove| remove.deletion_timestamp.is_some());
                assert!(!timed(&snapshot) || paths(&again) == paths(&snapshot), "{label}");
            } else if snapshot.properties().get("delta.deletedFileRetentionDuration").is_none() {
                assert_eq!(again.tombstones().count(), 0, "{label}");
            }
            let hint: Value = serde_json::from_slice(&file.hint).expect("the hint is JSON");
            assert_eq!(hint["version"], snapshot.version().get(), "{label}");
            assert_eq!(hint["numOfAddFiles"], snapshot.num_files(), "{label}");
            assert_eq!(hint["sizeInBytes"], file.bytes.len(), "{label}");
            written += 1;
        }
    }
    assert!(written >= 400, "only {written} checkpoints");
}
