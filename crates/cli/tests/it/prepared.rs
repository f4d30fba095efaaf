//! Transactions that pylance prepared, committed through the program.

use crate::common::{Lakebed, conformance};
use lakebed_naming::Version;
use lakebed_naming::lance::{Scheme, manifest_path};
use serde_json::json;

/// A table whose only version is the one that the prepared transactions were built on.
fn table() -> Option<(Lakebed, impl Fn(&str, &str) -> String)> {
    let folder = conformance("lance-conflicts")?;
    let lakebed = Lakebed::new();
    let manifest = lakebed.path("t.lance").join(manifest_path(Scheme::V2, Version::new(4)));
    std::fs::create_dir_all(manifest.parent().unwrap()).unwrap();
    std::fs::copy(folder.join("base.manifest"), manifest).unwrap();
    let file = move |side: &str, name: &str| folder.join(side).join(format!("{name}.txn")).display().to_string();
    Some((lakebed, file))
}

#[test]
fn a_prepared_append_adds_its_fragment() {
    let Some((lakebed, file)) = table() else { return };
    let before = lakebed.json(&["show", "t.lance"]);
    assert_eq!(before["version"], 4);
    let done = lakebed.json(&["commit", "t.lance", &file("ours", "append")]);
    assert_eq!((&done["outcome"], &done["version"]), (&json!("committed"), &json!(5)));
    let after = lakebed.json(&["show", "t.lance", "--files"]);
    assert_eq!(after["num_files"].as_u64(), before["num_files"].as_u64().map(|files| files + 1));
    assert_eq!(after["fragments"].as_array().unwrap().len() as u64, after["num_files"].as_u64().unwrap());
    let found = lakebed.json(&["outcome", "t.lance", done["transaction_id"].as_str().unwrap()]);
    assert_eq!(found["version"], 5);
}

#[test]
fn the_exit_status_is_the_kind_of_conflict() {
    for (landed, ours, code, verdict) in [
        ("append", "append", 0, None),
        ("append", "merge", 3, Some("retryable")),
        ("overwrite", "append", 4, Some("incompatible")),
    ] {
        let Some((lakebed, file)) = table() else { return };
        lakebed.ok(&["commit", "t.lance", &file("landed", landed)]);
        let run = lakebed.run(&["commit", "t.lance", &file("ours", ours), "--policy", "lance", "--json"]);
        assert_eq!(run.code, code, "{ours} after {landed}: {run:?}");
        let answer = run.json();
        match verdict {
            None => assert_eq!((&answer["outcome"], &answer["version"]), (&json!("committed"), &json!(6))),
            Some(verdict) => {
                assert_eq!((&answer["outcome"], &answer["verdict"]), (&json!("conflict"), &json!(verdict)));
                assert_eq!((&answer["with_version"], &answer["policy"]), (&json!(5), &json!("lance@14")));
                assert!(run.stderr.contains("version 5"), "{run:?}");
                assert_eq!(lakebed.json(&["show", "t.lance"])["version"], 5);
            }
        }
    }
}
