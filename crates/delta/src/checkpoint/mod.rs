//! Checkpoints: the state of a version in one object or a few.

mod columns;
mod read;
mod stats_json;

pub(crate) use read::read;
