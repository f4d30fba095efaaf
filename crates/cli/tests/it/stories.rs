//! What people come with, done with the program.

use crate::common::{Lakebed, trips};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime};

fn ids(lakebed: &Lakebed, table: &str) -> Vec<i64> {
    let rows = lakebed.json(&["scan", table]);
    let mut ids: Vec<i64> = rows.as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect();
    ids.sort_unstable();
    ids
}

/// A mistaken delete is rolled back by reading the old version and writing it back, or by a restore.
#[test]
fn a_mistaken_delete_is_rolled_back() {
    let lakebed = trips();
    lakebed.ok(&["delete", "trips", "--where", "city = 'Lyon'"]);
    lakebed.ok(&["append", "trips", "trips.csv"]);
    assert_eq!(ids(&lakebed, "trips"), [1, 2, 2, 3], "written back without a look");
    lakebed.ok(&["restore", "trips", "--version", "2"]);
    assert_eq!(ids(&lakebed, "trips"), [2]);
    lakebed.ok(&["scan", "trips", "--version", "1", "--where", "city = 'Lyon'", "--output", "lost.parquet"]);
    lakebed.ok(&["append", "trips", "lost.parquet"]);
    assert_eq!(ids(&lakebed, "trips"), [1, 2, 3]);
    let changes = lakebed.json(&["changes", "trips", "--from", "4", "--to", "5"]);
    let inserted: Vec<&Value> = changes.as_array().unwrap().iter().map(|change| &change["row"]["id"]).collect();
    assert_eq!(inserted.len(), 2);
    lakebed.ok(&["delete", "trips", "--where", "id > 0"]);
    lakebed.ok(&["restore", "trips", "--version", "1"]);
    assert_eq!(ids(&lakebed, "trips"), [1, 2, 3]);
}

/// Two tasks on different partitions both commit, each time.
#[test]
fn two_tasks_on_different_partitions_both_commit() {
    let lakebed = Lakebed::new();
    lakebed.write("rows.csv", "id,region,n\n1,north,0\n2,south,0\n");
    lakebed.ok(&[
        "create",
        "t",
        "--format",
        "delta",
        "--schema",
        "id long, region string, n long",
        "--partition-by",
        "region",
    ]);
    lakebed.ok(&["append", "t", "rows.csv"]);
    std::thread::scope(|scope| {
        for region in ["north", "south"] {
            let lakebed = &lakebed;
            let _ = scope.spawn(move || {
                for _ in 0..5 {
                    let predicate = format!("region = '{region}'");
                    // Nothing is planned again: whoever loses the race only follows.
                    let answer = lakebed.json(&["update", "t", "--set", "n=n + 1", "--where", &predicate]);
                    assert_eq!((&answer["outcome"], &answer["plannings"]), (&json!("committed"), &json!(1)));
                }
            });
        }
    });
    let rows = lakebed.json(&["scan", "t", "--select", "n"]);
    assert_eq!(rows, json!([{"n": 5}, {"n": 5}]));
    assert_eq!(lakebed.json(&["verify", "t"])["sound"], true);
}

/// The version of ten minutes ago.
#[test]
fn the_version_of_ten_minutes_ago_is_found() {
    let lakebed = trips();
    lakebed.ok(&["delete", "trips", "--where", "id = 1"]);
    for (version, minutes) in [(0, 40), (1, 20), (2, 5)] {
        let path = lakebed.path(&format!("trips/_delta_log/{version:020}.json"));
        #[expect(clippy::disallowed_methods, reason = "the files are made older than now")]
        let time = SystemTime::now() - Duration::from_secs(minutes * 60);
        std::fs::OpenOptions::new().write(true).open(path).unwrap().set_modified(time).unwrap();
    }
    for (time, version) in [("-30m", 0), ("-10m", 1), ("-1m", 2)] {
        assert_eq!(lakebed.json(&["show", "trips", "--timestamp", time])["version"], version, "{time}");
    }
    assert_eq!(lakebed.json(&["scan", "trips", "--timestamp", "-10m"]).as_array().unwrap().len(), 3);
    let run = lakebed.ok(&["scan", "trips", "--timestamp", "-10m"]);
    assert!(run.stderr.contains("version 1"), "the version is named: {run:?}");
    let said = lakebed.fails(1, &["show", "trips", "--timestamp", "-2h"]);
    assert!(said.contains("version 0"), "{said}");
}

/// A job that read the table, and finds when it commits that somebody has overwritten it, is told by whom and what to do.
#[test]
fn a_job_that_lost_to_an_overwrite_is_told_so() {
    let lakebed = trips();
    let file = lakebed.json(&["show", "trips", "--files"])["files"][0]["path"].as_str().unwrap().to_owned();
    let info = json!({"commitInfo": {"operation": "DELETE", "readVersion": 1, "txnId": "0f2c6a1e-0000-4000-8000-0000000000aa",
        "operationParameters": {"predicate": "[\"id = 1\"]"}}});
    let remove =
        json!({"remove": {"path": file, "deletionTimestamp": 1, "dataChange": true, "partitionValues": {}, "size": 1}});
    lakebed.write("job.json", format!("{info}\n{remove}\n"));
    lakebed.ok(&["overwrite", "trips", "trips.csv"]);
    let run = lakebed.run(&["commit", "trips", "job.json", "--json"]);
    assert_eq!(run.code, 3, "a retryable conflict: {run:?}");
    let answer = run.json();
    assert_eq!(
        (&answer["outcome"], &answer["with_version"], &answer["version"]),
        (&json!("conflict"), &json!(2), &Value::Null)
    );
    assert!(!answer["advice"].as_str().unwrap().is_empty() && run.stderr.contains("version 2"), "{run:?}");
    assert_eq!(ids(&lakebed, "trips"), [1, 2, 3]);
}

/// Small frequent writes: files and log stay bounded with one command each.
#[test]
fn small_frequent_writes_stay_bounded() {
    let lakebed = trips();
    lakebed.ok(&["set", "trips", "delta.checkpointInterval=5", "delta.logRetentionDuration=interval 1 days"]);
    for _ in 0..14 {
        lakebed.ok(&["append", "trips", "trips.csv"]);
    }
    let stats = lakebed.json(&["stats", "trips"]);
    assert_eq!((&stats["num_files"], &stats["num_rows"]), (&json!(15), &json!(45)));
    assert!(stats["entries_above_checkpoint"].as_u64().unwrap() <= 5, "{stats}");
    lakebed.ok(&["compact", "trips"]);
    assert_eq!(lakebed.json(&["show", "trips"])["num_files"], 1);
    let parquet = |lakebed: &Lakebed| {
        let names = std::fs::read_dir(lakebed.path("trips")).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().ends_with(".parquet")).count()
    };
    assert_eq!(parquet(&lakebed), 16);
    assert_eq!(lakebed.json(&["vacuum", "trips"])["num_files"], 0, "everything is young");
    lakebed.ok(&["vacuum", "trips", "--retain", "0s", "--allow-shorter"]);
    assert_eq!(parquet(&lakebed), 1);
    lakebed.ok(&["checkpoint", "trips"]);
    // Weeks go by; the entries were written a minute apart.
    #[expect(clippy::disallowed_methods, reason = "the files are made older than now")]
    let begin = SystemTime::now() - Duration::from_secs(40 * 86_400);
    for entry in std::fs::read_dir(lakebed.path("trips/_delta_log")).unwrap() {
        let path = entry.unwrap().path();
        let digits =
            path.file_name().unwrap().to_string_lossy().chars().take_while(char::is_ascii_digit).collect::<String>();
        if path.is_file() {
            let old = begin + Duration::from_secs(60 * digits.parse::<u64>().unwrap_or(0));
            std::fs::OpenOptions::new().write(true).open(path).unwrap().set_modified(old).unwrap();
        }
    }
    let cleaned = lakebed.json(&["clean-log", "trips"]);
    assert!(cleaned["num_objects"].as_u64().unwrap() >= 15, "{cleaned}");
    assert_eq!(lakebed.json(&["show", "trips"])["num_rows"], 45);
    assert_eq!(lakebed.json(&["verify", "trips"])["sound"], true);
}

/// A hot table: its conflict rate is seen, and partitioning cures it.
#[test]
fn a_hot_table_is_seen_and_cured() {
    let mut replanned = Vec::new();
    for partition in [None, Some("k")] {
        let lakebed = Lakebed::new();
        lakebed.write("rows.csv", "k,n\na,0\nb,0\nc,0\n");
        let mut create = vec!["create", "t", "--format", "delta", "--schema", "k string, n long"];
        if let Some(column) = partition {
            create.extend(["--partition-by", column]);
        }
        lakebed.ok(&create);
        lakebed.ok(&["append", "t", "rows.csv"]);
        std::thread::scope(|scope| {
            for key in ["a", "b", "c"] {
                let lakebed = &lakebed;
                let _ = scope.spawn(move || {
                    for _ in 0..6 {
                        let predicate = format!("k = '{key}'");
                        lakebed.ok(&["update", "t", "--set", "n=n + 1", "--where", &predicate, "--retries", "100"]);
                    }
                });
            }
        });
        assert_eq!(lakebed.json(&["scan", "t", "--select", "n"]), json!([{"n": 6}, {"n": 6}, {"n": 6}]));
        let stats = lakebed.json(&["stats", "t"]);
        let again = stats["replanned"].get("UPDATE").and_then(Value::as_u64).unwrap_or(0);
        if partition.is_none() && stats["conflict_rate"].as_f64().unwrap() >= 0.1 {
            assert!(stats["advice"].to_string().contains("partition the table"), "{stats}");
        }
        replanned.push(again);
    }
    assert!(replanned[0] > 0, "three writers of one file meet: {replanned:?}");
    assert_eq!(replanned[1], 0, "each in a partition of its own, they do not: {replanned:?}");
}
