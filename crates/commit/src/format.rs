//! What a table format gives the machine.

use crate::{Listed, ObjectName};
use bytes::Bytes;
use lakebed_naming::Version;
use lakebed_transaction::{Judgement, TransactionId};
use std::collections::HashMap;

/// A table format's part in a commit. Pure: bytes in, bytes out, no clock, no randomness.
///
/// `Pending` is our transaction on the state that it currently follows: at first the version that it read, and after
/// each [`Format::rebase`] the landed version just taken in. What ours read was captured when it was built.
pub trait Format {
    /// Our transaction, with the state that its next log entry is built on.
    type Pending;
    /// One log entry that somebody landed, decoded.
    type Landed;

    /// The id that stands in our log entry, the same for all attempts.
    fn transaction_id<'a>(&self, pending: &'a Self::Pending) -> &'a TransactionId;

    /// The policy that judges ours, with its revision, such as `lance@14`. A table may name a level that differs from one
    /// transaction to the next.
    fn policy(&self, pending: &Self::Pending) -> String;

    /// What ours does, in the words of its family (for messages).
    fn describe_ours(&self, pending: &Self::Pending) -> String;

    /// What landed did, in the words of its family (for messages).
    fn describe_landed(&self, landed: &Self::Landed) -> String;

    /// The first version of a new table.
    fn first_version(&self) -> Version;

    /// Whether the newest version must be listed before the first publish although the snapshot is fresh (a table whose
    /// names may be migrated under us).
    fn lists_first(&self) -> bool;

    /// The name of the log entry of a version.
    fn entry_name(&self, version: Version) -> ObjectName;

    /// How to list the log entries above a version (all of them for `None`).
    fn listing(&self, above: Option<Version>) -> Listing;

    /// Reads one page of such a listing.
    ///
    /// # Errors
    /// The names contradict each other, such as two naming schemes in one folder.
    fn read_page(&self, above: Option<Version>, page: &[Listed], limit: usize) -> Result<Page, FormatError>;

    /// The log entry of ours as version `at`, and the objects that must be there before it.
    ///
    /// Called once for every version that is tried; a repeated request at one version repeats the same bytes.
    ///
    /// # Errors
    /// Ours cannot be written on the state that it follows (a protocol that we cannot write, say).
    fn render(&self, pending: &mut Self::Pending, at: Version, now_ms: u64) -> Result<Rendered, FormatError>;

    /// Decodes a log entry; may need more objects (a transaction that stands in a file of its own).
    ///
    /// # Errors
    /// The entry is damaged, or needs a feature that we do not have.
    fn parse(&self, at: Version, bytes: &Bytes, fetched: &Fetched) -> Result<Parsed<Self::Landed>, FormatError>;

    /// The transaction id that a landed entry carries, where it has one.
    fn landed_transaction_id(&self, landed: &Self::Landed) -> Option<TransactionId>;

    /// Whether a landed entry is this very commit: the same non-empty id *and* the same intent, as persisted.
    fn is_ours(&self, pending: &Self::Pending, landed: &Self::Landed) -> bool;

    /// What the policy says about ours against one landed entry.
    ///
    /// # Errors
    /// A fact that the rule needs is damaged.
    fn judge(&self, pending: &Self::Pending, landed: &Self::Landed, fetched: &Fetched) -> Result<Judged, FormatError>;

    /// Edits ours so that it follows a landed entry that was accepted: versions, ids, timestamps, adopted metadata.
    ///
    /// # Errors
    /// Ours cannot follow, for a reason that is no rule (a counter is used up, say).
    fn rebase(
        &self,
        pending: &mut Self::Pending,
        landed: &Self::Landed,
        fetched: &Fetched,
    ) -> Result<Rebased, FormatError>;

    /// After the last landed entry of a window: what remains to be read or written (merged deletion vectors) before ours
    /// can be rendered again, or a conflict that only shows now.
    ///
    /// # Errors
    /// An object that the rebase needs is damaged.
    fn finish(&self, pending: &mut Self::Pending, fetched: &Fetched) -> Result<Finished, FormatError>;
}

/// How to list log entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The folder.
    pub prefix: ObjectName,
    /// Start after this name.
    pub after: Option<ObjectName>,
    /// Page size.
    pub limit: usize,
}

/// A log entry seen in a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryRef {
    /// Its version.
    pub version: Version,
    /// When the store last wrote it, in milliseconds since 1970, by the store's own clock.
    pub modified_ms: i64,
}

/// What one page of a listing says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The entries above the version asked for, in any order.
    pub entries: Vec<EntryRef>,
    /// Whether later pages cannot hold more of them.
    pub complete: bool,
}

/// Our log entry, ready to be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// Objects to put before the entry, in any order among themselves.
    pub side: Vec<(ObjectName, Bytes)>,
    /// The entry itself.
    pub entry: Bytes,
}

/// A decoded entry, or what is still needed to decode it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed<L> {
    /// The entry.
    Done(L),
    /// These objects first.
    Needs(Vec<ObjectName>),
}

/// A judgement, or what is still needed to make it.
#[derive(Clone, Debug, PartialEq)]
pub enum Judged {
    /// The policy's answer.
    Verdict(Judgement),
    /// These objects first.
    Needs(Vec<ObjectName>),
}

/// Whether ours now follows the landed entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rebased {
    /// It does.
    Done,
    /// These objects first.
    Needs(Vec<ObjectName>),
}

/// What the end of a window needs.
#[derive(Clone, Debug, PartialEq)]
pub enum Finished {
    /// Ours can be rendered.
    Ready,
    /// Read or write these, then finish again.
    Needs(Vec<Need>),
    /// Ours cannot follow the landed version named here after all.
    Conflict {
        /// The landed version.
        with: Version,
        /// What it did.
        landed: String,
        /// Why.
        why: Judgement,
    },
}

/// One object to read or to write during a rebase.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// Read it.
    Read(ObjectName),
    /// Write it; the name is ours alone.
    Write(ObjectName, Bytes),
}

/// The objects that were read or written on behalf of the format so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fetched {
    read: HashMap<ObjectName, Option<Bytes>>,
    written: Vec<ObjectName>,
}

impl Fetched {
    /// The object: `None` when it was not asked for yet, `Some(None)` when it is not there.
    #[must_use]
    pub fn get(&self, name: &ObjectName) -> Option<Option<&Bytes>> {
        self.read.get(name).map(Option::as_ref)
    }

    /// Whether the object was written.
    #[must_use]
    pub fn is_written(&self, name: &ObjectName) -> bool {
        self.written.contains(name)
    }

    /// Remembers what a read answered.
    pub fn insert(&mut self, name: ObjectName, bytes: Option<Bytes>) {
        self.read.insert(name, bytes);
    }

    /// Remembers that an object was written.
    pub fn mark_written(&mut self, name: ObjectName) {
        self.written.push(name);
    }
}

/// Why a format could not do its part. The message names the object, the version and the next step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// Bytes that are not what they should be.
    #[error("{object} is damaged: {problem}; {advice}")]
    Damaged {
        /// The object.
        object: String,
        /// What is wrong.
        problem: String,
        /// What to do.
        advice: String,
    },
    /// The table needs something that this program does not have.
    #[error("{object} needs {feature}, which is not supported here; {advice}")]
    Unsupported {
        /// The object or table.
        object: String,
        /// The feature, by the name that the format gives it.
        feature: String,
        /// What to do.
        advice: String,
    },
    /// The transaction cannot be written as it is.
    #[error("the transaction cannot be committed: {problem}; {advice}")]
    Invalid {
        /// What is wrong with it.
        problem: String,
        /// What to do.
        advice: String,
    },
}
