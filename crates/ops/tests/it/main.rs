//! Integration tests of `lakebed-ops`.
