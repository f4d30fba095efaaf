//! Integration tests of the Delta format.
#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod actions;
mod columns_only;
mod commit;
mod conflicts;
mod conformance;
mod damage;
mod damaged_parts;
mod deletion_vectors;
mod images;
mod mutations;
mod protocol;
mod replay;
mod retained;
mod spark;
mod support;
mod validation;
mod values;
mod vectors;
