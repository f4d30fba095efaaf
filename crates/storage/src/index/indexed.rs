//! A store whose creates are decided by an index.

use super::{CommitIndex, Entry, Keeps};
use crate::name::{check_folder, check_name};
use crate::{Create, Listed, Store, StoreError};
use async_trait::async_trait;
use bytes::Bytes;
use futures::future::try_join_all;
use percent_encoding::percent_decode_str;
use std::ops::Range;
use std::sync::Arc;

/// How often a read looks again when what it was sent to had moved meanwhile.
const LOOKS_MAX: u32 = 4;
/// Names freed at once.
const FREED_AT_ONCE: usize = 16;
/// Names asked for at once; what object stores give at most.
const PAGE: usize = 1_000;

/// A [`Store`] over one that can put and copy but cannot create atomically, and a [`CommitIndex`] that can.
///
/// # How an object is created
/// 1. *Stage*: the bytes are put under a name of their own.
/// 2. *Reserve*: a row for the name, pointing at them, is inserted if there is none. **Here it is decided.**
/// 3. *Finalise*: the staged object is copied to the name.
/// 4. *Confirm*: the row is marked, and the staged object removed.
///
/// A crash after 1 leaves a stray object that nobody names, which [`Store::strays`] shows once the name has other bytes. A crash after 2 leaves a name that readers through the index see
/// already (they read what is staged, and write nothing), and that the next create finishes; a client that knows nothing of the
/// index sees it from then on. A crash after 3 leaves a row to be marked, which the next create does too.
///
/// # What it asks of the store
/// Whole objects (a reader never sees half of one), and that what was put or copied is seen by every later read and listing.
///
/// # Who may write
/// Everybody who writes to the table must go through one and the same index, by the same table key: a client that does not is
/// neither held off nor seen. See [`CommitIndex`] for the key.
#[derive(Clone, Debug)]
pub struct Indexed {
    pub(super) store: Arc<dyn Store>,
    pub(super) index: Arc<dyn CommitIndex>,
    pub(super) table: String,
    /// Where the store's root lies below the table's folder: empty, or with its `/`.
    prefix: String,
    repairs: bool,
}

impl Indexed {
    /// `store` with its creates decided by `index`. The store's root is the table's folder, and gives the table key.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, index: Arc<dyn CommitIndex>) -> Self {
        let table = table_key(store.root());
        Self { store, index, table, prefix: String::new(), repairs: false }
    }

    /// Says that the store's root is the folder `below` of the table, so that clients that open the table itself and clients
    /// that open only this part of it hold each other off.
    ///
    /// # Errors
    /// The store's root does not end in that folder.
    pub fn at(mut self, below: &str) -> Result<Self, StoreError> {
        check_name(below)?;
        match self.table.strip_suffix(below).and_then(|rest| rest.strip_suffix('/')) {
            Some(table) => {
                self.prefix = format!("{below}/{}", self.prefix);
                self.table = table.to_owned();
                Ok(self)
            }
            None => Err(StoreError::Unusable {
                url: self.table,
                problem: format!("it does not end in {below}"),
                advice: "name the folder of the table that the store's root is".to_owned(),
            }),
        }
    }

    /// Lets reads finish what they find unfinished, as pylance's readers and Spark's do. Without it reading writes nothing.
    #[must_use]
    pub const fn with_repair_by_readers(mut self) -> Self {
        self.repairs = true;
        self
    }

    /// The key of the table in the index.
    #[must_use]
    pub fn table(&self) -> &str {
        &self.table
    }

    /// A name of the index, for a name of the store.
    pub(super) fn outside(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// A name of the store, for a name of the index.
    pub(super) fn inside<'a>(&self, name: &'a str) -> Result<&'a str, StoreError> {
        let inside = name.strip_prefix(self.prefix.as_str());
        let inside = inside.ok_or_else(|| self.broken(name, "it lies outside of this store"))?;
        check_name(inside)?;
        Ok(inside)
    }

    /// Reads under the name, or what is staged for it.
    async fn read<T, F>(&self, name: &str, read: impl Fn(String) -> F + Send) -> Result<Option<T>, StoreError>
    where
        T: Send,
        F: Future<Output = Result<Option<T>, StoreError>> + Send,
    {
        check_name(name)?;
        for _ in 0..LOOKS_MAX {
            if let Some(found) = read(name.to_owned()).await? {
                return Ok(Some(found));
            }
            let Some(entry) = self.reserved(name).await? else {
                // It may have been finished between the two looks.
                return read(name.to_owned()).await;
            };
            if self.repairs && self.finish(&entry).await.is_ok() {
                continue;
            }
            if let Some(found) = read(self.inside(&entry.staged)?.to_owned()).await? {
                return Ok(Some(found));
            }
        }
        Err(self.bodiless(name))
    }

    /// What a listing does not show of an entry: `None` where the listing shows it, or should not.
    async fn unlisted(&self, entry: &Entry, page: &Page<'_>) -> Result<Option<Listed>, StoreError> {
        match entry.name.strip_prefix(self.prefix.as_str()) {
            Some(name) if page.lacks(name) => self.head(name).await,
            Some(_) | None => Ok(None),
        }
    }
}

/// The URL of a folder in the one spelling that is the key: S3 has two schemes for the same objects, and URLs of stores may be
/// percent-encoded or not.
fn table_key(root: &str) -> String {
    let root = root.trim_end_matches('/');
    let Some((scheme, rest)) = root.split_once("://") else { return root.to_owned() };
    let scheme = scheme.to_ascii_lowercase();
    match scheme.as_str() {
        // Names in memory are taken as they are written.
        "memory" => format!("{scheme}://{rest}"),
        "s3a" => format!("s3://{}", percent_decode_str(rest).decode_utf8_lossy()),
        _ => format!("{scheme}://{}", percent_decode_str(rest).decode_utf8_lossy()),
    }
}

/// A page of a listing, as the store gave it.
struct Page<'a> {
    names: &'a [Listed],
    /// Empty, or with its `/`.
    below: String,
    after: Option<&'a str>,
    full: bool,
}

impl Page<'_> {
    /// Whether a name belongs into this page and is not there.
    fn lacks(&self, name: &str) -> bool {
        name.starts_with(&self.below)
            && self.after.is_none_or(|after| name > after)
            && !(self.full && self.names.last().is_none_or(|last| name > last.name.as_str()))
            && !self.names.iter().any(|listed| listed.name == name)
    }
}

#[async_trait]
impl Store for Indexed {
    fn root(&self) -> &str {
        self.store.root()
    }

    async fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        self.read(name, |name| async move { self.store.get(&name).await }).await
    }

    async fn get_range(&self, name: &str, range: Range<u64>) -> Result<Option<Bytes>, StoreError> {
        self.read(name, |name| {
            let range = range.clone();
            async move { self.store.get_range(&name, range).await }
        })
        .await
    }

    async fn head(&self, name: &str) -> Result<Option<Listed>, StoreError> {
        let found = self.read(name, |name| async move { self.store.head(&name).await }).await?;
        Ok(found.map(|found| Listed { name: name.to_owned(), ..found }))
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<Listed>, StoreError> {
        let folder = check_folder(prefix)?;
        // Asked first: what is finished after this question is in the listing.
        let unfinished = self.index.latest(&self.table).await?;
        let mut names = self.store.list(prefix, after, limit).await?;
        let below = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let page = Page { names: &names, below, after, full: names.len() >= limit };
        let mut more = Vec::new();
        for entry in &unfinished {
            more.extend(self.unlisted(entry, &page).await?);
        }
        if !more.is_empty() {
            names.extend(more);
            names.sort_by(|a, b| a.name.cmp(&b.name));
            names.truncate(limit);
        }
        Ok(names)
    }

    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        self.store.put(name, bytes).await
    }

    async fn create(&self, name: &str, bytes: Bytes) -> Result<Create, StoreError> {
        check_name(name)?;
        match self.index.keeps(&self.outside(name)) {
            Keeps::Name => self.create_kept(name, bytes).await,
            Keeps::Aside => self.store.create(name, bytes).await,
            Keeps::Unfit => Err(self.unfit(name)),
        }
    }

    async fn copy(&self, from: &str, to: &str) -> Result<(), StoreError> {
        match self.store.copy(from, to).await {
            Err(StoreError::Absent { root, name }) => match self.reserved(from).await? {
                Some(entry) => self.store.copy(self.inside(&entry.staged)?, to).await,
                None => Err(StoreError::Absent { root, name }),
            },
            copied => copied,
        }
    }

    async fn swap(&self, name: &str, old: &Bytes, new: Bytes) -> Result<bool, StoreError> {
        if let Some(entry) = self.reserved(name).await? {
            self.finish(&entry).await?;
        }
        self.store.swap(name, old, new).await
    }

    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        check_name(name)?;
        self.free(name).await?;
        self.store.delete(name).await
    }

    fn local_folder(&self) -> Option<&std::path::Path> {
        self.store.local_folder()
    }

    /// Beside those of the store, what was staged for names that have other bytes, or have them already.
    async fn strays(&self) -> Result<Vec<Listed>, StoreError> {
        let mut strays = self.store.strays().await?;
        let mut after: Option<String> = None;
        loop {
            let page = self.store.list("", after.as_deref(), PAGE).await?;
            let is_last = page.len() < PAGE;
            after = page.last().map(|last| last.name.clone());
            for listed in page {
                if self.is_left_behind(&listed.name).await? {
                    strays.push(listed);
                }
            }
            if is_last {
                return Ok(strays);
            }
        }
    }

    async fn delete_all(&self, names: &[String]) -> Result<(), StoreError> {
        for name in names {
            check_name(name)?;
        }
        for some in names.chunks(FREED_AT_ONCE) {
            try_join_all(some.iter().map(|name| self.free(name))).await?;
        }
        self.store.delete_all(names).await
    }
}
