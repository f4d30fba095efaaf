//! Writers on an engine of their own that commit once: the example with Ray, run as its page says.

use crate::common::Lakebed;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Rows of 24 bytes: two gigabytes of them.
const ROWS: u64 = 84_000_000;

/// The interpreter that has Ray, or `None` after saying that the test is skipped.
fn python() -> Option<PathBuf> {
    let python = std::env::var_os("LAKEBED_RAY_PYTHON").map(PathBuf::from);
    if python.is_none() {
        println!("skipped: the example with Ray: $LAKEBED_RAY_PYTHON names no interpreter");
    }
    python
}

/// Runs the example; its answer.
fn write(python: &Path, table: &Path, more: &[&str]) -> Value {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/ray/write.py");
    let mut command = Command::new(python);
    command.env("RAY_AUTH_MODE", "disabled").env("RAY_USAGE_STATS_ENABLED", "0").arg(example).arg(table);
    let done =
        command.args(["--lakebed", env!("CARGO_BIN_EXE_lakebed"), "--workers", "4"]).args(more).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(done.status.success(), "{out}\n{err}");
    serde_json::from_str(out.lines().last().unwrap()).unwrap()
}

/// What deltalake finds in the table: its version, its rows and the sum of the ids. Arrow's reading threads may outlive the scan and
/// abort an interpreter that ends meanwhile, so that it ends without its own shutdown.
fn counted(python: &Path, table: &Path) -> Value {
    let script = "import json, os, sys\nimport pyarrow.compute as pc\nfrom deltalake import DeltaTable\n\
                  table = DeltaTable(sys.argv[1])\nrows = total = 0\n\
                  for batch in table.to_pyarrow_dataset().to_batches(columns=['id']):\n\
                  \x20   rows += batch.num_rows\n\
                  \x20   total += pc.sum(batch.column(0)).as_py() or 0\n\
                  print(json.dumps([table.version(), rows, total]), flush=True)\nos._exit(0)";
    let done = Command::new(python).args(["-c", script]).arg(table).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    serde_json::from_slice(&done.stdout).unwrap()
}

/// The data files in the table's folder.
fn files(table: &Path) -> usize {
    let is_data = |name: &str| Path::new(name).extension().is_some_and(|ending| ending == "parquet");
    std::fs::read_dir(table)
        .unwrap()
        .filter(|entry| is_data(&entry.as_ref().unwrap().file_name().to_string_lossy()))
        .count()
}

#[test]
fn a_worker_that_dies_leaves_no_row_twice_and_one_version_appears() {
    let Some(python) = python() else { return };
    let lakebed = Lakebed::new();
    let (table, mark) = (lakebed.path("t"), lakebed.path("killed"));
    let rows = ROWS.to_string();
    let more = ["--rows", &rows, "--kill-one", mark.to_str().unwrap()];
    let answer = write(&python, &table, &more);
    assert_eq!((&answer["outcome"], &answer["version"], &answer["files"]), (&json!("committed"), &json!(1), &json!(4)));
    assert!(mark.exists(), "a worker was killed");
    // The ids are 0, 1, 2, …: rows that are missing or doubled change their number or their sum.
    assert_eq!(counted(&python, &table), json!([1, ROWS, ROWS * (ROWS - 1) / 2]));

    assert_eq!(files(&table), 5, "four files and what the killed worker had begun");
    let gone = lakebed.json(&["vacuum", "t", "--retain", "0s", "--allow-shorter"]);
    assert_eq!(gone["num_files"], 1);
    assert_eq!(files(&table), 4);
    assert_eq!(counted(&python, &table)[1], json!(ROWS));
}

#[test]
fn the_same_piece_of_work_is_committed_once() {
    let Some(python) = python() else { return };
    let lakebed = Lakebed::new();
    let table = lakebed.path("t");
    assert_eq!(write(&python, &table, &["--rows", "1000"])["outcome"], "committed");
    assert_eq!(write(&python, &table, &["--rows", "1000"])["outcome"], "nothing");
    assert_eq!(write(&python, &table, &["--rows", "1000", "--piece", "1"])["outcome"], "committed");
    assert_eq!(counted(&python, &table), json!([2, 2000, 2000 * 1999 / 2]));
}
