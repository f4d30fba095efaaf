//! What this crate reads and writes, against tables that pylance wrote.

mod common;
mod conflicts;
mod coverage;
mod damage;
mod deletion;
mod fixtures;
mod rebase;
mod replay;
mod schema;
