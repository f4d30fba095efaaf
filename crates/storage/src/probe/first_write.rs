//! A store that is tried out before the first thing is written to it.

use super::{CreateProbe, probe_create, probe_name, probe_race};
use crate::put_if_absent::NO_CONDITION;
use crate::task::to_the_end;
use crate::{Create, Listed, Store, StoreError};
use async_trait::async_trait;
use bytes::Bytes;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use tokio::sync::OnceCell;

/// Clients that race for one object: enough for a store that looks first and writes then to be caught nearly every time.
const CLIENTS: usize = 8;

/// Places that are remembered as tried; beyond, all are forgotten and tried again.
const REMEMBERED_MAX: usize = 1_024;

type Tried = Arc<OnceCell<CreateProbe>>;

/// What was found of the places that this process opened.
static TRIED: LazyLock<Mutex<HashMap<String, Tried>>> = LazyLock::new(Mutex::default);

/// A [`Store`] whose promise is not known but tried out, once, before the first object is written (put, created, copied or swapped).
/// Reads and removals try nothing.
///
/// The probe creates one object twice and lets eight clients race for another, both below [`super::PROBE_FOLDER`] under random
/// names, and removes them: 14 requests. A process that is killed in between leaves at most one of them, which no reader of
/// tables sees. Credentials must allow to create, read and remove there.
///
/// A store that took the second create, or let two clients win, is refused from then on with [`StoreError::Unusable`]. One that
/// did not answer clearly is [`StoreError::Busy`], and the next write tries again. That nothing was found is no proof: a
/// store may break the promise rarely.
#[derive(Clone, Debug)]
pub struct Probed {
    inner: Arc<dyn Store>,
    tried: Tried,
}

impl Probed {
    /// Tries `inner` before it is written to, once for this object and its clones.
    #[must_use]
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner, tried: Tried::default() }
    }

    /// Tries `inner` before it is written to, once for all in this process that give the same key: the URL, and a number for what leads to
    /// it ([`crate::StoreOptions::identity`]).
    #[must_use]
    pub fn once_for(key: String, inner: Arc<dyn Store>) -> Self {
        let mut known = TRIED.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED_MAX && !known.contains_key(&key) {
            known.clear();
        }
        Self { inner, tried: Arc::clone(known.entry(key).or_default()) }
    }

    /// The store, if it may be written to.
    async fn to_write(&self) -> Result<&dyn Store, StoreError> {
        let found = self.tried.get_or_try_init(|| try_out(Arc::clone(&self.inner))).await?;
        match found {
            CreateProbe::Kept => Ok(&*self.inner),
            CreateProbe::Broken | CreateProbe::Unclear => Err(StoreError::Unusable {
                url: self.inner.root().to_owned(),
                problem: "this store lets two writers create the same object, so that commits would be lost".to_owned(),
                advice: NO_CONDITION.to_owned(),
            }),
        }
    }
}

/// Kept or broken; an error where that cannot be told.
async fn try_out(store: Arc<dyn Store>) -> Result<CreateProbe, StoreError> {
    let name = probe_name();
    let (root, shown) = (store.root().to_owned(), name.clone());
    // A caller who gives up must not leave the object behind.
    let found = to_the_end(async move {
        match probe_create(&*store, &name).await? {
            CreateProbe::Kept => Ok(probe_race(&store, &probe_name(), CLIENTS).await?.verdict()),
            found @ (CreateProbe::Broken | CreateProbe::Unclear) => Ok(found),
        }
    });
    match found.await.map_err(|gone| gone.of(&root, &shown)).flatten()? {
        CreateProbe::Unclear => Err(StoreError::Busy {
            root,
            name: shown,
            detail: "it did not say clearly whether it creates objects atomically".to_owned(),
        }),
        found @ (CreateProbe::Kept | CreateProbe::Broken) => Ok(found),
    }
}

#[async_trait]
impl Store for Probed {
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
        self.to_write().await?.put(name, bytes).await
    }

    async fn create(&self, name: &str, bytes: Bytes) -> Result<Create, StoreError> {
        match self.to_write().await {
            Ok(store) => store.create(name, bytes).await,
            Err(StoreError::Busy { .. }) => Ok(Create::NotNow { after_ms: 0 }),
            Err(error) => Err(error),
        }
    }

    async fn copy(&self, from: &str, to: &str) -> Result<(), StoreError> {
        self.to_write().await?.copy(from, to).await
    }

    async fn swap(&self, name: &str, old: &Bytes, new: Bytes) -> Result<bool, StoreError> {
        self.to_write().await?.swap(name, old, new).await
    }

    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.inner.delete(name).await
    }

    async fn delete_all(&self, names: &[String]) -> Result<(), StoreError> {
        self.inner.delete_all(names).await
    }

    fn local_folder(&self) -> Option<&Path> {
        self.inner.local_folder()
    }

    async fn strays(&self) -> Result<Vec<Listed>, StoreError> {
        self.inner.strays().await
    }
}
