//! Whole tables of both formats, on stores that count, fail, race and stand still.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking, like the tests")]

mod appender;
mod batches;
mod builders;
mod catalog;
mod checkpoints;
mod cleanup;
mod compaction;
mod conformance;
#[expect(clippy::disallowed_methods, reason = "the files are made older than now")]
mod crash_points;
mod demands;
mod dml;
mod dropped;
mod dropped_polls;
mod engines;
mod field_cases;
mod having_read;
mod isolation;
mod lance_cleanup;
mod lance_long;
mod lance_names;
mod lance_refs;
mod lance_rows;
mod large;
mod local;
mod log;
mod maxcompute;
mod memory;
mod metrics;
mod mortal;
mod overtaken;
mod own_commits;
mod partitions;
mod pinned;
mod precise;
mod prepared;
mod races;
mod rebased;
mod refused;
mod requests;
mod restore;
mod rows;
mod send;
mod stores;
mod streaming;
mod support;
mod textbook;
mod time_travel;
mod traced;
mod upkeep;
mod vacuum;
mod verify;
mod verify_lance;
mod wide;
