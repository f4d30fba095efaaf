//! Conflict rules for lake tables as constant data.
//!
//! A [`Policy`] is a table, rows ours, columns landed. A cell is clear, always one verdict, or a list of named
//! [`Check`]s, the first of which that fires decides. Checks are small predicates over the facts of both sides. Nothing
//! here does I/O or knows a format's bytes; the tables can be read, counted, printed and walked by a test.
//!
//! - [`Policy`], [`Cell`], [`Check`], [`Marks`]: the engine;
//! - [`lance`]: Lance's own rules, and the facts that only Lance has;
//! - [`delta`]: Delta's rules at its isolation levels, and the facts that only Delta has;
//! - [`maxcompute`]: MaxCompute's matrix, for tables of either format;
//! - [`precise`]: the strict policies, for tables of either format;
//! - [`eval`]: expressions over one row of scalars, for checks that compare predicates with values;
//! - [`predicate`]: whether a predicate may select rows of a file, and whether two predicates may select one row.

pub mod delta;
pub mod eval;
pub mod lance;
mod markdown;
pub mod maxcompute;
mod policy;
pub mod precise;
pub mod predicate;

pub use policy::{Cell, Check, Marks, Policy, Row};
