//! A store in memory.

use crate::name::{check_folder, check_name};
use crate::{Create, Listed, Store, StoreError};
use async_trait::async_trait;
use bytes::Bytes;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::{Bound, Range};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

static NAMED: LazyLock<Mutex<HashMap<String, Objects>>> = LazyLock::new(Mutex::default);

type Objects = Arc<Mutex<BTreeMap<String, Entry>>>;

struct Entry {
    bytes: Bytes,
    modified_ms: i64,
}

/// Objects in this process's memory, gone with it. Every operation takes one lock, so [`Store::create`] is atomic and never
/// unknown.
///
/// Clones share their objects; so do all stores of one [name](MemoryStore::named).
#[derive(Clone)]
pub struct MemoryStore {
    root: String,
    /// Empty, or a folder with its `/`.
    prefix: String,
    objects: Objects,
}

impl MemoryStore {
    /// A store of its own that nobody else can open.
    #[must_use]
    pub fn new() -> Self {
        Self { root: "memory://".to_owned(), prefix: String::new(), objects: Objects::default() }
    }

    /// The store of this name, the same one for everybody in this process; it lives as long as the process.
    #[must_use]
    pub fn named(name: &str) -> Self {
        let objects = Arc::clone(locked(&NAMED).entry(name.to_owned()).or_default());
        Self { root: format!("memory://{name}"), prefix: String::new(), objects }
    }

    /// The same objects seen from `folder` as the root.
    ///
    /// # Errors
    /// `folder` is not a usable name.
    pub fn below(&self, folder: &str) -> Result<Self, StoreError> {
        let folder = check_folder(folder)?;
        if folder.is_empty() {
            return Ok(self.clone());
        }
        Ok(Self {
            root: format!("{}/{folder}", self.root.trim_end_matches('/')),
            prefix: format!("{}{folder}/", self.prefix),
            objects: Arc::clone(&self.objects),
        })
    }

    fn key(&self, name: &str) -> Result<String, StoreError> {
        check_name(name)?;
        Ok(format!("{}{name}", self.prefix))
    }

    fn listed(&self, key: &str, entry: &Entry) -> Listed {
        Listed {
            name: key[self.prefix.len()..].to_owned(),
            size_bytes: u64::try_from(entry.bytes.len()).unwrap_or(u64::MAX),
            modified_ms: entry.modified_ms,
        }
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("root", &self.root).finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for MemoryStore {
    fn root(&self) -> &str {
        &self.root
    }

    async fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        let key = self.key(name)?;
        Ok(locked(&self.objects).get(&key).map(|entry| entry.bytes.clone()))
    }

    async fn get_range(&self, name: &str, range: Range<u64>) -> Result<Option<Bytes>, StoreError> {
        let Some(bytes) = self.get(name).await? else {
            return Ok(None);
        };
        let end = usize::try_from(range.end).unwrap_or(usize::MAX).min(bytes.len());
        let start = usize::try_from(range.start).unwrap_or(usize::MAX).min(end);
        Ok(Some(bytes.slice(start..end)))
    }

    async fn head(&self, name: &str) -> Result<Option<Listed>, StoreError> {
        let key = self.key(name)?;
        Ok(locked(&self.objects).get(&key).map(|entry| self.listed(&key, entry)))
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<Listed>, StoreError> {
        let folder = check_folder(prefix)?;
        let mut below = self.prefix.clone();
        if !folder.is_empty() {
            below.push_str(folder);
            below.push('/');
        }
        let after = after.map(|after| format!("{}{after}", self.prefix));
        let from = match &after {
            Some(after) if *after >= below => Bound::Excluded(after.as_str()),
            Some(_) | None => Bound::Included(below.as_str()),
        };
        let objects = locked(&self.objects);
        Ok(objects
            .range::<str, _>((from, Bound::Unbounded))
            .take_while(|(key, _)| key.starts_with(&below))
            .take(limit)
            .map(|(key, entry)| self.listed(key, entry))
            .collect())
    }

    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        let key = self.key(name)?;
        locked(&self.objects).insert(key, Entry { bytes, modified_ms: now_ms() });
        Ok(())
    }

    async fn create(&self, name: &str, bytes: Bytes) -> Result<Create, StoreError> {
        let key = self.key(name)?;
        let mut objects = locked(&self.objects);
        if objects.contains_key(&key) {
            return Ok(Create::Exists);
        }
        objects.insert(key, Entry { bytes, modified_ms: now_ms() });
        Ok(Create::Created)
    }

    async fn copy(&self, from: &str, to: &str) -> Result<(), StoreError> {
        let (from_key, to_key) = (self.key(from)?, self.key(to)?);
        let mut objects = locked(&self.objects);
        let Some(bytes) = objects.get(&from_key).map(|entry| entry.bytes.clone()) else {
            return Err(StoreError::Absent { root: self.root.clone(), name: from.to_owned() });
        };
        objects.insert(to_key, Entry { bytes, modified_ms: now_ms() });
        Ok(())
    }

    async fn swap(&self, name: &str, old: &Bytes, new: Bytes) -> Result<bool, StoreError> {
        let key = self.key(name)?;
        let mut objects = locked(&self.objects);
        let stands = objects.get(&key).is_some_and(|entry| entry.bytes == *old);
        if stands {
            objects.insert(key, Entry { bytes: new, modified_ms: now_ms() });
        }
        Ok(stands)
    }

    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        let key = self.key(name)?;
        locked(&self.objects).remove(&key);
        Ok(())
    }
}

/// A panic while the lock was held cannot leave the map half changed, so a poisoned lock is as good as any.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[expect(clippy::disallowed_methods, reason = "a store stamps what it stores by its own clock")]
fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
