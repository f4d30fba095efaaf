//! Counting requests.

use super::locked;
use crate::{Create, Listed, Store, StoreError};
use async_trait::async_trait;
use bytes::Bytes;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// A method of [`Store`] that asks something of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// [`Store::get`].
    Get,
    /// [`Store::get_range`].
    GetRange,
    /// [`Store::head`].
    Head,
    /// [`Store::list`].
    List,
    /// [`Store::put`].
    Put,
    /// [`Store::create`].
    Create,
    /// [`Store::copy`].
    Copy,
    /// [`Store::delete`].
    Delete,
    /// [`Store::delete_all`], one request however many names.
    DeleteAll,
}

/// One request that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What was asked.
    pub operation: Operation,
    /// Of which object: the name, the prefix of a listing, the target of a copy, the names of a bulk delete joined by spaces.
    pub name: String,
}

/// Requests in the order in which they began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests(Vec<Request>);

impl Requests {
    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[Request] {
        &self.0
    }

    /// How many there were.
    #[must_use]
    pub fn total(&self) -> usize {
        self.0.len()
    }

    /// How many of one operation there were.
    #[must_use]
    pub fn count(&self, operation: Operation) -> usize {
        self.names(operation).len()
    }

    /// What one operation was asked of, in order.
    #[must_use]
    pub fn names(&self, operation: Operation) -> Vec<&str> {
        self.0.iter().filter(|request| request.operation == operation).map(|request| request.name.as_str()).collect()
    }
}

/// Remembers every request and passes it on.
#[derive(Debug)]
pub struct Counting {
    inner: Arc<dyn Store>,
    seen: Mutex<Requests>,
}

impl Counting {
    /// Counts from zero.
    #[must_use]
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner, seen: Mutex::default() }
    }

    /// The requests so far.
    #[must_use]
    pub fn snapshot(&self) -> Requests {
        locked(&self.seen).clone()
    }

    /// The requests so far; counting starts again from zero.
    #[must_use]
    pub fn take(&self) -> Requests {
        std::mem::take(&mut *locked(&self.seen))
    }

    /// Forgets the requests so far.
    pub fn reset(&self) {
        drop(self.take());
    }

    fn saw(&self, operation: Operation, name: impl Into<String>) {
        locked(&self.seen).0.push(Request { operation, name: name.into() });
    }
}

#[async_trait]
impl Store for Counting {
    fn root(&self) -> &str {
        self.inner.root()
    }

    async fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        self.saw(Operation::Get, name);
        self.inner.get(name).await
    }

    async fn get_range(&self, name: &str, range: Range<u64>) -> Result<Option<Bytes>, StoreError> {
        self.saw(Operation::GetRange, name);
        self.inner.get_range(name, range).await
    }

    async fn head(&self, name: &str) -> Result<Option<Listed>, StoreError> {
        self.saw(Operation::Head, name);
        self.inner.head(name).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<Listed>, StoreError> {
        self.saw(Operation::List, prefix);
        self.inner.list(prefix, after, limit).await
    }

    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        self.saw(Operation::Put, name);
        self.inner.put(name, bytes).await
    }

    async fn create(&self, name: &str, bytes: Bytes) -> Result<Create, StoreError> {
        self.saw(Operation::Create, name);
        self.inner.create(name, bytes).await
    }

    async fn copy(&self, from: &str, to: &str) -> Result<(), StoreError> {
        self.saw(Operation::Copy, to);
        self.inner.copy(from, to).await
    }

    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.saw(Operation::Delete, name);
        self.inner.delete(name).await
    }

    async fn delete_all(&self, names: &[String]) -> Result<(), StoreError> {
        self.saw(Operation::DeleteAll, names.join(" "));
        self.inner.delete_all(names).await
    }
}
