//! Whole tables of both formats, on stores that count, fail, race and stand still.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking, like the tests")]

mod conformance;
mod dropped;
mod field_cases;
mod isolation;
mod lance_names;
mod lance_rows;
mod log;
mod mortal;
mod partitions;
mod prepared;
mod races;
mod refused;
mod requests;
mod rows;
mod stores;
mod support;
mod upkeep;
