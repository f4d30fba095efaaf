//! The commands of README.md are true.

use crate::common::Lakebed;
use serde_json::json;
use std::path::Path;
use std::process::Command;

/// The blocks of commands of a section of README.md.
fn blocks(title: &str) -> Vec<String> {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    let section = readme.split(title).nth(1).expect("the section");
    let section = section.split("\n## ").next().unwrap_or(section);
    section.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

#[test]
fn the_quick_start_runs_as_written() {
    let lakebed = Lakebed::new();
    let place = lakebed.dir.path().display().to_string();
    // The build is what made this test's binary; the place is this test's own.
    let script: Vec<String> = blocks("## A table of your own")
        .iter()
        .flat_map(|block| block.lines().map(|line| line.replace("/tmp/", &format!("{place}/"))).collect::<Vec<_>>())
        .filter(|line| !line.starts_with("cargo "))
        .collect();
    let uses = |command: &str| script.iter().any(|line| line.starts_with(&format!("lakebed {command} ")));
    // A table from a CSV, a mistake, time travel, a conflict and its explanation.
    for command in ["create", "append", "delete", "scan", "history", "restore", "diff", "commit", "explain"] {
        assert!(uses(command), "{command}: {script:?}");
    }
    let bin = Path::new(env!("CARGO_BIN_EXE_lakebed")).parent().unwrap().display().to_string();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap_or_default());
    let script = format!("set -e\n{}\n", script.join("\n"));
    let output = Command::new("sh").arg("-c").arg(&script).env("PATH", path).output().unwrap();
    let (told, said) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{script}\n{said}");
    assert!(told.contains("refused with status 3"), "{told}");
    assert!(said.contains("version 2") && said.contains("read the newest version"), "{said}");
    assert!(told.contains("retryable"), "the explanation: {told}");
    let rows = lakebed.json(&["scan", "trips"]);
    assert_eq!(rows, json!([{"id": 1, "city": "Lyon", "fare": 12.5}, {"id": 3, "city": "Lyon", "fare": 7.0}]));
    assert_eq!(lakebed.json(&["show", "trips"])["version"], 4);
}
