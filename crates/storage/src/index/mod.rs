//! An external index of created objects, for stores that cannot create atomically.
//!
//! A [`CommitIndex`] is a small database that can insert a row if there is none. [`Indexed`] makes a [`crate::Store`] of one and
//! of any store that can put and copy.

mod indexed;
mod memory;
mod steps;

pub use indexed::Indexed;
pub use memory::MemoryIndex;

use crate::StoreError;
use async_trait::async_trait;
use std::fmt;

/// Characters of a UUID with its hyphens.
const UUID_LENGTH: usize = 36;

/// What an index holds of one created object. Names are relative to the table, as in [`crate::Store`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name that was created.
    pub name: String,
    /// The object that was put before the reservation and holds the bytes. Unique for each try.
    pub staged: String,
    /// Size of the object in bytes.
    pub size_bytes: u64,
    /// The object stands under its name; the staged one is not needed any more.
    pub confirmed: bool,
}

/// What an index answers to a reservation.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reserve {
    /// The name was free and is now this entry's.
    Reserved,
    /// The name is taken by this entry, which may be our own from an earlier request.
    Taken(Entry),
    /// The request may or may not have taken effect, now or later. The text is what the index or the network said.
    Unknown(String),
}

/// Which names an index keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// Creating this name goes through the index.
    Name,
    /// The layout has no place for such a name, and no commit stands on it: it is left to the store.
    Aside,
    /// Commits of this kind of table stand on the name, and the layout has no place for it.
    Unfit,
}

/// Rows over table key and name, with *insert if absent*. What a table's commits stand on where its store has no atomic create.
///
/// A table key is the URL of the table's folder, the bucket included, without a `/` at its end. A layout that is shared with
/// another program may make another key of it.
///
/// Every method that changes a row must have taken effect for every later reader before it answers.
#[async_trait]
pub trait CommitIndex: Send + Sync + fmt::Debug {
    /// Where the index is, without credentials, for messages.
    fn location(&self) -> &str;

    /// Whether the index keeps this name; by default all of them.
    fn keeps(&self, name: &str) -> Keeps {
        let _ = name;
        Keeps::Name
    }

    /// The name under which an object is staged; `id` is a random UUID. By default `<name>-<id>`.
    fn staged(&self, name: &str, id: &str) -> String {
        format!("{name}-{id}")
    }

    /// The name for which an object of this name may have been staged: [`CommitIndex::staged`] the other way round.
    fn staged_for(&self, staged: &str) -> Option<String> {
        let (name, id) = staged.split_at_checked(staged.len().checked_sub(UUID_LENGTH)?)?;
        uuid::Uuid::try_parse(id).ok()?;
        name.strip_suffix('-').map(str::to_owned)
    }

    /// Inserts the entry, unconfirmed, if there is none of its name.
    ///
    /// # Errors
    /// The entry was certainly not inserted and will not be. Whatever is less certain is [`Reserve::Unknown`].
    async fn reserve(&self, table: &str, entry: &Entry) -> Result<Reserve, StoreError>;

    /// Marks the entry as confirmed, if it is still the one that stands there.
    ///
    /// # Errors
    /// The index could not be asked, or refused; the mark may or may not be there.
    async fn confirm(&self, table: &str, entry: &Entry) -> Result<(), StoreError>;

    /// The entry of a name.
    ///
    /// # Errors
    /// The index could not be asked, or refused.
    async fn get(&self, table: &str, name: &str) -> Result<Option<Entry>, StoreError>;

    /// The latest entries that are not confirmed. A layout in which only the newest entry can be looked for answers that one.
    ///
    /// # Errors
    /// The index could not be asked, or refused.
    async fn latest(&self, table: &str) -> Result<Vec<Entry>, StoreError>;

    /// Removes the entry if it is still the one that stands there; called before its object is removed.
    ///
    /// # Errors
    /// The index could not be asked, or refused; the entry may or may not be there.
    async fn release(&self, table: &str, entry: &Entry) -> Result<(), StoreError>;
}
