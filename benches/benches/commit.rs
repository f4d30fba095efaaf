//! Commits per second of one writer: metadata only, on memory and on local disk, beside the bare creation of a file.

#![expect(clippy::unwrap_used, reason = "a benchmark ends where something fails")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use lakebed_benches::{Place, commit_one, new_table};
use lakebed_storage::Create;
use lakebed_table::TableFormat;
use std::time::{Duration, Instant};

/// Commits to one table before it is replaced by a new one, so that a Lance manifest stays small.
const COMMITS_PER_TABLE: u64 = 200;

fn commits(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let mut group = criterion.benchmark_group("commit");
    group.throughput(Throughput::Elements(1)).sample_size(20).measurement_time(Duration::from_secs(4));
    for place in [Place::Memory, Place::Local, Place::LocalDurable] {
        group.bench_function(BenchmarkId::new("bare create", place.name()), |bencher| {
            bencher.to_async(Runtime(&runtime)).iter_custom(|count| bare(place, count));
        });
        for format in [TableFormat::Delta, TableFormat::Lance] {
            group.bench_function(BenchmarkId::new(format.name(), place.name()), |bencher| {
                bencher.to_async(Runtime(&runtime)).iter_custom(|count| run(place, format, count));
            });
        }
    }
    group.finish();
}

#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
async fn run(place: Place, format: TableFormat, count: u64) -> Duration {
    let mut total = Duration::ZERO;
    let mut left = count;
    while left > 0 {
        let folder = tempfile::tempdir().unwrap();
        let mut table = new_table(place.store(folder.path()).unwrap(), format).await.unwrap();
        let batch = left.min(COMMITS_PER_TABLE);
        let begun = Instant::now();
        for number in 0..batch {
            assert!(commit_one(&mut table, number).await.unwrap());
        }
        total += begun.elapsed();
        left -= batch;
    }
    total
}

/// The same number of creates of files of about a commit's size in the same layout.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
async fn bare(place: Place, count: u64) -> Duration {
    let body = bytes::Bytes::from(vec![b'x'; 700]);
    let mut total = Duration::ZERO;
    let mut left = count;
    while left > 0 {
        let folder = tempfile::tempdir().unwrap();
        let store = place.store(folder.path()).unwrap();
        let batch = left.min(COMMITS_PER_TABLE);
        let begun = Instant::now();
        for number in 0..batch {
            let name = format!("_delta_log/{number:020}.json");
            assert_eq!(store.create(&name, body.clone()).await.unwrap(), Create::Created);
        }
        total += begun.elapsed();
        left -= batch;
    }
    total
}

/// Criterion's executor over a runtime that exists.
struct Runtime<'a>(&'a tokio::runtime::Runtime);

impl criterion::async_executor::AsyncExecutor for Runtime<'_> {
    fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.0.block_on(future)
    }
}

criterion_group!(benches, commits);
criterion_main!(benches);
