//! Statements and what is shown afterwards.

use crate::common::{Lakebed, trips};
use serde_json::{Value, json};

fn rows(lakebed: &Lakebed, args: &[&str]) -> Value {
    let args: Vec<&str> = ["scan", "trips"].into_iter().chain(args.iter().copied()).collect();
    lakebed.json(&args)
}

fn ids(lakebed: &Lakebed, args: &[&str]) -> Vec<i64> {
    let rows = rows(lakebed, args);
    let mut ids: Vec<i64> = rows.as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect();
    ids.sort_unstable();
    ids
}

#[test]
fn rows_are_appended_deleted_and_read_at_any_version() {
    let lakebed = trips();
    let deleted = lakebed.json(&["delete", "trips", "--where", "city = 'Oslo'"]);
    assert_eq!(deleted["outcome"], "committed");
    assert_eq!(deleted["version"], 2);
    assert_eq!(deleted["attempts"], 1);
    assert_eq!(deleted["reason"], Value::Null);
    assert_eq!(deleted["metrics"]["rows_deleted"], 1);
    assert_eq!(ids(&lakebed, &[]), [1, 3]);
    assert_eq!(ids(&lakebed, &["--version", "1"]), [1, 2, 3]);
    assert_eq!(ids(&lakebed, &["--version", "0"]), [0_i64; 0]);
    assert_eq!(ids(&lakebed, &["--version", "1", "--where", "fare > 10"]), [1, 2]);
    assert_eq!(rows(&lakebed, &["--where", "id = 3"]), json!([{"id": 3, "city": "Lyon", "fare": 7.0}]));
    assert_eq!(rows(&lakebed, &["--select", "city", "--where", "id = 3"]), json!([{"city": "Lyon"}]));
    assert_eq!(rows(&lakebed, &["--limit", "1"]).as_array().unwrap().len(), 1);
}

#[test]
fn nothing_to_delete_is_no_version() {
    let lakebed = trips();
    let deleted = lakebed.json(&["delete", "trips", "--where", "id = 100"]);
    assert_eq!(deleted["outcome"], "nothing");
    assert_eq!(deleted["version"], 1);
    assert_eq!(lakebed.json(&["show", "trips"])["version"], 1);
}

#[test]
fn overwrite_replaces_a_range_or_everything() {
    let lakebed = trips();
    lakebed.write("more.jsonl", "{\"id\":9,\"city\":\"Lyon\"}\n");
    let range = lakebed.json(&["overwrite", "trips", "more.jsonl", "--where", "city = 'Lyon'"]);
    assert_eq!((&range["outcome"], &range["version"]), (&json!("committed"), &json!(2)));
    assert_eq!(ids(&lakebed, &[]), [2, 9]);
    let refused = lakebed.fails(1, &["overwrite", "trips", "more.jsonl", "--where", "city = 'Oslo'"]);
    assert!(refused.contains("city = 'Oslo'"), "{refused}");
    assert_eq!(ids(&lakebed, &[]), [2, 9]);
    lakebed.ok(&["overwrite", "trips", "trips.csv"]);
    assert_eq!(ids(&lakebed, &[]), [1, 2, 3]);
    lakebed.ok(&["truncate", "trips"]);
    assert_eq!(ids(&lakebed, &[]), [0_i64; 0]);
}

#[test]
fn rows_come_from_standard_input_and_go_to_files() {
    let lakebed = trips();
    let run = lakebed.run_with(&["append", "trips", "-"], "{\"id\":4}\n{\"id\":5,\"city\":null,\"fare\":1}\n");
    assert_eq!(run.code, 0, "{run:?}");
    assert_eq!(ids(&lakebed, &[]), [1, 2, 3, 4, 5]);
    for (file, read_back) in [("out.csv", 3), ("out.jsonl", 4), ("out.parquet", 5)] {
        let written = lakebed.json(&["scan", "trips", "--output", file]);
        assert_eq!(written["rows"], 5);
        let table = format!("from-{file}");
        lakebed.ok(&["create", &table, "--format", "delta", "--schema", "id long, city string, fare double"]);
        lakebed.ok(&["append", &table, file]);
        let same = |name: &str| {
            let mut rows = lakebed.json(&["scan", name]).as_array().unwrap().clone();
            rows.sort_by_key(|row| row["id"].as_i64());
            rows
        };
        assert_eq!(same(&table), same("trips"), "{file} of {read_back}");
    }
    let header = std::fs::read_to_string(lakebed.path("out.csv")).unwrap();
    assert!(header.starts_with("id,city,fare\n"), "{header}");
    let unfinished = std::fs::read_dir(lakebed.dir.path())
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|ending| ending == "unfinished"));
    assert_eq!(unfinished.count(), 0);
}

#[test]
fn show_describes_a_version() {
    let lakebed = Lakebed::new();
    lakebed.ok(&[
        "create",
        "t",
        "--format",
        "delta",
        "--schema",
        "id long not null, day date, tags array<string>",
        "--partition-by",
        "day",
        "--property",
        "owner=us",
    ]);
    lakebed.write("rows.jsonl", "{\"id\":1,\"day\":\"2026-11-29\",\"tags\":[\"a\",null]}\n{\"id\":2}\n");
    lakebed.ok(&["append", "t", "rows.jsonl"]);
    let shown = lakebed.json(&["show", "t", "--files"]);
    assert_eq!(shown["format"], "delta");
    assert_eq!(shown["version"], 1);
    assert_eq!(shown["num_files"], 2);
    assert_eq!(shown["num_rows"], 2);
    assert_eq!(shown["num_deleted_rows"], 0);
    assert_eq!(shown["partition_columns"], json!(["day"]));
    assert_eq!(shown["properties"]["owner"], "us");
    assert_eq!(shown["schema"][0], json!({"name": "id", "type": "long", "nullable": false}));
    assert_eq!(shown["schema"][1], json!({"name": "day", "type": "date", "nullable": true}));
    assert_eq!(shown["schema"][2]["type"], json!({"type": "array", "elementType": "string", "containsNull": true}));
    assert_eq!(shown["protocol"]["min_reader_version"], 1);
    assert_eq!(shown["protocol"]["min_writer_version"], 2);
    assert!(shown["table_id"].as_str().unwrap().len() == 36);
    assert!(shown["timestamp_ms"].as_i64().unwrap() > 1_700_000_000_000);
    let files = shown["files"].as_array().unwrap();
    let days: Vec<&Value> = files.iter().map(|file| &file["partition_values"]["day"]).collect();
    assert!(days.contains(&&json!("2026-11-29")) && days.contains(&&Value::Null), "{days:?}");
    let bytes: u64 = files.iter().map(|file| file["size_bytes"].as_u64().unwrap()).sum();
    assert_eq!(shown["size_bytes"], bytes);
    let on_disk: u64 = files
        .iter()
        .map(|file| std::fs::metadata(lakebed.path("t").join(file["path"].as_str().unwrap())).unwrap().len())
        .sum();
    assert_eq!(bytes, on_disk);
    assert_eq!(lakebed.json(&["show", "t", "--version", "0"])["num_files"], 0);
}

#[test]
fn history_tells_both_clocks() {
    let lakebed = trips();
    lakebed.ok(&["set", "trips", "owner=us", "team=tables"]);
    lakebed.ok(&["delete", "trips", "--where", "id = 1"]);
    lakebed.ok(&["unset", "trips", "team"]);
    let history = lakebed.json(&["history", "trips"]);
    let column = |key: &str| history.as_array().unwrap().iter().map(|entry| entry[key].clone()).collect::<Vec<_>>();
    assert_eq!(column("version"), [4, 3, 2, 1, 0]);
    assert_eq!(column("time_version"), [3, 3, 1, 1, 0]);
    assert_eq!(column("data_change"), [false, true, false, true, false]);
    assert_eq!(column("read_version"), [json!(3), json!(2), json!(1), json!(0), Value::Null]);
    assert_eq!(column("operation")[1], "DELETE");
    assert_eq!(history[0]["time_version_ms"], history[1]["timestamp_ms"]);
    assert_eq!(lakebed.json(&["show", "trips"])["properties"], json!({"owner": "us"}));
    let newest = lakebed.json(&["history", "trips", "--limit", "1"]);
    assert_eq!(newest.as_array().unwrap().len(), 1);
    assert_eq!(newest[0], history[0], "what is above the limit does not depend on it");
    let changes = lakebed.json(&["history", "trips", "--data-changes-only", "--limit", "2"]);
    assert_eq!((&changes[0]["version"], &changes[1]["version"]), (&json!(3), &json!(1)));
}

#[test]
fn an_outcome_is_found_by_its_id() {
    let lakebed = trips();
    let set = lakebed.json(&["set", "trips", "a=b"]);
    let found = lakebed.json(&["outcome", "trips", set["transaction_id"].as_str().unwrap()]);
    assert_eq!((&found["outcome"], &found["version"]), (&json!("committed"), &json!(2)));
    let none = lakebed.json(&["outcome", "trips", "5e4f0000-0000-4000-8000-000000000000"]);
    assert_eq!(none["outcome"], "not-found");
    assert_eq!((&none["oldest"], &none["newest"]), (&json!(0), &json!(2)));
}

#[test]
fn time_travel_goes_by_time() {
    let lakebed = trips();
    assert_eq!(ids(&lakebed, &["--timestamp", "-0s"]), [1, 2, 3]);
    let run = lakebed.ok(&["scan", "trips", "--timestamp", "-0s", "--json"]);
    assert!(run.stderr.contains("as of 2") && run.stderr.contains("Z: version 1"), "{run:?}");
    // The newest version stood at any time since, and nobody knows what will stand at a time to come.
    std::thread::sleep(std::time::Duration::from_millis(20));
    let just_now = jiff::Timestamp::now().to_string();
    assert_eq!(ids(&lakebed, &["--timestamp", &just_now]), [1, 2, 3]);
    assert_eq!(lakebed.json(&["changes", "trips", "--from", "0", "--to", &just_now]).as_array().unwrap().len(), 3);
    assert_eq!(lakebed.json(&["changes", "trips", "--from", &just_now]), json!([]));
    lakebed.fails(1, &["scan", "trips", "--timestamp", "2999-01-01T00:00:00Z"]);
    lakebed.fails(1, &["scan", "trips", "--timestamp", "1999-01-01T00:00:00Z"]);
    let told = lakebed.fails(2, &["scan", "trips", "--timestamp", "yesterday"]);
    assert!(told.contains("yesterday"), "{told}");
}

#[test]
fn prepared_delta_actions_are_committed() {
    let lakebed = trips();
    let add = r#"{"add":{"path":"x.parquet","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}"#;
    lakebed.write("p.json", format!("{{\"reads\":{{}},\"operation\":\"WRITE\"}}\n{add}\n"));
    let done = lakebed.json(&["commit", "trips", "p.json"]);
    assert_eq!((&done["outcome"], &done["version"]), (&json!("committed"), &json!(2)));
    assert_eq!(lakebed.json(&["show", "trips"])["num_files"], 2);
}

/// A commit whose data files are not there, or not whole, is refused where somebody asks for a look.
#[test]
fn the_files_of_a_prepared_commit_are_looked_for_where_asked() {
    let lakebed = trips();
    let add = |path: &str, size: usize| {
        let add = json!({"path": path, "partitionValues": {}, "size": size, "modificationTime": 1, "dataChange": true});
        lakebed.write("p.json", json!({"add": add}).to_string());
    };
    lakebed.write("trips/a b.parquet", "1234");
    for (path, size, told) in [("gone.parquet", 4, "is not below"), ("a%20b.parquet", 5, "has 4 bytes")] {
        add(path, size);
        let said = lakebed.fails(1, &["commit", "trips", "p.json", "--check-files"]);
        assert!(said.contains(path) && said.contains(told), "{said}");
        assert_eq!(lakebed.json(&["show", "trips"])["version"], 1);
    }
    add("a%20b.parquet", 4);
    assert_eq!(lakebed.json(&["commit", "trips", "p.json", "--check-files"])["version"], 2);
}

#[test]
fn the_history_tells_what_statements_were_told() {
    let lakebed = trips();
    lakebed.ok(&["delete", "trips", "--where", "id = 1"]);
    lakebed.ok(&["update", "trips", "--set", "city = 'Ulm'", "--where", "id > 2"]);
    let history = lakebed.json(&["history", "trips"]);
    assert_eq!(history[0]["parameters"], json!({"predicate": "[\"id > 2\"]"}));
    assert_eq!(history[1]["parameters"], json!({"predicate": "[\"id = 1\"]"}));
    assert_eq!(history[2]["parameters"]["mode"], "Append");
    let text = lakebed.ok(&["history", "trips"]).stdout;
    assert!(text.contains("DELETE (id = 1)") && text.contains("UPDATE (id > 2)"), "{text}");
    // A truncate of rows is a deletion; one of the whole table is what it says.
    lakebed.ok(&["truncate", "trips", "--where", "id = 2"]);
    lakebed.ok(&["truncate", "trips"]);
    let history = lakebed.json(&["history", "trips"]);
    assert_eq!((&history[0]["operation"], &history[1]["operation"]), (&json!("TRUNCATE"), &json!("DELETE")));
    assert_eq!(history[0]["metrics"]["numDeletedRows"], "1", "{history}");
    assert_eq!(ids(&lakebed, &[]), [0_i64; 0]);
}

/// What ours read may be an older version of the base: there the row that it deletes was still in a file of its own.
#[test]
fn an_older_version_of_the_base_can_be_named() {
    let lakebed = trips();
    lakebed.ok(&["set", "trips", "delta.isolationLevel=Serializable"]);
    lakebed.write("ours.json", json!({"commitInfo": {"operation": "WRITE", "operationParameters": {}}}).to_string());
    let level = |at: &[&str]| {
        let mut words = vec!["explain", "--policy", "delta", "--ours", "ours.json", "--base", "trips", "--rebased"];
        words.extend(at);
        let answer = lakebed.json(&words);
        answer["rebased"][0]["commitInfo"]["readVersion"].clone()
    };
    assert_eq!([level(&[]), level(&["--at", "1"]), level(&["--at", "0"])], [json!(2), json!(1), json!(0)]);
    let told =
        lakebed.fails(1, &["explain", "--policy", "delta", "--ours", "ours.json", "--base", "trips", "--at", "7"]);
    assert!(told.contains('7'), "{told}");
    lakebed.fails(2, &["explain", "--policy", "delta", "--ours", "ours.json", "--at", "1"]);
}

#[test]
fn a_lance_table_is_created_and_configured() {
    let lakebed = Lakebed::new();
    let made = lakebed.json(&["create", "t.lance", "--format", "lance", "--schema", "id long, s string"]);
    assert_eq!((&made["outcome"], &made["version"]), (&json!("committed"), &json!(1)));
    lakebed.ok(&["set", "t.lance", "k=v"]);
    let shown = lakebed.json(&["show", "t.lance", "--files"]);
    assert_eq!((&shown["format"], &shown["version"]), (&json!("lance"), &json!(2)));
    assert_eq!(shown["properties"], json!({"k": "v"}));
    assert_eq!(shown["schema"][0], json!({"name": "id", "type": "int64", "nullable": true}));
    assert_eq!((&shown["fragments"], &shown["indices"]), (&json!([]), &json!([])));
    assert!(shown["protocol"]["writer_flags"].is_u64());
    assert_eq!(shown["tags"], json!([]));
    std::fs::create_dir_all(lakebed.path("t.lance/_refs/tags")).unwrap();
    lakebed.write("t.lance/_refs/tags/first.json", r#"{"branch":null,"version":1,"manifestSize":9,"metadata":{}}"#);
    let tags = &lakebed.json(&["show", "t.lance", "--files"])["tags"];
    assert_eq!(*tags, json!([{"name": "first", "version": 1, "branch": null}]));
    let history = lakebed.json(&["history", "t.lance"]);
    assert_eq!((&history[0]["operation"], &history[0]["time_version"]), (&json!("UpdateConfig"), &json!(1)));
    lakebed.write("r.csv", "id,s\n1,a\n");
    for args in [&["append", "t.lance", "r.csv"][..], &["scan", "t.lance"], &["delete", "t.lance", "--where", "id = 1"]]
    {
        let told = lakebed.fails(1, args);
        assert!(told.contains("lance-data"), "{args:?}: {told}");
    }
}

#[test]
fn changes_tell_what_came_and_went_between_two_versions() {
    let lakebed = trips();
    lakebed.ok(&["delete", "trips", "--where", "city = 'Oslo'"]);
    let since = lakebed.json(&["changes", "trips", "--from", "1", "--to", "2"]);
    assert_eq!(since[0]["row"], rows(&lakebed, &["--version", "1", "--where", "city = 'Oslo'"])[0]);
    let all = lakebed.json(&["changes", "trips", "--from", "0", "--to", "2"]);
    let kinds: Vec<_> = all.as_array().unwrap().iter().map(|row| (&row["version"], &row["change"])).collect();
    let (one, two, insert, delete) = (json!(1), json!(2), json!("insert"), json!("delete"));
    assert_eq!(kinds, [(&one, &insert), (&one, &insert), (&one, &insert), (&two, &delete)]);
    assert_eq!(lakebed.json(&["changes", "trips", "--from", "2", "--to", "2"]), json!([]));
    assert!(lakebed.ok(&["changes", "trips", "--from", "1"]).stdout.contains("1 changed row"));
    let refused = lakebed.fails(1, &["changes", "trips", "--from", "2", "--to", "1"]);
    assert!(refused.contains("older version first"), "{refused}");
    let refused = lakebed.fails(1, &["changes", "trips", "--from", "0", "--to", "7"]);
    assert!(refused.contains("version 7"), "{refused}");
}

#[test]
fn an_update_sets_columns_from_the_old_row() {
    let lakebed = trips();
    let updated =
        lakebed.json(&["update", "trips", "--set", "fare = fare * 2", "--set", "city='Bergen'", "--where", "id = 2"]);
    assert_eq!((&updated["outcome"], &updated["version"]), (&json!("committed"), &json!(2)));
    assert_eq!(updated["metrics"]["rows_updated"], 1);
    let before = rows(&lakebed, &["--version", "1", "--where", "id = 2"])[0]["fare"].as_f64().unwrap();
    assert_eq!(rows(&lakebed, &["--where", "id = 2"]), json!([{"id": 2, "city": "Bergen", "fare": before * 2.0}]));
    assert_eq!(lakebed.json(&["update", "trips", "--set", "fare=0", "--where", "id > 99"])["outcome"], "nothing");
    lakebed.json(&["update", "trips", "--set", "fare=NULL"]);
    assert_eq!(rows(&lakebed, &["--where", "fare IS NULL"]).as_array().unwrap().len(), 3);
    let unknown = lakebed.fails(2, &["update", "trips", "--set", "fair=1"]);
    assert!(unknown.contains("fair") && unknown.contains("city"), "{unknown}");
    assert!(lakebed.fails(2, &["update", "trips", "--set", "fare"]).contains("column = expression"));
    assert!(lakebed.fails(1, &["update", "trips", "--set", "id=NULL"]).contains("column id may not be NULL"));
}

#[test]
fn a_merge_goes_by_key() {
    let lakebed = trips();
    lakebed.write("new.jsonl", "{\"id\":3,\"fare\":70}\n{\"id\":4,\"city\":\"Rome\",\"fare\":1}\n");
    let merged = lakebed.json(&["merge", "trips", "new.jsonl", "--on", "id"]);
    assert_eq!((&merged["metrics"]["rows_updated"], &merged["metrics"]["rows_inserted"]), (&json!(1), &json!(1)));
    // The file names the city in one of its rows, so a row that does not name it has none.
    assert_eq!(rows(&lakebed, &["--where", "id = 3"]), json!([{"id": 3, "city": null, "fare": 70.0}]));
    assert_eq!(ids(&lakebed, &[]), [1, 2, 3, 4]);
    lakebed.write("fares.csv", "id,fare\n4,9\n");
    lakebed.json(&["merge", "trips", "fares.csv", "--on", "id", "--not-matched", "ignore"]);
    assert_eq!(
        rows(&lakebed, &["--where", "id = 4"]),
        json!([{"id": 4, "city": "Rome", "fare": 9.0}]),
        "the city stays"
    );
    lakebed.write("gone.csv", "id\n1\n2\n77\n");
    lakebed.json(&["merge", "trips", "gone.csv", "--on", "id", "--matched", "delete", "--not-matched", "ignore"]);
    assert_eq!(ids(&lakebed, &[]), [3, 4]);
    let twice = lakebed.fails(1, &["merge", "trips", "twice.jsonl", "--on", "id"]);
    assert!(twice.contains("twice.jsonl"), "{twice}");
    assert!(lakebed.fails(1, &["merge", "trips", "new.jsonl", "--on", "trip"]).contains("id, city, fare"));
    assert_eq!(lakebed.json(&["history", "trips", "--limit", "1"])[0]["operation"], "MERGE");
}

#[test]
fn a_merge_takes_out_what_the_file_does_not_have() {
    let lakebed = trips();
    lakebed.write("kept.jsonl", "{\"id\":1,\"fare\":5}\n{\"id\":9,\"city\":\"Rome\",\"fare\":1}\n");
    let merge = ["merge", "trips", "kept.jsonl", "--on", "id", "--not-matched-by-source", "delete"];
    let merged = lakebed.json(&[&merge[..], &["--by-source-where", "id = 2"]].concat());
    assert_eq!(
        ["rows_updated", "rows_inserted", "rows_deleted"].map(|name| merged["metrics"][name].clone()),
        [json!(1), json!(1), json!(1)]
    );
    assert_eq!(ids(&lakebed, &[]), [1, 3, 9]);
    lakebed.json(&merge);
    assert_eq!(ids(&lakebed, &[]), [1, 9]);
    let useless = ["merge", "trips", "kept.jsonl", "--on", "id", "--by-source-where", "id = 2"];
    assert!(lakebed.fails(2, &useless).contains("--not-matched-by-source delete"));
    let unknown = lakebed.fails(2, &[&merge[..], &["--by-source-where", "town = 'x'"]].concat());
    assert!(unknown.contains("town") && unknown.contains("city"), "{unknown}");
}

#[test]
fn a_table_with_deletion_vectors_keeps_its_files() {
    let lakebed = trips();
    lakebed.ok(&["set", "trips", "delta.enableDeletionVectors=true"]);
    let deleted = lakebed.json(&["delete", "trips", "--where", "id = 1"]);
    assert_eq!(
        (&deleted["metrics"]["deletion_vectors_added"], &deleted["metrics"]["files_removed"]),
        (&json!(1), &json!(0))
    );
    let shown = lakebed.json(&["show", "trips"]);
    assert_eq!(
        (&shown["num_files"], &shown["num_rows"], &shown["num_deleted_rows"]),
        (&json!(1), &json!(2), &json!(1))
    );
    assert_eq!(ids(&lakebed, &[]), [2, 3]);
}
