//! Damaged bytes make Parquet's decoder panic here and there; a table must answer with an error.

use crate::DataError;
use parquet::errors::ParquetError;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs a step of the decoder; a panic becomes an error that names the file. The decoder must not be used after one.
pub(super) fn guarded<T>(file: &str, step: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, DataError> {
    let damaged = |_| Err(ParquetError::General("the decoder gave up on its bytes".to_owned()));
    catch_unwind(AssertUnwindSafe(step)).unwrap_or_else(damaged).map_err(DataError::parquet(file))
}
