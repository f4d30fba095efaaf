//! Numbers for a dashboard: commits by how they ended, conflicts by reason, requests by kind, bytes, durations.
//!
//! `cargo run -p lakebed-table --example metrics`

use arrow_array::record_batch;
use lakebed_table::{
    Batches, CommitEnd, CommitMetrics, CommitOptions, Metrics, NewTable, OpenOptions, RequestMetrics, Table,
    TableError, TableFormat,
};
use lakebed_transaction::{Column, ColumnType, Outcome};
use std::collections::BTreeMap;
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

/// Counters by name, as a client of Prometheus or StatsD would keep them.
#[derive(Debug, Default)]
struct Counters(Mutex<BTreeMap<String, u64>>);

impl Counters {
    fn add(&self, name: impl Into<String>, by: u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(name.into()).or_default() += by;
    }
}

impl Metrics for Counters {
    fn request(&self, request: &RequestMetrics<'_>) {
        self.add(format!("requests.{}", request.kind.name()), 1);
        self.add("bytes.read", request.read_bytes);
        self.add("bytes.written", request.written_bytes);
        self.add("requests.micros", u64::try_from(request.elapsed.as_micros()).unwrap_or(u64::MAX));
    }

    fn commit(&self, commit: &CommitMetrics<'_>) {
        let ended = if matches!(commit.end, CommitEnd::Answered(Outcome::Committed { .. })) {
            "committed"
        } else if matches!(commit.end, CommitEnd::Answered(Outcome::Conflict(_))) {
            "conflict"
        } else {
            "other"
        };
        self.add(format!("commits.{ended}"), 1);
        self.add("commits.attempts", u64::from(commit.attempts));
        self.add("commits.micros", u64::try_from(commit.elapsed.as_micros()).unwrap_or(u64::MAX));
        if let Some(check) = commit.conflict() {
            self.add(format!("conflicts.{check}"), 1);
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let counters = Arc::new(Counters::default());
    let open = OpenOptions { metrics: Some(Arc::clone(&counters) as Arc<dyn Metrics>), ..OpenOptions::default() };
    let commit = CommitOptions { plannings_max: 1, ..CommitOptions::default() };

    let columns = vec![Column::new("id", ColumnType::Long, true)];
    let definition = NewTable::new(TableFormat::Delta, columns);
    let (table, _) = Table::create("memory://metrics/trips", &open, &definition, &commit).await?;
    let mut table = table.ok_or("the table is there already")?;
    let rows = record_batch!(("id", Int64, [1, 2, 3]))?;
    let mut source = move || -> Result<Batches, TableError> { Ok(Box::new(std::iter::once(Ok(rows.clone())))) };
    let _ = table.append(&mut source, &commit).await?;

    // Two handles delete the same row: the second is told that it lost.
    let mut other = table.clone();
    let _ = table.delete("id = 2", &commit).await?;
    let lost = other.delete("id = 2", &commit).await?;
    assert!(matches!(lost.outcome, Outcome::Conflict(_)));

    let counted = counters.0.lock().unwrap_or_else(PoisonError::into_inner);
    for (name, number) in counted.iter() {
        println!("{name:40} {number}");
    }
    assert_eq!(counted.get("commits.committed"), Some(&3));
    assert_eq!(counted.get("commits.conflict"), Some(&1));
    Ok(())
}

#[test]
fn it_runs() {
    assert_eq!(main().map_err(|error| error.to_string()), Ok(()));
}
