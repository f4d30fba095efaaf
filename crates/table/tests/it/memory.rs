//! What a table of many files takes of memory, measured in processes of their own.

use crate::local::{Local, classic, first, now_ms};
use crate::support::{committed, isolated, source};
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use lakebed_storage::{Durability, LocalStore};
use lakebed_table::{CommitOptions, Table};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// Tells a child its job and its folder.
const JOB: &str = "LAKEBED_TEST_MEMORY_JOB";
const FILES: usize = 200_000;
const COMMITS: u64 = 10;

/// The most memory that this process ever held, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() * 1_024
}

/// Opens the table, appends to it, or writes a checkpoint; says what that took beyond what the process had before.
async fn child(job: &str) {
    let (what, folder) = job.split_once(' ').unwrap();
    let before = peak();
    let store = Arc::new(LocalStore::new(Path::new(folder), Durability::None).unwrap());
    let mut table = Table::open_store(store, &isolated()).await.unwrap();
    match what {
        "append" => {
            let id = Arc::new(Int64Array::from(vec![1])) as ArrayRef;
            let rows = RecordBatch::try_from_iter_with_nullable([("id", id, true)]).unwrap();
            committed(&table.append(source(rows), &CommitOptions::default()).await.unwrap());
        }
        "checkpoint" => drop(table.checkpoint().await.unwrap()),
        other => panic!("{other}"),
    }
    println!("TOOK {}", peak() - before);
}

fn took(what: &str, folder: &Path) -> u64 {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "memory::case_124_memory_is_bounded_by_the_state", "--nocapture", "--test-threads=1"])
        .env(JOB, format!("{what} {}", folder.display()))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let took = said.lines().find_map(|line| line.split_once("TOOK ")?.1.trim().parse().ok());
    took.unwrap_or_else(|| panic!("{what}: {said}{}", String::from_utf8_lossy(&output.stderr)))
}

/// Field case 124: 200,000 live files with statistics. Opening, appending and writing a checkpoint take a few times what the log
/// has in bytes and stay below the gigabyte of the case, whether the table is loaded from commits or from the checkpoint.
#[test]
fn case_124_memory_is_bounded_by_the_state() {
    if let Ok(job) = std::env::var(JOB) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(child(&job));
        return;
    }
    if !Path::new("/proc/self/status").exists() {
        println!("skipped: the memory of a process: no /proc here");
        return;
    }
    let local = Local::new();
    let mut log_bytes = 0;
    for version in 0..COMMITS {
        let each = FILES / usize::try_from(COMMITS).unwrap();
        let file = |at: usize| {
            let path = format!("part-{version:05}-{at:06}-6fa459ea-ee8a-4ca4-894e-db77e160355e.parquet");
            let (low, high) = (at * 1_000, at * 1_000 + 999);
            format!(
                r#"{{"add":{{"path":"{path}","partitionValues":{{}},"size":123456,"modificationTime":1700000000000,"dataChange":true,"stats":"{{\"numRecords\":1000,\"minValues\":{{\"id\":{low}}},\"maxValues\":{{\"id\":{high}}},\"nullCount\":{{\"id\":0}}}}"}}}}"#
            )
        };
        let mut lines = if version == 0 { first(r#""delta.checkpointInterval":"1000""#) } else { Vec::new() };
        lines.extend((0..each).map(file));
        log_bytes += lines.iter().map(|line| line.len() as u64 + 1).sum::<u64>();
        local.commit(version, &lines, now_ms());
    }
    let folder = local.path("");
    let appended = took("append", &folder);
    let written = took("checkpoint", &folder);
    assert!(local.has(&classic(COMMITS)));
    let loaded = took("append", &folder);
    let again = took("checkpoint", &folder);
    let per = |bytes: u64| bytes as f64 / log_bytes as f64;
    println!(
        "a log of {} MB; times as much: open and append {:.1}, checkpoint {:.1}, the same from the checkpoint {:.1} and {:.1}",
        log_bytes / 1_000_000,
        per(appended),
        per(written),
        per(loaded),
        per(again)
    );
    for (what, bytes) in [("append", appended), ("checkpoint", written), ("append", loaded), ("checkpoint", again)] {
        assert!(bytes < 1_000_000_000 && per(bytes) < 6.0, "{what}: {bytes} bytes beside a log of {log_bytes}");
    }
}
