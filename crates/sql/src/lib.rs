//! SQL text to predicates, expressions and column types, and back.
//!
//! - [`parse_expression`], [`parse_predicate`], [`parse_assignment`]: text to [`Expr`](lakebed_transaction::Expr).
//!   Functions outside the grammar become [`Expr::Unknown`](lakebed_transaction::Expr::Unknown).
//! - [`print()`]: an expression as text that reads back to the same tree.
//! - [`bind`]: fits an expression to a table's columns: names resolved without regard to case, string literals that meet a
//!   date, a timestamp or a number read as one.
//! - [`parse_type`], [`parse_columns`], [`print_type`]: column types.
//! - [`parse_time`], [`parse_duration`]: points and lengths of time, with *now* and the zone as arguments.
//!
//! The dialect is Spark's: backquoted identifiers, strings in single or double quotes with backslash escapes, `<=>`, number
//! suffixes (`1L`, `2S`, `3Y`, `2.5D`, `1F`, `7BD`), type names as casts.
//!
//! The crate knows no table format, no store and no clock. No text makes it panic or recurse without bound.

mod bind;
mod calendar;
mod convert;
mod error;
mod number;
mod parse;
mod print;
mod time;
mod tokens;
mod types;
mod unify;

pub use bind::{bind, bind_assignment, bind_in};
pub use calendar::{
    parse_date, parse_timestamp, parse_timestamp_ntz, print_date, print_timestamp, print_timestamp_ntz,
};
pub use error::SqlError;
pub use parse::{
    Assignment, parse_assignment, parse_expression, parse_expression_in, parse_predicate, parse_predicate_in,
};
pub use print::{print, print_identifier, print_scalar};
pub use time::{parse_duration, parse_time};
pub use types::{parse_columns, parse_type, print_type};
