//! The behaviour suite and the races, on every store that a plain build has.

use lakebed_storage::testing::{Counting, Fault, Faulty, Operation, Script};
use lakebed_storage::{Create, Durability, LocalStore, MemoryStore, PutIfAbsent, Store, StoreError, suite};
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use std::sync::Arc;
use std::time::Instant;

const TASKS: usize = 32;
const ROUNDS: u64 = 200;
/// Every promise of the contract is one check; a suite that stops early must not pass.
const CHECKS: usize = 23;

pub(crate) fn local(folder: &tempfile::TempDir, durability: Durability) -> Arc<dyn Store> {
    Arc::new(LocalStore::new(folder.path().join("table"), durability).expect("a local store"))
}

pub(crate) fn adapted(store: impl object_store::ObjectStore, prefix: &str) -> Arc<dyn Store> {
    Arc::new(PutIfAbsent::new(Arc::new(store), prefix, "test://store").expect("an adapter"))
}

pub(crate) async fn holds(store: Arc<dyn Store>) {
    let report = suite::run(&store).await.unwrap_or_else(|violation| panic!("{violation}"));
    assert_eq!(report.checks.len(), CHECKS, "{:?}", report.checks);
    let left = store.list("", None, 10).await.expect("a listing");
    assert_eq!(left, [], "the suite cleans up");
}

async fn races(store: Arc<dyn Store>) {
    races_of(store, ROUNDS).await;
}

/// So many rounds: fewer where each request costs a hundred times as much.
pub(crate) async fn races_of(store: Arc<dyn Store>, rounds: u64) {
    let counting = Arc::new(Counting::new(Arc::clone(&store)));
    let counted: Arc<dyn Store> = counting.clone();
    let begin = Instant::now();
    let report = suite::race(&counted, TASKS, rounds).await.unwrap_or_else(|violation| panic!("{violation}"));
    println!("{}: {rounds} rounds of {TASKS} in {:?}", store.root(), begin.elapsed());
    assert_eq!((report.rounds, report.unclear), (rounds, 0));
    let creates = counting.take().count(Operation::Create);
    assert_eq!(u64::try_from(creates).expect("a count"), report.creates);
    assert_eq!(report.creates, 32 * rounds);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn memory() {
    holds(Arc::new(MemoryStore::new())).await;
    holds(Arc::new(MemoryStore::new().below("deep/er").expect("a folder"))).await;
    races(Arc::new(MemoryStore::new())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn local_files() {
    let folder = tempfile::tempdir().expect("a folder");
    holds(local(&folder, Durability::None)).await;
    races(local(&folder, Durability::None)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn durable_local_files() {
    let folder = tempfile::tempdir().expect("a folder");
    holds(local(&folder, Durability::Full)).await;
    races(local(&folder, Durability::Full)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn memory_of_object_store() {
    holds(adapted(InMemory::new(), "")).await;
    holds(adapted(InMemory::new(), "a b/%20/ü")).await;
    races(adapted(InMemory::new(), "prefix")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn files_of_object_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = || LocalFileSystem::new_with_prefix(folder.path()).expect("a file system");
    holds(adapted(files(), "")).await;
    holds(adapted(files(), "a b/%20/ü")).await;
    races(adapted(files(), "prefix")).await;
}

/// Real S3, or what speaks like it, at `$LAKEBED_TEST_S3` (`s3://bucket/folder`, keys and endpoint in `AWS_…`).
#[cfg(feature = "aws")]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn s3() {
    let Ok(url) = std::env::var("LAKEBED_TEST_S3") else {
        println!("skipped: $LAKEBED_TEST_S3 names no bucket");
        return;
    };
    let options = lakebed_storage::StoreOptions::new();
    // A folder of its own: other tests keep their tables beside it.
    let folder = format!("{}/suite-{}", url.trim_end_matches('/'), std::process::id());
    let store = lakebed_storage::open(&folder, &options).expect("a store");
    holds(Arc::clone(&store)).await;
    races(store).await;
}

/// Field case 18: a store that ignores the condition is caught, by the suite at once and by a race.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_store_that_ignores_the_condition_fails() {
    let deaf = || -> Arc<dyn Store> {
        Arc::new(Faulty::new(Arc::new(MemoryStore::new()), Script::always(Fault::IgnoredCondition)))
    };
    let violation = suite::run(&deaf()).await.expect_err("the suite sees it");
    assert!(violation.to_string().contains("create where something stands"), "{violation}");
    let violation = suite::race(&deaf(), 8, 1).await.expect_err("the race sees it");
    assert!(violation.to_string().contains("8 tasks were told that they created it"), "{violation}");
}

/// A store that looks and then writes: right in every sequence, wrong in a race.
#[derive(Debug)]
struct LooksThenWrites(MemoryStore);

#[async_trait::async_trait]
impl Store for LooksThenWrites {
    fn root(&self) -> &str {
        self.0.root()
    }
    async fn get(&self, name: &str) -> Result<Option<bytes::Bytes>, StoreError> {
        self.0.get(name).await
    }
    async fn get_range(&self, name: &str, range: std::ops::Range<u64>) -> Result<Option<bytes::Bytes>, StoreError> {
        self.0.get_range(name, range).await
    }
    async fn head(&self, name: &str) -> Result<Option<lakebed_storage::Listed>, StoreError> {
        self.0.head(name).await
    }
    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<lakebed_storage::Listed>, StoreError> {
        self.0.list(prefix, after, limit).await
    }
    async fn put(&self, name: &str, bytes: bytes::Bytes) -> Result<(), StoreError> {
        self.0.put(name, bytes).await
    }
    async fn create(&self, name: &str, bytes: bytes::Bytes) -> Result<Create, StoreError> {
        if self.0.head(name).await?.is_some() {
            return Ok(Create::Exists);
        }
        tokio::task::yield_now().await;
        self.0.put(name, bytes).await?;
        Ok(Create::Created)
    }
    async fn copy(&self, from: &str, to: &str) -> Result<(), StoreError> {
        self.0.copy(from, to).await
    }
    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.0.delete(name).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_store_that_looks_and_then_writes_passes_the_suite_and_fails_the_race() {
    let store: Arc<dyn Store> = Arc::new(LooksThenWrites(MemoryStore::new()));
    suite::run(&store).await.expect("in sequence it looks right");
    let violation = suite::race(&store, TASKS, ROUNDS).await.expect_err("the race sees it");
    assert!(violation.to_string().contains("told that they created it"), "{violation}");
}

/// Lost answers are no violation: the round is counted as unclear, and the bytes are somebody's.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_lost_answer_makes_a_round_unclear() {
    let lost = Fault::LostAnswer(Create::Unknown("reset".to_owned()));
    let store: Arc<dyn Store> = Arc::new(Faulty::new(Arc::new(MemoryStore::new()), Script::always(lost)));
    let report = suite::race(&store, 4, 3).await.expect("allowed");
    assert_eq!((report.rounds, report.unclear), (3, 3));
}

/// Field case 128: a task that is turned away asks again, and the round has its winner.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_busy_store_is_asked_again() {
    let busy = Fault::SpuriousRefusal(Create::NotNow { after_ms: 1 });
    let first_three = Script::queue([Some(busy.clone()), Some(busy.clone()), Some(busy)]);
    let store: Arc<dyn Store> = Arc::new(Faulty::new(Arc::new(MemoryStore::new()), first_three));
    let report = suite::race(&store, 4, 2).await.expect("a winner each time");
    assert_eq!((report.rounds, report.creates, report.unclear), (2, 8 + 3, 0));
}
