//! A store that dies: after so many changes every further one fails, as for a process that was killed there.

use async_trait::async_trait;
use bytes::Bytes;
use lakebed_storage::{Create, Listed, Store, StoreError};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Passes reads through, and so many changes.
#[derive(Debug)]
pub(crate) struct Mortal {
    inner: Arc<dyn Store>,
    changes_left: AtomicU32,
}

impl Mortal {
    pub(crate) fn after(inner: &Arc<dyn Store>, changes: u32) -> Arc<dyn Store> {
        Arc::new(Self { inner: Arc::clone(inner), changes_left: AtomicU32::new(changes) })
    }

    fn change(&self, name: &str) -> Result<(), StoreError> {
        let left = self.changes_left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        left.map(drop).map_err(|_| StoreError::Failed {
            root: self.root().to_owned(),
            name: name.to_owned(),
            source: "killed".into(),
        })
    }
}

#[async_trait]
impl Store for Mortal {
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
        self.change(name)?;
        self.inner.put(name, bytes).await
    }

    async fn create(&self, name: &str, bytes: Bytes) -> Result<Create, StoreError> {
        self.change(name)?;
        self.inner.create(name, bytes).await
    }

    async fn copy(&self, from: &str, to: &str) -> Result<(), StoreError> {
        self.change(to)?;
        self.inner.copy(from, to).await
    }

    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.change(name)?;
        self.inner.delete(name).await
    }
}
