//! Stores that let others in at the worst moment.

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::BoxFuture;
use lakebed_storage::{Create, Listed, Store, StoreError};
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

/// When somebody acts, relative to a create.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Before the create reaches the store.
    Before,
    /// After it took effect, before its answer.
    After,
}

type Act = Box<dyn FnOnce() -> BoxFuture<'static, ()> + Send>;

/// Lets somebody act around creates of log entries, in order, and may lose answers.
pub(crate) struct Meddled {
    inner: Arc<dyn Store>,
    acts: Mutex<Vec<(Moment, Act)>>,
    /// Who acts before an object is read for the first time.
    read_acts: Mutex<Option<(String, Act)>>,
    /// What is answered instead, for the creates that are meddled with.
    answer: Option<Create>,
    /// Whether log entries cannot be read any more once somebody acted.
    blind: bool,
    acted: AtomicBool,
    /// Objects with this in their names can be neither put nor created.
    refused: Option<&'static str>,
    /// Objects with this in their names cannot be read.
    unreadable: Option<String>,
    /// How often somebody may still pass between a request and its answer, or before it; then the store stands still.
    passes: AtomicU32,
    stands: AtomicBool,
}

impl Meddled {
    pub(crate) fn new(inner: &Arc<dyn Store>) -> Self {
        let inner = Arc::clone(inner);
        Self {
            inner,
            acts: Mutex::default(),
            read_acts: Mutex::default(),
            answer: None,
            blind: false,
            acted: AtomicBool::new(false),
            refused: None,
            unreadable: None,
            passes: AtomicU32::new(u32::MAX),
            stands: AtomicBool::new(false),
        }
    }

    /// The next create of a log entry that nobody waits for yet meets this act.
    pub(crate) fn act<F>(self, moment: Moment, act: impl FnOnce() -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.acts.lock().unwrap().insert(0, (moment, Box::new(move || Box::pin(act()))));
        self
    }

    /// The first read of an object meets this act before it reaches the store.
    pub(crate) fn act_before_read<F>(self, name: String, act: impl FnOnce() -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        *self.read_acts.lock().unwrap() = Some((name, Box::new(move || Box::pin(act()))));
        self
    }

    pub(crate) fn answering(mut self, answer: Create) -> Self {
        self.answer = Some(answer);
        self
    }

    /// Log entries cannot be read any more once somebody acted.
    pub(crate) const fn blind(mut self) -> Self {
        self.blind = true;
        self
    }

    /// Stands still at this place, counted before and after each request from 0, until it is released.
    pub(crate) fn stop_at(&self, place: u32) {
        self.stands.store(false, Ordering::Relaxed);
        self.passes.store(place, Ordering::Relaxed);
    }

    /// Whether somebody came to the place where the store stands still.
    pub(crate) fn stands(&self) -> bool {
        self.stands.load(Ordering::Relaxed)
    }

    /// Goes on for whoever comes next.
    pub(crate) fn release(&self) {
        self.stop_at(u32::MAX);
    }

    /// Objects with this in their names can be neither put nor created.
    pub(crate) const fn refusing(mut self, part: &'static str) -> Self {
        self.refused = Some(part);
        self
    }

    /// Objects with this in their names cannot be read.
    pub(crate) fn unreadable(mut self, part: &str) -> Self {
        self.unreadable = Some(part.to_owned());
        self
    }

    pub(crate) fn shared(self) -> Arc<dyn Store> {
        Arc::new(self)
    }

    fn refuse(&self, name: &str) -> Result<(), StoreError> {
        if self.refused.is_some_and(|part| name.contains(part)) {
            let (root, detail) = (self.root().to_owned(), "no space is left".to_owned());
            return Err(StoreError::Denied { root, name: name.to_owned(), detail });
        }
        Ok(())
    }

    fn read(&self, name: &str, fails: bool) -> Result<(), StoreError> {
        if fails || self.unreadable.as_deref().is_some_and(|part| name.contains(part)) {
            let root = self.root().to_owned();
            return Err(StoreError::Failed { root, name: name.to_owned(), source: "connection reset".into() });
        }
        Ok(())
    }

    async fn pause(&self) {
        let pass = |left: u32| left.checked_sub(1);
        if self.passes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, pass).is_err() {
            self.stands.store(true, Ordering::Relaxed);
            std::future::pending::<()>().await;
        }
    }

    async fn around<T>(&self, request: impl Future<Output = T>) -> T {
        self.pause().await;
        let answer = request.await;
        self.pause().await;
        answer
    }
}

/// Whether an object is a log entry.
pub(crate) fn is_entry(name: &str) -> bool {
    (name.starts_with("_delta_log/") && name.ends_with(".json")) || name.ends_with(".manifest")
}

impl fmt::Debug for Meddled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meddled").field("inner", &self.inner).finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for Meddled {
    fn root(&self) -> &str {
        self.inner.root()
    }

    async fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        self.read(name, self.blind && self.acted.load(Ordering::Relaxed) && is_entry(name))?;
        let act = self.read_acts.lock().unwrap().take_if(|(read, _)| read == name);
        if let Some((_, act)) = act {
            act().await;
        }
        self.around(self.inner.get(name)).await
    }

    async fn get_range(&self, name: &str, range: Range<u64>) -> Result<Option<Bytes>, StoreError> {
        self.read(name, false)?;
        self.around(self.inner.get_range(name, range)).await
    }

    async fn head(&self, name: &str) -> Result<Option<Listed>, StoreError> {
        self.around(self.inner.head(name)).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<Listed>, StoreError> {
        self.around(self.inner.list(prefix, after, limit)).await
    }

    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        self.refuse(name)?;
        self.around(self.inner.put(name, bytes)).await
    }

    async fn create(&self, name: &str, bytes: Bytes) -> Result<Create, StoreError> {
        self.refuse(name)?;
        let act = if is_entry(name) { self.acts.lock().unwrap().pop() } else { None };
        let Some((moment, act)) = act else {
            return self.around(self.inner.create(name, bytes)).await;
        };
        self.acted.store(true, Ordering::Relaxed);
        let answer = match moment {
            Moment::Before => {
                act().await;
                self.inner.create(name, bytes).await?
            }
            Moment::After => {
                let answer = self.inner.create(name, bytes).await?;
                act().await;
                answer
            }
        };
        Ok(self.answer.clone().unwrap_or(answer))
    }

    async fn copy(&self, from: &str, to: &str) -> Result<(), StoreError> {
        self.around(self.inner.copy(from, to)).await
    }

    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.around(self.inner.delete(name)).await
    }
}
