//! Integration tests of `lakebed-conflict`.

mod delta;
mod eval;
mod explanations;
mod field_cases;
mod lance;
mod maxcompute;
mod precise;
mod predicate;
mod properties;
