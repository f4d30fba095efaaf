//! Integration tests of `lakebed-conflict`.

mod delta;
mod eval;
mod lance;
