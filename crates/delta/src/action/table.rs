//! Actions about the table as a whole.

use super::text::{TextMap, or_default};
use serde::{Deserialize, Serialize};

/// The table's schema, partitioning and properties. A later one replaces an earlier one entirely.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The table's id, a UUID.
    #[serde(default, deserialize_with = "or_default")]
    pub id: String,
    /// A name for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// A description for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The format of the data files.
    #[serde(default, deserialize_with = "or_default")]
    pub format: Format,
    /// The schema as JSON text. Where the log has none, the table has no columns, as Spark takes it.
    #[serde(default, deserialize_with = "or_default")]
    pub schema_string: String,
    /// Partition columns by logical name.
    #[serde(default, deserialize_with = "or_default")]
    pub partition_columns: Vec<String>,
    /// Table properties.
    #[serde(default, deserialize_with = "or_default")]
    pub configuration: TextMap,
    /// When the table was created, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_time: Option<i64>,
}

impl Metadata {
    /// A table property that is a flag; anything but `true` (in any case) is false.
    #[must_use]
    pub fn flag(&self, key: &str) -> bool {
        self.configuration.get(key).is_some_and(|text| text.eq_ignore_ascii_case("true"))
    }

    /// Whether commits carry their own timestamp.
    #[must_use]
    pub fn in_commit_timestamps(&self) -> bool {
        self.flag("delta.enableInCommitTimestamps")
    }
}

/// The format of the data files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Format {
    /// Always `parquet`.
    #[serde(default, deserialize_with = "or_default")]
    pub provider: String,
    /// Options.
    #[serde(default, deserialize_with = "or_default")]
    pub options: TextMap,
}

impl Default for Format {
    fn default() -> Self {
        Self { provider: "parquet".into(), options: TextMap::new() }
    }
}

/// What readers and writers must support.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Protocol {
    /// Version of the reader protocol; 3 means that features are listed.
    pub min_reader_version: i32,
    /// Version of the writer protocol; 7 means that features are listed.
    pub min_writer_version: i32,
    /// Features that a reader must know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reader_features: Option<Vec<String>>,
    /// Features that a writer must know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer_features: Option<Vec<String>>,
}

impl Default for Protocol {
    /// The plainest protocol: reader 1, writer 2.
    fn default() -> Self {
        Self { min_reader_version: 1, min_writer_version: 2, reader_features: None, writer_features: None }
    }
}

/// An application's last transaction number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Txn {
    /// The application.
    pub app_id: String,
    /// Its number; may go down.
    pub version: i64,
    /// When it was set, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<i64>,
}

/// One named document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DomainMetadata {
    /// The name.
    pub domain: String,
    /// The document's text.
    #[serde(default, deserialize_with = "or_default")]
    pub configuration: String,
    /// Whether this removes the document.
    #[serde(default, deserialize_with = "or_default")]
    pub removed: bool,
}

/// Which version a checkpoint of the second version holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointMetadata {
    /// The version.
    pub version: i64,
    /// Notes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<TextMap>,
}

/// Where more of a checkpoint stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sidecar {
    /// The file's name under `_delta_log/_sidecars`, percent-encoded, or an absolute path.
    pub path: String,
    /// Its size in bytes.
    #[serde(default, deserialize_with = "or_default")]
    pub size_in_bytes: i64,
    /// When it was written, in milliseconds since 1970.
    #[serde(default, deserialize_with = "or_default")]
    pub modification_time: i64,
    /// Notes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<TextMap>,
}
