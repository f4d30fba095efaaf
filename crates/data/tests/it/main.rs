//! Integration tests of `lakebed-data`.
