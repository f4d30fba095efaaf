//! Integration tests of `lakebed-sql`.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking, like the tests")]

mod bind;
mod conformance;
mod hostile;
mod parse;
mod printed;
mod round_trip;
mod time;
mod types;
