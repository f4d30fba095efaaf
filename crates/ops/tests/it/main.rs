//! Integration tests of `lakebed-ops`.

mod create;
