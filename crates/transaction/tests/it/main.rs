//! Integration tests of `lakebed-transaction`.

mod scalar;
#[cfg(feature = "serde")]
mod serialize;
mod unit;
