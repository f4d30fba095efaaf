//! One version of a table, replayed from its log.

mod compacted;
mod file_set;
mod load;
mod replay;
mod state;

pub use load::{Hint, Load, LoadStep};
pub use state::{Core, Snapshot};
