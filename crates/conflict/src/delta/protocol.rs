//! Protocols as sets of features.

use std::collections::BTreeSet;
use std::sync::Arc;

/// Versions and features of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProtocolState {
    /// `minReaderVersion`.
    pub reader_version: i64,
    /// `minWriterVersion`.
    pub writer_version: i64,
    /// `readerFeatures`; empty below reader version 3.
    pub reader_features: BTreeSet<Arc<str>>,
    /// `writerFeatures`; empty below writer version 7.
    pub writer_features: BTreeSet<Arc<str>>,
}

/// A `protocol` action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProtocolChange {
    /// What it says.
    pub state: ProtocolState,
    /// Whether whoever builds the facts can read and write such a table.
    pub access: ProtocolAccess,
}

/// Whether a protocol can be read and written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ProtocolAccess {
    /// It can.
    #[default]
    Usable,
    /// A version is above what is known, or the versions and feature lists contradict each other.
    UnsupportedVersion,
    /// Features that readers must know and we do not.
    UnsupportedReaderFeatures(Vec<Arc<str>>),
    /// Features that writers must know and we do not.
    UnsupportedWriterFeatures(Vec<Arc<str>>),
}

/// Features that a legacy writer version (second) or reader version (third) implies.
const LEGACY: &[(&str, i64)] = &[
    ("appendOnly", 2),
    ("invariants", 2),
    ("checkConstraints", 3),
    ("changeDataFeed", 4),
    ("generatedColumns", 4),
    ("columnMapping", 5),
    ("identityColumns", 6),
];

/// The writer version from which features are listed by name.
const LISTED_WRITER_VERSION: i64 = 7;

impl ProtocolState {
    /// Whether the feature is supported: named, or implied by a writer version below 7. Names match without regard to
    /// ASCII case, as in Spark.
    #[must_use]
    pub fn supports(&self, feature: &str) -> bool {
        let named = |set: &BTreeSet<Arc<str>>| set.iter().any(|known| known.eq_ignore_ascii_case(feature));
        named(&self.writer_features) || named(&self.reader_features) || self.implies(feature)
    }

    /// The features of this protocol that `next` no longer supports.
    #[must_use]
    pub fn dropped_by<'a>(&'a self, next: &Self) -> Vec<&'a str> {
        let named = self.writer_features.union(&self.reader_features).map(|name| &**name);
        let implied = LEGACY.iter().map(|(name, _)| *name).filter(|name| self.implies(name));
        named.chain(implied).filter(|name| !next.supports(name)).collect()
    }

    fn implies(&self, feature: &str) -> bool {
        self.writer_version < LISTED_WRITER_VERSION
            && LEGACY.iter().any(|(name, since)| self.writer_version >= *since && name.eq_ignore_ascii_case(feature))
    }
}
