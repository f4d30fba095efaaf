//! The storage promise.

use crate::StoreError;
use async_trait::async_trait;
use bytes::Bytes;
use std::fmt;
use std::ops::Range;

/// What a conditional create answers. *Unknown* is an answer, not an error: the object may be there or may still appear.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Create {
    /// The object was not there; it is now, whole, with exactly these bytes.
    Created,
    /// The store says that an object stands at that name. It may be our own, from an earlier request whose answer was lost;
    /// and some stores say so while another create of the name is under way that then fails. So read it back before
    /// calling it a lost race.
    Exists,
    /// The request may or may not have taken effect, now or later. The text is what the store or the network said.
    Unknown(String),
    /// The store turned the request away before acting on it; ask again, not before `after_ms` milliseconds.
    NotNow {
        /// How long to wait before the same request, in milliseconds; 0 when the store did not say.
        after_ms: u64,
    },
}

/// One object in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The name, relative to the store's root.
    pub name: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// When the store last wrote it, in milliseconds since 1970-01-01T00:00:00Z, by the store's own clock.
    pub modified_ms: i64,
}

/// Objects under names below one root.
///
/// Names are relative to the root, use `/`, are not percent-encoded, and never start with `/` or hold empty, `.` or `..` parts.
#[async_trait]
pub trait Store: Send + Sync + fmt::Debug {
    /// The root as a URL, without credentials, for messages.
    fn root(&self) -> &str;

    /// The whole object; `None` when there is none.
    ///
    /// # Errors
    /// The store could not be asked, or refused.
    async fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError>;

    /// Bytes `range` of the object, fewer where it ends earlier; `None` when there is no object.
    ///
    /// # Errors
    /// The store could not be asked, or refused.
    async fn get_range(&self, name: &str, range: Range<u64>) -> Result<Option<Bytes>, StoreError>;

    /// Size and time of the object; `None` when there is none.
    ///
    /// # Errors
    /// The store could not be asked, or refused.
    async fn head(&self, name: &str) -> Result<Option<Listed>, StoreError>;

    /// The objects directly or deeper below `prefix` (a folder, or empty for the root) whose names sort after `after`, in
    /// byte order of their names, at most `limit` of them. Fewer than `limit` means that there are no more.
    ///
    /// # Errors
    /// The store could not be asked, or refused.
    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<Listed>, StoreError>;

    /// Writes the object whatever stands there; readers see the old or the new one, whole.
    ///
    /// # Errors
    /// The store could not be asked, or refused; the object may then be the old or the new one.
    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError>;

    /// Creates the object where there is none: the primitive that a commit stands on.
    ///
    /// # Errors
    /// The store certainly did not create the object (permission, name, quota). Whatever is less certain is
    /// [`Create::Unknown`].
    async fn create(&self, name: &str, bytes: Bytes) -> Result<Create, StoreError>;

    /// Copies an object over whatever stands at `to`.
    ///
    /// # Errors
    /// There is no object at `from`, or the store could not be asked, or refused.
    async fn copy(&self, from: &str, to: &str) -> Result<(), StoreError>;

    /// Writes the object if it still holds `old`, byte for byte; whether it did. Where the store has no condition on what
    /// stands there, nothing keeps a third writer's object from being overwritten between the look and the write: this is for
    /// small objects that hardly anybody writes, such as tags, and no commit stands on it.
    ///
    /// # Errors
    /// The store could not be asked, or refused; the object may then be the old or the new one.
    async fn swap(&self, name: &str, old: &Bytes, new: Bytes) -> Result<bool, StoreError> {
        if self.get(name).await?.as_ref() != Some(old) {
            return Ok(false);
        }
        self.put(name, new).await?;
        Ok(true)
    }

    /// Removes the object; removing what is not there is not an error.
    ///
    /// # Errors
    /// The store could not be asked, or refused.
    async fn delete(&self, name: &str) -> Result<(), StoreError>;

    /// Removes several objects, in one request where the store has one; absent ones are not an error.
    ///
    /// # Errors
    /// At least one could not be removed; the others may have been.
    async fn delete_all(&self, names: &[String]) -> Result<(), StoreError> {
        for name in names {
            self.delete(name).await?;
        }
        Ok(())
    }

    /// The local folder below which the objects are files, where there is one: for messages about what is there instead.
    fn local_folder(&self) -> Option<&std::path::Path> {
        None
    }

    /// Files that writers left behind when they died and that no listing shows, because they never became objects: what a
    /// cleanup removes by [`Store::delete_all`] once they are older than any write lasts. Most stores have none.
    ///
    /// # Errors
    /// The store could not be asked.
    async fn strays(&self) -> Result<Vec<Listed>, StoreError> {
        Ok(Vec::new())
    }
}
