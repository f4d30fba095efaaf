//! Creates that go wrong in the ways that real stores and networks have.

use super::{Script, locked};
use crate::{Create, Listed, Store, StoreError};
use async_trait::async_trait;
use bytes::Bytes;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// What goes wrong with one create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The create is carried out, and this is answered whatever came of it: `Unknown` for a timeout or a reset, `Exists`
    /// for a client that retried and met its own object.
    LostAnswer(Create),
    /// *Unknown* is answered at once; the create is carried out, conditionally as any, after so many further requests were
    /// served without it (0: the next request already meets it).
    LateLanding {
        /// How many requests do not see it yet.
        after_requests: u64,
    },
    /// Nothing is stored, and this is answered: `NotNow` for 429 and 503, `Exists` for S3's 409, `Unknown` for a request
    /// that got lost on its way.
    SpuriousRefusal(Create),
    /// Nothing is stored; permission is refused.
    Denied,
    /// The condition is ignored: whatever stood there is overwritten, and *created* is answered.
    IgnoredCondition,
}

/// Lets creates fail by a [`Script`]; everything else passes through.
#[derive(Debug)]
pub struct Faulty {
    inner: Arc<dyn Store>,
    script: Script<Fault>,
    late: Mutex<Vec<Late>>,
}

#[derive(Debug)]
struct Late {
    unserved: u64,
    name: String,
    bytes: Bytes,
}

impl Faulty {
    /// `inner` with the faults of `script`.
    #[must_use]
    pub fn new(inner: Arc<dyn Store>, script: Script<Fault>) -> Self {
        Self { inner, script, late: Mutex::default() }
    }

    /// How many late creates have not landed yet.
    #[must_use]
    pub fn pending(&self) -> usize {
        locked(&self.late).len()
    }

    /// Lands everything that is still on its way.
    ///
    /// # Errors
    /// The inner store's.
    pub async fn settle(&self) -> Result<(), StoreError> {
        let due = std::mem::take(&mut *locked(&self.late));
        self.land(due).await
    }

    /// Counts a request, and lands what is due before it.
    async fn before(&self) -> Result<(), StoreError> {
        let due = {
            let mut late = locked(&self.late);
            let due: Vec<Late> = late.extract_if(.., |late| late.unserved == 0).collect();
            for waiting in late.iter_mut() {
                waiting.unserved -= 1;
            }
            due
        };
        self.land(due).await
    }

    async fn land(&self, due: Vec<Late>) -> Result<(), StoreError> {
        for late in due {
            // Nobody waits for this answer any more.
            drop(self.inner.create(&late.name, late.bytes).await?);
        }
        Ok(())
    }
}

#[async_trait]
impl Store for Faulty {
    fn root(&self) -> &str {
        self.inner.root()
    }

    async fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        self.before().await?;
        self.inner.get(name).await
    }

    async fn get_range(&self, name: &str, range: Range<u64>) -> Result<Option<Bytes>, StoreError> {
        self.before().await?;
        self.inner.get_range(name, range).await
    }

    async fn head(&self, name: &str) -> Result<Option<Listed>, StoreError> {
        self.before().await?;
        self.inner.head(name).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<Listed>, StoreError> {
        self.before().await?;
        self.inner.list(prefix, after, limit).await
    }

    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        self.before().await?;
        self.inner.put(name, bytes).await
    }

    async fn create(&self, name: &str, bytes: Bytes) -> Result<Create, StoreError> {
        self.before().await?;
        match self.script.next(name) {
            None => self.inner.create(name, bytes).await,
            Some(Fault::LostAnswer(answer)) => {
                drop(self.inner.create(name, bytes).await?);
                Ok(answer)
            }
            Some(Fault::LateLanding { after_requests }) => {
                locked(&self.late).push(Late { unserved: after_requests, name: name.to_owned(), bytes });
                Ok(Create::Unknown("timed out; the request is still on its way".to_owned()))
            }
            Some(Fault::SpuriousRefusal(answer)) => Ok(answer),
            Some(Fault::Denied) => Err(StoreError::Denied {
                root: self.root().to_owned(),
                name: name.to_owned(),
                detail: "a scripted fault".to_owned(),
            }),
            Some(Fault::IgnoredCondition) => {
                self.inner.put(name, bytes).await?;
                Ok(Create::Created)
            }
        }
    }

    async fn copy(&self, from: &str, to: &str) -> Result<(), StoreError> {
        self.before().await?;
        self.inner.copy(from, to).await
    }

    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.before().await?;
        self.inner.delete(name).await
    }

    async fn delete_all(&self, names: &[String]) -> Result<(), StoreError> {
        self.before().await?;
        self.inner.delete_all(names).await
    }
}
