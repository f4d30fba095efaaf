//! The commands of README.md are true.

use crate::common::Lakebed;
use serde_json::json;
use std::path::Path;
use std::process::Command;

#[test]
fn the_quick_start_runs_as_written() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md")).unwrap();
    let section = readme.split("## A table of your own").nth(1).expect("the section");
    let script =
        section.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block of commands");
    // The build is what made this test's binary; the place is this test's own.
    let lakebed = Lakebed::new();
    let place = lakebed.dir.path().display().to_string();
    let commands: Vec<String> = script
        .lines()
        .filter(|line| !line.starts_with("cargo "))
        .map(|line| line.replace("/tmp/", &format!("{place}/")))
        .collect();
    assert!(commands.iter().filter(|line| line.starts_with("lakebed ")).count() >= 6, "{commands:?}");
    let bin = Path::new(env!("CARGO_BIN_EXE_lakebed")).parent().unwrap().display().to_string();
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap_or_default());
    let script = format!("set -e\n{}\n", commands.join("\n"));
    let output = Command::new("sh").arg("-c").arg(&script).env("PATH", path).output().unwrap();
    assert!(output.status.success(), "{script}\n{}", String::from_utf8_lossy(&output.stderr));
    let rows = lakebed.json(&["scan", "trips"]);
    assert_eq!(rows, json!([{"id": 1, "city": "Lyon", "fare": 12.5}, {"id": 3, "city": "Lyon", "fare": 7.0}]));
}
