//! A store that counts the requests that pass through it.

use async_trait::async_trait;
use bytes::Bytes;
use lakebed_storage::{Create, Listed, Store, StoreError};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts requests and passes them on.
#[derive(Debug)]
pub(crate) struct Counting {
    inner: Arc<dyn Store>,
    requests: AtomicU64,
}

impl Counting {
    pub(crate) fn new(inner: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self { inner, requests: AtomicU64::new(0) })
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    fn count(&self) -> &dyn Store {
        self.requests.fetch_add(1, Ordering::Relaxed);
        &*self.inner
    }
}

#[async_trait]
impl Store for Counting {
    fn root(&self) -> &str {
        self.inner.root()
    }

    async fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        self.count().get(name).await
    }

    async fn get_range(&self, name: &str, range: Range<u64>) -> Result<Option<Bytes>, StoreError> {
        self.count().get_range(name, range).await
    }

    async fn head(&self, name: &str) -> Result<Option<Listed>, StoreError> {
        self.count().head(name).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<Listed>, StoreError> {
        self.count().list(prefix, after, limit).await
    }

    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        self.count().put(name, bytes).await
    }

    async fn create(&self, name: &str, bytes: Bytes) -> Result<Create, StoreError> {
        self.count().create(name, bytes).await
    }

    async fn copy(&self, from: &str, to: &str) -> Result<(), StoreError> {
        self.count().copy(from, to).await
    }

    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.count().delete(name).await
    }

    async fn delete_all(&self, names: &[String]) -> Result<(), StoreError> {
        self.count().delete_all(names).await
    }
}
