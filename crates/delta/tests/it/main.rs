//! Integration tests of `lakebed-delta`.
