//! Integration tests of `lakebed-lance`.
