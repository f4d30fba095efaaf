//! Exit statuses and what errors say.

use crate::common::{Lakebed, trips};
use serde_json::json;

const ADD: &str =
    r#"{"add":{"path":"x.parquet","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}"#;

#[test]
fn errors_name_the_object_and_the_next_step() {
    let lakebed = trips();
    let told = lakebed.fails(1, &["show", "nowhere"]);
    assert!(told.contains("nowhere") && told.contains("create"), "{told}");
    assert!(!lakebed.path("nowhere").exists(), "looking makes nothing");
    let told = lakebed.fails(1, &["append", "trips", "missing.csv"]);
    assert!(told.contains("missing.csv"), "{told}");
    let told = lakebed.fails(1, &["scan", "trips", "--version", "9"]);
    assert!(told.contains("version 9") && told.contains('1'), "{told}");
    let told = lakebed.fails(1, &["show", "gopher://x/y"]);
    assert!(told.contains("gopher"), "{told}");
}

/// What a newcomer gets wrong first, in the words that the newcomer used.
#[test]
fn slips_are_answered_in_the_users_words() {
    let lakebed = trips();
    lakebed.write("words.csv", "id,city,fare\nfour,Rom,1\n");
    let told = lakebed.fails(1, &["append", "trips", "words.csv"]);
    assert!(told.contains("'four' is not a value of type long"), "{told}");
    let told = lakebed.fails(2, &["scan", "trips", "--where", "city = Oslo"]);
    assert!(told.contains("id, city, fare") && told.contains("single quotes"), "{told}");
    lakebed.write("twice.csv", "id,city,fare\n1,Rom,1\n1,Bonn,2\n");
    let told = lakebed.fails(1, &["merge", "trips", "twice.csv", "--on", "id"]);
    assert!(told.contains("two rows of the source have the key id = 1;"), "{told}");
    let told = lakebed.fails(2, &["create", "other", "--format", "delta", "--schema", "name varchar(10)"]);
    assert!(told.contains("varchar") && told.contains("string"), "{told}");
    // The time that the history shows to programs is one that it takes.
    let history = lakebed.json(&["history", "trips"]);
    for entry in history.as_array().unwrap() {
        let shown = lakebed.json(&["show", "trips", "--timestamp", &entry["timestamp_ms"].to_string()]);
        assert_eq!(shown["version"], entry["version"], "{history}");
    }
}

/// In words for people, as an object for programs; usage errors too.
#[test]
fn errors_are_objects_where_json_is_asked_for() {
    let lakebed = trips();
    let run = lakebed.run(&["show", "nowhere"]);
    assert!(run.stderr.starts_with("lakebed: ") && run.code == 1, "{run:?}");
    assert!(lakebed.fails(2, &["append"]).contains("<TABLE>"));
    assert!(lakebed.fails(2, &["no-such-command"]).contains("no-such-command"));
    let run = lakebed.run(&["append"]);
    assert!(run.stderr.starts_with("error: ") && run.code == 2, "{run:?}");
    assert!(lakebed.ok(&["help"]).stdout.contains("history"));
}

#[test]
fn an_existing_table_is_an_incompatible_conflict() {
    let lakebed = trips();
    let run = lakebed.run(&["create", "trips", "--format", "delta", "--schema", "id long", "--json"]);
    assert_eq!(run.code, 4, "{run:?}");
    let answer = run.json();
    assert_eq!((&answer["outcome"], &answer["version"]), (&json!("conflict"), &json!(null)));
    assert!(answer["reason"].as_str().unwrap().contains("exists"), "{answer}");
    assert_eq!(lakebed.json(&["show", "trips"])["version"], 1);
    lakebed.fails(1, &["create", "trips", "--format", "lance", "--schema", "id long"]);
}

#[test]
fn a_stale_reader_is_a_retryable_conflict() {
    let lakebed = trips();
    let stale = r#"{"commitInfo":{"operation":"WRITE","readVersion":0}}"#;
    let reads = r#"{"reads":{"predicates":[["city = 'Rom'"]]},"operation":"WRITE"}"#;
    lakebed.write("p.json", format!("{reads}\n{stale}\n{ADD}\n"));
    let run = lakebed.run(&["commit", "trips", "p.json", "--policy", "delta-serializable", "--json"]);
    assert_eq!(run.code, 3, "{run:?}");
    let answer = run.json();
    assert_eq!(answer["outcome"], "conflict");
    assert_eq!(answer["with_version"], 1);
    assert_eq!(answer["check"], "added-files");
    assert_eq!(answer["verdict"], "retryable");
    let told = &run.stderr;
    assert!(told.contains("version 1") && told.contains("read the newest version"), "{told}");
    assert_eq!(lakebed.json(&["show", "trips"])["version"], 1);
    // Rows decide by default, and none of version 1 is of that city.
    assert_eq!(lakebed.json(&["commit", "trips", "p.json"])["outcome"], "committed");
}

#[test]
fn retries_run_out() {
    let lakebed = trips();
    let stale = r#"{"commitInfo":{"operation":"WRITE","readVersion":0}}"#;
    lakebed.write("p.json", format!("{{\"reads\":{{}},\"operation\":\"WRITE\"}}\n{stale}\n{ADD}\n"));
    let run = lakebed.run(&["commit", "trips", "p.json", "--retries", "0", "--json"]);
    assert_eq!(run.code, 6, "{run:?}");
    assert_eq!(run.json()["outcome"], "exhausted");
    let run = lakebed.json(&["commit", "trips", "p.json"]);
    assert_eq!((&run["outcome"], &run["version"]), (&json!("committed"), &json!(2)));
}

#[test]
fn an_index_that_is_not_there_is_not_ignored() {
    let lakebed = trips();
    for index in
        ["redis://user:secret@127.0.0.1:1", "acme://user:secret@host", "dynamodb:", "sqlite:/no/such/folder/secret"]
    {
        let told = lakebed.fails(1, &["set", "trips", "a=b", "--index", index]);
        let hidden = index.starts_with("sqlite") || !told.contains("secret");
        assert!((told.contains("index") || told.contains("sqlite")) && hidden, "{told}");
    }
}

/// Both spellings of the flag, the variable, and a reader without the index, who sees what was finished.
#[test]
fn commits_go_through_an_index() {
    let lakebed = trips();
    let index = format!("sqlite:{}", lakebed.path("index.db").display());
    let run = lakebed.json(&["set", "trips", "a=b", "--index", &index]);
    assert_eq!((&run["outcome"], &run["version"]), (&json!("committed"), &json!(2)));
    let run = lakebed.json(&["--index", &index, "set", "trips", "a=c"]);
    assert_eq!((&run["outcome"], &run["version"]), (&json!("committed"), &json!(3)));
    assert_eq!(lakebed.json(&["show", "trips"])["version"], json!(3));
    let rows = std::fs::read(lakebed.path("index.db")).map(|bytes| bytes.len());
    assert!(rows.is_ok_and(|length| length > 0));
}

#[test]
fn a_lance_table_takes_lance_transactions_only() {
    let lakebed = Lakebed::new();
    lakebed.ok(&["create", "t.lance", "--format", "lance", "--schema", "id long"]);
    lakebed.write("p.json", ADD);
    let told = lakebed.fails(2, &["commit", "t.lance", "p.json"]);
    assert!(told.contains("lance") && told.contains("delta"), "{told}");
    lakebed.write("p.txn", [0xff; 9]);
    let told = lakebed.fails(1, &["commit", "t.lance", "p.txn"]);
    assert!(told.contains("transaction"), "{told}");
}
