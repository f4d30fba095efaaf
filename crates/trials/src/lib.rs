//! Programs on real tables: alone, beside each other on a schedule, and in processes that race.
//!
//! Every statement is known twice: as the facade runs it ([`Statement::run`]), and as what it does to a bag of rows when it runs
//! alone ([`Statement::alone`]). What comes out of a crowd is held against the second, so that no rule is judged by itself.
//!
//! - [`arena`]: where tables of a format are made and opened;
//! - [`rows`], [`statement`]: the tables, and what is done to them;
//! - [`schedule`], [`play`]: who looks and who commits in which order, and how that ends under a policy;
//! - [`check`]: what a policy promises of a history, computed from the rows of every version;
//! - [`race`]: the same with processes;
//! - [`levels`]: which policies a format's tables take, and which of them is the format's own;
//! - [`programs`]: the programs of the proof, through the facade.

pub mod arena;
pub mod check;
mod clock;
mod error;
pub mod levels;
pub mod play;
pub mod programs;
pub mod race;
pub mod rows;
pub mod schedule;
pub mod statement;

pub use arena::Arena;
pub use error::TrialError;
pub use rows::{Row, State};
pub use statement::{Answer, Filter, Statement};
