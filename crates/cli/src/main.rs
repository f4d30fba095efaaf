//! The `lakebed` program.

fn main() {}
