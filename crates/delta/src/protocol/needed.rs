//! Which features a table's properties and schema turn on.

use super::{READER_FEATURES, READER_VERSION_MAX, WRITER_FEATURES, WRITER_VERSION_MAX};
use crate::DeltaError;
use crate::action::{Metadata, Protocol};
use crate::schema::{ColumnMapping, StructType};
use std::collections::BTreeSet;

/// A property `delta.feature.<name>` asks for a feature by name; it is not kept in the table.
pub const FEATURE_PROPERTY_PREFIX: &str = "delta.feature.";

/// Flags among the properties, with the features that they turn on.
const BY_FLAG: &[(&str, &[&str])] = &[
    ("delta.appendOnly", &["appendOnly"]),
    ("delta.enableChangeDataFeed", &["changeDataFeed"]),
    ("delta.enableDeletionVectors", &["deletionVectors"]),
    ("delta.enableIcebergCompatV1", &["icebergCompatV1", "columnMapping"]),
    ("delta.enableIcebergCompatV2", &["icebergCompatV2", "columnMapping"]),
    ("delta.enableIcebergCompatV3", &["icebergCompatV3", "columnMapping", "rowTracking", "domainMetadata"]),
    ("delta.enableInCommitTimestamps", &["inCommitTimestamp"]),
    ("delta.enableRowTracking", &["rowTracking", "domainMetadata"]),
    ("delta.enableTypeWidening", &["typeWidening"]),
    ("delta.enableVariantShredding", &["variantShredding"]),
];

/// Keys in the metadata of columns, with the features that they turn on.
const BY_COLUMN_KEY: &[(&str, &str)] = &[
    ("CURRENT_DEFAULT", "allowColumnDefaults"),
    ("delta.generationExpression", "generatedColumns"),
    ("delta.identity.start", "identityColumns"),
    ("delta.invariants", "invariants"),
];

/// Types of columns, with the features that they turn on.
const BY_TYPE: &[(&str, &str)] = &[("timestamp_ntz", "timestampNtz"), ("variant", "variantType")];

/// What every writer version from 2 on implies, and what is listed beside any other feature.
const BASIC: [&str; 2] = ["appendOnly", "invariants"];

/// The features that a table with this metadata must support.
///
/// # Errors
/// The schema cannot be read, or a feature is asked for by a name that is not known.
pub fn needed_features(metadata: &Metadata) -> Result<BTreeSet<&'static str>, DeltaError> {
    let schema = StructType::parse(&metadata.schema_string)?;
    let mut needed = BTreeSet::new();
    for (key, features) in BY_FLAG {
        if metadata.flag(key) {
            needed.extend(features.iter().copied());
        }
    }
    let property = |key: &str| metadata.configuration.get(key);
    if ColumnMapping::parse(property("delta.columnMapping.mode"))? != ColumnMapping::None {
        needed.insert("columnMapping");
    }
    if property("delta.checkpointPolicy").is_some_and(|policy| policy.eq_ignore_ascii_case("v2")) {
        needed.insert("v2Checkpoint");
    }
    for (key, _) in metadata.configuration.iter() {
        if key.starts_with("delta.constraints.") {
            needed.insert("checkConstraints");
        }
        if let Some(name) = key.strip_prefix(FEATURE_PROPERTY_PREFIX) {
            needed.insert(known(name)?);
        }
    }
    let fields = schema.all_fields();
    for (key, feature) in BY_COLUMN_KEY {
        if fields.iter().any(|field| field.metadata.contains_key(*key)) {
            needed.insert(feature);
        }
    }
    for (name, feature) in BY_TYPE {
        if schema.primitive_types().contains(name) {
            needed.insert(feature);
        }
    }
    if needed.contains("rowTracking") || needed.contains("clustering") {
        needed.insert("domainMetadata");
    }
    Ok(needed)
}

fn known(name: &str) -> Result<&'static str, DeltaError> {
    [READER_FEATURES, WRITER_FEATURES]
        .into_iter()
        .flatten()
        .find(|known| known.eq_ignore_ascii_case(name))
        .copied()
        .ok_or_else(|| DeltaError::unsupported(name))
}

impl Protocol {
    /// The plainest protocol for a new table with this metadata: reader 1 and writer 2 where no feature is needed.
    ///
    /// # Errors
    /// As [`needed_features`].
    pub fn needed_for(metadata: &Metadata) -> Result<Self, DeltaError> {
        Ok(Self::default().upgraded_for(metadata)?.unwrap_or_default())
    }

    /// This protocol with what the metadata needs on top; `None` where it supports everything already.
    ///
    /// What the old versions imply is listed by name when features begin to be listed, so nothing is dropped.
    ///
    /// # Errors
    /// As [`needed_features`].
    pub fn upgraded_for(&self, metadata: &Metadata) -> Result<Option<Self>, DeltaError> {
        let state = self.state();
        let missing: Vec<&str> =
            needed_features(metadata)?.into_iter().filter(|feature| !state.supports(feature)).collect();
        if missing.is_empty() {
            return Ok(None);
        }
        let lists_readers = self.min_reader_version >= READER_VERSION_MAX;
        let mut writers: BTreeSet<String> = self.writer_features.iter().flatten().cloned().collect();
        if self.min_writer_version < WRITER_VERSION_MAX {
            writers.extend(BASIC.map(str::to_owned));
            let all = READER_FEATURES.iter().chain(WRITER_FEATURES);
            writers.extend(all.filter(|feature| state.supports(feature)).map(|feature| (*feature).to_owned()));
        }
        let mut readers: BTreeSet<String> = self.reader_features.iter().flatten().cloned().collect();
        let is_reader = |feature: &str| READER_FEATURES.contains(&feature);
        let raises = lists_readers || missing.iter().any(|feature| is_reader(feature));
        if raises && !lists_readers {
            readers.extend(writers.iter().filter(|feature| is_reader(feature)).cloned());
        }
        for feature in missing {
            writers.insert(feature.to_owned());
            if is_reader(feature) {
                readers.insert(feature.to_owned());
            }
        }
        Ok(Some(Self {
            min_reader_version: if raises { READER_VERSION_MAX } else { self.min_reader_version },
            min_writer_version: WRITER_VERSION_MAX,
            reader_features: raises.then(|| readers.into_iter().collect()),
            writer_features: Some(writers.into_iter().collect()),
        }))
    }
}
