//! Objects that look old.

use super::locked;
use crate::{Create, Listed, Store, StoreError};
use async_trait::async_trait;
use bytes::Bytes;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A store on which everything looks older than it is, but for what is named: for tests of cleanups, which go by age.
#[derive(Debug)]
pub struct Aged {
    inner: Arc<dyn Store>,
    age_ms: i64,
    young: Mutex<BTreeSet<String>>,
}

impl Aged {
    /// `inner`, everything so much older.
    #[must_use]
    pub fn by(inner: &Arc<dyn Store>, age: Duration) -> Arc<Self> {
        let age_ms = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
        Arc::new(Self { inner: Arc::clone(inner), age_ms, young: Mutex::default() })
    }

    /// Shows one object's own age.
    pub fn keep_young(&self, name: &str) {
        locked(&self.young).insert(name.to_owned());
    }

    fn aged(&self, listed: Listed) -> Listed {
        if locked(&self.young).contains(&listed.name) {
            return listed;
        }
        Listed { modified_ms: listed.modified_ms.saturating_sub(self.age_ms), ..listed }
    }
}

#[async_trait]
impl Store for Aged {
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
        Ok(self.inner.head(name).await?.map(|listed| self.aged(listed)))
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<Listed>, StoreError> {
        Ok(self.inner.list(prefix, after, limit).await?.into_iter().map(|listed| self.aged(listed)).collect())
    }

    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        self.inner.put(name, bytes).await
    }

    async fn create(&self, name: &str, bytes: Bytes) -> Result<Create, StoreError> {
        self.inner.create(name, bytes).await
    }

    async fn copy(&self, from: &str, to: &str) -> Result<(), StoreError> {
        self.inner.copy(from, to).await
    }

    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.inner.delete(name).await
    }

    async fn delete_all(&self, names: &[String]) -> Result<(), StoreError> {
        self.inner.delete_all(names).await
    }

    async fn strays(&self) -> Result<Vec<Listed>, StoreError> {
        Ok(self.inner.strays().await?.into_iter().map(|listed| self.aged(listed)).collect())
    }
}
