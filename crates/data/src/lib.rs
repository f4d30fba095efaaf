//! Rows: Parquet files in and out of Arrow, statistics, expressions.
