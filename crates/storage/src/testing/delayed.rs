//! Latency.

use super::Operation;
use crate::{Create, Listed, Store, StoreError};
use async_trait::async_trait;
use bytes::Bytes;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

type Latency = Box<dyn Fn(Operation) -> Duration + Send + Sync>;

/// Waits before it passes a request on, on tokio's clock (which a test can pause).
pub struct Delayed {
    inner: Arc<dyn Store>,
    latency: Latency,
}

impl Delayed {
    /// The same wait before every request.
    #[must_use]
    pub fn new(inner: Arc<dyn Store>, wait: Duration) -> Self {
        Self::by(inner, move |_| wait)
    }

    /// A wait that depends on the operation.
    pub fn by(inner: Arc<dyn Store>, latency: impl Fn(Operation) -> Duration + Send + Sync + 'static) -> Self {
        Self { inner, latency: Box::new(latency) }
    }

    async fn wait(&self, operation: Operation) {
        let wait = (self.latency)(operation);
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
    }
}

impl fmt::Debug for Delayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delayed").field("inner", &self.inner).finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for Delayed {
    fn root(&self) -> &str {
        self.inner.root()
    }

    async fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        self.wait(Operation::Get).await;
        self.inner.get(name).await
    }

    async fn get_range(&self, name: &str, range: Range<u64>) -> Result<Option<Bytes>, StoreError> {
        self.wait(Operation::GetRange).await;
        self.inner.get_range(name, range).await
    }

    async fn head(&self, name: &str) -> Result<Option<Listed>, StoreError> {
        self.wait(Operation::Head).await;
        self.inner.head(name).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<Listed>, StoreError> {
        self.wait(Operation::List).await;
        self.inner.list(prefix, after, limit).await
    }

    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        self.wait(Operation::Put).await;
        self.inner.put(name, bytes).await
    }

    async fn create(&self, name: &str, bytes: Bytes) -> Result<Create, StoreError> {
        self.wait(Operation::Create).await;
        self.inner.create(name, bytes).await
    }

    async fn copy(&self, from: &str, to: &str) -> Result<(), StoreError> {
        self.wait(Operation::Copy).await;
        self.inner.copy(from, to).await
    }

    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.wait(Operation::Delete).await;
        self.inner.delete(name).await
    }

    async fn delete_all(&self, names: &[String]) -> Result<(), StoreError> {
        self.wait(Operation::DeleteAll).await;
        self.inner.delete_all(names).await
    }
}
