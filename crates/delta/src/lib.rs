//! The Delta table format: log actions, replay, checkpoints.

pub mod action;
mod checkpoint;
mod commit;
pub mod deletion_vector;
mod error;
mod interval;
pub mod partition;
pub mod path;
mod protocol;
pub mod schema;
mod snapshot;
pub mod stats;
mod time_text;

pub use checkpoint::{CheckpointFile, write_checkpoint};
pub use commit::{DeltaFormat, Landed, Pending, Reads, Transaction};
pub use error::DeltaError;
pub use protocol::{
    FEATURE_PROPERTY_PREFIX, READER_FEATURES, READER_VERSION_MAX, WRITER_FEATURES, WRITER_VERSION_MAX, needed_features,
};
pub use snapshot::{Core, Hint, Load, LoadStep, Snapshot};
