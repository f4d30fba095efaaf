//! Integration tests of `lakebed-storage`.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and print how long they took"
)]

mod adapter;
mod adapters;
#[cfg(all(feature = "aws", feature = "azure", feature = "gcp"))]
mod clouds;
#[cfg(target_os = "linux")]
mod faults;
#[cfg(all(feature = "aws", feature = "azure", feature = "gcp"))]
mod http;
mod local;
mod memory;
mod opening;
mod printed;
#[cfg(all(feature = "aws", feature = "azure", feature = "gcp"))]
mod scripted;
mod stores;
mod wrappers;
