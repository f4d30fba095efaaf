//! Every command of the program that a page shows in full does what it says, on a table of trips. The quick start is a script of its own, see
//! `readme.rs`.

use crate::common::{Lakebed, trips};
use crate::docs::{commands, is_program, pages, root, words};
use serde_json::json;

/// A commit that read nothing, on a version that others followed.
const OURS: &str = r#"{"commitInfo":{"operation":"WRITE","readVersion":1}}
{"add":{"path":"x.parquet","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}
"#;

/// The newest entry of the log.
const LANDED: &str = "trips/_delta_log/00000000000000000002.json";

/// A table at version 2, and a commit for it.
fn deleted() -> Lakebed {
    let lakebed = trips();
    lakebed.ok(&["delete", "trips", "--where", "city = 'Oslo'"]);
    lakebed.write("ours.json", OURS);
    lakebed
}

/// A command with its placeholders filled in; of others nothing is known here, and the program will not take them.
fn filled_in(lakebed: &Lakebed, command: &str) -> Vec<String> {
    let id = || lakebed.json(&["history", "trips"])[0]["transaction_id"].as_str().unwrap().to_owned();
    let is_new = command.contains(" create ");
    let one = |word: &str| match word {
        "TABLE" if is_new => "new".to_owned(),
        "TABLE" | "/tmp/measurements" => "trips".to_owned(),
        "FILE" => "ours.json".to_owned(),
        "FILE.csv" => "trips.csv".to_owned(),
        "00000000000000000007.json" => LANDED.to_owned(),
        "ID" => id(),
        "POLICY" => "precise".to_owned(),
        "URL" | "s3://bucket/folder" => "store".to_owned(),
        "delta.isolationLevel=…" => "delta.isolationLevel=WriteSerializable".to_owned(),
        other => other.to_owned(),
    };
    words(command).into_iter().skip(1).map(one).collect()
}

/// Whether a command is shown whole: more than the name of one, and not a line of the quick start.
fn is_whole(command: &str) -> bool {
    let words = words(command);
    let says_more = words.len() > 2 && !words[1].starts_with('-');
    words.first().is_some_and(|word| is_program(word))
        && (says_more || command == "lakebed help")
        && !command.contains("/tmp/trips")
}

#[test]
fn every_whole_command_of_the_pages_runs() {
    let mut ran = Vec::new();
    // What has changed is told there, in parts of commands.
    for (page, text) in pages().into_iter().filter(|(page, _)| !page.ends_with("CHANGELOG.md")) {
        for command in commands(&text).into_iter().filter(|command| is_whole(command)) {
            let lakebed = deleted();
            let args = filled_in(&lakebed, &command);
            let run = lakebed.run(&args.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(run.code, 0, "{page}: `{command}`, as {args:?}: {run:?}");
            assert!(!run.stdout.is_empty(), "{page}: `{command}` says nothing");
            ran.push(command);
        }
    }
    for name in ["create", "commit", "explain", "help", "history", "outcome", "probe", "rules", "set", "show"] {
        assert!(ran.iter().any(|command| words(command)[1] == name), "no page shows {name}: {ran:?}");
    }
}

/// The lines of docs/prepared-commits.md are a commit, which lands once.
#[test]
fn the_lines_of_the_page_on_prepared_commits_land_once() {
    let page = std::fs::read_to_string(root().join("docs/prepared-commits.md")).unwrap();
    let block =
        page.split("```").find(|block| block.trim_start().starts_with("{\"reads\"")).expect("the page has lines");
    assert!(block.contains("\"readVersion\":41"), "{block}");
    let lakebed = Lakebed::new();
    let columns = "id long, city string";
    lakebed.ok(&["create", "trips", "--format", "delta", "--schema", columns, "--partition-by", "city"]);
    lakebed.write("job.json", block.trim_start().replace("\"readVersion\":41", "\"readVersion\":0"));
    let first = lakebed.json(&["commit", "trips", "job.json"]);
    let again = lakebed.json(&["commit", "trips", "job.json"]);
    assert_eq!((&first["version"], &again["version"]), (&json!(1), &json!(1)), "{first} {again}");
    assert_eq!(lakebed.json(&["show", "trips"])["version"], 1);
    let entry = std::fs::read_to_string(lakebed.path("trips/_delta_log/00000000000000000001.json")).unwrap();
    for told in ["nightly", "0f2c6a1e-0000-4000-8000-000000000001", "city=Rom/part-0.parquet"] {
        assert!(entry.contains(told), "{told}: {entry}");
    }
    // Somebody puts a file into what it read: with an id of its own it would be refused.
    lakebed.write("rome.csv", "id,city\n1,Rom\n");
    lakebed.ok(&["append", "trips", "rome.csv"]);
    let other = block.trim_start().replace("000000000001", "000000000002").replace("\"version\":7", "\"version\":8");
    lakebed.write("other.json", other.replace("\"readVersion\":41", "\"readVersion\":1").replace("part-0", "part-1"));
    let refused = lakebed.run(&["commit", "trips", "other.json"]);
    assert_eq!(refused.code, 3, "{refused:?}");
    assert!(refused.stderr.contains("version 2"), "{refused:?}");
}

/// The explanation of docs/precise.md: the last commit of a table against one of ours.
#[test]
fn the_page_of_the_strict_policy_runs() {
    let lakebed = deleted();
    let page = std::fs::read_to_string(root().join("docs/precise.md")).unwrap();
    let shown = commands(&page).into_iter().find(|command| command.starts_with("lakebed explain --policy precise"));
    let shown = shown.expect("the page shows an explanation");
    let ours = r#"{"reads":{"predicates":[["city = 'Oslo'"]]},"operation":"WRITE"}"#;
    let add = r#"{"add":{"path":"x.parquet","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}"#;
    lakebed.write("ours.json", format!("{ours}\n{add}\n"));
    let command = shown.replace("00000000000000000007.json", LANDED).replace("TABLE", "trips");
    let args: Vec<&str> = words(&command).into_iter().skip(1).filter(|word| *word != "--json").collect();
    let explained = lakebed.json(&args);
    assert_eq!(
        (&explained["policy"], &explained["landed_index"].is_null()),
        (&json!("precise"), &(explained["verdict"] == "compatible"))
    );
    assert!(["retryable", "need-facts", "compatible"].contains(&explained["verdict"].as_str().unwrap()), "{explained}");
}
