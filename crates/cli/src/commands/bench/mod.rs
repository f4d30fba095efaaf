//! `lakebed bench`: the commit rate of several writers in one process on a new table.

mod race;

use crate::args::{BenchArgs, Global};
use crate::audit::{self, Findings};
use crate::clock;
use crate::counting::Counting;
use crate::error::CliError;
use crate::exit::Exit;
use crate::{output, progress};
use lakebed_storage::{Indexed, Store};
use lakebed_table::{CommitOptions, NewTable, OpenOptions, Table, TableFormat};
use lakebed_transaction::{Column, ColumnType};
use race::{Race, Sample};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Names in one bulk delete: what S3 takes at most.
const DELETED_AT_ONCE: usize = 1_000;

/// What was measured.
struct Measured {
    samples: Vec<Sample>,
    seconds: f64,
    requests: u64,
    durability: &'static str,
    findings: Findings,
}

pub(crate) async fn run(args: BenchArgs, global: &Global) -> Result<Exit, CliError> {
    let made_here = !Path::new(&args.url).exists();
    let (url, open) = global.locate(&args.url)?;
    let store = lakebed_storage::open(&url, &open.store)?;
    if !store.list("", None, 1).await?.is_empty() {
        return Err(CliError::failed(
            format!("{} is not empty", store.root()),
            "name an empty place; the table of the measurement is removed at the end",
        ));
    }
    let format: TableFormat = args.format.into();
    let measured = measure(&store, format, &args, global, open.clone()).await;
    if !args.keep {
        remove(&*through(&store, &open)).await?;
        remove_folders(Path::new(&args.url), made_here);
    }
    let measured = measured?;
    if global.json {
        output::document(&measured.document())?;
    } else {
        output::text(&measured.text(format, args.writers))?;
    }
    Ok(if measured.findings.sound() { Exit::Done } else { Exit::Error })
}

/// A table on which nothing but commits happens: what is measured is the commit, not the checkpoints between.
fn commits_only(format: TableFormat, columns: Vec<Column>) -> NewTable {
    let table = NewTable::new(format, columns);
    match format {
        TableFormat::Delta => {
            table.with_properties([("delta.checkpointInterval".to_owned(), u32::MAX.to_string())].into())
        }
        TableFormat::Lance => table,
    }
}

async fn measure(
    store: &Arc<dyn Store>,
    format: TableFormat,
    args: &BenchArgs,
    global: &Global,
    mut open: OpenOptions,
) -> Result<Measured, CliError> {
    let counting = Counting::new(Arc::clone(store));
    let counted: Arc<dyn Store> = counting.clone();
    let columns = vec![Column::new("id", ColumnType::Long, false), Column::new("text", ColumnType::String, true)];
    let commit = CommitOptions::default();
    let (table, report) =
        Table::create_store(Arc::clone(&counted), &open, &commits_only(format, columns), &commit).await?;
    let Some(table) = table else {
        let reason = crate::report::reason(&report.outcome).unwrap_or_default();
        return Err(CliError::failed(format!("the table was not created: {reason}"), "try another place"));
    };
    open.format = Some(format);
    let bar = progress::bar(u64::from(args.writers) * u64::from(args.commits), "commits");
    let race = Race { store: counted, open, commit, commits: args.commits, bar: bar.clone() };
    let tables = race.handles(args.writers).await?;
    let before = counting.requests();
    let started = clock::instant();
    let samples = race.run(tables).await?;
    let seconds = started.elapsed().as_secs_f64();
    let requests = counting.requests() - before;
    bar.finish_and_clear();
    for problem in table.settle().await {
        output::note(&format!("lakebed: warning: {problem}"));
    }
    let acknowledged: Vec<_> = samples.iter().map(|sample| sample.acknowledged.clone()).collect();
    let findings = audit::audit(&**store, format, &acknowledged).await?;
    Ok(Measured { samples, seconds, requests, durability: global.durability.name(), findings })
}

/// Removes everything at the place.
async fn remove(store: &dyn Store) -> Result<(), CliError> {
    let names = audit::list(store, "").await?;
    for chunk in names.chunks(DELETED_AT_ONCE) {
        store.delete_all(chunk).await?;
    }
    Ok(())
}

/// What is removed is removed from the index too, if there is one.
fn through(store: &Arc<dyn Store>, open: &OpenOptions) -> Arc<dyn Store> {
    match &open.index {
        Some(index) => Arc::new(Indexed::new(Arc::clone(store), Arc::clone(index))),
        None => Arc::clone(store),
    }
}

/// Removes the folders that stay behind on a local disk, as far as they are empty.
fn remove_folders(root: &Path, made_here: bool) {
    for folder in ["_delta_log", "_versions", "_transactions"] {
        let _ = std::fs::remove_dir(root.join(folder));
    }
    if made_here {
        let _ = std::fs::remove_dir(root);
    }
}

impl Measured {
    fn commits(&self) -> u64 {
        self.samples.len() as u64
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate needs no more than 53 bits")]
    fn per_commit(&self, number: u64) -> f64 {
        number as f64 / self.commits().max(1) as f64
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate needs no more than 53 bits")]
    fn rate(&self) -> f64 {
        self.commits() as f64 / self.seconds.max(f64::MIN_POSITIVE)
    }

    fn attempts(&self) -> f64 {
        self.per_commit(self.samples.iter().map(|sample| u64::from(sample.attempts)).sum())
    }

    /// The latency below which so many of a hundred commits stayed.
    fn percentile_ms(&self, percent: usize) -> f64 {
        let mut latencies: Vec<Duration> = self.samples.iter().map(|sample| sample.latency).collect();
        latencies.sort_unstable();
        let at = (latencies.len() * percent).div_ceil(100).saturating_sub(1);
        latencies.get(at).copied().map_or(0.0, clock::ms)
    }

    fn document(&self) -> Value {
        json!({
            "commits": self.commits(),
            "seconds": rounded(self.seconds),
            "commits_per_second": rounded(self.rate()),
            "p50_ms": rounded(self.percentile_ms(50)),
            "p99_ms": rounded(self.percentile_ms(99)),
            "attempts_per_commit": rounded(self.attempts()),
            "requests_per_commit": rounded(self.per_commit(self.requests)),
            "durability": self.durability,
            "lost": self.findings.lost,
            "doubled": self.findings.doubled,
            "gaps": self.findings.gaps,
        })
    }

    fn text(&self, format: TableFormat, writers: u32) -> String {
        format!(
            "{} on a {format} table by {} in {:.2} s: {:.0} per second\n\
             latency p50 {:.2} ms, p99 {:.2} ms; {:.2} attempts and {:.2} requests per commit; durability {}\n\
             audit of {}: {} lost, {} doubled, {} missing\n",
            output::count(self.commits(), "commit"),
            output::count(u64::from(writers), "writer"),
            self.seconds,
            self.rate(),
            self.percentile_ms(50),
            self.percentile_ms(99),
            self.attempts(),
            self.per_commit(self.requests),
            self.durability,
            output::count(self.findings.versions, "version"),
            self.findings.lost,
            self.findings.doubled,
            self.findings.gaps,
        )
    }
}

fn rounded(number: f64) -> f64 {
    (number * 1_000.0).round() / 1_000.0
}
