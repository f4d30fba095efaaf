//! The commit state machine: it asks, it is answered, and it does no I/O.
//!
//! A commit is one atomic create of the next log entry. Everything around it (which name to try, what an unanswered
//! request may mean, which landed entries to judge, how to rebase and when to give up) is decided by [`Commit`], which
//! hands out [`Request`]s and takes [`Answer`]s. A facade performs them; a test or a simulator may answer by hand.
//!
//! A table format takes part through [`Format`]: bytes in, bytes out.

mod budget;
mod confirm;
mod error;
mod find;
mod format;
mod late;
mod machine;
mod publish;
mod request;
mod window;

pub use budget::{Backoff, Budget, Freshness};
pub use error::CommitError;
pub use find::{Find, FindStep, Found};
pub use format::{
    EntryRef, Fetched, Finished, Format, FormatError, Judged, Listing, Need, Page, Parsed, Rebased, Rendered,
};
pub use machine::{Commit, Phase, Step};
pub use request::{Answer, Listed, ObjectName, Request};
