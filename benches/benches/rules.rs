//! How fast the rules judge: pairs of small transactions per second under each policy, and two footprints of a million paths.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use lakebed_conflict::delta::{DeltaFacts, DeltaFile, DeltaPolicy};
use lakebed_conflict::lance::{FileList, LanceFacts, UpdateFacts, judge as judge_lance};
use lakebed_conflict::maxcompute::{MaxComputeFacts, PartitionSet, judge as judge_matrix};
use lakebed_transaction::{LanceKind, MaxComputeKind, Scalar, Unit, UnitId, UnitSet};
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Paths in each of the two large footprints.
const PATHS: u64 = 1_000_000;

/// A row-level update of these fragments, one row in each.
fn update(fragments: &[u64]) -> LanceFacts {
    let mut facts = LanceFacts { affected_rows_known: true, relies_on_nullability: true, ..LanceFacts::default() };
    facts.update = Some(UpdateFacts::default());
    facts.footprint.updated_units = fragments.iter().map(|id| UnitId::Fragment(*id)).collect();
    facts.footprint.added_units = vec![Unit::named(UnitId::Fragment(90))];
    for fragment in fragments {
        facts.footprint.rows.push((UnitId::Fragment(*fragment), [7].into_iter().collect()));
        facts.files_read.push((*fragment, FileList::of(b"files")));
        facts.files_written.push((*fragment, FileList::of(b"files")));
    }
    facts
}

/// A rewrite of these files that read them.
fn rewrite(files: &[&str]) -> DeltaFacts {
    let file = |path: &str| DeltaFile { unit: UnitId::file(path), partition: Some(Vec::new()), data_change: true };
    let mut facts = DeltaFacts { data_change: true, changes_data: true, ..DeltaFacts::default() };
    facts.operation = Arc::from("UPDATE");
    facts.removed = files.iter().map(|path| file(path)).collect();
    facts.footprint.removed_units = files.iter().map(|path| UnitId::file(path)).collect();
    facts.footprint.read_units = facts.footprint.removed_units.clone();
    facts
}

fn append(path: &str) -> DeltaFacts {
    let file = DeltaFile { unit: UnitId::file(path), partition: Some(Vec::new()), data_change: true };
    DeltaFacts {
        added: vec![file],
        declared_blind: Some(true),
        data_change: true,
        changes_data: true,
        operation: Arc::from("WRITE"),
        ..DeltaFacts::default()
    }
}

fn insert(day: i32) -> MaxComputeFacts {
    MaxComputeFacts::new(MaxComputeKind::Insert, PartitionSet::of(vec![vec![("day".into(), Scalar::Date(day))]]))
}

fn pairs(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("pair");
    group.throughput(Throughput::Elements(1)).measurement_time(Duration::from_secs(3));
    let lance = |ours: &LanceFacts, landed: &LanceFacts| {
        judge_lance((LanceKind::Update, black_box(ours)), (LanceKind::Update, black_box(landed)))
    };
    let (low, high, same) = (update(&[1, 2, 3]), update(&[4, 5, 6]), update(&[3, 4, 5]));
    let (odd, even) = (update(&[1, 3, 5]), update(&[2, 4, 6]));
    group.bench_function(BenchmarkId::new("lance", "updates apart"), |bencher| bencher.iter(|| lance(&low, &high)));
    group
        .bench_function(BenchmarkId::new("lance", "updates in between"), |bencher| bencher.iter(|| lance(&odd, &even)));
    group.bench_function(BenchmarkId::new("lance", "updates meet"), |bencher| bencher.iter(|| lance(&low, &same)));
    let (new, other) = (append("n1"), append("n2"));
    let (first, second) = (rewrite(&["a", "b", "c"]), rewrite(&["d", "e", "f"]));
    for policy in [DeltaPolicy::Serializable, DeltaPolicy::WriteSerializable, DeltaPolicy::Snapshot] {
        let judge = |ours: &DeltaFacts, landed: &DeltaFacts| policy.judge(black_box(ours), black_box(landed));
        let mut pair = |what, ours: &DeltaFacts, landed: &DeltaFacts| {
            group.bench_function(BenchmarkId::new(policy.name(), what), |bencher| bencher.iter(|| judge(ours, landed)));
        };
        pair("appends", &new, &other);
        pair("rewrites apart", &first, &second);
        pair("rewrites meet", &first, &first);
    }
    let (monday, tuesday) = (insert(1), insert(2));
    let matrix = |ours: &MaxComputeFacts, landed: &MaxComputeFacts| judge_matrix(black_box(ours), black_box(landed));
    group.bench_function(BenchmarkId::new("maxcompute", "days apart"), |bencher| {
        bencher.iter(|| matrix(&monday, &tuesday));
    });
    group
        .bench_function(BenchmarkId::new("maxcompute", "one day"), |bencher| bencher.iter(|| matrix(&monday, &monday)));
    group.finish();
}

/// A footprint of `PATHS` paths as partitioned tables have them, without one in common with another `table`.
fn paths(table: &str) -> UnitSet {
    let path = |n: u64| format!("day=2026-01-{:02}/part-{n:08}-{table}.c000.snappy.parquet", n % 28 + 1);
    (0..PATHS).map(|n| UnitId::file(&path(n))).collect()
}

fn removal(units: UnitSet) -> DeltaFacts {
    let mut facts = DeltaFacts { data_change: true, changes_data: true, ..DeltaFacts::default() };
    facts.operation = Arc::from("DELETE");
    facts.footprint.read_units = units.clone();
    facts.footprint.removed_units = units;
    facts
}

/// Pages of 4096 bytes that are resident, where the system says so.
fn resident_bytes() -> Option<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?.split_whitespace().nth(1)?.parse::<u64>().ok()?;
    pages.checked_mul(4_096)
}

/// Two sets of reads and removals that share nothing, so that every path is looked at.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
fn million(criterion: &mut Criterion) {
    let (before, begun) = (resident_bytes(), Instant::now());
    let units = paths("ours");
    let (built, after) = (begun.elapsed(), resident_bytes());
    let megabytes = before.zip(after).map(|(before, after)| after.saturating_sub(before) / 1_000_000);
    println!("built a footprint of {PATHS} paths in {built:?}; resident memory grew by {megabytes:?} MB");
    let (ours, landed) = (removal(units), removal(paths("landed")));
    let mut group = criterion.benchmark_group("million paths");
    group.sample_size(20).measurement_time(Duration::from_secs(4));
    group.bench_function("read and removed, apart", |bencher| {
        bencher.iter(|| {
            let answer = DeltaPolicy::Serializable.judge(black_box(&ours), black_box(&landed));
            assert!(answer.verdict.accepts());
        });
    });
    group.finish();
}

criterion_group!(benches, pairs, million);
criterion_main!(benches);
