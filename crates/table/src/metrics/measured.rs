//! A store of which every request is told.

use super::{Metrics, RequestEnd, RequestKind, RequestMetrics};
use crate::clock;
use async_trait::async_trait;
use bytes::Bytes;
use lakebed_storage::{Create, Listed, Store, StoreError};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Passes every request on and tells how it ended.
#[derive(Debug)]
pub(crate) struct Measured {
    inner: Arc<dyn Store>,
    metrics: Arc<dyn Metrics>,
}

impl Measured {
    pub(crate) fn new(inner: Arc<dyn Store>, metrics: Arc<dyn Metrics>) -> Self {
        Self { inner, metrics }
    }

    fn begin(&self, kind: RequestKind, written_bytes: usize) -> Sent<'_> {
        let (began, end) = (clock::instant(), RequestEnd::Dropped);
        Sent { store: self, kind, began, end, read_bytes: 0, written_bytes: written_bytes as u64 }
    }
}

/// A request that was sent. It is told when it goes out of scope, also where nobody waits for its answer.
struct Sent<'a> {
    store: &'a Measured,
    kind: RequestKind,
    began: Instant,
    end: RequestEnd,
    read_bytes: u64,
    written_bytes: u64,
}

impl Sent<'_> {
    /// Takes in the answer; `end` says what a success came to.
    fn ended<T>(
        mut self,
        answer: Result<T, StoreError>,
        end: impl FnOnce(&T) -> (RequestEnd, usize),
    ) -> Result<T, StoreError> {
        (self.end, self.read_bytes) = match &answer {
            Ok(value) => {
                let (end, read) = end(value);
                (end, read as u64)
            }
            Err(StoreError::Busy { .. }) => (RequestEnd::NotNow, 0),
            Err(_) => (RequestEnd::Failed, 0),
        };
        answer
    }
}

impl Drop for Sent<'_> {
    fn drop(&mut self) {
        self.store.metrics.request(&RequestMetrics {
            root: self.store.inner.root(),
            kind: self.kind,
            end: self.end,
            read_bytes: self.read_bytes,
            written_bytes: self.written_bytes,
            elapsed: self.began.elapsed(),
        });
    }
}

fn read(bytes: &Option<Bytes>) -> (RequestEnd, usize) {
    (RequestEnd::Done, bytes.as_ref().map_or(0, Bytes::len))
}

fn done<T>(_: &T) -> (RequestEnd, usize) {
    (RequestEnd::Done, 0)
}

fn created(answer: &Create) -> (RequestEnd, usize) {
    let end = match answer {
        Create::Created => RequestEnd::Done,
        Create::Exists => RequestEnd::Exists,
        Create::Unknown(_) => RequestEnd::Unknown,
        Create::NotNow { .. } => RequestEnd::NotNow,
    };
    (end, 0)
}

#[async_trait]
impl Store for Measured {
    fn root(&self) -> &str {
        self.inner.root()
    }

    async fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        let sent = self.begin(RequestKind::Get, 0);
        sent.ended(self.inner.get(name).await, read)
    }

    async fn get_range(&self, name: &str, range: Range<u64>) -> Result<Option<Bytes>, StoreError> {
        let sent = self.begin(RequestKind::GetRange, 0);
        sent.ended(self.inner.get_range(name, range).await, read)
    }

    async fn head(&self, name: &str) -> Result<Option<Listed>, StoreError> {
        let sent = self.begin(RequestKind::Head, 0);
        sent.ended(self.inner.head(name).await, done)
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<Listed>, StoreError> {
        let sent = self.begin(RequestKind::List, 0);
        sent.ended(self.inner.list(prefix, after, limit).await, done)
    }

    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        let sent = self.begin(RequestKind::Put, bytes.len());
        sent.ended(self.inner.put(name, bytes).await, done)
    }

    async fn create(&self, name: &str, bytes: Bytes) -> Result<Create, StoreError> {
        let sent = self.begin(RequestKind::Create, bytes.len());
        sent.ended(self.inner.create(name, bytes).await, created)
    }

    async fn copy(&self, from: &str, to: &str) -> Result<(), StoreError> {
        let sent = self.begin(RequestKind::Copy, 0);
        sent.ended(self.inner.copy(from, to).await, done)
    }

    async fn swap(&self, name: &str, old: &Bytes, new: Bytes) -> Result<bool, StoreError> {
        let sent = self.begin(RequestKind::Swap, new.len());
        let end = |swapped: &bool| (if *swapped { RequestEnd::Done } else { RequestEnd::Exists }, 0);
        sent.ended(self.inner.swap(name, old, new).await, end)
    }

    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        let sent = self.begin(RequestKind::Delete, 0);
        sent.ended(self.inner.delete(name).await, done)
    }

    async fn delete_all(&self, names: &[String]) -> Result<(), StoreError> {
        let sent = self.begin(RequestKind::Delete, 0);
        sent.ended(self.inner.delete_all(names).await, done)
    }

    fn local_folder(&self) -> Option<&Path> {
        self.inner.local_folder()
    }

    async fn strays(&self) -> Result<Vec<Listed>, StoreError> {
        self.inner.strays().await
    }
}
