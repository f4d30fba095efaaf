//! Integration tests of `lakebed-storage`.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and print how long they took"
)]

mod adapter;
#[cfg(target_os = "linux")]
mod faults;
#[cfg(feature = "aws")]
mod http;
mod local;
mod memory;
mod opening;
mod stores;
mod wrappers;
