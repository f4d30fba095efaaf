//! Integration tests of `lakebed-ops`.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking, like the tests")]

mod create;
