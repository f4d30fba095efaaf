//! Create-if-absent out of a rename and out of a lock: the behaviour suite, the races, and what is left when something breaks.

use crate::stores::{adapted, holds, local};
use async_trait::async_trait;
use lakebed_storage::testing::{Counting, Fault, Faulty, Operation, Script};
use lakebed_storage::{
    CommitLock, Create, Durability, LocalStore, Locked, LockedCreate, MemoryStore, MoveIfAbsent, ProcessLock,
    PutIfAbsent, RenameIfAbsent, Store, StoreError, suite,
};
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use std::sync::Arc;

async fn races(store: &Arc<dyn Store>, rounds: u64) {
    let report = suite::race(store, 32, rounds).await.unwrap_or_else(|violation| panic!("{violation}"));
    assert_eq!((report.rounds, report.unclear), (rounds, 0));
    let strays = store.strays().await.expect("strays");
    assert_eq!(strays, [], "no stage is left behind");
}

fn local_both(folder: &tempfile::TempDir, durability: Durability) -> Arc<LocalStore> {
    Arc::new(LocalStore::new(folder.path().join("table"), durability).expect("a local store"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn renames_on_local_disk() {
    for durability in [Durability::Full, Durability::None] {
        let folder = tempfile::tempdir().expect("a folder");
        let store: Arc<dyn Store> = Arc::new(RenameIfAbsent::over(local_both(&folder, durability)));
        holds(Arc::clone(&store)).await;
        races(&store, 100).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn renames_of_object_store() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = LocalFileSystem::new_with_prefix(folder.path()).expect("a file system");
    let files = PutIfAbsent::new(Arc::new(files), "a b/%20", "test://files").expect("an adapter");
    let memory = PutIfAbsent::new(Arc::new(InMemory::new()), "table", "test://memory").expect("an adapter");
    for both in [files, memory] {
        let store: Arc<dyn Store> = Arc::new(RenameIfAbsent::over(Arc::new(both)));
        holds(Arc::clone(&store)).await;
        races(&store, 100).await;
    }
}

/// On Azure's emulator, at `$LAKEBED_TEST_AZURE` (`az://container/folder`, the rest in `AZUR…`).
#[cfg(feature = "azure")]
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn renames_on_azurite() {
    let Ok(url) = std::env::var("LAKEBED_TEST_AZURE") else {
        println!("skipped: $LAKEBED_TEST_AZURE names no container");
        return;
    };
    // Whoever opens a store chooses the library of cryptography.
    drop(lakebed_storage::open(&url, &lakebed_storage::StoreOptions::new()).expect("a store"));
    let container = url.trim_start_matches("az://").split('/').next().unwrap_or_default();
    let builder = object_store::azure::MicrosoftAzureBuilder::from_env().with_container_name(container);
    let azure = builder.build().expect("a client");
    let folder = format!("renames-{}", std::process::id());
    let both = PutIfAbsent::new(Arc::new(azure), &folder, &url).expect("an adapter").with_sorted_listings();
    let store: Arc<dyn Store> = Arc::new(RenameIfAbsent::over(Arc::new(both)));
    holds(Arc::clone(&store)).await;
    races(&store, 20).await;
}

/// A store that ignores the condition becomes one that can take commits, by a lock.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn locks_on_a_store_that_cannot_create() {
    let deaf = || -> Arc<dyn Store> {
        Arc::new(Faulty::new(Arc::new(MemoryStore::new()), Script::always(Fault::IgnoredCondition)))
    };
    let store: Arc<dyn Store> = Arc::new(LockedCreate::new(deaf(), Arc::new(ProcessLock::new())));
    holds(Arc::clone(&store)).await;
    races(&store, 200).await;
    let folder = tempfile::tempdir().expect("a folder");
    let store: Arc<dyn Store> =
        Arc::new(LockedCreate::new(local(&folder, Durability::None), Arc::new(ProcessLock::new())));
    holds(Arc::clone(&store)).await;
    races(&store, 50).await;
}

/// Somebody else's lock: a second client of the same one.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn clients_of_one_lock_exclude_each_other() {
    let (lock, store) = (Arc::new(ProcessLock::new()), MemoryStore::new());
    let client = || LockedCreate::new(Arc::new(store.clone()), Arc::clone(&lock) as Arc<dyn CommitLock>);
    let key = format!("{}/x", store.root().trim_end_matches('/'));
    let Locked::Held { token } = lock.try_lock(&key).await.expect("an answer") else { panic!("nobody holds it") };
    assert!(matches!(client().create("x", "1".into()).await, Ok(Create::NotNow { .. })));
    lock.unlock(&key, "not the holder's").await.expect("an answer");
    assert!(matches!(client().create("x", "1".into()).await, Ok(Create::NotNow { .. })));
    assert_eq!(client().create("y", "1".into()).await.expect("an answer"), Create::Created);
    lock.unlock(&key, &token).await.expect("an answer");
    assert_eq!(client().create("x", "1".into()).await.expect("an answer"), Create::Created);
    assert_eq!(client().create("x", "2".into()).await.expect("an answer"), Create::Exists);
}

/// Answers puts of so many with an error, after or before it stored the object; everything else passes.
#[derive(Debug)]
struct Unanswered {
    inner: MemoryStore,
    left: std::sync::atomic::AtomicU32,
    error: fn() -> StoreError,
    stores: bool,
}

fn reset() -> StoreError {
    StoreError::Failed { root: "test://".to_owned(), name: "x".to_owned(), source: "connection reset".into() }
}

fn busy() -> StoreError {
    StoreError::Busy { root: "test://".to_owned(), name: "x".to_owned(), detail: "503".to_owned() }
}

fn denied() -> StoreError {
    StoreError::Denied { root: "test://".to_owned(), name: "x".to_owned(), detail: "403".to_owned() }
}

impl Unanswered {
    fn over(inner: &MemoryStore, left: u32, error: fn() -> StoreError, stores: bool) -> Arc<dyn Store> {
        Arc::new(Self { inner: inner.clone(), left: left.into(), error, stores })
    }
}

#[async_trait]
impl Store for Unanswered {
    fn root(&self) -> &str {
        self.inner.root()
    }
    async fn get(&self, name: &str) -> Result<Option<bytes::Bytes>, StoreError> {
        self.inner.get(name).await
    }
    async fn get_range(&self, name: &str, range: std::ops::Range<u64>) -> Result<Option<bytes::Bytes>, StoreError> {
        self.inner.get_range(name, range).await
    }
    async fn head(&self, name: &str) -> Result<Option<lakebed_storage::Listed>, StoreError> {
        self.inner.head(name).await
    }
    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<lakebed_storage::Listed>, StoreError> {
        self.inner.list(prefix, after, limit).await
    }
    async fn put(&self, name: &str, bytes: bytes::Bytes) -> Result<(), StoreError> {
        use std::sync::atomic::Ordering::Relaxed;
        if self.left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err() {
            return self.inner.put(name, bytes).await;
        }
        if self.stores {
            self.inner.put(name, bytes).await?;
        }
        Err((self.error)())
    }
    async fn create(&self, name: &str, _bytes: bytes::Bytes) -> Result<Create, StoreError> {
        panic!("{name} is created by the store itself")
    }
    async fn copy(&self, from: &str, to: &str) -> Result<(), StoreError> {
        self.inner.copy(from, to).await
    }
    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.inner.delete(name).await
    }
}

/// A put that stays unanswered keeps its lock, so that nobody writes where it may still land; the same create takes it up again.
#[tokio::test]
async fn an_unanswered_put_keeps_its_lock() {
    let (inner, lock) = (MemoryStore::new(), Arc::new(ProcessLock::new()));
    let shared = || Arc::clone(&lock) as Arc<dyn CommitLock>;
    let ours = LockedCreate::new(Unanswered::over(&inner, 3, reset, false), shared());
    let rival = LockedCreate::new(Arc::new(inner.clone()), shared());
    assert!(matches!(ours.create("x", "ours".into()).await, Ok(Create::Unknown(said)) if said.contains("reset")));
    assert_eq!(ours.unsettled(), ["x".to_owned()].into());
    assert!(matches!(rival.create("x", "theirs".into()).await, Ok(Create::NotNow { .. })));
    assert!(matches!(ours.create("x", "other".into()).await, Ok(Create::NotNow { .. })));
    assert_eq!(inner.get("x").await.expect("an answer"), None);
    assert_eq!(ours.create("x", "ours".into()).await.expect("an answer"), Create::Created);
    assert_eq!(ours.unsettled(), [].into());
    assert_eq!(rival.create("x", "theirs".into()).await.expect("an answer"), Create::Exists);
    assert_eq!(inner.get("x").await.expect("an answer"), Some("ours".into()));
}

/// A create that is taken up again looks first: its own put has landed by then, or the lock was given to another one all the same,
/// whose object stays.
#[tokio::test]
async fn a_create_that_is_taken_up_looks_what_stands_there() {
    for (late, answer) in [("ours", Create::Created), ("theirs", Create::Exists)] {
        let (inner, lock) = (MemoryStore::new(), Arc::new(ProcessLock::new()));
        let ours = LockedCreate::new(Unanswered::over(&inner, 3, reset, false), Arc::clone(&lock) as _);
        assert!(matches!(ours.create("x", "ours".into()).await, Ok(Create::Unknown(_))));
        inner.put("x", late.into()).await.expect("a put");
        assert_eq!(ours.create("x", "ours".into()).await.expect("an answer"), answer);
        assert_eq!(inner.get("x").await.expect("an answer"), Some(late.into()));
        // The lock was given back.
        assert_eq!(ours.unsettled(), [].into());
        let rival = LockedCreate::new(Arc::new(inner.clone()), lock);
        assert_eq!(rival.create("x", "more".into()).await.expect("an answer"), Create::Exists);
    }
}

/// A put that is certainly refused gives the lock back; one answer that was lost is made up for.
#[tokio::test]
async fn a_refused_put_gives_its_lock_back() {
    for (error, left) in [(denied as fn() -> StoreError, 1), (busy, 3)] {
        let (inner, lock) = (MemoryStore::new(), Arc::new(ProcessLock::new()));
        let ours = LockedCreate::new(Unanswered::over(&inner, left, error, false), Arc::clone(&lock) as _);
        let answer = ours.create("x", "ours".into()).await;
        assert!(matches!(answer, Err(StoreError::Denied { .. }) | Ok(Create::NotNow { .. })), "{answer:?}");
        let rival = LockedCreate::new(Arc::new(inner.clone()), lock);
        assert_eq!(rival.create("x", "theirs".into()).await.expect("an answer"), Create::Created);
    }
    let inner = MemoryStore::new();
    let ours = LockedCreate::new(Unanswered::over(&inner, 2, reset, true), Arc::new(ProcessLock::new()));
    assert_eq!(ours.create("x", "ours".into()).await.expect("an answer"), Create::Created);
    assert_eq!(ours.unsettled(), [].into());
}

/// A move whose answer is lost, before or after it took effect.
#[derive(Debug)]
struct LostMove {
    inner: MemoryStore,
    moves: bool,
}

#[async_trait]
impl MoveIfAbsent for LostMove {
    async fn move_if_absent(&self, from: &str, to: &str) -> Result<Create, StoreError> {
        if self.moves {
            let bytes = self.inner.get(from).await?.expect("what was staged");
            assert_eq!(self.inner.create(to, bytes).await?, Create::Created);
            self.inner.delete(from).await?;
        }
        Ok(Create::Unknown("connection reset".to_owned()))
    }
}

#[tokio::test]
async fn a_lost_move_leaves_no_stage() {
    for moves in [false, true] {
        let inner = MemoryStore::new();
        let store = RenameIfAbsent::new(Arc::new(inner.clone()), Arc::new(LostMove { inner: inner.clone(), moves }));
        assert!(matches!(store.create("log/x", "1".into()).await, Ok(Create::Unknown(_))));
        let left: Vec<String> =
            inner.list("", None, 9).await.expect("a listing").into_iter().map(|listed| listed.name).collect();
        assert_eq!(left, if moves { vec!["log/x"] } else { vec![] });
    }
}

/// What a killed process staged is hidden, shown to a cleanup, and in nobody's way; its names cannot be written to.
#[tokio::test]
async fn a_stage_that_was_left_is_a_stray() {
    let memory = || PutIfAbsent::new(Arc::new(InMemory::new()), "", "test://memory").expect("an adapter");
    let inner = Arc::new(memory());
    for name in ["log/.stage-dead", "log/1", "log/.stage-deader", "log/2", ".stage-root"] {
        inner.put(name, "1".into()).await.expect("a put");
    }
    let store = RenameIfAbsent::over(Arc::clone(&inner));
    for limit in 0..4 {
        let listed = store.list("log", None, limit).await.expect("a listing");
        let names: Vec<&str> = listed.iter().map(|listed| listed.name.as_str()).collect();
        assert_eq!(names, ["log/1", "log/2"][..limit.min(2)]);
    }
    let strays: Vec<String> = store.strays().await.expect("strays").into_iter().map(|stray| stray.name).collect();
    assert_eq!(strays, [".stage-root", "log/.stage-dead", "log/.stage-deader"]);
    store.delete_all(&strays).await.expect("a cleanup");
    assert!(store.strays().await.expect("strays").is_empty());
    for refused in [store.put("x/.stage-1", "1".into()).await, store.copy("log/1", "x/.stage-1").await] {
        assert!(matches!(refused, Err(StoreError::Unusable { .. })));
    }
    assert!(store.create("x/.stage-1", "1".into()).await.is_err());
}

/// An uncontended create by rename is a put and a move.
#[tokio::test]
async fn a_create_by_rename_is_one_put_and_one_move() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = local_both(&folder, Durability::None);
    let counting = Arc::new(Counting::new(Arc::clone(&files) as Arc<dyn Store>));
    let store = RenameIfAbsent::new(Arc::clone(&counting) as Arc<dyn Store>, files);
    assert_eq!(store.create("log/x", "1".into()).await.expect("an answer"), Create::Created);
    let requests = counting.take();
    assert_eq!((requests.total(), requests.count(Operation::Put)), (1, 1));
    assert_eq!(store.create("log/x", "2".into()).await.expect("an answer"), Create::Exists);
    let requests = counting.take();
    assert_eq!((requests.total(), requests.count(Operation::Delete)), (2, 1));
}

/// The adapter itself has no rename where its store has none that replaces nothing.
#[tokio::test]
async fn a_move_of_what_is_gone_is_unknown() {
    let store = adapted(InMemory::new(), "");
    store.put("x", "1".into()).await.expect("a put");
    let both = PutIfAbsent::new(Arc::new(InMemory::new()), "", "test://memory").expect("an adapter");
    assert!(matches!(both.move_if_absent("gone", "x").await, Ok(Create::Unknown(_))));
}
