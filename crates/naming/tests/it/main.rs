//! Integration tests of `lakebed-naming`.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper of a test fails the test by panicking")]

mod conformance;
mod delta_listing;
mod delta_names;
mod delta_props;
mod field_cases;
mod lance;
mod lance_props;
