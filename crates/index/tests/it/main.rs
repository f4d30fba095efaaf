//! Integration tests of `lakebed-index`.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and draw names that nobody else uses"
)]

mod crashes;
mod field_cases;
mod leases;
mod memory;
#[cfg(feature = "dynamodb")]
mod pylance;
#[cfg(any(feature = "dynamodb", feature = "postgres", feature = "redis"))]
mod servers;
#[cfg(feature = "sqlite")]
mod sqlite;
mod stopping;
mod suites;
mod tables;
mod urls;
