//! Delta's rules against the reference's scenarios, against what Spark answered, and against arbitrary input.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a helper of a test fails the test by panicking"
)]

mod conformance;
mod levels;
mod metadata;
pub(crate) mod properties;
mod reader;
mod scenarios;
