//! Every table of the conformance folder, against what the real clients answered.

use crate::support::{conformance, folders, is_checkpoint, load, load_names, names, state};
use bytes::Bytes;
use lakebed_delta::{Load, LoadStep, Snapshot, compact_log, write_checkpoint};
use lakebed_naming::Version;
use lakebed_naming::delta::commit_path;
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
        let schema = expected["schema_string"].as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
        let ours: Value = serde_json::from_str(&snapshot.schema().to_json()).expect("a schema is JSON");
        compare("schema", ours, &schema.unwrap_or_default());
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
        compare("tombstones", snapshot.tombstones().count().into(), &replay["num_tombstones"]);
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

/// What the refusal of a table must say, by table: see the file's head.
fn refusals() -> BTreeMap<&'static str, &'static str> {
    let lines = include_str!("refused.tsv").lines().filter(|line| !line.starts_with('#'));
    let cells = lines.map(|line| line.split('\t').collect::<Vec<_>>());
    cells.map(|cells| if let [table, says, _why] = cells[..] { (table, says) } else { panic!("{cells:?}") }).collect()
}

/// Earlier versions, as far as another reader counted their files.
fn earlier_differences(table: &Table, expected: &Value, counted: &mut u32) -> Vec<String> {
    let mut wrong = Vec::new();
    for (version, theirs) in expected["versions"].as_object().into_iter().flatten() {
        // Where Spark's answer stands in for deltalake's, it does so for the newest version.
        let Some(files) = theirs["num_files"].as_u64().filter(|_| expected.get("note").is_none()) else { continue };
        match load(&table.folder, version.parse().ok().map(Version::new)) {
            Ok(ours) if ours.num_files() == files => *counted += 1,
            Ok(ours) => wrong.push(format!("version {version}: ours {} files, expected {files}", ours.num_files())),
            Err(error) => wrong.push(format!("version {version}: {error}")),
        }
    }
    wrong
}

#[test]
fn every_table_agrees_or_is_refused_with_the_right_reason() {
    let Some(root) = conformance("delta") else { return };
    let refusals = refusals();
    let mut counts: BTreeMap<String, [u32; 3]> = BTreeMap::new();
    let (mut wrong, mut versions) = (Vec::new(), 0);
    let all = tables(&root);
    for table in &all {
        let label = format!("{}/{}", table.origin, table.name);
        let count = counts.entry(table.origin.clone()).or_default();
        let found = match (load(&table.folder, None), &table.expected, refusals.get(&*label)) {
            (Ok(snapshot), Some(expected), None) => {
                let mut found = differences(&snapshot, expected);
                found.extend(earlier_differences(table, expected, &mut versions));
                found
            }
            (Err(error), None, Some(says)) if error.to_string().contains(says) => {
                count[1] += 1;
                continue;
            }
            (Err(error), _, _) => vec![error.to_string()],
            (Ok(_), _, Some(says)) => vec![format!("was opened, and must be refused: {says}")],
            (Ok(_), None, None) => vec!["was opened, and no answer is known".to_owned()],
        };
        count[if found.is_empty() { 0 } else { 2 }] += 1;
        wrong.extend(found.iter().map(|text| format!("{label}: {text}")));
    }
    println!("{:<20} {:>6} {:>7} {:>6}", "origin", "agree", "refuse", "wrong");
    let mut sum = [0; 3];
    for (origin, count) in &counts {
        println!("{origin:<20} {:>6} {:>7} {:>6}", count[0], count[1], count[2]);
        sum.iter_mut().zip(count).for_each(|(sum, count)| *sum += count);
    }
    println!("{:<20} {:>6} {:>7} {:>6}   ({versions} versions)", "all", sum[0], sum[1], sum[2]);
    assert!(wrong.is_empty(), "wrong answers:\n{}", wrong.join("\n"));
    assert_eq!((all.len(), sum), (263, [243, 20, 0]));
    assert!(versions > 500, "only {versions} versions");
}

#[test]
fn a_checkpoint_and_its_tail_equal_a_full_replay_at_every_version() {
    let (mut tables, mut versions) = (0, 0);
    for folder in folders() {
        let all = names(&folder);
        let commits: Vec<(String, u64)> = all.iter().filter(|(name, _)| !is_checkpoint(name)).cloned().collect();
        if commits.len() == all.len() {
            continue;
        }
        let Ok(newest) = load(&folder, None) else { continue };
        // Only a log that is whole can be replayed; of a long one the newest versions stand for all.
        let first = newest.version().get().saturating_sub(20);
        let before = versions;
        for at in (first..=newest.version().get()).map(Version::new) {
            let (Ok(full), Ok(short)) = (load_names(&folder, &commits, Some(at)), load(&folder, Some(at))) else {
                continue;
            };
            if short.num_rows() == full.num_rows() {
                assert_eq!(state(&short), state(&full), "{} at {at}", folder.display());
            } else {
                // The table's checkpoints leave statistics out, and so do not count rows.
                assert_eq!(short.properties().get("delta.checkpoint.writeStatsAsJson"), Some("false"));
                let keys = |of: &Snapshot| of.files().map(|add| add.key().to_string()).collect::<BTreeSet<_>>();
                assert_eq!(keys(&short), keys(&full), "{} at {at}", folder.display());
            }
            versions += 1;
        }
        tables += usize::from(versions > before);
    }
    println!("{tables} tables with checkpoints, {versions} versions");
    assert!(
        conformance("delta").is_none() || (tables >= 60 && versions >= 300),
        "{tables} tables, {versions} versions"
    );
}

/// Compacted logs over the whole log and over parts of it, none from version 0 on, where a checkpoint may stand.
fn runs(newest: u64) -> Vec<(u64, u64)> {
    let third = newest / 3;
    [(0, newest), (1, newest), (0, third), (third + 1, newest.saturating_sub(1)), (third, newest)]
        .into_iter()
        .filter(|(first, last)| first < last)
        .collect()
}

#[test]
fn a_compacted_log_changes_nothing_and_saves_its_commits() {
    let (mut logs, mut saved) = (0, 0);
    for folder in folders() {
        let all: Vec<(String, u64)> = names(&folder)
            .into_iter()
            .filter(|(name, _)| !is_checkpoint(name) && !name.contains("compacted"))
            .collect();
        let Ok(plain) = load_names(&folder, &all, None) else { continue };
        if plain.version().get() > 40 {
            continue;
        }
        for (first, last) in runs(plain.version().get()) {
            let read = |at: u64| std::fs::read(folder.join(commit_path(Version::new(at)))).map(Bytes::from);
            let Ok(commits) =
                (first..=last).map(|at| Ok((Version::new(at), read(at)?))).collect::<std::io::Result<Vec<_>>>()
            else {
                continue;
            };
            let compacted = compact_log(&commits).expect("the commits can be compacted");
            // Commits that change nothing come to an empty object, which readers pass over.
            if compacted.bytes.is_empty() {
                continue;
            }
            let listed = all.iter().cloned().chain([(compacted.name.to_string(), compacted.bytes.len() as u64)]);
            let mut load = Load::new(listed.collect::<Vec<_>>(), true, None);
            let LoadStep::Needs(needs) = load.step().expect("objects are needed") else {
                panic!("{}", folder.display())
            };
            let kept = u64::from(last == plain.version().get());
            assert_eq!(needs.len() as u64, plain.version().get() + 1 - (last - first) + kept, "{}", folder.display());
            for name in needs {
                let bytes = match name == compacted.name {
                    true => compacted.bytes.clone(),
                    false => Bytes::from(std::fs::read(folder.join(name.as_str())).expect("it is there")),
                };
                load.feed(name, Some(bytes));
            }
            let LoadStep::Done(short) = load.step().expect("it can be read") else { panic!("nothing more is needed") };
            assert_eq!(state(&short), state(&plain), "{} with {}", folder.display(), compacted.name);
            assert_eq!(short.commit_info(), plain.commit_info());
            logs += 1;
            saved += last - first - kept;
        }
    }
    println!("{logs} compacted logs, {saved} objects saved");
    assert!(conformance("delta").is_none() || logs >= 300, "only {logs} compacted logs");
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
            // A checkpoint forgets application transactions where the table says so.
            let property = |name: &str| snapshot.properties().get(name);
            let forgets = property("delta.setTransactionRetentionDuration").is_some();
            if !forgets && property("delta.checkpoint.writeStatsAsJson") != Some("false") {
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
