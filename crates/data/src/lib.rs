//! Rows: Parquet files in and out of Arrow, statistics, expressions.
//!
//! | to | use |
//! |---|---|
//! | translate a table's columns | [`arrow_schema()`], [`columns_of`] |
//! | bring rows to a table's columns, with NOT NULL enforced | [`align`] |
//! | compute | [`evaluate`], [`evaluate_as`], [`filter_mask`], [`evaluate_scalar`] |
//! | write | [`ParquetSink`] (files of a target size), [`write_parquet`] (one file) |
//! | read | [`read_parquet`]: some columns, without deleted rows, with partition values and row positions |
//! | read local files to write | [`open_source`], [`source_columns`] |
//! | print rows | [`json_row`], [`Output`] |
//! | statistics alone | [`Collector`] |
//!
//! The crate knows no log and no rule. I/O of tables goes through [`Store`](lakebed_storage::Store); Parquet's own
//! object-store support stays off.

mod calendar;
mod error;
mod eval;
mod number;
mod output;
mod read;
mod schema;
mod stats;
mod variant;
mod write;

pub use error::{DataError, EvalFailure};
pub use eval::{evaluate, evaluate_as, evaluate_scalar, filter_mask};
pub use output::{Output, OutputKind, json_row, write_json_row};
pub use read::{
    FileColumn, FileKey, FileNames, FileType, ParquetRows, ReadOptions, Rows, Source, TextTypes, open_source,
    read_parquet, source_columns,
};
pub use schema::{align, arrow_schema, arrow_type, columns_of, constant, narrow, scalar_at};
pub use stats::{Collector, StatsColumns, truncate_max, truncate_min};
pub use write::{ParquetSink, WriteOptions, WrittenFile, write_parquet};
