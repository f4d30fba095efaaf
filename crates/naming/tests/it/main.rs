//! Integration tests of `lakebed-naming`.
