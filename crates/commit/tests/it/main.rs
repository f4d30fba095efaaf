//! Integration tests of `lakebed-commit`.
