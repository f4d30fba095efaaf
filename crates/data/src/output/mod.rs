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

use crate::DataError;
use arrow_array::ArrayRef;
use arrow_array::builder::BinaryBuilder;
use arrow_array::cast::AsArray;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::sync::Arc;

/// Texts that are base64, as binaries.
pub(crate) fn from_base64(array: &ArrayRef, column: &str) -> Result<ArrayRef, DataError> {
    let mismatch = || DataError::TypeMismatch {
        column: column.to_owned(),
        from: "text that is not base64".to_owned(),
        to: "Binary".to_owned(),
    };
    let texts = array.as_string_opt::<i32>().ok_or_else(mismatch)?;
    let mut builder = BinaryBuilder::new();
    for text in texts {
        match text {
            None => builder.append_null(),
            Some(text) => builder.append_value(STANDARD.decode(text.trim()).map_err(|_| mismatch())?),
        }
    }
    Ok(Arc::new(builder.finish()))
}
