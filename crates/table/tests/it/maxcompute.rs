//! The matrix of MaxCompute, job by job, on Delta tables: two jobs on one version, of which the later commits under `maxcompute`.
//!
//! The cells are those of the public documentation. A table without partitions is one; of a table with partitions each pair runs in
//! one partition and in two.

use crate::compaction::{VECTORS, append, batch, of, rows, table};
use crate::isolation::under;
use crate::support::{committed, opened, source};
use lakebed_storage::{MemoryStore, Store};
use lakebed_table::{CommitOptions, CompactRequest, Compaction, MergeSpec, Report, Scope, Table};
use lakebed_transaction::{Conflict, Evidence, Outcome, Scalar, Verdict};
use std::sync::Arc;

/// The kinds of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Overwrite,
    Insert,
    Update,
    Minor,
    Major,
}

const KINDS: [Kind; 5] = [Kind::Overwrite, Kind::Insert, Kind::Update, Kind::Minor, Kind::Major];

/// Rows: the earlier job; columns: whether the later one commits, in the order of [`KINDS`].
const MATRIX: [[bool; 5]; 5] = [
    [true, false, false, false, false],
    [true, false, false, true, false],
    [true, false, false, true, false],
    [true, true, true, false, true],
    [true, true, true, false, false],
];

fn commits(earlier: Kind, later: Kind) -> bool {
    let at = |kind| KINDS.iter().position(|one| *one == kind).unwrap();
    MATRIX[at(earlier)][at(later)]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Job {
    Overwrite,
    /// Only partitions that the new rows belong to.
    OverwriteDynamic,
    Truncate,
    Insert,
    Delete,
    Update,
    Merge,
    Minor,
    Clustering,
    Major,
}

const JOBS: [Job; 10] = [
    Job::Overwrite,
    Job::OverwriteDynamic,
    Job::Truncate,
    Job::Insert,
    Job::Delete,
    Job::Update,
    Job::Merge,
    Job::Minor,
    Job::Clustering,
    Job::Major,
];

impl Job {
    const fn kind(self) -> Kind {
        match self {
            Self::Overwrite | Self::OverwriteDynamic | Self::Truncate => Kind::Overwrite,
            Self::Insert => Kind::Insert,
            Self::Delete | Self::Update | Self::Merge => Kind::Update,
            Self::Minor | Self::Clustering => Kind::Minor,
            Self::Major => Kind::Major,
        }
    }

    /// Runs the job in partitions; `who` tells the two sides apart in what they write.
    async fn run(self, table: &mut Table, parts: &[&'static str], who: i64, options: &CommitOptions) -> Report {
        let within = parts.iter().map(|p| format!("p = '{p}'")).collect::<Vec<_>>().join(" OR ");
        let partitioned = !table.snapshot().summary().unwrap().partition_columns.is_empty();
        let new = batch((0..).zip(parts).map(|(at, p)| (1_000 * who + at, *p, who)));
        let compact = |compaction, cluster_by: &[&str]| CompactRequest {
            predicate: partitioned.then(|| within.clone()),
            cluster_by: cluster_by.iter().map(|name| (*name).to_owned()).collect(),
            ..of(compaction)
        };
        let result = match self {
            Self::Overwrite if partitioned => {
                table.overwrite(source(new), &Scope::Where(within.clone()), options).await
            }
            Self::Overwrite => table.overwrite(source(new), &Scope::Whole, options).await,
            Self::OverwriteDynamic => table.overwrite(source(new), &Scope::Partitions, options).await,
            Self::Insert => table.append(source(new), options).await,
            Self::Truncate => table.truncate(partitioned.then_some(within.as_str()), options).await,
            Self::Delete => table.delete(&format!("({within}) AND id % 10 = {who}"), options).await,
            Self::Update => {
                table.update(&["v = -v".to_owned()], Some(&format!("({within}) AND id % 10 = {who}")), options).await
            }
            Self::Merge => {
                let known = parts.iter().map(|p| if *p == "a" { 0 } else { 10 } + who);
                let rows = known.chain([500 + who]).zip(parts.iter().chain(&parts[..1])).map(|(id, p)| (id, *p, who));
                let spec = MergeSpec { on: vec!["id".to_owned(), "p".to_owned()], ..MergeSpec::default() };
                table.merge(source(batch(rows.collect::<Vec<_>>())), &spec, options).await
            }
            Self::Minor => table.compact(&compact(Compaction::Minor, &[]), options).await,
            Self::Clustering => table.compact(&compact(Compaction::Major, &["id"]), options).await,
            Self::Major => table.compact(&compact(Compaction::Major, &[]), options).await,
        };
        result.unwrap()
    }
}

/// Two files in each of two partitions, with rows 0 to 8 in one and 10 to 18 in the other, and one row of each file deleted.
async fn base(partitioned: bool) -> Arc<dyn Store> {
    let (store, mut table) = table(partitioned, &[VECTORS]).await;
    for from in [0, 5] {
        let ids = (from..from + 4).chain(from + 10..from + 14);
        append(&mut table, batch(ids.map(|id| (id, if id < 10 { "a" } else { "b" }, 100 + id)))).await;
    }
    committed(&table.delete("id IN (0, 5, 10, 15)", &CommitOptions::default()).await.unwrap());
    store
}

async fn copy(store: &Arc<dyn Store>) -> Arc<dyn Store> {
    let copy: Arc<dyn Store> = Arc::new(MemoryStore::new());
    for listed in store.list("", None, usize::MAX).await.unwrap() {
        copy.put(&listed.name, store.get(&listed.name).await.unwrap().unwrap()).await.unwrap();
    }
    copy
}

/// Both jobs on one version, the earlier one under a policy of its own: what the later one was answered. The rows are those of the
/// earlier job and, where the later one committed, of that after it.
async fn raced(
    base: &Arc<dyn Store>,
    (earlier, theirs): (Job, &[&'static str]),
    (later, ours): (Job, &[&'static str]),
) -> Option<Box<Conflict>> {
    let context = format!("{later:?} in {ours:?} after {earlier:?} in {theirs:?}");
    let store = copy(base).await;
    let (mut first, mut second) = (opened(&store).await, opened(&store).await);
    committed(&earlier.run(&mut first, theirs, 1, &CommitOptions::default()).await);
    let serial = copy(&store).await;
    let report = later.run(&mut second, ours, 2, &under("maxcompute")).await;
    let mut alone = opened(&serial).await;
    let refused = match report.outcome {
        Outcome::Committed { .. } => {
            let _ = later.run(&mut alone, ours, 2, &CommitOptions::default()).await;
            None
        }
        Outcome::Conflict(conflict) => {
            assert_eq!(conflict.why.verdict, Verdict::Retryable, "{context}");
            assert_eq!(conflict.policy, "maxcompute@2026", "{context}");
            Some(conflict)
        }
        other @ (Outcome::Nothing { .. } | Outcome::Exhausted { .. } | Outcome::Unknown { .. }) => {
            panic!("{context}: {other:?}")
        }
    };
    assert_eq!(rows(&opened(&store).await).await, rows(&alone).await, "{context}");
    refused
}

/// Clustering leaves no record of where rows went. What it moved is followed by nobody, and it does not take out what went
/// meanwhile: the two cells in which that is wanted are refused, by the rows' places.
fn needs_places_of_clustering(earlier: Job, later: Job) -> Option<&'static str> {
    let other = |job: Job| job.kind() == Kind::Update;
    match (earlier, later) {
        (Job::Clustering, later) if other(later) => Some("rows-moved"),
        (earlier, Job::Clustering) if other(earlier) => Some("input-gone"),
        _ => None,
    }
}

async fn every_pair(partitioned: bool, theirs: &[&'static str], ours: &[&'static str]) {
    let base = base(partitioned).await;
    let meet = !partitioned || theirs.iter().any(|p| ours.contains(p));
    let jobs = || JOBS.into_iter().filter(|job| partitioned || *job != Job::OverwriteDynamic);
    let (mut accepted, mut refused, mut wrong) = (0, 0, Vec::new());
    for earlier in jobs() {
        for later in jobs() {
            let context = format!("{later:?} in {ours:?} after {earlier:?} in {theirs:?}");
            let cell = !meet || commits(earlier.kind(), later.kind());
            let places = needs_places_of_clustering(earlier, later).filter(|_| meet && cell);
            match raced(&base, (earlier, theirs), (later, ours)).await {
                None if cell && places.is_none() => accepted += 1,
                Some(conflict) if !cell && (!partitioned || names_partition(&conflict, theirs, ours)) => refused += 1,
                Some(conflict) if places.is_some() && conflict.why.reason.map(|reason| reason.check) == places => {
                    refused += 1;
                }
                None => wrong.push(format!("{context}: committed")),
                Some(conflict) => wrong.push(format!("{context}: {conflict}")),
            }
        }
    }
    println!(
        "in {ours:?} after jobs in {theirs:?}, partitioned: {partitioned}: {accepted} committed, {refused} refused"
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Whether a refusal names a partition that both touch.
fn names_partition(conflict: &Conflict, theirs: &[&str], ours: &[&str]) -> bool {
    let Some(Evidence::Partition(named)) = &conflict.why.evidence else { return false };
    let [(column, value)] = named.as_slice() else { return false };
    let both = theirs.iter().filter(|p| ours.contains(p));
    &**column == "p" && both.into_iter().any(|p| *value == Scalar::string(p))
}

#[tokio::test]
async fn a_table_without_partitions_is_one_partition() {
    every_pair(false, &["a"], &["a"]).await;
    every_pair(false, &["a"], &["b"]).await;
}

#[tokio::test]
async fn jobs_in_one_partition_meet_by_the_matrix() {
    every_pair(true, &["a"], &["a"]).await;
}

#[tokio::test]
async fn jobs_in_two_partitions_never_meet() {
    every_pair(true, &["a"], &["b"]).await;
}

/// A job over two partitions stands or falls as a whole, on either side.
#[tokio::test]
async fn a_job_over_two_partitions_passes_in_each_or_not_at_all() {
    every_pair(true, &["b"], &["a", "b"]).await;
    every_pair(true, &["a", "b"], &["b"]).await;
}
