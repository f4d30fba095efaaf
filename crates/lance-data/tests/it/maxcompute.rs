//! The matrix of MaxCompute, job by job, on Lance tables: two jobs on one version, of which the later commits under `maxcompute`. A
//! Lance table is one partition. The cells are those of the public documentation.

use crate::support::{committed, options, plainly, scan, source};
use lakebed_storage::{MemoryStore, Store};
use lakebed_table::{
    CommitOptions, CompactRequest, Compaction, MergeSpec, NewTable, Report, ScanRequest, Scope, Table, TableFormat,
};
use lakebed_transaction::{Outcome, Verdict};
use serde_json::{Value, json};
use std::sync::Arc;

/// The jobs, and the kind of the matrix that each is: overwrite, insert, update, minor and major compaction.
const JOBS: [(Job, usize); 8] = [
    (Job::Overwrite, 0),
    (Job::Insert, 1),
    (Job::Delete, 2),
    (Job::Update, 2),
    (Job::Merge, 2),
    (Job::Minor, 3),
    (Job::Clustering, 3),
    (Job::Major, 4),
];

/// Rows: the earlier job; columns: whether the later one commits.
const MATRIX: [[bool; 5]; 5] = [
    [true, false, false, false, false],
    [true, false, false, true, false],
    [true, false, false, true, false],
    [true, true, true, false, true],
    [true, true, true, false, false],
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Job {
    Overwrite,
    Insert,
    Delete,
    Update,
    Merge,
    Minor,
    Clustering,
    Major,
}

impl Job {
    /// Runs the job; `who` tells the two sides apart in what they write.
    async fn run(self, table: &mut Table, who: i64, options: &CommitOptions) -> Report {
        let new = [json!({"id": 1_000 * who, "v": who})];
        let rows = [json!({"id": who, "v": -who}), json!({"id": 500 + who, "v": who})];
        let compact = |compaction, cluster_by: &[&str]| CompactRequest {
            compaction,
            cluster_by: cluster_by.iter().map(|name| (*name).to_owned()).collect(),
            ..CompactRequest::default()
        };
        let result = match self {
            Self::Overwrite => table.overwrite(source(table, &new), &Scope::Whole, options).await,
            Self::Insert => table.append(source(table, &new), options).await,
            Self::Delete => table.delete(&format!("id % 5 = {who}"), options).await,
            Self::Update => table.update(&["v = -v".to_owned()], Some(&format!("id % 5 = {who}")), options).await,
            Self::Merge => {
                let spec = MergeSpec { on: vec!["id".to_owned()], ..MergeSpec::default() };
                table.merge(source(table, &rows), &spec, options).await
            }
            Self::Minor => table.compact(&compact(Compaction::Minor, &[]), options).await,
            Self::Clustering => table.compact(&compact(Compaction::Major, &["v"]), options).await,
            Self::Major => table.compact(&compact(Compaction::Major, &[]), options).await,
        };
        result.unwrap()
    }
}

async fn handle(store: &Arc<dyn Store>) -> Table {
    Table::open_store(Arc::clone(store), &options()).await.unwrap()
}

fn place() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new().below("table.lance").unwrap())
}

async fn copy(store: &Arc<dyn Store>) -> Arc<dyn Store> {
    let copy = place();
    for listed in store.list("", None, usize::MAX).await.unwrap() {
        copy.put(&listed.name, store.get(&listed.name).await.unwrap().unwrap()).await.unwrap();
    }
    copy
}

/// Two fragments, each with a deleted row.
async fn base() -> Arc<dyn Store> {
    let store = place();
    let new = NewTable::new(TableFormat::Lance, lakebed_sql::parse_columns("id long not null, v long").unwrap());
    let (table, _) = Table::create_store(Arc::clone(&store), &options(), &new, &plainly()).await.unwrap();
    let mut table = table.unwrap();
    for from in [0, 5] {
        let rows: Vec<Value> = (from..from + 5).map(|id| json!({"id": id, "v": 100 - id})).collect();
        committed(&table.append(source(&table, &rows), &plainly()).await.unwrap());
    }
    committed(&table.delete("id IN (0, 5)", &plainly()).await.unwrap());
    store
}

async fn rows(store: &Arc<dyn Store>) -> Vec<String> {
    let mut rows: Vec<String> =
        scan(&handle(store).await, &ScanRequest::default()).await.iter().map(Value::to_string).collect();
    rows.sort();
    rows
}

/// Where a cell lets the later job commit and nothing tells where rows went: rows that clustering moved are followed by nobody, nor does it
/// take out what went meanwhile; and what another compaction took out is left out, so that nothing is left.
fn cannot_be_followed(earlier: (Job, usize), later: (Job, usize)) -> Option<&'static str> {
    match (earlier, later) {
        ((Job::Clustering, _), (_, 2)) => Some("rows-moved"),
        ((_, 2), (Job::Clustering, _)) | ((_, 3), (_, 4)) => Some("input-gone"),
        _ => None,
    }
}

#[tokio::test]
async fn jobs_on_a_lance_table_meet_by_the_matrix() {
    let base = base().await;
    let (mut accepted, mut refused) = (0, 0);
    for earlier in JOBS {
        for later in JOBS {
            let context = format!("{:?} after {:?}", later.0, earlier.0);
            let store = copy(&base).await;
            let (mut first, mut second) = (handle(&store).await, handle(&store).await);
            committed(&earlier.0.run(&mut first, 1, &plainly()).await);
            let serial = copy(&store).await;
            let under = CommitOptions { policy: Some("maxcompute".to_owned()), plannings_max: 1, ..plainly() };
            let report = later.0.run(&mut second, 2, &under).await;
            let cell = MATRIX[earlier.1][later.1];
            let places = cannot_be_followed(earlier, later).filter(|_| cell);
            match &report.outcome {
                Outcome::Committed { .. } => {
                    assert!(cell && places.is_none(), "{context} committed");
                    let _ = later.0.run(&mut handle(&serial).await, 2, &plainly()).await;
                    accepted += 1;
                }
                Outcome::Conflict(conflict) => {
                    assert!(!cell || places.is_some(), "{context}: {conflict}");
                    assert_eq!(conflict.why.verdict, Verdict::Retryable, "{context}");
                    assert_eq!(conflict.policy, "maxcompute@2026", "{context}");
                    if places.is_some() {
                        assert_eq!(conflict.why.reason.map(|reason| reason.check), places, "{context}");
                    }
                    refused += 1;
                }
                other @ (Outcome::Nothing { .. } | Outcome::Exhausted { .. } | Outcome::Unknown { .. }) => {
                    panic!("{context}: {other:?}")
                }
            }
            assert_eq!(rows(&store).await, rows(&serial).await, "{context}");
        }
    }
    println!("jobs on a Lance table: {accepted} committed, {refused} refused");
}
