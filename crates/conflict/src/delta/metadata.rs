//! Metadata as the metadata rule compares it.

use super::ProtocolState;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A `metaData` action, cut into the parts that the metadata rule tells apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MetadataState {
    /// `configuration`.
    pub configuration: BTreeMap<Arc<str>, Arc<str>>,
    /// `schemaString`, byte for byte.
    pub schema: Arc<str>,
    /// The schema in any canonical form with the metadata keys `delta.columnMapping.id` and
    /// `delta.columnMapping.physicalName` taken out of every field, nested ones too.
    pub schema_without_mapping: Arc<str>,
    /// Everything else (id, name, description, format with options, partition columns, created time) in any canonical
    /// form: equal texts mean equal parts.
    pub rest: Arc<str>,
}

/// A `metaData` action of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataChange {
    /// The metadata that it sets.
    pub state: MetadataState,
    /// Whether its `commitInfo.tags` say `delta.identity.schemaUpdate`: only high-water marks of identity columns moved.
    pub identity_only: bool,
}

/// What a landed `metaData` action means for ours that carries none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MetadataDifference {
    /// Nothing differs.
    Identical,
    /// Only what a writer in flight can adopt.
    Adoptable,
    /// Only high-water marks of identity columns; not adopted.
    IdentityOnly,
    /// Something else; the text names the first part that stands in the way.
    Other(String),
}

/// A part of the metadata that a message can name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MetadataPart {
    /// One property.
    Property(Arc<str>),
    /// The schema.
    Schema,
    /// Anything else.
    Rest,
}

/// What [`MetadataState::rest`] holds, in words.
pub(super) const OUTSIDE_SCHEMA_AND_PROPERTIES: &str =
    "name, description, format, partition columns or another part outside schema and properties";

const COLUMN_MAPPING_MODE: &str = "delta.columnMapping.mode";
const ENABLE_ROW_TRACKING: &str = "delta.enableRowTracking";

impl MetadataState {
    /// The parts in which the next metadata differs from this: properties by name, the schema, the rest.
    pub(super) fn parts_changed_by(&self, next: &Self) -> Vec<MetadataPart> {
        let keys: BTreeSet<&Arc<str>> = self.configuration.keys().chain(next.configuration.keys()).collect();
        let changed = keys.into_iter().filter(|key| self.configuration.get(*key) != next.configuration.get(*key));
        let mut parts: Vec<MetadataPart> = changed.map(|key| MetadataPart::Property(Arc::clone(key))).collect();
        parts.extend((self.schema != next.schema).then_some(MetadataPart::Schema));
        parts.extend((self.rest != next.rest).then_some(MetadataPart::Rest));
        parts
    }
}

impl MetadataChange {
    /// Sets this landed change against the metadata that ours stands on. `protocol` is the one in force when ours is written.
    #[must_use]
    pub fn difference_from(&self, current: &MetadataState, protocol: &ProtocolState) -> MetadataDifference {
        if self.identity_only {
            return MetadataDifference::IdentityOnly;
        }
        if self.state == *current {
            return MetadataDifference::Identical;
        }
        let change = Change { from: current, to: &self.state, protocol };
        change.obstacle().map_or(MetadataDifference::Adoptable, MetadataDifference::Other)
    }
}

/// A step from one metadata to the next.
struct Change<'a> {
    from: &'a MetadataState,
    to: &'a MetadataState,
    protocol: &'a ProtocolState,
}

impl Change<'_> {
    /// The first part that a writer in flight cannot adopt.
    fn obstacle(&self) -> Option<String> {
        if self.from.rest != self.to.rest {
            return Some(OUTSIDE_SCHEMA_AND_PROPERTIES.to_owned());
        }
        if let Some(key) = self.from.configuration.keys().find(|key| !self.to.configuration.contains_key(*key)) {
            return Some(format!("property {key} removed"));
        }
        let mut changed =
            self.to.configuration.iter().filter(|(key, value)| self.from.configuration.get(*key) != Some(value));
        if let Some((key, _)) = changed.find(|(key, value)| !self.adopts(key, value)) {
            return Some(format!("property {key}"));
        }
        let annotated_only = self.from.schema_without_mapping == self.to.schema_without_mapping && self.maps_by_name();
        (self.from.schema != self.to.schema && !annotated_only).then(|| "schema".to_owned())
    }

    /// The properties that a writer in flight adopts: features being switched on that ask nothing of files already written.
    fn adopts(&self, key: &str, value: &str) -> bool {
        let on = value.eq_ignore_ascii_case("true");
        match key {
            ENABLE_ROW_TRACKING => on && self.protocol.supports("rowTracking"),
            "delta.rowTracking.materializedRowIdColumnName"
            | "delta.rowTracking.materializedRowCommitVersionColumnName" => self.switches_on(ENABLE_ROW_TRACKING),
            COLUMN_MAPPING_MODE => self.maps_by_name(),
            "delta.columnMapping.maxColumnId" => true,
            "delta.enableDeletionVectors" | "delta.enableInCommitTimestamps" => on,
            "delta.checkpointPolicy" => value == "v2",
            "delta.inCommitTimestampEnablementVersion" | "delta.inCommitTimestampEnablementTimestamp" => {
                self.is_new(key)
            }
            "io.unitycatalog.tableId" => !self.protocol.supports("catalogManaged") || self.is_new(key),
            _ => false,
        }
    }

    fn is_new(&self, key: &str) -> bool {
        !self.from.configuration.contains_key(key)
    }

    fn switches_on(&self, key: &str) -> bool {
        let on = |state: &MetadataState| {
            state.configuration.get(key).is_some_and(|value| value.eq_ignore_ascii_case("true"))
        };
        !on(self.from) && on(self.to)
    }

    /// Whether column mapping goes from none to by name.
    fn maps_by_name(&self) -> bool {
        let mode = |state: &MetadataState| {
            state.configuration.get(COLUMN_MAPPING_MODE).map_or("none".to_owned(), |mode| mode.to_ascii_lowercase())
        };
        mode(self.from) == "none" && mode(self.to) == "name"
    }
}
