//! Names of the Delta log and of the files beside it.
//!
//! [`LogName::parse`] says what one name in `_delta_log/` is. [`LogListing`] says what a whole listing offers: the newest
//! version, the complete checkpoints, and for one version the objects that rebuild it ([`LogListing::plan`]).
//! [`DeletionVectorName`] and [`DataPath`] turn what actions hold into names relative to the table's root.
//!
//! ```
//! use lakebed_naming::Version;
//! use lakebed_naming::delta::{self, LogListing, LogName};
//!
//! assert_eq!(delta::commit_path(Version::new(7)), "_delta_log/00000000000000000007.json");
//! assert_eq!(LogName::parse("00000000000000000007.json"), LogName::Commit(Version::new(7)));
//!
//! let listing = LogListing::new([
//!     ("00000000000000000002.json", 300),
//!     ("00000000000000000001.checkpoint.parquet", 9_000),
//!     ("00000000000000000001.json", 300),
//! ]);
//! let segment = listing.plan(None).unwrap();
//! assert_eq!(segment.version, Version::new(2));
//! assert_eq!(segment.commit_names(), ["00000000000000000002.json"]);
//! ```

mod checkpoint;
mod deletion_vector;
mod listing;
mod log_name;
mod path;
mod segment;
mod temporary;

pub use checkpoint::{CheckpointEncoding, CheckpointForm, CheckpointName, CheckpointPart};
pub use deletion_vector::DeletionVectorName;
pub use listing::{Checkpoint, CheckpointKind, Compacted, IncompleteCheckpoint, LogFile, LogListing};
pub use log_name::{
    LAST_CHECKPOINT, LAST_VACUUM_INFO, LOG_FOLDER, LogName, commit_file, commit_path, is_past_versions, list_after,
    log_path,
};
pub use path::{DataPath, NULL_PARTITION, data_file, encode_path, partition_folder, without_idle_segments};
pub use segment::{CommitFile, LogSegment, ReplayFile};
pub use temporary::TemporaryName;
