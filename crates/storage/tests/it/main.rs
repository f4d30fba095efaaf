//! Integration tests of `lakebed-storage`.
