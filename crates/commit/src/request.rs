//! Everything that the machine can ask of the world, and what can be answered.

use bytes::Bytes;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The name of an object relative to the table's root, or an absolute URI where a table refers outside of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectName(Arc<str>);

impl ObjectName {
    /// The object of this name.
    #[must_use]
    pub fn new(name: impl AsRef<str>) -> Self {
        Self(Arc::from(name.as_ref()))
    }

    /// The name's text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One thing that the machine asks for. The enum is closed so that a test can walk every request against every answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// The whole object: [`Answer::Bytes`] or [`Answer::Absent`].
    Get(ObjectName),
    /// A range of bytes: [`Answer::Bytes`] or [`Answer::Absent`].
    GetRange(ObjectName, Range<u64>),
    /// Objects below `prefix` whose names sort after `after`, in byte order: [`Answer::Names`].
    List {
        /// A folder.
        prefix: ObjectName,
        /// Names up to and including this one are left out.
        after: Option<ObjectName>,
        /// At most so many; fewer in the answer means that there are no more.
        limit: usize,
    },
    /// Writes an object that only this commit names: [`Answer::Stored`].
    Put(ObjectName, Bytes),
    /// Creates the object if absent: [`Answer::Created`], [`Answer::Exists`] or [`Answer::Unknown`].
    Create(ObjectName, Bytes),
    /// Removes an object of ours that is certainly not committed: [`Answer::Deleted`].
    Delete(ObjectName),
    /// Lets time pass: [`Answer::Elapsed`].
    Wait {
        /// Milliseconds.
        ms: u64,
    },
}

/// One object of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The object's name.
    pub name: ObjectName,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// When the store last wrote it, in milliseconds since 1970, by the store's own clock.
    pub modified_ms: i64,
}

/// What the world answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The object's bytes.
    Bytes(Bytes),
    /// There is no such object.
    Absent,
    /// A page of a listing.
    Names(Vec<Listed>),
    /// The put took effect.
    Stored,
    /// The create took effect.
    Created,
    /// An object stands at the name.
    Exists,
    /// The create may or may not have taken effect, now or later.
    Unknown(String),
    /// The store turned the request away before acting on it.
    NotNow {
        /// How long to wait at least, in milliseconds.
        after_ms: u64,
    },
    /// The object is gone.
    Deleted,
    /// The time has passed.
    Elapsed,
    /// The request certainly had no effect (a create or put), or could not be answered (a read); in words.
    Failed(String),
}
