//! Checkpoints: the state of a version in one object or a few.

mod arrays;
mod columns;
mod read;
mod stats_json;
mod write;

pub(crate) use read::read;
pub use write::{CheckpointFile, write_checkpoint};
