//! Integration tests of `lakebed-conflict`.
