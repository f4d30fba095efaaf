//! Rows out of lakebed: JSON, JSON lines, CSV, Parquet.
//!
//! In JSON, integers and finite floats are numbers; decimals, and integers beyond 2^53, are strings, so that no reader
//! rounds them; NaN and infinities are the strings `NaN`, `Infinity`, `-Infinity`; dates `2026-11-29`; times RFC 3339 with
//! microseconds, `Z` for instants and nothing for wall-clock times; binary is base64; lists are arrays, structs and maps
//! objects.

mod file;
mod json;

pub use file::{Output, OutputKind};
pub use json::{json_row, write_json_row};
