//! Integration tests of `lakebed-table`.
