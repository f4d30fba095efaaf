//! Tags, branches and names of Lance tables.

use crate::common::Lakebed;
use serde_json::{Value, json};

/// A Lance table of three versions.
fn three_versions() -> Lakebed {
    let lakebed = Lakebed::new();
    lakebed.ok(&["create", "t.lance", "--format", "lance", "--schema", "id long, s string"]);
    lakebed.ok(&["set", "t.lance", "a=1"]);
    lakebed.ok(&["set", "t.lance", "a=2"]);
    lakebed
}

#[test]
fn tags_name_versions() {
    let lakebed = three_versions();
    let added = lakebed.json(&["tag", "t.lance", "add", "v1", "--version", "2"]);
    assert_eq!(added, json!({"name": "v1", "version": 2, "branch": null}));
    lakebed.ok(&["tag", "t.lance", "add", "now"]);
    let show = |args: &[&str]| lakebed.json(&[&["show", "t.lance"], args].concat());
    assert_eq!(
        (&show(&["--tag", "v1"])["version"], &show(&["--tag", "v1"])["properties"]["a"]),
        (&json!(2), &json!("1"))
    );
    let listed = lakebed.json(&["tag", "t.lance", "list"]);
    assert_eq!(
        listed,
        json!([{"name": "now", "version": 3, "branch": null}, {"name": "v1", "version": 2, "branch": null}])
    );
    assert_eq!(show(&["--files"])["tags"], listed);
    assert_eq!(lakebed.json(&["tag", "t.lance", "move", "v1", "--version", "1"])["version"], 1);
    assert_eq!(lakebed.json(&["tag", "t.lance", "move", "v1"])["version"], 3);
    lakebed.ok(&["tag", "t.lance", "remove", "now"]);
    assert!(lakebed.fails(1, &["show", "t.lance", "--tag", "now"]).contains("no tag now"));
    assert!(lakebed.fails(2, &["tag", "t.lance", "add", "v1"]).contains("already"));
    assert!(lakebed.fails(2, &["tag", "t.lance", "add", "a/b"]).contains("a/b"));
    assert!(lakebed.fails(1, &["tag", "t.lance", "add", "v9", "--version", "9"]).contains("version 9"));
    lakebed.fails(2, &["show", "t.lance", "--tag", "v1", "--version", "1"]);
    assert!(lakebed.ok(&["tag", "t.lance", "list"]).stdout.contains("v1"));
}

#[test]
fn branches_go_their_own_way() {
    let lakebed = three_versions();
    lakebed.ok(&["tag", "t.lance", "add", "v1", "--version", "2"]);
    let made = lakebed.json(&["branch", "t.lance", "create", "dev/x", "--tag", "v1"]);
    assert_eq!(made, json!({"name": "dev/x", "version": 2, "table": "t.lance/tree/dev/x"}));
    lakebed.ok(&["set", "t.lance/tree/dev/x", "b=1"]);
    let branch = lakebed.json(&["show", "t.lance/tree/dev/x"]);
    assert_eq!((&branch["version"], &branch["properties"]), (&json!(3), &json!({"a": "1", "b": "1"})));
    assert_eq!(lakebed.json(&["show", "t.lance"])["properties"], json!({"a": "2"}));
    // Tags and branches belong to the table, whichever of its lines is named.
    lakebed.ok(&["tag", "t.lance/tree/dev/x", "add", "there"]);
    let tags: Value = lakebed.json(&["tag", "t.lance", "list"]);
    assert_eq!(tags[0], json!({"name": "there", "version": 3, "branch": "dev/x"}));
    // Field case 75: a tag on a branch is opened from everywhere.
    for table in ["t.lance", "t.lance/tree/dev/x"] {
        assert_eq!(lakebed.json(&["show", table, "--tag", "there"])["properties"]["b"], "1");
        assert_eq!(lakebed.json(&["show", table, "--tag", "v1"])["version"], 2);
    }
    lakebed.ok(&["tag", "t.lance/tree/dev/x", "add", "older", "--version", "2"]);
    for (table, asked) in [
        ("t.lance", ["--tag", "older"]),
        ("t.lance/tree/dev/x", ["--tag", "older"]),
        ("t.lance/tree/dev/x", ["--version", "2"]),
    ] {
        let shown = lakebed.json(&["show", table, asked[0], asked[1]]);
        assert_eq!((&shown["version"], &shown["properties"]), (&json!(2), &json!({"a": "1"})), "{table} {asked:?}");
    }
    lakebed.ok(&["tag", "t.lance", "remove", "older"]);
    let branches = lakebed.json(&["branch", "t.lance", "list"]);
    assert_eq!((&branches[0]["name"], &branches[0]["parent_version"]), (&json!("dev/x"), &json!(2)));
    assert!(lakebed.fails(2, &["branch", "t.lance", "remove", "dev/x"]).contains("tag there"));
    lakebed.ok(&["tag", "t.lance", "remove", "there"]);
    lakebed.ok(&["branch", "t.lance", "remove", "dev/x"]);
    assert!(lakebed.fails(1, &["show", "t.lance/tree/dev/x"]).contains("no "));
    assert!(lakebed.fails(2, &["branch", "t.lance", "create", "main"]).contains("main"));
    assert!(lakebed.ok(&["branch", "t.lance", "list"]).stdout.contains("branch"));
}

#[test]
fn old_names_become_new_ones() {
    let lakebed = three_versions();
    assert_eq!(lakebed.json(&["migrate-naming", "t.lance"]), json!({"renamed": 0, "version": 3}));
    let versions = lakebed.path("t.lance/_versions");
    for version in 1..=3_u64 {
        let new = versions.join(format!("{:020}.manifest", u64::MAX - version));
        std::fs::rename(new, versions.join(format!("{version}.manifest"))).unwrap();
    }
    lakebed.ok(&["set", "t.lance", "a=3"]);
    assert!(versions.join("4.manifest").is_file());
    // A stop in the middle: a mark, and version 4 under both names.
    std::fs::copy(versions.join("4.manifest"), versions.join(format!("{:020}.manifest", u64::MAX - 4))).unwrap();
    assert_eq!(lakebed.json(&["show", "t.lance"])["version"], 4);
    assert!(lakebed.fails(1, &["set", "t.lance", "a=4"]).contains("resume migrate-naming"));
    assert_eq!(lakebed.json(&["migrate-naming", "t.lance"]), json!({"renamed": 4, "version": 4}));
    lakebed.ok(&["set", "t.lance", "a=4"]);
    assert_eq!(lakebed.json(&["history", "t.lance"]).as_array().unwrap().len(), 5);
}

#[test]
fn old_versions_are_restored_and_cleaned_up() {
    let lakebed = three_versions();
    assert_eq!(lakebed.json(&["restore", "t.lance", "--version", "2"])["version"], 4);
    assert_eq!(lakebed.json(&["show", "t.lance"])["properties"], json!({"a": "1"}));
    // Everything is young, so that no number is freed, whatever is asked for.
    assert_eq!(lakebed.json(&["vacuum", "t.lance"])["num_files"], 0);
    assert!(lakebed.fails(1, &["vacuum", "t.lance", "--retain", "1ms"]).contains("an hour"));
    let short = ["vacuum", "t.lance", "--retain", "1ms", "--allow-shorter"];
    assert_eq!(lakebed.json(&short)["num_files"], 0);
    lakebed.ok(&["tag", "t.lance", "add", "keep", "--version", "1"]);
    // The year 2001 is beyond any retention.
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    for folder in ["_versions", "_transactions"] {
        for entry in std::fs::read_dir(lakebed.path("t.lance").join(folder)).unwrap() {
            let file = std::fs::File::options().write(true).open(entry.unwrap().path()).unwrap();
            file.set_modified(long_ago).unwrap();
        }
    }
    // Two versions, and the files of their transactions.
    let planned = lakebed.json(&["vacuum", "t.lance", "--dry-run"]);
    assert_eq!(planned["num_files"], 4);
    assert_eq!(lakebed.json(&["vacuum", "t.lance"])["files"], planned["files"]);
    let left = lakebed.json(&["history", "t.lance"]);
    let left: Vec<_> = left.as_array().unwrap().iter().map(|entry| entry["version"].as_u64().unwrap()).collect();
    assert_eq!(left, [4, 1]);
    assert!(lakebed.fails(1, &["clean-log", "t.lance"]).contains("vacuum"));
}
