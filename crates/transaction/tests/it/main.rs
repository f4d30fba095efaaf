//! Integration tests of `lakebed-transaction`.

mod row_set;
mod scalar;
#[cfg(feature = "serde")]
mod serialize;
mod unit;
