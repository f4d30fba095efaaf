//! Integration tests of `lakebed-transaction`.

mod scalar;
