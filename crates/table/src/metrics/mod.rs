//! Metrics: what commits and requests came to, told as they end to whoever [`OpenOptions::metrics`](crate::OpenOptions::metrics)
//! names. Who wants spans instead of numbers takes the `tracing` ones.
//!
//! ```
//! use lakebed_table::{CommitMetrics, CommitOptions, Metrics, NewTable, OpenOptions, RequestMetrics, Table, TableFormat};
//! use lakebed_transaction::{Column, ColumnType};
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! #[derive(Debug, Default)]
//! struct Written(AtomicU64);
//!
//! impl Metrics for Written {
//!     fn request(&self, request: &RequestMetrics<'_>) {
//!         self.0.fetch_add(request.written_bytes, Ordering::Relaxed);
//!     }
//!     fn commit(&self, _: &CommitMetrics<'_>) {}
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let written = Arc::new(Written::default());
//! let open = OpenOptions { metrics: Some(written.clone()), ..OpenOptions::default() };
//! let definition = NewTable::new(TableFormat::Delta, vec![Column::new("id", ColumnType::Long, false)]);
//! let _ = Table::create("memory://metrics/trips", &open, &definition, &CommitOptions::default()).await?;
//! assert!(written.0.load(Ordering::Relaxed) > 0);
//! # Ok(())
//! # }
//! ```

mod measured;

pub(crate) use measured::Measured;

use crate::clock;
use lakebed_commit::CommitError;
use lakebed_transaction::Outcome;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Who is told. The methods are called from wherever the work is done, so they return at once and never block.
pub trait Metrics: Send + Sync + fmt::Debug {
    /// A request to the store ended.
    fn request(&self, request: &RequestMetrics<'_>);

    /// A commit ended. A statement that lost and is planned again is one commit for each planning.
    fn commit(&self, commit: &CommitMetrics<'_>);
}

/// What is asked of a store: one for each method of `lakebed_storage::Store` that sends something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RequestKind {
    /// A whole object is read.
    Get,
    /// A part of an object is read.
    GetRange,
    /// Size and time of an object are asked for.
    Head,
    /// Objects are listed: one page.
    List,
    /// An object is written over whatever stands there.
    Put,
    /// An object is created where there is none.
    Create,
    /// An object is copied within the store.
    Copy,
    /// An object is replaced if it still is what was read.
    Swap,
    /// One or several objects are removed.
    Delete,
}

impl RequestKind {
    /// The name in lower case: `get`, `get_range`, …
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::GetRange => "get_range",
            Self::Head => "head",
            Self::List => "list",
            Self::Put => "put",
            Self::Create => "create",
            Self::Copy => "copy",
            Self::Swap => "swap",
            Self::Delete => "delete",
        }
    }
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RequestEnd {
    /// It did what was asked; of a read also that there is no such object.
    Done,
    /// A create found an object there, or a swap another one than was read.
    Exists,
    /// It is not known whether it took effect.
    Unknown,
    /// The store turned it away for now.
    NotNow,
    /// It failed.
    Failed,
    /// Nobody waited for its answer.
    Dropped,
}

/// One request that ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RequestMetrics<'a> {
    /// The root of the store, without credentials.
    pub root: &'a str,
    /// What was asked.
    pub kind: RequestKind,
    /// How it ended.
    pub end: RequestEnd,
    /// Bytes of objects that were read.
    pub read_bytes: u64,
    /// Bytes of objects that were sent.
    pub written_bytes: u64,
    /// From the request to its answer.
    pub elapsed: Duration,
}

/// How a commit ended.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum CommitEnd<'a> {
    /// It was answered.
    Answered(&'a Outcome),
    /// The store could not be asked, or the log not be read. Nothing was committed.
    Failed,
    /// Nobody waited for its answer: the table is as after a crash.
    Dropped,
}

/// One commit that ended.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CommitMetrics<'a> {
    /// The root of the table's store, without credentials.
    pub root: &'a str,
    /// The policy that judged, with its revision.
    pub policy: &'a str,
    /// What was committed, in a few words.
    pub ours: &'a str,
    /// How it ended.
    pub end: CommitEnd<'a>,
    /// Log entries that were offered to the store; 0 of a commit that was dropped, which told nobody.
    pub attempts: u32,
    /// Landed entries that it was rebased over; 0 of a commit that was dropped.
    pub rebases: u32,
    /// From when its turn among the writers of this process came to its answer.
    pub elapsed: Duration,
}

impl CommitMetrics<'_> {
    /// The name of the check that refused the commit, which is stable across releases; of a cell that always refuses, the name
    /// of the verdict. `None` unless it ended in a conflict.
    #[must_use]
    pub fn conflict(&self) -> Option<&'static str> {
        let CommitEnd::Answered(Outcome::Conflict(conflict)) = self.end else { return None };
        Some(conflict.why.reason.map_or(conflict.why.verdict.name(), |reason| reason.check))
    }
}

/// A commit that is under way, for who is to be told of it.
pub(crate) struct Told<'a> {
    metrics: &'a Arc<dyn Metrics>,
    root: &'a str,
    policy: String,
    ours: String,
    began: Instant,
    is_told: bool,
}

impl<'a> Told<'a> {
    pub(crate) fn begin(metrics: &'a Arc<dyn Metrics>, root: &'a str, policy: String, ours: String) -> Self {
        Self { metrics, root, policy, ours, began: clock::instant(), is_told: false }
    }

    /// Tells how it ended.
    pub(crate) fn ended(mut self, answer: &Result<Outcome, CommitError>, attempts: u32, rebases: u32) {
        self.tell(answer.as_ref().map_or(CommitEnd::Failed, CommitEnd::Answered), attempts, rebases);
    }

    fn tell(&mut self, end: CommitEnd<'_>, attempts: u32, rebases: u32) {
        self.is_told = true;
        let (policy, ours, elapsed) = (&*self.policy, &*self.ours, self.began.elapsed());
        self.metrics.commit(&CommitMetrics { root: self.root, policy, ours, end, attempts, rebases, elapsed });
    }
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        if !self.is_told {
            self.tell(CommitEnd::Dropped, 0, 0);
        }
    }
}
