//! Commits of which nobody could be told.

use crate::common::{Lakebed, trips};
use std::fs::OpenOptions;
use std::path::Path;
use std::process::{Command, Stdio};

const ROW: &str = r#"{"id":4,"city":"Rom","fare":1}"#;

/// A standard output that takes nothing, where the system has one.
fn full() -> Option<Stdio> {
    if !Path::new("/dev/full").exists() {
        println!("skipped: no /dev/full");
        return None;
    }
    Some(OpenOptions::new().write(true).open("/dev/full").unwrap().into())
}

#[test]
fn a_commit_is_told_on_standard_error_when_its_answer_cannot_be_written() {
    let lakebed = trips();
    let runs: [(&[&str], &str); 3] = [
        (&["append", "trips", "-", "--json"], ROW),
        (&["append", "trips", "-"], ROW),
        (&["set", "trips", "a=b", "--json"], ""),
    ];
    for (version, (args, input)) in (2..).zip(runs) {
        let Some(full) = full() else { return };
        let (code, told) = lakebed.run_to(args, full, input);
        assert_eq!(code, 1, "{told}");
        let wanted = format!("committed at version {version}, but the answer could not be written: ");
        assert!(told.contains(&wanted) && told.contains("do not run it again"), "{told}");
        assert_eq!(lakebed.json(&["show", "trips"])["version"], version);
    }
    let Some(full) = full() else { return };
    let (code, told) = lakebed.run_to(&["create", "new", "--format", "delta", "--schema", "id long"], full, "");
    assert_eq!((code, told.contains("committed at version 0, but")), (1, true), "{told}");
}

#[test]
fn a_conflict_keeps_its_status_when_its_answer_cannot_be_written() {
    let lakebed = trips();
    let Some(full) = full() else { return };
    let args = ["create", "trips", "--format", "delta", "--schema", "id long", "--json"];
    let (code, told) = lakebed.run_to(&args, full, "");
    assert_eq!(code, 4, "{told}");
    assert!(told.contains("standard output") && told.contains("exists") && !told.contains("committed at"), "{told}");
}

#[test]
fn a_reader_that_went_away_does_not_make_a_commit_an_error() {
    let lakebed = trips();
    let (code, told) = lakebed.run_to(&["append", "trips", "-", "--json"], Stdio::piped(), ROW);
    assert_eq!(code, 0, "{told}");
    assert!(told.contains("committed at version 2, but the answer could not be written: "), "{told}");
    assert_eq!(lakebed.json(&["show", "trips"])["version"], 2);
}

#[test]
fn a_closed_standard_output_does_not_make_a_commit_an_error() {
    let lakebed = Lakebed::new();
    let create = "exec \"$0\" create t --format delta --schema 'id long' --json >&-";
    let status =
        Command::new("sh").args(["-c", create, env!("CARGO_BIN_EXE_lakebed")]).current_dir(lakebed.dir.path()).status();
    assert_eq!(status.unwrap().code(), Some(0));
    assert_eq!(lakebed.json(&["show", "t"])["version"], 0);
}
