//! Create-if-absent out of rename-if-absent.

use crate::name::{check_folder, check_name};
use crate::task::to_the_end;
use crate::{Create, Listed, Store, StoreError};
use async_trait::async_trait;
use bytes::Bytes;
use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// How the names of staged objects begin.
const STAGE: &str = ".stage-";

/// Moves an object to a name that nobody has: what [`RenameIfAbsent`] stands on.
///
/// # What it has to promise
/// - Of any number of moves to one name, by any clients, at most one ever answers [`Create::Created`], and no move replaces an
///   object that stands there. It is the server or the kernel that decides: looking first and moving then is not enough.
/// - The object appears under the new name whole, with the bytes that stood under the old one, and is gone from there.
/// - A move that was not answered, or not clearly, is [`Create::Unknown`]. If it takes effect later, then only while the object
///   still stands under its old name. [`RenameIfAbsent`] removes it there, and so makes an end of such moves.
///
/// [`crate::LocalStore`] and [`crate::PutIfAbsent`] do this; the latter through `object_store`'s rename in create mode, which is
/// atomic on local files (a hard link), in memory and on Azure Blob Storage (a copy on condition), and not offered by S3.
///
/// | file system | call that keeps the promise | and what does not |
/// |---|---|---|
/// | HDFS | `FileContext.rename` or `FileSystem.rename` with no option `OVERWRITE`: the name node refuses an existing target, under its lock | the option `OVERWRITE`; a client that catches *file exists* and deletes first; object stores behind the same interface, which copy |
/// | Azure with a hierarchical namespace | `Path - Create` with `x-ms-rename-source` and `If-None-Match: *` on the `dfs` endpoint: 409 when the target exists | the same without the condition, which replaces |
/// | POSIX | `link`, or `renameat2` with `RENAME_NOREPLACE` | `rename`, which replaces |
#[async_trait]
pub trait MoveIfAbsent: Send + Sync + fmt::Debug {
    /// Moves the object `from` to `to`, if nothing stands at `to`. Both names are as in [`Store`], in one folder.
    ///
    /// # Errors
    /// The object was certainly not moved and will not be (permission, name). Whatever is less certain is [`Create::Unknown`].
    async fn move_if_absent(&self, from: &str, to: &str) -> Result<Create, StoreError>;
}

/// A [`Store`] whose creates are a put under a name of their own and a move that replaces nothing.
///
/// # How an object is created
/// 1. *Stage*: the bytes are put under `.stage-<random>` in the object's own folder (HDFS renames within one encryption zone only).
/// 2. *Move*: to the object's name, if nothing stands there. **Here it is decided.**
/// 3. Whatever was answered but *created*: the staged object is removed, which ends a move that may still be under way.
///
/// The steps run to their end even if the caller is dropped; what a killed process leaves is hidden from listings and shown by
/// [`Store::strays`], so that a cleanup removes it.
///
/// # Guarantee
/// That of its [`MoveIfAbsent`], which says what it has to promise. Of the store it asks for whole objects, and that a put is seen by
/// every later request.
#[derive(Clone, Debug)]
pub struct RenameIfAbsent {
    store: Arc<dyn Store>,
    moves: Arc<dyn MoveIfAbsent>,
}

impl RenameIfAbsent {
    /// `store` with creates that `moves` decides; both see the same objects under the same names.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, moves: Arc<dyn MoveIfAbsent>) -> Self {
        Self { store, moves }
    }

    /// One thing that is both, such as a [`crate::LocalStore`] or a [`crate::PutIfAbsent`].
    #[must_use]
    pub fn over<S: Store + MoveIfAbsent + 'static>(both: Arc<S>) -> Self {
        Self { store: Arc::clone(&both) as Arc<dyn Store>, moves: both }
    }

    fn refuse_stage(&self, name: &str) -> Result<(), StoreError> {
        check_name(name)?;
        if !is_staged(name) {
            return Ok(());
        }
        Err(StoreError::Unusable {
            url: format!("{}: {name}", self.root()),
            problem: format!("names like {STAGE}… are kept for staged objects"),
            advice: "choose another name".to_owned(),
        })
    }
}

/// Stage, move, and never leave a stage behind.
async fn create(
    store: Arc<dyn Store>,
    moves: Arc<dyn MoveIfAbsent>,
    name: String,
    bytes: Bytes,
) -> Result<Create, StoreError> {
    let staged = staged(&name);
    let moved = match store.put(&staged, bytes).await {
        Ok(()) => moves.move_if_absent(&staged, &name).await,
        Err(StoreError::Busy { .. }) => Ok(Create::NotNow { after_ms: 0 }),
        Err(error) => Err(error),
    };
    if !matches!(moved, Ok(Create::Created)) {
        // Hidden if it stays; a cleanup finds it.
        let _ = store.delete(&staged).await;
    }
    moved
}

#[expect(clippy::disallowed_methods, reason = "each try stages under a name of its own")]
fn staged(name: &str) -> String {
    let folder = name.rsplit_once('/').map_or(String::new(), |(folder, _)| format!("{folder}/"));
    format!("{folder}{STAGE}{}", uuid::Uuid::new_v4().simple())
}

fn is_staged(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|last| last.starts_with(STAGE))
}

#[async_trait]
impl Store for RenameIfAbsent {
    fn root(&self) -> &str {
        self.store.root()
    }

    async fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        self.store.get(name).await
    }

    async fn get_range(&self, name: &str, range: Range<u64>) -> Result<Option<Bytes>, StoreError> {
        self.store.get_range(name, range).await
    }

    async fn head(&self, name: &str) -> Result<Option<Listed>, StoreError> {
        self.store.head(name).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<Listed>, StoreError> {
        check_folder(prefix)?;
        let (mut found, mut after) = (Vec::new(), after.map(str::to_owned));
        while found.len() < limit {
            let asked = limit - found.len();
            let page = self.store.list(prefix, after.as_deref(), asked).await?;
            let ended = page.len() < asked;
            after = page.last().map(|last| last.name.clone());
            found.extend(page.into_iter().filter(|listed| !is_staged(&listed.name)));
            if ended {
                break;
            }
        }
        Ok(found)
    }

    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        self.refuse_stage(name)?;
        self.store.put(name, bytes).await
    }

    async fn create(&self, name: &str, bytes: Bytes) -> Result<Create, StoreError> {
        self.refuse_stage(name)?;
        match to_the_end(create(Arc::clone(&self.store), Arc::clone(&self.moves), name.to_owned(), bytes)).await {
            Ok(answer) => answer,
            Err(gone) => Ok(Create::Unknown(gone.of(self.root(), name).to_string())),
        }
    }

    async fn copy(&self, from: &str, to: &str) -> Result<(), StoreError> {
        self.refuse_stage(to)?;
        self.store.copy(from, to).await
    }

    async fn swap(&self, name: &str, old: &Bytes, new: Bytes) -> Result<bool, StoreError> {
        self.refuse_stage(name)?;
        self.store.swap(name, old, new).await
    }

    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        self.store.delete(name).await
    }

    async fn delete_all(&self, names: &[String]) -> Result<(), StoreError> {
        self.store.delete_all(names).await
    }

    fn local_folder(&self) -> Option<&Path> {
        self.store.local_folder()
    }

    async fn strays(&self) -> Result<Vec<Listed>, StoreError> {
        let mut strays = self.store.strays().await?;
        let all = self.store.list("", None, usize::MAX).await?;
        strays.extend(all.into_iter().filter(|listed| is_staged(&listed.name)));
        Ok(strays)
    }
}
