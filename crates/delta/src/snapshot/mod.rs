//! One version of a table, replayed from its log.

mod compacted;
mod decode;
mod entry;
mod file_set;
mod head;
mod load;
mod replay;
mod state;
mod tail;

pub(crate) use entry::{Entry, Facts, KeyHash};
pub use head::Head;
pub use load::{Hint, Load, LoadHead, LoadStep};
pub use state::{Core, Snapshot};
pub use tail::{LogTail, Ratified};
