//! Which version stood at a time, against what Spark answered and against cases from the field.

use crate::local::{Local, add, classic, commit, first, metadata, version_at};
use lakebed_table::VersionSpec::{AtMs, UpToMs};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The tables that a client wrote, or `None` (after saying so) where they are absent.
pub(crate) fn conformance(part: &str) -> Option<PathBuf> {
    let root = std::env::var_os("LAKEBED_CONFORMANCE")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance"), PathBuf::from)
        .join(part);
    if root.is_dir() {
        return Some(root);
    }
    println!("skipped: there is no {}", root.display());
    None
}

/// The ages of versions that Spark did not read, too old as they were: of 6 and 9 as its answers tell, of the others between
/// them.
const AGED: &[(&str, u64, i64)] = &[
    ("log_cleanup", 6, 1_795_642_175_046),
    ("log_cleanup", 7, 1_795_728_575_046),
    ("log_cleanup", 8, 1_795_814_975_046),
    ("log_cleanup", 9, 1_795_901_375_046),
];

/// A copy of a table's log, each commit file as old as Spark found it.
fn copy_of(root: &Path, table: &str, expected: &Value) -> Local {
    let local = Local::new();
    for entry in std::fs::read_dir(root.join(table).join("_delta_log")).unwrap() {
        let entry = entry.unwrap();
        if entry.path().is_file() {
            let name = format!("_delta_log/{}", entry.file_name().to_str().unwrap());
            local.put(&name, &std::fs::read(entry.path()).unwrap(), 5_000);
        }
    }
    for version in expected["versions"].as_array().unwrap() {
        let Some(name) = version["version"].as_u64().map(commit) else { continue };
        if let (Some(ms), true) = (version["file_mtime_ms"].as_i64(), local.has(&name)) {
            local.age(&name, ms);
        }
    }
    for (_, version, ms) in AGED.iter().filter(|(aged, _, _)| *aged == table) {
        local.age(&commit(*version), *ms);
    }
    local
}

#[tokio::test]
async fn every_time_gives_the_version_that_spark_gave() {
    let Some(root) = conformance("delta-spark") else { return };
    let (mut found, mut early, mut late) = (0, 0, 0);
    let inventory = std::fs::read_to_string(root.join("INVENTORY.tsv")).unwrap();
    for name in inventory.lines().skip(1).filter_map(|line| line.split('\t').next()) {
        let expected: Value =
            serde_json::from_slice(&std::fs::read(root.join(format!("{name}.expected.json"))).unwrap()).unwrap();
        let local = copy_of(&root, name, &expected);
        let table = local.open().await;
        for asked in expected["timestamp_travel"].as_array().unwrap() {
            let ms = asked["timestamp_ms"].as_i64().unwrap();
            let ours = version_at(&table, AtMs(ms)).await;
            let label = format!("{name} at {ms}: {ours:?}");
            match asked["answer"]["error"].as_str() {
                None => {
                    assert_eq!(ours.ok(), asked["answer"]["version"].as_u64(), "{label}");
                    found += 1;
                }
                Some("DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION") => {
                    assert!(ours.unwrap_err().to_string().contains("no version is as old as"), "{label}");
                    early += 1;
                }
                Some("DELTA_TIMESTAMP_GREATER_THAN_COMMIT") => {
                    assert!(ours.unwrap_err().to_string().contains("is after the newest version"), "{label}");
                    // RESTORE takes such a time.
                    let newest = expected["latest_version"].as_u64();
                    assert_eq!(version_at(&table, UpToMs(ms)).await.ok(), newest, "{label}");
                    late += 1;
                }
                Some(other) => panic!("{name}: {other}"),
            }
        }
    }
    println!("{found} versions, {early} times too early, {late} too late");
    assert!(found >= 240 && early >= 60 && late >= 60, "{found} {early} {late}");
}

/// A table with commits of these ages.
fn aged(times: &[i64]) -> Local {
    let local = Local::new();
    for (version, ms) in times.iter().enumerate() {
        let lines = if version == 0 { first("") } else { vec![add(&format!("f{version}.parquet"))] };
        local.commit(version as u64, &lines, *ms);
    }
    local
}

/// Field case: the part of a second is not dropped, and "at" is inclusive.
#[tokio::test]
async fn milliseconds_count() {
    let local = aged(&[1_700_000_000_100, 1_700_000_000_400, 1_700_000_000_900]);
    let table = local.open().await;
    for (ms, version) in [(399, 0), (400, 1), (401, 1), (899, 1), (900, 2)] {
        assert_eq!(version_at(&table, AtMs(1_700_000_000_000 + ms)).await.unwrap(), version, "{ms}");
    }
    let early = version_at(&table, AtMs(1_700_000_000_099)).await.unwrap_err().to_string();
    assert!(early.contains("version 0 of 2023-11-14T22:13:20.1"), "{early}");
    assert!(early.contains("to version 2 of 2023-11-14T22:13:20.9"), "{early}");
    let late = version_at(&table, AtMs(1_700_000_000_901)).await.unwrap_err().to_string();
    assert!(late.contains("is after the newest version") && late.contains("version 0 of 2023-11-14"), "{late}");
}

/// Field case: file times that are not monotone are lifted above the one before, and the lifted time is what is told.
#[tokio::test]
async fn times_that_fall_are_lifted() {
    let local = aged(&[100, 90, 110, 110]);
    let table = local.open().await;
    assert!(version_at(&table, AtMs(99)).await.is_err());
    for (ms, version) in [(100, 0), (101, 1), (105, 1), (110, 2), (111, 3)] {
        assert_eq!(version_at(&table, AtMs(ms)).await.unwrap(), version, "{ms}");
    }
    let told: Vec<_> = table.history(None).await.unwrap().iter().map(|entry| entry.timestamp_ms.unwrap()).collect();
    assert_eq!(told, [111, 110, 101, 100]);
    let shown = table.at(lakebed_table::VersionSpec::Number(1)).await.unwrap();
    assert_eq!(shown.summary().unwrap().timestamp_ms, Some(101));
}

/// Field case: of two versions with one time the higher one stood.
#[tokio::test]
async fn of_two_versions_at_one_time_the_newer_stood() {
    let local = aged(&[100, 200, 200, 300]);
    let table = local.open().await;
    // The second of them counts a millisecond later, as in Spark.
    for (ms, version) in [(200, 1), (201, 2), (250, 2), (300, 3)] {
        assert_eq!(version_at(&table, AtMs(ms)).await.unwrap(), version, "{ms}");
    }
}

/// Field case: in-commit timestamps switched on in mid-history; a copy made every file young.
#[tokio::test]
async fn timestamps_switched_on_later_count_from_there() {
    let local = Local::new();
    let switched = r#""delta.enableInCommitTimestamps":"true","delta.inCommitTimestampEnablementVersion":"2","delta.inCommitTimestampEnablementTimestamp":"1000""#;
    let info =
        |ms: i64| format!(r#"{{"commitInfo":{{"inCommitTimestamp":{ms},"timestamp":{ms},"operation":"WRITE"}}}}"#);
    local.commit(0, &first(""), 100);
    local.commit(1, &[add("a.parquet")], 200);
    local.commit(2, &[info(1_000), metadata(&[], switched)], 5_000);
    local.commit(3, &[info(1_001), add("b.parquet")], 5_000);
    let table = local.open().await;
    for (ms, version) in [(150, 0), (200, 1), (999, 1), (1_000, 2), (1_001, 3), (5_000, 3)] {
        assert_eq!(version_at(&table, UpToMs(ms)).await.unwrap(), version, "{ms}");
    }
    assert_eq!(version_at(&table, AtMs(1_001)).await.unwrap(), 3);
    assert!(version_at(&table, AtMs(1_002)).await.unwrap_err().to_string().contains("after the newest version"));
    assert!(version_at(&table, UpToMs(99)).await.unwrap_err().to_string().contains("version 0 of"));
    let told: Vec<_> = table.history(None).await.unwrap().iter().map(|entry| entry.timestamp_ms.unwrap()).collect();
    assert_eq!(told, [1_001, 1_000, 200, 100]);
}

/// Field case: what a cleanup left without a base is no version: it is neither listed nor found by time.
#[tokio::test]
async fn a_commit_without_a_base_is_no_version() {
    let local = Local::new();
    let whole = aged(&[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    let source = whole.open().await;
    source.checkpoint().await.unwrap();
    for name in [commit(9), commit(10), classic(10)] {
        let ms = name.matches("10").count() as i64 * 100 + 900;
        local.put(&name, &std::fs::read(whole.path(&name)).unwrap(), ms);
    }
    let table = local.open().await;
    assert_eq!(table.version().get(), 10);
    let listed: Vec<_> = table.history(None).await.unwrap().iter().map(|entry| entry.version.get()).collect();
    assert_eq!(listed, [10]);
    assert!(version_at(&table, AtMs(950)).await.unwrap_err().to_string().contains("version 10 of"));
    let nine = table.at(lakebed_table::VersionSpec::Number(9)).await.unwrap_err().to_string();
    assert!(nine.contains('9') && nine.contains("10"), "{nine}");
}

/// Field case: a checkpoint whose own commit is gone, and commits above it. All of them are versions; of the oldest nobody knows
/// when it was committed, which is not an error.
#[tokio::test]
async fn case_71_b_a_checkpoint_without_its_commit_is_a_version() {
    let local = Local::new();
    let whole = aged(&[0, 1, 2, 3, 4]);
    whole.open().await.checkpoint().await.unwrap();
    local.put(&classic(4), &std::fs::read(whole.path(&classic(4))).unwrap(), 1_300);
    for version in [5, 6] {
        local.commit(version, &[add(&format!("f{version}.parquet"))], version as i64 * 100 + 900);
    }
    let table = local.open().await;
    assert_eq!(table.version().get(), 6);
    let files = table.snapshot().summary().unwrap().num_files;
    for version in 4..=6 {
        let snapshot = table.at(lakebed_table::VersionSpec::Number(version)).await.unwrap();
        let summary = snapshot.summary().unwrap();
        assert_eq!((summary.version.get(), summary.num_files), (version, files - (6 - version)));
        let known = (version > 4).then_some(version as i64 * 100 + 900);
        assert_eq!(summary.timestamp_ms, known, "version {version}");
    }
    let listed: Vec<_> = table.history(None).await.unwrap().iter().map(|entry| entry.version.get()).collect();
    assert_eq!(listed, [6, 5]);
    assert_eq!(version_at(&table, AtMs(1_450)).await.unwrap(), 5);
    let three = table.at(lakebed_table::VersionSpec::Number(3)).await.unwrap_err().to_string();
    assert!(three.contains('3') && three.contains('4'), "{three}");
}
