//! Integration tests of `lakebed-sql`.
