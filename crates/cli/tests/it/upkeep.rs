//! Checkpoints, compacted logs, cleanups and restore, as typed.

use crate::common::trips;
use serde_json::{Value, json};

#[test]
fn restore_brings_a_version_back() {
    let lakebed = trips();
    lakebed.ok(&["delete", "trips", "--where", "id < 3"]);
    let before = lakebed.json(&["show", "trips", "--version", "1", "--files"]);
    let restored = lakebed.json(&["restore", "trips", "--version", "1"]);
    assert_eq!((&restored["outcome"], &restored["version"]), (&json!("committed"), &json!(3)));
    assert_eq!(restored["metrics"]["files_restored"], 1);
    let after = lakebed.json(&["show", "trips", "--files"]);
    for key in ["num_rows", "schema", "properties", "protocol"] {
        assert_eq!(after[key], before[key], "{key}");
    }
    // The file is the old one; it came back with version 3.
    let file = |shown: &Value| {
        let mut file = shown["files"][0].as_object().unwrap().clone();
        let came = (file.remove("added_version").unwrap(), file.remove("time_version").unwrap());
        (file, came)
    };
    assert_eq!(file(&after).0, file(&before).0);
    assert_eq!((file(&before).1, file(&after).1), ((json!(1), json!(1)), (json!(3), json!(3))));
    assert_eq!(lakebed.json(&["restore", "trips", "--version", "1"])["outcome"], "nothing");
    assert_eq!(lakebed.json(&["history", "trips"])[0]["operation"], "RESTORE");
}

#[test]
fn restore_goes_by_time_too_and_names_files_that_are_gone() {
    let lakebed = trips();
    let path = lakebed.json(&["show", "trips", "--files"])["files"][0]["path"].as_str().unwrap().to_owned();
    std::thread::sleep(std::time::Duration::from_millis(30));
    lakebed.ok(&["truncate", "trips"]);
    let history = lakebed.json(&["history", "trips"]);
    let ms = history[1]["timestamp_ms"].as_i64().unwrap();
    let text = jiff::Timestamp::from_millisecond(ms).unwrap().to_string();
    std::fs::rename(lakebed.path("trips").join(&path), lakebed.path("kept")).unwrap();
    let refused = lakebed.fails(1, &["restore", "trips", "--timestamp", &text]);
    assert!(refused.contains(&path) && refused.contains("nothing was written"), "{refused}");
    std::fs::rename(lakebed.path("kept"), lakebed.path("trips").join(&path)).unwrap();
    assert_eq!(lakebed.json(&["restore", "trips", "--timestamp", &text])["version"], 3);
    assert_eq!(lakebed.json(&["show", "trips"])["num_rows"], 3);
    lakebed.fails(2, &["restore", "trips"]);
    lakebed.fails(2, &["restore", "trips", "--version", "1", "--timestamp", "-1s"]);
}

/// A moment ago is a time at which the newest version stood; a time that is written out and lies after it is refused.
#[test]
fn times_outside_of_the_history_are_told_with_the_range() {
    let lakebed = trips();
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert_eq!(lakebed.json(&["show", "trips", "--timestamp", "-1ms"])["version"], 1);
    let late = lakebed.fails(1, &["show", "trips", "--timestamp", "2999-01-01T00:00:00.5+02:00"]);
    assert!(late.contains("2998-12-31T22:00:00.500") && late.contains("after the newest version"), "{late}");
    assert!(late.contains("version 0 of") && late.contains("to version 1 of"), "{late}");
    let early = lakebed.fails(1, &["show", "trips", "--timestamp", "2001-01-01"]);
    assert!(early.contains("no version is as old as") && early.contains("version 0 of"), "{early}");
    let beyond = lakebed.fails(1, &["show", "trips", "--version", "9"]);
    assert!(beyond.contains('9') && beyond.contains('1'), "{beyond}");
}

#[test]
fn upkeep_says_what_it_did() {
    let lakebed = trips();
    lakebed.ok(&["set", "trips", "owner=us"]);
    let compacted = lakebed.json(&["compact-log", "trips"]);
    assert_eq!((&compacted["first"], &compacted["last"]), (&json!(0), &json!(2)));
    assert!(lakebed.path("trips").join(compacted["object"].as_str().unwrap()).is_file());
    assert_eq!(lakebed.json(&["checkpoint", "trips"]), json!({"version": 2}));
    assert!(lakebed.path("trips/_delta_log/00000000000000000002.checkpoint.parquet").is_file());
    assert!(lakebed.ok(&["compact-log", "trips"]).stdout.contains("nothing to do"));
    assert_eq!(lakebed.json(&["clean-log", "trips"])["num_objects"], 0);
    assert_eq!(lakebed.json(&["clean-log", "trips", "--dry-run"])["first_kept"], Value::Null);
}

#[test]
fn a_vacuum_lists_what_would_go_and_then_takes_it() {
    let lakebed = trips();
    lakebed.write("trips/left-over.parquet", "rows");
    lakebed.ok(&["truncate", "trips"]);
    assert_eq!(lakebed.json(&["vacuum", "trips"])["num_files"], 0, "everything is young");
    let refused = lakebed.fails(1, &["vacuum", "trips", "--retain", "1ms"]);
    assert!(refused.contains("shorter than the table's own"), "{refused}");
    std::thread::sleep(std::time::Duration::from_millis(20));
    let short = ["vacuum", "trips", "--retain", "1ms", "--allow-shorter"];
    let dry = lakebed.json(&[&short[..], &["--dry-run"]].concat());
    assert_eq!((&dry["dry_run"], &dry["num_files"]), (&json!(true), &json!(2)));
    assert!(dry["files"].as_array().unwrap().contains(&json!("left-over.parquet")));
    let listed = lakebed.ok(&[&short[..], &["--dry-run"]].concat()).stdout;
    assert!(
        listed.lines().any(|line| line == "left-over.parquet") && listed.contains("would remove 2 files"),
        "{listed}"
    );
    assert!(lakebed.path("trips/left-over.parquet").is_file());
    assert_eq!(lakebed.json(&short)["files"], dry["files"]);
    assert!(!lakebed.path("trips/left-over.parquet").exists());
    // The version before is out of the retention now, and says so by name.
    lakebed.fails(1, &["restore", "trips", "--version", "1"]);
}

/// Case 76: what is older than an hour is so in every zone.
#[test]
fn case_76_ages_do_not_depend_on_the_zone() {
    let lakebed = trips();
    for (name, minutes) in [("young.parquet", 30), ("old.parquet", 90)] {
        lakebed.write(&format!("trips/{name}"), "rows");
        let file = std::fs::File::options().write(true).open(lakebed.path("trips").join(name)).unwrap();
        let now = file.metadata().unwrap().modified().unwrap();
        file.set_modified(now - std::time::Duration::from_secs(minutes * 60)).unwrap();
    }
    let vacuum = ["vacuum", "trips", "--retain", "1h", "--allow-shorter", "--dry-run", "--json"];
    for zone in ["UTC", "Etc/GMT-2", "Etc/GMT+8", "Asia/Kathmandu", "Europe/Berlin"] {
        let run = lakebed.run_in(&vacuum, &[("TZ", zone.to_owned())]);
        assert_eq!(run.code, 0, "{zone}: {run:?}");
        let found = run.json();
        assert!(found.to_string().contains("old.parquet") && !found.to_string().contains("young"), "{zone}: {found}");
    }
}
