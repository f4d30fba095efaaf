//! Integration tests of `lakebed-commit`: the machine driven by hand and by a small simulated world.

mod answers;
mod field_cases;
mod find;
mod late;
mod toy;
mod world;
