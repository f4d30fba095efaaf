//! Rows at scale: an append of a Parquet file beside the bare copy of it, and a scattered update by deletion vectors.
//!
//!     cargo run --release -p lakebed-benches --bin rows -- FOLDER [--rows N] [--rounds N] [--check]
//!
//! - *copy*: the file read and written again by the same Parquet library, batch by batch, with the settings of a table's files, and
//!   synced to disk at the end, as a table's files are.
//! - *append*: the same file appended to a new Delta table, durably. Its memory is the peak of its process.
//! - *update*: 1,000 scattered rows of that table, which has deletion vectors; the bytes that the store was sent.
//!
//! Rounds take turns, each step in a process of its own; ratios are medians over the rounds of neighbours. `--check` ends with
//! status 1 unless every aim is met.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a benchmark measures time and ends where something fails"
)]

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use lakebed_data::open_source;
use lakebed_table::{
    CommitMetrics, CommitOptions, Metrics, NewTable, OpenOptions, RequestMetrics, Table, TableError, TableFormat,
};
use lakebed_transaction::{Column, ColumnType};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

const ROWS: i64 = 10_000_000;
const ROUNDS: usize = 3;
/// Rows of a batch, as the table's reader takes them.
const BATCH: i64 = 8_192;
const UPDATED: i64 = 1_000;

const APPEND_AIM: f64 = 0.80;
const MEMORY_AIM_BYTES: u64 = 1 << 30;
const UPDATE_AIM: f64 = 0.01;

fn columns() -> Vec<Column> {
    let column = |name: &str, column_type| Column::new(name, column_type, true);
    vec![
        column("id", ColumnType::Long),
        column("sensor", ColumnType::Long),
        column("value", ColumnType::Double),
        column("city", ColumnType::String),
        column("note", ColumnType::String),
    ]
}

/// Numbers that look random and are the same in every run.
const fn mixed(number: i64) -> u64 {
    let mut x = (number as u64).wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

fn batch(first: i64, count: i64) -> RecordBatch {
    let cities = ["Lyon", "Oslo", "Turku", "Porto", "Graz", "Cork", "Gent", "Brno"];
    let ids = first..first + count;
    let arrays: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from_iter_values(ids.clone()))),
        ("sensor", Arc::new(Int64Array::from_iter_values(ids.clone().map(|id| (mixed(id) % 1_000) as i64)))),
        ("value", Arc::new(Float64Array::from_iter_values(ids.clone().map(|id| (mixed(id) % 1_000_000) as f64 / 7.0)))),
        ("city", Arc::new(StringArray::from_iter_values(ids.clone().map(|id| cities[(mixed(id) % 8) as usize])))),
        ("note", Arc::new(StringArray::from_iter_values(ids.map(|id| format!("{:016x}", mixed(id)))))),
    ];
    RecordBatch::try_from_iter(arrays).unwrap()
}

fn writer(path: &Path, like: &RecordBatch) -> ArrowWriter<File> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(1 << 20))
        .build();
    let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    ArrowWriter::try_new_with_options(File::create(path).unwrap(), like.schema(), options).unwrap()
}

fn make(path: &Path, rows: i64) {
    let mut out = writer(path, &batch(0, 0));
    let mut first = 0;
    while first < rows {
        out.write(&batch(first, BATCH.min(rows - first))).unwrap();
        first += BATCH;
    }
    out.close().unwrap();
}

fn copy(from: &Path, to: &Path) {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(from).unwrap()).unwrap();
    let reader = reader.with_batch_size(BATCH as usize).build().unwrap();
    let mut out = writer(to, &batch(0, 0));
    for batch in reader {
        out.write(&batch.unwrap()).unwrap();
    }
    out.into_inner().unwrap().sync_all().unwrap();
}

async fn append(table: &Path, from: &Path) {
    let properties = [("delta.enableDeletionVectors".to_owned(), "true".to_owned())].into();
    let definition = NewTable::new(TableFormat::Delta, columns()).with_properties(properties);
    let url = table.display().to_string();
    let (made, _) = Table::create(&url, &OpenOptions::default(), &definition, &CommitOptions::default()).await.unwrap();
    let mut made = made.unwrap();
    let from = from.display().to_string();
    let source = || Ok::<lakebed_table::Batches, TableError>(Box::new(open_source(&from, &columns())?));
    let _ = made.append(source, &CommitOptions::default()).await.unwrap();
}

#[derive(Debug, Default)]
struct Written(AtomicU64);

impl Metrics for Written {
    fn request(&self, request: &RequestMetrics<'_>) {
        self.0.fetch_add(request.written_bytes, Ordering::Relaxed);
    }

    fn commit(&self, _: &CommitMetrics<'_>) {}
}

/// The bytes that the update sent to the store, behind the commit too.
async fn update(table: &Path, rows: i64) -> u64 {
    let written = Arc::new(Written::default());
    let open = OpenOptions { metrics: Some(Arc::clone(&written) as Arc<dyn Metrics>), ..OpenOptions::default() };
    let mut table = Table::open(&table.display().to_string(), &open).await.unwrap();
    let every = rows / UPDATED;
    let report = table
        .update(&["value = value + 1".to_owned()], Some(&format!("id % {every} = 7")), &CommitOptions::default())
        .await
        .unwrap();
    assert_eq!(report.metrics["rows_updated"], UPDATED as u64);
    assert_eq!(table.snapshot().summary().unwrap().num_rows, Some(rows as u64));
    table.settle().await;
    written.0.load(Ordering::Relaxed)
}

/// Peak of this process's memory, in bytes.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|text| text.parse::<u64>().ok()).unwrap_or(0) << 10
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap()
}

/// One step in this process: seconds, peak of memory, and a number of its own.
fn step(args: &[String]) {
    let (from, to, rows) = (PathBuf::from(&args[1]), PathBuf::from(&args[2]), args[3].parse().unwrap());
    let began = Instant::now();
    let mut number = 0;
    match args[0].as_str() {
        "make" => make(&to, rows),
        "copy" => copy(&from, &to),
        "append" => runtime().block_on(append(&to, &from)),
        "update" => number = runtime().block_on(update(&to, rows)),
        other => panic!("no step {other}"),
    }
    println!("{} {} {number}", began.elapsed().as_secs_f64(), peak_bytes());
}

fn spawn(name: &str, from: &Path, to: &Path, rows: i64) -> (f64, u64, u64) {
    let this = std::env::current_exe().unwrap();
    let args = ["--step", name].map(str::to_owned).into_iter();
    let args = args.chain([from.display().to_string(), to.display().to_string(), rows.to_string()]);
    let output = Command::new(this).args(args).output().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let parts: Vec<&str> = text.split_whitespace().collect();
    (parts[0].parse().unwrap(), parts[1].parse().unwrap(), parts[2].parse().unwrap())
}

fn folder_bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    entries
        .map(|entry| {
            let metadata = entry.metadata().unwrap();
            if metadata.is_dir() { folder_bytes(&entry.path()) } else { metadata.len() }
        })
        .sum()
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

fn option(args: &[String], name: &str) -> Option<i64> {
    let at = args.iter().position(|arg| arg == name)?;
    args.get(at + 1)?.parse().ok()
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == "--step") {
        step(&args[1..]);
        return ExitCode::SUCCESS;
    }
    let folder = PathBuf::from(args.first().expect("a folder"));
    let rows = option(&args, "--rows").unwrap_or(ROWS);
    let rounds = option(&args, "--rounds").map_or(ROUNDS, |rounds| rounds as usize);
    std::fs::create_dir_all(&folder).unwrap();
    let source = folder.join("source.parquet");
    spawn("make", &source, &source, rows);
    let (mut ratios, mut peaks, mut shares) = (Vec::new(), Vec::new(), Vec::new());
    println!(
        "| round | copy, s | append, s | append of the copy's speed | append's memory, MiB | update, s | update, of the table's bytes |"
    );
    println!("|---|---|---|---|---|---|---|");
    for round in 0..rounds {
        let table = folder.join(format!("table-{round}"));
        let (before, _, _) = spawn("copy", &source, &folder.join("copy.parquet"), rows);
        let (append, peak, _) = spawn("append", &source, &table, rows);
        let (after, _, _) = spawn("copy", &source, &folder.join("copy.parquet"), rows);
        let table_bytes = folder_bytes(&table);
        let (update, _, written) = spawn("update", &source, &table, rows);
        let copy = f64::midpoint(before, after);
        let (ratio, share) = (copy / append, written as f64 / table_bytes as f64);
        println!(
            "| {round} | {copy:.2} | {append:.2} | {ratio:.2} | {} | {update:.2} | {:.3} % |",
            peak >> 20,
            100.0 * share
        );
        ratios.push(ratio);
        peaks.push(peak);
        shares.push(share);
        std::fs::remove_dir_all(&table).unwrap();
    }
    std::fs::remove_file(folder.join("copy.parquet")).unwrap();
    std::fs::remove_file(&source).unwrap();
    let (ratio, peak, share) = (median(ratios), peaks.into_iter().max().unwrap_or(0), median(shares));
    println!();
    println!("append: {ratio:.2} of the bare copy's speed (aim: {APPEND_AIM:.2} or more)");
    println!("append: {} MiB of memory at most (aim: below {})", peak >> 20, MEMORY_AIM_BYTES >> 20);
    println!("update of {UPDATED} of {rows} rows: {:.3} % of the table's bytes (aim: below 1 %)", 100.0 * share);
    let met = ratio >= APPEND_AIM && peak < MEMORY_AIM_BYTES && share < UPDATE_AIM;
    if args.iter().any(|arg| arg == "--check") && !met { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
