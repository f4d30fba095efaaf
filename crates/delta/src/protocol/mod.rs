//! Which tables can be read: versions and features.
//!
//! Source: the protocol's lists of table features. Names match without regard to ASCII case, as in Spark.

mod needed;

pub use needed::{FEATURE_PROPERTY_PREFIX, needed_features};

use crate::DeltaError;
use crate::action::Protocol;
use lakebed_conflict::delta::{ProtocolAccess, ProtocolState};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The reader version from which on features are listed, the highest that is known.
pub const READER_VERSION_MAX: i32 = 3;
/// The writer version from which on features are listed, the highest that is known.
pub const WRITER_VERSION_MAX: i32 = 7;

/// Features of tables whose commits a catalog ratifies, under its name and under an older one. Such a table is read with what its
/// catalog answers, and not written to.
pub(crate) const CATALOG_FEATURES: [&str; 2] = ["catalogManaged", "catalogOwned-preview"];

/// Features that a reader must know, and that are known here: a snapshot of such a table can be taken.
pub const READER_FEATURES: &[&str] = &[
    "catalogManaged",
    "catalogOwned-preview",
    "columnMapping",
    "deletionVectors",
    "timestampNtz",
    "typeWidening",
    "typeWidening-preview",
    "v2Checkpoint",
    "vacuumProtocolCheck",
    "variantShredding",
    "variantShredding-preview",
    "variantType",
    "variantType-preview",
];

/// Features that only a writer must know, and whose rules are known here.
pub const WRITER_FEATURES: &[&str] = &[
    "allowColumnDefaults",
    "appendOnly",
    "changeDataFeed",
    "checkConstraints",
    "checkpointProtection",
    "clustering",
    "domainMetadata",
    "generatedColumns",
    "icebergCompatV1",
    "icebergCompatV2",
    "icebergCompatV3",
    "identityColumns",
    "inCommitTimestamp",
    "invariants",
    "materializePartitionColumns",
    "rowTracking",
];

fn is_known(feature: &str, lists: &[&[&str]]) -> bool {
    lists.iter().any(|list| list.iter().any(|known| known.eq_ignore_ascii_case(feature)))
}

impl Protocol {
    fn unknown(features: Option<&Vec<String>>, lists: &[&[&str]]) -> Vec<Arc<str>> {
        let listed = features.map_or(&[][..], Vec::as_slice);
        listed.iter().filter(|name| !is_known(name, lists)).map(|name| Arc::from(name.as_str())).collect()
    }

    /// Whether the table can be read and written, for the conflict rules.
    #[must_use]
    pub fn access(&self) -> ProtocolAccess {
        let lists_readers = self.reader_features.as_ref().is_some_and(|features| !features.is_empty());
        let lists_writers = self.writer_features.as_ref().is_some_and(|features| !features.is_empty());
        let version_known = (1..=READER_VERSION_MAX).contains(&self.min_reader_version)
            && (0..=WRITER_VERSION_MAX).contains(&self.min_writer_version);
        if !version_known
            || (lists_readers && self.min_reader_version != READER_VERSION_MAX)
            || (lists_writers && self.min_writer_version != WRITER_VERSION_MAX)
        {
            return ProtocolAccess::UnsupportedVersion;
        }
        let readers = Self::unknown(self.reader_features.as_ref(), &[READER_FEATURES, WRITER_FEATURES]);
        if !readers.is_empty() {
            return ProtocolAccess::UnsupportedReaderFeatures(readers);
        }
        let writers = Self::unknown(self.writer_features.as_ref(), &[READER_FEATURES, WRITER_FEATURES]);
        if writers.is_empty() { ProtocolAccess::Usable } else { ProtocolAccess::UnsupportedWriterFeatures(writers) }
    }

    /// Refuses a table that cannot be read.
    ///
    /// # Errors
    /// A reader version above 3, reader features beside another version, or a feature that is not known.
    pub fn check_readable(&self) -> Result<(), DeltaError> {
        let listed = self.reader_features.as_ref().filter(|features| !features.is_empty());
        if self.min_reader_version > READER_VERSION_MAX {
            return Err(DeltaError::unsupported(format!("reader version {}", self.min_reader_version)));
        }
        if self.min_reader_version < 1 {
            return Err(DeltaError::damaged(
                "the protocol of the table",
                format!("{} is no reader version", self.min_reader_version),
            ));
        }
        if listed.is_some() && self.min_reader_version != READER_VERSION_MAX {
            return Err(DeltaError::damaged(
                "the protocol of the table",
                format!("it lists reader features beside reader version {}", self.min_reader_version),
            ));
        }
        let unknown = Self::unknown(listed, &[READER_FEATURES, WRITER_FEATURES]);
        if unknown.is_empty() { Ok(()) } else { Err(DeltaError::unsupported(unknown.join(", "))) }
    }

    /// The protocol as the conflict rules compare it.
    #[must_use]
    pub fn state(&self) -> ProtocolState {
        let set = |features: Option<&Vec<String>>| -> BTreeSet<Arc<str>> {
            features.map(|names| names.iter().map(|name| Arc::from(name.as_str())).collect()).unwrap_or_default()
        };
        ProtocolState {
            reader_version: self.min_reader_version.into(),
            writer_version: self.min_writer_version.into(),
            reader_features: set(self.reader_features.as_ref()),
            writer_features: set(self.writer_features.as_ref()),
        }
    }

    /// Whether a feature is supported: named, or implied by a writer version below 7.
    #[must_use]
    pub fn supports(&self, feature: &str) -> bool {
        self.state().supports(feature)
    }
}
