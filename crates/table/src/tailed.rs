//! A store through which the log of a table that a catalog manages looks as the catalog says that it is.

use async_trait::async_trait;
use bytes::Bytes;
use lakebed_delta::{LogTail, Ratified};
use lakebed_naming::delta::{LOG_FOLDER, LogName, commit_path};
use lakebed_storage::{Create, Listed, Store, StoreError};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// Ratified commits stand under their log names, wherever they are; nothing above the newest ratified version is there.
pub(crate) struct Tailed {
    inner: Arc<dyn Store>,
    tail: LogTail,
}

impl Tailed {
    pub(crate) fn new(inner: Arc<dyn Store>, tail: LogTail) -> Self {
        Self { inner, tail }
    }

    /// What the catalog says of an object of the log.
    fn ratified(&self, name: &str) -> Option<&Ratified> {
        let inside = name.strip_prefix(LOG_FOLDER)?.strip_prefix('/')?;
        let LogName::Commit(version) = LogName::parse(inside) else { return None };
        self.tail.commit(version)
    }

    /// The object that holds what stands under a name; `None` where the catalog holds it itself.
    fn object<'a>(&'a self, name: &'a str) -> Result<&'a str, &'a Bytes> {
        match self.ratified(name) {
            Some(Ratified::Object(object)) => Ok(object.as_str()),
            Some(Ratified::Inline(bytes)) => Err(bytes),
            None => Ok(name),
        }
    }

    fn shows(&self, name: &str) -> bool {
        self.tail.counts(name)
    }

    /// A ratified commit as it looks in a listing.
    async fn listed(&self, name: &str) -> Result<Option<Listed>, StoreError> {
        match self.object(name) {
            Ok(object) => {
                let found = self.inner.head(object).await?;
                Ok(found.map(|found| Listed { name: name.to_owned(), ..found }))
            }
            // The catalog says no time; these tables go by the time in the commit itself.
            Err(bytes) => Ok(Some(Listed { name: name.to_owned(), size_bytes: bytes.len() as u64, modified_ms: 0 })),
        }
    }
}

impl fmt::Debug for Tailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tailed")
            .field("inner", &self.inner)
            .field("newest", &self.tail.newest())
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for Tailed {
    fn root(&self) -> &str {
        self.inner.root()
    }

    async fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        if !self.shows(name) {
            return Ok(None);
        }
        match self.object(name) {
            Ok(object) => self.inner.get(object).await,
            Err(bytes) => Ok(Some(bytes.clone())),
        }
    }

    async fn get_range(&self, name: &str, range: Range<u64>) -> Result<Option<Bytes>, StoreError> {
        if !self.shows(name) {
            return Ok(None);
        }
        match self.object(name) {
            Ok(object) => self.inner.get_range(object, range).await,
            Err(bytes) => {
                let at = |position: u64| usize::try_from(position).unwrap_or(usize::MAX).min(bytes.len());
                Ok(Some(bytes.slice(at(range.start).min(at(range.end))..at(range.end))))
            }
        }
    }

    async fn head(&self, name: &str) -> Result<Option<Listed>, StoreError> {
        if self.shows(name) { self.listed(name).await } else { Ok(None) }
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<Listed>, StoreError> {
        let mut page = self.inner.list(prefix, after, limit).await?;
        // Ratified commits come in where their names stand, up to the end of a page that is not the last.
        let end = (page.len() == limit).then(|| page.last().map(|entry| entry.name.clone())).flatten();
        page.retain(|entry| self.shows(&entry.name));
        for (version, _) in self.tail.commits() {
            let name = commit_path(version);
            let below = prefix.is_empty() || name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('/'));
            let inside = after.is_none_or(|after| name.as_str() > after) && end.as_ref().is_none_or(|end| name <= *end);
            if below && inside {
                page.retain(|entry| entry.name != name);
                page.extend(self.listed(&name).await?);
            }
        }
        page.sort_by(|a, b| a.name.cmp(&b.name));
        // Who lists asks on after a full page only, and from its last name.
        match end {
            Some(end) if page.len() < limit => self.filled(page, prefix, &end, limit).await,
            Some(_) | None => {
                page.truncate(limit);
                Ok(page)
            }
        }
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
}

impl Tailed {
    /// A page from which something was left out, with what follows it.
    async fn filled(
        &self,
        mut page: Vec<Listed>,
        prefix: &str,
        end: &str,
        limit: usize,
    ) -> Result<Vec<Listed>, StoreError> {
        let more = self.list(prefix, Some(end), limit).await?;
        page.extend(more);
        page.truncate(limit);
        Ok(page)
    }
}
