//! What this crate reads and writes, against tables that pylance wrote.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking, like the tests")]

mod checklist;
mod common;
mod conflicts;
mod coverage;
mod damage;
mod deletion;
mod fixtures;
mod keys;
mod machine;
mod operations;
mod precise;
mod rebase;
mod replay;
mod row_ids;
mod schema;
mod shared;
mod unsound;
