//! Integration tests of the `lakebed` program: everything goes through the real binary.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking, like the tests"
)]

mod bench;
mod columns;
mod common;
mod demo;
mod distributed;
mod docs;
mod docs_run;
mod errors;
mod explain;
mod health;
mod prepared;
mod probe;
mod readme;
mod rebased;
mod refs;
mod rules;
#[path = "../../../storage/tests/it/scripted.rs"]
mod scripted;
mod secrets;
mod statements;
mod stories;
mod unanswered;
mod upkeep;
mod usage;
mod values;
