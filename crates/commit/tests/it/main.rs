//! Integration tests of `lakebed-commit`: the machine driven by hand and by a small simulated world.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking, like the tests")]

mod answers;
mod field_cases;
mod find;
mod late;
mod slow_attempts;
mod toy;
mod world;
