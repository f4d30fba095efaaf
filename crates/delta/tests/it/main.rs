//! Integration tests of the Delta format.

mod conformance;
mod support;
