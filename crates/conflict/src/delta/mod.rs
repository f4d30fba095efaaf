//! Rules of Delta tables.
//!
//! - [`DeltaFacts`]: what the rules need of one transaction, ours or landed;
//! - [`IsolationLevel`]: what `delta.isolationLevel` says, and the step down for commits that change no data;
//! - [`DeltaPolicy`]: the names that users give, and judging by them.

mod checks;
mod conditions;
mod facts;
mod level;
mod marks;
mod metadata;
mod protocol;
mod read;
mod registry;
mod rules;

pub(crate) use facts::ROW_TRACKING_DOMAIN;
pub use facts::{DeltaFacts, DeltaFile, PartitionColumn, PartitionText, TableState, operation_changes_data};
pub use level::{InvalidLevel, IsolationLevel, LEVEL_PROPERTY};
pub use metadata::{MetadataChange, MetadataDifference, MetadataState};
pub use protocol::{ProtocolAccess, ProtocolChange, ProtocolState};
pub use read::{partitions_in, split_read};
pub use registry::{DeltaPolicy, table_of};
pub(crate) use rules::DEFINITIONS;
