//! A client that dies at a given request, of the store or of the index.

use async_trait::async_trait;
use bytes::Bytes;
use lakebed_storage::{CommitIndex, Create, Entry, Keeps, Listed, Reserve, Store, StoreError};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use tokio::sync::Semaphore;

/// Stands still once so many requests have been begun and ended: each counts twice, so that a client can die before its request
/// takes effect and after.
#[derive(Debug)]
pub(crate) struct Stop {
    passes: Semaphore,
    stands: AtomicBool,
}

/// More than any client passes.
const MANY: usize = Semaphore::MAX_PERMITS / 4;

impl Stop {
    pub(crate) fn after(places: usize) -> Arc<Self> {
        Arc::new(Self { passes: Semaphore::new(places), stands: AtomicBool::new(false) })
    }

    /// Stands still nowhere until it is armed.
    pub(crate) fn nowhere() -> Arc<Self> {
        Self::after(MANY)
    }

    /// Counts anew.
    pub(crate) fn arm(&self, places: usize) {
        self.stands.store(false, Ordering::SeqCst);
        self.passes.forget_permits(Semaphore::MAX_PERMITS);
        self.passes.add_permits(places);
    }

    /// Whoever stands still goes on, to the end.
    pub(crate) fn resume(&self) {
        self.passes.add_permits(MANY);
    }

    /// Whether the client came to the place where it stands still.
    pub(crate) fn dead(&self) -> bool {
        self.stands.load(Ordering::SeqCst)
    }

    async fn around<T>(&self, request: impl Future<Output = T>) -> T {
        self.pass().await;
        let answer = request.await;
        self.pass().await;
        answer
    }

    async fn pass(&self) {
        if let Ok(pass) = self.passes.try_acquire() {
            pass.forget();
            return;
        }
        self.stands.store(true, Ordering::SeqCst);
        self.passes.acquire().await.unwrap().forget();
    }
}

/// Runs a client until it ends or stands still; `None` when it stands. Dropped there it is dead.
pub(crate) async fn until_dead<T>(stop: &Stop, client: impl Future<Output = T>) -> Option<T> {
    tokio::pin!(client);
    loop {
        tokio::select! {
            answer = &mut client => return Some(answer),
            () = tokio::time::sleep(std::time::Duration::from_millis(2)) => if stop.dead() { return None },
        }
    }
}

#[derive(Debug)]
pub(crate) struct StoppingStore(pub(crate) Arc<dyn Store>, pub(crate) Arc<Stop>);

#[async_trait]
impl Store for StoppingStore {
    fn root(&self) -> &str {
        self.0.root()
    }
    async fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        self.1.around(self.0.get(name)).await
    }
    async fn get_range(&self, name: &str, range: Range<u64>) -> Result<Option<Bytes>, StoreError> {
        self.1.around(self.0.get_range(name, range)).await
    }
    async fn head(&self, name: &str) -> Result<Option<Listed>, StoreError> {
        self.1.around(self.0.head(name)).await
    }
    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<Listed>, StoreError> {
        self.1.around(self.0.list(prefix, after, limit)).await
    }
    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        self.1.around(self.0.put(name, bytes)).await
    }
    async fn create(&self, name: &str, bytes: Bytes) -> Result<Create, StoreError> {
        self.1.around(self.0.create(name, bytes)).await
    }
    async fn copy(&self, from: &str, to: &str) -> Result<(), StoreError> {
        self.1.around(self.0.copy(from, to)).await
    }
    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.1.around(self.0.delete(name)).await
    }
}

#[derive(Debug)]
pub(crate) struct StoppingIndex(pub(crate) Arc<dyn CommitIndex>, pub(crate) Arc<Stop>);

#[async_trait]
impl CommitIndex for StoppingIndex {
    fn location(&self) -> &str {
        self.0.location()
    }
    fn keeps(&self, name: &str) -> Keeps {
        self.0.keeps(name)
    }
    fn staged(&self, name: &str, id: &str) -> String {
        self.0.staged(name, id)
    }
    async fn reserve(&self, table: &str, entry: &Entry) -> Result<Reserve, StoreError> {
        self.1.around(self.0.reserve(table, entry)).await
    }
    async fn confirm(&self, table: &str, entry: &Entry) -> Result<(), StoreError> {
        self.1.around(self.0.confirm(table, entry)).await
    }
    async fn get(&self, table: &str, name: &str) -> Result<Option<Entry>, StoreError> {
        self.1.around(self.0.get(table, name)).await
    }
    async fn latest(&self, table: &str) -> Result<Vec<Entry>, StoreError> {
        self.1.around(self.0.latest(table)).await
    }
    async fn release(&self, table: &str, entry: &Entry) -> Result<(), StoreError> {
        self.1.around(self.0.release(table, entry)).await
    }
}

/// A store that cannot create: whoever commits without the index is found out.
#[derive(Debug)]
pub(crate) struct Plain {
    inner: Arc<dyn Store>,
    failing_copies: AtomicU32,
}

impl Plain {
    pub(crate) fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner, failing_copies: AtomicU32::new(0) }
    }

    /// So many copies to come fail, without effect.
    pub(crate) fn fail_copies(&self, count: u32) {
        self.failing_copies.store(count, Ordering::SeqCst);
    }
}

#[async_trait]
impl Store for Plain {
    fn root(&self) -> &str {
        self.inner.root()
    }
    async fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        self.inner.get(name).await
    }
    async fn get_range(&self, name: &str, range: Range<u64>) -> Result<Option<Bytes>, StoreError> {
        self.inner.get_range(name, range).await
    }
    async fn head(&self, name: &str) -> Result<Option<Listed>, StoreError> {
        self.inner.head(name).await
    }
    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<Listed>, StoreError> {
        self.inner.list(prefix, after, limit).await
    }
    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        self.inner.put(name, bytes).await
    }
    async fn create(&self, name: &str, _bytes: Bytes) -> Result<Create, StoreError> {
        let (root, name) = (self.root().to_owned(), name.to_owned());
        Err(StoreError::Denied { root, name, detail: "this store cannot create atomically".to_owned() })
    }
    async fn copy(&self, from: &str, to: &str) -> Result<(), StoreError> {
        let one_less = |left: u32| left.checked_sub(1);
        if self.failing_copies.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less).is_ok() {
            let (root, name) = (self.root().to_owned(), to.to_owned());
            return Err(StoreError::Failed { root, name, source: "connection reset".into() });
        }
        self.inner.copy(from, to).await
    }
    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.inner.delete(name).await
    }
}
