//! The writers.

use crate::audit::Acknowledged;
use crate::clock;
use crate::error::CliError;
use crate::fragments::fictitious;
use indicatif::ProgressBar;
use lakebed_delta::action::{Action, Add};
use lakebed_storage::Store;
use lakebed_table::{CommitOptions, OpenOptions, Prepared, PreparedDelta, Report, Snapshot, Table, TableError};
use lakebed_transaction::Outcome;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// What all writers have in common.
pub(super) struct Race {
    pub(super) store: Arc<dyn Store>,
    pub(super) open: OpenOptions,
    pub(super) commit: CommitOptions,
    pub(super) commits: u32,
    pub(super) bar: ProgressBar,
}

/// One commit.
pub(super) struct Sample {
    pub(super) acknowledged: Acknowledged,
    pub(super) attempts: u32,
    pub(super) latency: Duration,
}

impl Race {
    /// A handle for each writer.
    pub(super) async fn handles(&self, writers: u32) -> Result<Vec<Table>, CliError> {
        let mut tables = Vec::new();
        for _ in 0..writers {
            tables.push(Table::open_store(Arc::clone(&self.store), &self.open).await?);
        }
        Ok(tables)
    }

    /// Lets all writers go at once; their commits.
    pub(super) async fn run(&self, tables: Vec<Table>) -> Result<Vec<Sample>, CliError> {
        let mut writers = JoinSet::new();
        for (writer, table) in tables.into_iter().enumerate() {
            writers.spawn(write(writer, table, self.commit.clone(), self.commits, self.bar.clone()));
        }
        let mut samples = Vec::new();
        while let Some(ended) = writers.join_next().await {
            let ended = ended.map_err(|error| CliError::failed(format!("a writer broke off: {error}"), "try again"))?;
            samples.extend(ended?);
        }
        Ok(samples)
    }
}

async fn write(
    writer: usize,
    mut table: Table,
    commit: CommitOptions,
    commits: u32,
    bar: ProgressBar,
) -> Result<Vec<Sample>, CliError> {
    let mut samples = Vec::new();
    let parameters = [("mode", "Append"), ("partitionBy", "[]")];
    let parameters = parameters.map(|(key, value)| (key.to_owned(), value.into())).into_iter().collect();
    for number in 0..commits {
        let started = clock::instant();
        let report = one(&mut table, &format!("part-{writer:05}-{number:08}"), &parameters, &commit).await?;
        let latency = started.elapsed();
        let Outcome::Committed { version, attempts } = report.outcome else {
            let reason = crate::report::reason(&report.outcome).unwrap_or_default();
            return Err(CliError::failed(format!("an append was not committed: {reason}"), "try again"));
        };
        let acknowledged =
            Acknowledged { transaction_id: report.transaction_id.as_str().to_owned(), version: version.get() };
        samples.push(Sample { acknowledged, attempts, latency });
        bar.inc(1);
    }
    Ok(samples)
}

/// Commits one added file, or one fragment, of this name. The file itself is not written.
async fn one(
    table: &mut Table,
    name: &str,
    parameters: &Map<String, Value>,
    commit: &CommitOptions,
) -> Result<Report, TableError> {
    match table.snapshot() {
        Snapshot::Lance(held) => {
            let fragment = fictitious(&held.snapshot, &format!("{name}.lance"), 1_000);
            table.append_fragments(vec![fragment], commit).await
        }
        Snapshot::Delta(_) => {
            table.commit_prepared(Prepared::Delta(Box::new(append_of(name, parameters))), commit).await
        }
    }
}

/// A blind append of one file, as a writer that brings its own files gives it.
fn append_of(name: &str, parameters: &Map<String, Value>) -> PreparedDelta {
    let modified_ms = clock::now_micros() / 1_000;
    let mut add = Add::new(&format!("{name}.parquet"), 1_000, modified_ms);
    add.stats = Some(Arc::from(r#"{"numRecords":1000}"#));
    let mut append = PreparedDelta::new("WRITE", vec![Action::Add(add)]);
    append.transaction.parameters.clone_from(parameters);
    append
}
