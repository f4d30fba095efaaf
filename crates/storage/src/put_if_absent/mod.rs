//! Any `object_store` as a [`Store`].

mod answers;
mod listing;
mod statuses;

pub(crate) use answers::NO_CONDITION;
pub use statuses::{CREATE_ANSWERS, CreateAnswer, Meaning, Said, create_answers_markdown};

use crate::name::{check_folder, check_name};
use crate::redact::{self, Secrets};
use crate::{Create, Listed, MoveIfAbsent, Store, StoreError};
use answers::Answers;
use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt, PutMode, PutOptions, RenameOptions,
    RenameTargetMode, UpdateVersion,
};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// A [`Store`] over an `object_store` whose [`PutMode::Create`] is atomic, below a prefix in it.
///
/// # What each store promises
/// | store | the condition | promised by | tried out by [`crate::open`] |
/// |---|---|---|---|
/// | Amazon S3 | `If-None-Match: *` on `PutObject` | Amazon, since August 2024, in every region | no |
/// | Amazon S3 Express One Zone (buckets `…--x-s3`) | the same | Amazon, since November 2024 | no |
/// | Google Cloud Storage | `x-goog-if-generation-match: 0` | Google; requests on one object are strongly consistent | no |
/// | Azure Blob Storage, also with a hierarchical namespace (`az:`, `abfs:`, `abfss:`) | `If-None-Match: *` on `Put Blob` | Microsoft | no |
/// | Cloudflare R2 (`s3:` with its endpoint) | `If-None-Match: *` | Cloudflare | yes |
/// | MinIO, Ceph RGW, and whatever else speaks S3 (`s3:` with an endpoint) | `If-None-Match: *` | its maker and its release; old ones ignore it | yes |
/// | `object_store`'s own memory | a look and an insertion under one lock | its source | – |
/// | `object_store`'s local files | `link(2)`; nothing is fsynced unless asked for, so prefer [`crate::LocalStore`] | the kernel | – |
///
/// All of them: of any number of conditional puts of one name at most one is acknowledged, a reader sees the whole object or none, and
/// what was acknowledged is in every later read and listing. *Tried out* means [`crate::Probed`].
///
/// # What a create answers
/// [`crate::CREATE_ANSWERS`] says it for each status and each way in which a connection ends; `docs/stores.md` prints it.
///
/// *Exists* is not a lost race: real S3 answers 409 `ConditionalRequestConflict` while another create is under way, and
/// `object_store` reports that as `AlreadyExists`, so there may be no object at all. And a client that retries inside
/// meets its own object: `object_store` retries a conditional put after status 5xx and after a connection that the server
/// closed. So callers read the object back and compare before they call anything a conflict.
///
/// # Retries
/// An answer after inner retries says nothing certain about the tries before it, so *denied* or *busy* after a retry becomes
/// [`Create::Unknown`]. Better is a client that does not retry creates: [`PutIfAbsent::with_creates_through`] takes a second
/// handle for them (`RetryConfig { max_retries: 0, .. }`); [`crate::open`] does so.
///
/// # Names
/// Names reach the store as they are, neither encoded nor decoded: `a%20b` and `a b` are two objects.
#[derive(Clone)]
pub struct PutIfAbsent {
    store: Arc<dyn ObjectStore>,
    creates: Arc<dyn ObjectStore>,
    /// Empty, or a folder with its `/`.
    prefix: String,
    sorted: bool,
    answers: Answers,
}

impl PutIfAbsent {
    /// `store` below `prefix` (a folder, or empty); `root` is the URL to show in messages, from which user information and
    /// query string are dropped.
    ///
    /// Listings are read whole and sorted; see [`PutIfAbsent::with_sorted_listings`].
    ///
    /// # Errors
    /// `prefix` is not a usable name.
    pub fn new(store: Arc<dyn ObjectStore>, prefix: &str, root: &str) -> Result<Self, StoreError> {
        let folder = check_folder(prefix)?;
        Ok(Self {
            creates: Arc::clone(&store),
            store,
            prefix: if folder.is_empty() { String::new() } else { format!("{folder}/") },
            sorted: false,
            answers: Answers { root: redact::url(root), secrets: Secrets::default() },
        })
    }

    /// Sends creates through another handle on the same objects, one whose client does not retry.
    #[must_use]
    pub fn with_creates_through(mut self, creates: Arc<dyn ObjectStore>) -> Self {
        self.creates = creates;
        self
    }

    /// Says that the store lists in byte order, as S3, Azure Blob Storage and Google Cloud Storage do (S3 Express and local
    /// files do not), so that a listing with a limit stops early. A listing that turns out not to be in order is read
    /// whole after all.
    #[must_use]
    pub fn with_sorted_listings(mut self) -> Self {
        self.sorted = true;
        self
    }

    /// Values that no message may show, should the store repeat them in an error.
    #[must_use]
    pub fn with_secrets(mut self, secrets: impl IntoIterator<Item = String>) -> Self {
        self.answers.secrets = Secrets::new(secrets);
        self
    }

    fn location(&self, name: &str) -> Result<Path, StoreError> {
        check_name(name)?;
        self.answers.path(&format!("{}{name}", self.prefix))
    }

    async fn put_as(
        &self,
        store: &dyn ObjectStore,
        at: &Path,
        bytes: Bytes,
        mode: PutMode,
    ) -> object_store::Result<()> {
        store.put_opts(at, bytes.into(), PutOptions::from(mode)).await.map(|_| ())
    }
}

impl fmt::Debug for PutIfAbsent {
    /// The inner store is left out: what its `Debug` shows is not ours to know.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PutIfAbsent").field("root", &self.answers.root).finish_non_exhaustive()
    }
}

#[async_trait]
impl Store for PutIfAbsent {
    fn root(&self) -> &str {
        &self.answers.root
    }

    async fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        let at = self.location(name)?;
        let read = async { self.store.get_opts(&at, GetOptions::default()).await?.bytes().await };
        self.answers.found(name, read.await)
    }

    async fn get_range(&self, name: &str, range: Range<u64>) -> Result<Option<Bytes>, StoreError> {
        let at = self.location(name)?;
        if range.start < range.end {
            let options = GetOptions::new().with_range(Some(GetRange::Bounded(range.clone())));
            let read = async { self.store.get_opts(&at, options).await?.bytes().await };
            match read.await {
                // Stores refuse a range that starts beyond the end, each with words of its own: look how long the object is.
                Err(error) if self.answers.may_be_range(&error) => match self.head(name).await? {
                    Some(listed) if listed.size_bytes > range.start => return Err(self.answers.error(name, &error)),
                    Some(_) => return Ok(Some(Bytes::new())),
                    None => return Ok(None),
                },
                read => return self.answers.found(name, read),
            }
        }
        Ok(self.head(name).await?.map(|_| Bytes::new()))
    }

    async fn head(&self, name: &str) -> Result<Option<Listed>, StoreError> {
        let at = self.location(name)?;
        let meta = self.answers.found(name, self.store.head(&at).await)?;
        Ok(meta.map(|meta| listing::listed(name.to_owned(), &meta)))
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<Listed>, StoreError> {
        let folder = check_folder(prefix)?;
        let below = format!("{}{folder}", self.prefix);
        let below = self.answers.path(below.trim_end_matches('/'))?;
        let listing = listing::Listing {
            store: &*self.store,
            root: &self.prefix,
            below: &below,
            after: after.unwrap_or_default(),
            limit,
        };
        let shown = if folder.is_empty() { "the listing of the root" } else { folder };
        listing.run(self.sorted).await.map_err(|error| self.answers.error(shown, &error))
    }

    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        let at = self.location(name)?;
        let put = self.put_as(&*self.store, &at, bytes, PutMode::Overwrite).await;
        put.map_err(|error| self.answers.error(name, &error))
    }

    async fn create(&self, name: &str, bytes: Bytes) -> Result<Create, StoreError> {
        let at = self.location(name)?;
        match self.put_as(&*self.creates, &at, bytes, PutMode::Create).await {
            Ok(()) => Ok(Create::Created),
            Err(error) => self.answers.refused_create(name, &error),
        }
    }

    async fn copy(&self, from: &str, to: &str) -> Result<(), StoreError> {
        let (source, target) = (self.location(from)?, self.location(to)?);
        let copied = self.store.copy_opts(&source, &target, CopyOptions::default()).await;
        match self.answers.found(to, copied)? {
            Some(()) => Ok(()),
            None => Err(StoreError::Absent { root: self.answers.root.clone(), name: from.to_owned() }),
        }
    }

    async fn swap(&self, name: &str, old: &Bytes, new: Bytes) -> Result<bool, StoreError> {
        let at = self.location(name)?;
        let read = async {
            let found = self.store.get_opts(&at, GetOptions::default()).await?;
            let seen = UpdateVersion { e_tag: found.meta.e_tag.clone(), version: found.meta.version.clone() };
            Ok((seen, found.bytes().await?))
        };
        let seen = match self.answers.found(name, read.await)? {
            Some((seen, bytes)) if bytes == *old => seen,
            Some(_) | None => return Ok(false),
        };
        match self.put_as(&*self.creates, &at, new.clone(), PutMode::Update(seen)).await {
            Ok(()) => Ok(true),
            Err(Error::Precondition { .. } | Error::AlreadyExists { .. } | Error::NotFound { .. }) => Ok(false),
            // Such a store has no condition on what stands there.
            Err(Error::NotImplemented { .. } | Error::NotSupported { .. }) => self.put(name, new).await.map(|()| true),
            Err(error) => Err(self.answers.error(name, &error)),
        }
    }

    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        let at = self.location(name)?;
        self.answers.found(name, self.store.delete(&at).await).map(|_| ())
    }

    async fn delete_all(&self, names: &[String]) -> Result<(), StoreError> {
        let mut paths = Vec::with_capacity(names.len());
        for name in names {
            paths.push(Ok(self.location(name)?));
        }
        let mut removed = self.store.delete_stream(futures::stream::iter(paths).boxed());
        let mut first = Ok(());
        while let Some(answer) = removed.next().await {
            let answer = self.answers.found("several objects", answer).map(|_| ());
            first = first.and(answer);
        }
        first
    }
}

/// Through `object_store`'s rename in create mode, by the client that does not retry, where there is one.
#[async_trait]
impl MoveIfAbsent for PutIfAbsent {
    async fn move_if_absent(&self, from: &str, to: &str) -> Result<Create, StoreError> {
        let (source, target) = (self.location(from)?, self.location(to)?);
        let options = RenameOptions::new().with_target_mode(RenameTargetMode::Create);
        match self.creates.rename_opts(&source, &target, options).await {
            Ok(()) => Ok(Create::Created),
            Err(error) => self.answers.refused_move(to, &error),
        }
    }
}
