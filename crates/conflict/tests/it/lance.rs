//! The policy of Lance tables.
//!
//! The stanzas in `testdata/lance` are taken from what pylance 14.0.2 documents and was measured to do; the verdicts of
//! real transactions are reproduced where messages can be decoded.

#![expect(clippy::expect_used, clippy::panic, reason = "helpers of tests fail by panicking, like the tests")]

mod cases;
pub(crate) mod facts;
mod table;
