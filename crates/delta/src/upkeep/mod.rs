//! Upkeep of a table, decided without I/O: what a cleanup of the log may remove, which data files a vacuum may remove, what a
//! compacted log and a checksum file hold, and how long things are kept.

mod checksum;
mod clean_log;
mod compact_log;
mod retention;
mod vacuum;

pub use checksum::{ChecksumFile, write_checksum};
pub use clean_log::{LogCleanup, LogObject};
pub use compact_log::{CompactedLog, compact_log};
pub use retention::{Retention, checkpoint_interval, cleans_log};
pub use vacuum::{Vacuum, VacuumScope};

use crate::protocol::CATALOG_FEATURES;
use crate::{DeltaError, Snapshot};
use lakebed_conflict::delta::ProtocolAccess;

/// Who removes anything from a table must know every rule of its writers, and a catalog's table is the catalog's to clean.
fn allowed(newest: &Snapshot, work: &str) -> Result<(), DeltaError> {
    let protocol = newest.protocol();
    if CATALOG_FEATURES.iter().any(|feature| protocol.supports(feature)) {
        return Err(DeltaError::invalid(
            format!("the table is managed by a catalog, which alone decides about {work}"),
            "ask the catalog for maintenance",
        ));
    }
    match protocol.access() {
        ProtocolAccess::Usable => Ok(()),
        ProtocolAccess::UnsupportedVersion => Err(DeltaError::unsupported(format!(
            "writer version {} ({work} must know every rule of a writer)",
            protocol.min_writer_version
        ))),
        ProtocolAccess::UnsupportedReaderFeatures(names) | ProtocolAccess::UnsupportedWriterFeatures(names) => {
            Err(DeltaError::unsupported(format!("{} ({work} must know every rule of a writer)", names.join(", "))))
        }
    }
}
