//! Looks at a table as a whole, and help for shells.

use crate::common::{Lakebed, trips};
use serde_json::{Value, json};

#[test]
fn verify_ends_with_0_on_a_sound_table_and_1_on_damage() {
    let lakebed = trips();
    lakebed.write("trips/stray.parquet", "x");
    let sound = lakebed.json(&["verify", "trips"]);
    assert_eq!((&sound["sound"], &sound["last_version"], &sound["findings"]), (&json!(true), &json!(1), &json!([])));
    assert_eq!(sound["strays"], json!([{"name": "stray.parquet", "size_bytes": 1}]));
    let file = lakebed.json(&["show", "trips", "--files"])["files"][0]["path"].as_str().unwrap().to_owned();
    std::fs::remove_file(lakebed.path("trips").join(&file)).unwrap();
    let run = lakebed.run(&["verify", "trips", "--json"]);
    assert_eq!(run.code, 1);
    let finding = &run.json()["findings"][0];
    assert_eq!(
        (&finding["kind"], &finding["object"], &finding["version"]),
        (&json!("missing"), &json!(file), &json!(1))
    );
    let run = lakebed.run(&["verify", "trips"]);
    assert!(run.code == 1 && run.stdout.contains(&file) && run.stdout.contains("restore"), "{run:?}");
}

#[test]
fn diff_tells_what_differs() {
    let lakebed = trips();
    lakebed.ok(&["columns", "trips", "add", "tip double"]);
    lakebed.ok(&["set", "trips", "owner=us"]);
    lakebed.ok(&["delete", "trips", "--where", "id = 1"]);
    let diff = lakebed.json(&["diff", "trips", "1", "4"]);
    assert_eq!((&diff["from"], &diff["to"], &diff["num_rows"]), (&json!(1), &json!(4), &json!([3, 2])));
    assert_eq!(
        diff["schema"],
        json!({"added": [{"name": "tip", "type": "double", "nullable": true}], "removed": [], "changed": []})
    );
    assert_eq!(diff["properties"], json!({"set": {"owner": [null, "us"]}, "unset": []}));
    assert_eq!(
        (diff["files"]["added"].as_array().unwrap().len(), diff["files"]["removed"].as_array().unwrap().len()),
        (1, 1)
    );
    assert_eq!(diff["protocol"], Value::Null);
    let back = lakebed.json(&["diff", "trips", "4", "1"]);
    assert_eq!(back["schema"]["removed"][0]["name"], "tip");
    assert_eq!(back["properties"]["unset"], json!(["owner"]));
    let run = lakebed.ok(&["diff", "trips", "1", "4"]);
    assert!(run.stdout.contains("+ column tip double") && run.stdout.contains("rows: 3 → 2"), "{run:?}");
    let same = lakebed.json(&["diff", "trips", "4", "4"]);
    assert_eq!(same["files"], json!({"added": [], "removed": [], "changed": []}));
}

#[test]
fn stats_counts_commits_and_gives_advice() {
    let lakebed = trips();
    for _ in 0..17 {
        lakebed.ok(&["append", "trips", "trips.csv"]);
    }
    let stats = lakebed.json(&["stats", "trips"]);
    assert_eq!((&stats["commits"], &stats["attempts"], &stats["conflict_rate"]), (&json!(19), &json!(19), &json!(0.0)));
    assert_eq!((&stats["num_files"], &stats["num_rows"], &stats["pairs"]), (&json!(18), &json!(54), &json!([])));
    assert!(stats["advice"].to_string().contains("compact"), "{stats}");
    lakebed.ok(&["compact", "trips"]);
    assert!(!lakebed.json(&["stats", "trips"])["advice"].to_string().contains("compact"));
    assert!(lakebed.ok(&["stats", "trips", "--limit", "3"]).stdout.contains("3 commits"));
}

#[test]
fn shells_and_readers_of_manuals_are_helped() {
    let lakebed = Lakebed::new();
    for (shell, word) in [("bash", "complete -F"), ("zsh", "#compdef lakebed"), ("fish", "complete -c lakebed")] {
        let script = lakebed.ok(&["completions", shell]).stdout;
        assert!(script.contains(word) && script.contains("cluster-by"), "{shell}");
    }
    let page = lakebed.ok(&["man"]).stdout;
    assert!(page.contains(".TH lakebed 1") && page.contains("lakebed\\-compact"), "{page}");
    let page = lakebed.ok(&["man", "compact"]).stdout;
    assert!(page.contains("cluster\\-by") && page.contains("minor"), "{page}");
    assert_eq!(lakebed.run(&["man", "nonsense"]).code, 2);
}
