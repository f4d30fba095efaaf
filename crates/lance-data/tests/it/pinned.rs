//! Reads of Lance tables are snapshots.

use crate::support::{committed, open, options, plainly, scan_of, source};
use arrow_array::RecordBatch;
use lakebed_table::{CompactRequest, Compaction, NewTable, Report, ScanRequest, Table, TableFormat, VersionSpec};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

const FRAGMENTS: i64 = 20;
const COMMITS: i64 = 200;

/// How long the scan takes; more on demand.
fn scan_time() -> Duration {
    let seconds = std::env::var("LAKEBED_PINNED_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(0))
}

fn rows(ids: std::ops::Range<i64>) -> Vec<Value> {
    ids.map(|id| json!({"id": id, "v": id * 10})).collect()
}

async fn table(path: &Path) -> Table {
    let new = NewTable::new(TableFormat::Lance, lakebed_sql::parse_columns("id long not null, v long").unwrap());
    let (table, _) = Table::create(path.to_str().unwrap(), &options(), &new, &plainly()).await.unwrap();
    let mut table = table.unwrap();
    for fragment in 0..FRAGMENTS {
        let some = rows(fragment * 10..fragment * 10 + 10);
        committed(&table.append(source(&table, &some), &plainly()).await.unwrap());
    }
    table
}

/// One of two hundred: rows go, change and come, and fragments are joined.
async fn write(table: &mut Table, commit: i64) -> Report {
    let report = match commit % 5 {
        0 => table.delete(&format!("id = {}", commit / 2), &plainly()).await,
        1 => table.update(&["v = v + 1".to_owned()], Some(&format!("id = {}", commit / 2 + 100)), &plainly()).await,
        2 if commit % 20 == 2 => {
            let compaction = if commit % 40 == 2 { Compaction::Minor } else { Compaction::Major };
            table.compact(&CompactRequest { compaction, ..CompactRequest::default() }, &plainly()).await
        }
        _ => table.append(source(table, &[json!({"id": 10_000 + commit, "v": commit})]), &plainly()).await,
    };
    report.unwrap()
}

fn texts(batch: &RecordBatch) -> Vec<String> {
    (0..batch.num_rows()).map(|row| lakebed_data::json_row(batch, row).unwrap()).collect()
}

/// A reader that takes a batch now and then while others write, compact and vacuum: it gets the rows of its
/// version, each once, with the values that they had.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pinned_reader_sees_its_version_whatever_is_written_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    let mut writer = table(&path).await;
    let reader = open(&path).await;
    let pinned = reader.version();
    let mut scanned = reader.scan(reader.snapshot(), &ScanRequest::default()).unwrap();
    let mut seen = Vec::new();
    let began = tokio::time::Instant::now();
    for commit in 0..COMMITS {
        committed(&write(&mut writer, commit).await);
        if commit == COMMITS / 2 {
            let removed = writer.vacuum(None, false, false).await.unwrap();
            assert_eq!(removed.files, Vec::<String>::new(), "everything is younger than the retention");
        }
        let share = u32::try_from(commit + 1).unwrap();
        tokio::time::sleep_until(began + scan_time() * share / u32::try_from(COMMITS).unwrap()).await;
        if commit % 12 == 0 {
            // From thread to thread, as an engine's task goes.
            let next = tokio::spawn(async move {
                let batch = scanned.next().await.unwrap();
                (scanned, batch)
            });
            let (back, batch) = next.await.unwrap();
            scanned = back;
            seen.extend(batch.iter().flat_map(texts));
        }
    }
    // A compaction may have set ids aside in a commit of its own.
    assert!(writer.version().get() >= pinned.get() + u64::try_from(COMMITS).unwrap());
    let major = CompactRequest { compaction: Compaction::Major, ..CompactRequest::default() };
    committed(&writer.compact(&major, &plainly()).await.unwrap());
    let removed = writer.vacuum(None, false, false).await.unwrap();
    assert_eq!(removed.files, Vec::<String>::new(), "everything is younger than the retention");
    while let Some(batch) = scanned.next().await.unwrap() {
        seen.extend(texts(&batch));
    }
    println!("a scan of {:?}, beside {COMMITS} commits, gave {} rows", began.elapsed(), seen.len());
    let mut seen: Vec<Value> = seen.iter().map(|row| serde_json::from_str(row).unwrap()).collect();
    seen.sort_by_key(|row| row["id"].as_i64());
    assert_eq!(seen, rows(0..FRAGMENTS * 10), "each row once, as it was");
    // So does a reader that comes later and asks for the version.
    let again = writer.at(VersionSpec::Number(pinned.get())).await.unwrap();
    let mut found = scan_of(&writer, &again, &ScanRequest::default()).await;
    found.sort_by_key(|row| row["id"].as_i64());
    assert_eq!(found, rows(0..FRAGMENTS * 10));
}
