//! Integration tests of `lakebed-data`.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper of a test fails the test by panicking")]

mod align;
mod conformance;
mod expressions;
mod files;
mod names;
mod output;
mod parquet_files;
mod property;
mod sources;
mod stats;
