//! Integration tests of `lakebed-data`.

mod align;
mod conformance;
mod expressions;
mod files;
mod output;
mod parquet_files;
mod property;
mod stats;
