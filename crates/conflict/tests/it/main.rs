//! Integration tests of `lakebed-conflict`.

mod delta;
mod lance;
