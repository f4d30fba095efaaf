//! The Delta table format: log actions, replay, checkpoints, commits. Bytes in, bytes out; no I/O, no clock.
//!
//! - [`action`]: the actions of the log and their JSON form;
//! - [`Load`] and [`Snapshot`]: a version, from a listing and the objects that the load asks for; [`Snapshot::advance`] applies
//!   the next commit and shares memory with the version before;
//! - [`write_checkpoint`]: the state as one Parquet file, read back before anybody puts it;
//! - [`Transaction`], [`Pending`] and [`DeltaFormat`]: Delta's part in the commit machine of `lakebed_commit`;
//! - [`schema`], [`partition`], [`stats`], [`path`], [`deletion_vector`]: what stands inside actions.
//!
//! Source of the facts: the Delta transaction log protocol, and what Spark's connector and delta-rs write in practice.
//!
//! ```
//! use bytes::Bytes;
//! use lakebed_delta::{Load, LoadStep};
//!
//! let commit = r#"{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}
//! {"metaData":{"id":"t","format":{"provider":"parquet","options":{}},"schemaString":"","partitionColumns":[],"configuration":{}}}
//! {"add":{"path":"a.parquet","partitionValues":{},"size":9,"modificationTime":1,"dataChange":true,"stats":"{\"numRecords\":3}"}}"#;
//! let mut load = Load::new([("_delta_log/00000000000000000000.json", 9)], true, None);
//! let LoadStep::Needs(needs) = load.step()? else { unreachable!() };
//! for name in needs {
//!     load.feed(name, Some(Bytes::from(commit)));
//! }
//! let LoadStep::Done(snapshot) = load.step()? else { unreachable!() };
//! assert_eq!((snapshot.num_files(), snapshot.num_rows()), (1, Some(3)));
//! # Ok::<(), lakebed_delta::DeltaError>(())
//! ```

pub mod action;
mod checkpoint;
mod commit;
pub mod deletion_vector;
mod error;
mod interval;
pub mod partition;
pub mod path;
mod protocol;
mod readable;
pub mod schema;
mod snapshot;
pub mod stats;
mod time_text;
mod upkeep;

pub use checkpoint::{
    CheckpointFile, hint_to_standing, sidecars_of, wants_v2_checkpoints, write_checkpoint, write_v2_checkpoint,
};
pub use commit::{
    DeltaFormat, FileSeen, JudgedBy, Landed, LandedRows, LookAtRows, Pending, Reads, RowChange, SOURCES_TAG, Taking,
    Transaction, Vectors, Vouched, inline_rows, landed_rows, name_row_tracking_columns,
};
pub use error::DeltaError;
pub use interval::interval_ms;
pub use protocol::{
    FEATURE_PROPERTY_PREFIX, READER_FEATURES, READER_VERSION_MAX, WRITER_FEATURES, WRITER_VERSION_MAX, needed_features,
};
pub use snapshot::{Core, Head, Hint, Load, LoadHead, LoadStep, LogTail, Ratified, Snapshot};
pub use upkeep::{
    ChecksumFile, CompactedLog, LogCleanup, LogObject, Retention, Vacuum, VacuumScope, checkpoint_interval, cleans_log,
    compact_log, write_checksum,
};
