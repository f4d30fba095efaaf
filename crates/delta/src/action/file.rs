//! Actions about files.

use super::text::{TextMap, or_default, or_true, shared, shared_option, write_shared, write_shared_option, yes};
use crate::path;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Where a deletion vector stands and how many rows it deletes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeletionVector {
    /// `u`: a file named by a UUID under the table; `i`: inline; `p`: an absolute path.
    pub storage_type: String,
    /// The name (Z85 of a UUID behind an optional prefix), the vector itself (Z85), or the path.
    pub path_or_inline_dv: String,
    /// Where the vector starts in its file, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    /// The vector's length in bytes.
    pub size_in_bytes: i64,
    /// Rows that it deletes.
    pub cardinality: i64,
}

impl DeletionVector {
    /// What tells two vectors of one file apart. An absent offset and offset 0 differ.
    #[must_use]
    pub fn unique_id(&self) -> String {
        match self.offset {
            Some(offset) => format!("{}{}@{offset}", self.storage_type, self.path_or_inline_dv),
            None => format!("{}{}", self.storage_type, self.path_or_inline_dv),
        }
    }

    /// Rows that it deletes; a negative count in a damaged log counts as none.
    #[must_use]
    pub fn deleted_rows(&self) -> u64 {
        u64::try_from(self.cardinality).unwrap_or(0)
    }
}

/// A file becomes part of the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Add {
    /// The path as the log spells it: percent-encoded, relative to the table's root or absolute.
    #[serde(deserialize_with = "shared", serialize_with = "write_shared")]
    pub path: Arc<str>,
    /// Partition values by physical column name.
    #[serde(default, deserialize_with = "or_default")]
    pub partition_values: TextMap,
    /// Size in bytes.
    #[serde(default, deserialize_with = "or_default")]
    pub size: i64,
    /// When the file was written, in milliseconds since 1970.
    #[serde(default, deserialize_with = "or_default")]
    pub modification_time: i64,
    /// Whether the rows are new to the table.
    #[serde(default = "yes", deserialize_with = "or_true")]
    pub data_change: bool,
    /// Statistics as JSON text.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "shared_option",
        serialize_with = "write_shared_option"
    )]
    pub stats: Option<Arc<str>>,
    /// Notes about the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<TextMap>,
    /// The rows of the file that are deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_vector: Option<DeletionVector>,
    /// The row id of the first row, on tables with row tracking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_row_id: Option<i64>,
    /// The version in which the rows were last changed, on tables with row tracking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_row_commit_version: Option<i64>,
    /// Which implementation clustered the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clustering_provider: Option<String>,
}

impl Add {
    /// A file without partition values, statistics or tags.
    #[must_use]
    pub fn new(path: &str, size_bytes: i64, modified_ms: i64) -> Self {
        Self {
            path: Arc::from(path),
            partition_values: TextMap::new(),
            size: size_bytes,
            modification_time: modified_ms,
            data_change: true,
            stats: None,
            tags: None,
            deletion_vector: None,
            base_row_id: None,
            default_row_commit_version: None,
            clustering_provider: None,
        }
    }

    /// What replay tells files apart by: the decoded path and the id of the deletion vector.
    #[must_use]
    pub fn key(&self) -> Arc<str> {
        key_of(&self.path, self.deletion_vector.as_ref())
    }

    /// Rows in the file, deleted ones included, where the statistics say so.
    #[must_use]
    pub fn num_records(&self) -> Option<u64> {
        crate::stats::num_records(self.stats.as_deref()?)
    }

    /// Rows of the file that its deletion vector deletes.
    #[must_use]
    pub fn deleted_rows(&self) -> u64 {
        self.deletion_vector.as_ref().map_or(0, DeletionVector::deleted_rows)
    }

    /// Rows that a scan returns, where the statistics say how many there are.
    #[must_use]
    pub fn live_rows(&self) -> Option<u64> {
        self.num_records()?.checked_sub(self.deleted_rows())
    }

    /// The action that takes this file out again.
    #[must_use]
    pub fn to_remove(&self, deleted_ms: i64, data_change: bool) -> Remove {
        Remove {
            path: Arc::clone(&self.path),
            deletion_timestamp: Some(deleted_ms),
            data_change,
            extended_file_metadata: Some(true),
            partition_values: Some(self.partition_values.clone()),
            size: Some(self.size),
            tags: self.tags.clone(),
            deletion_vector: self.deletion_vector.clone(),
            base_row_id: self.base_row_id,
            default_row_commit_version: self.default_row_commit_version,
            stats: None,
        }
    }
}

/// A file leaves the table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Remove {
    /// The path, byte for byte as the add spelled it.
    #[serde(deserialize_with = "shared", serialize_with = "write_shared")]
    pub path: Arc<str>,
    /// When it was taken out, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_timestamp: Option<i64>,
    /// Whether rows leave the table.
    #[serde(default = "yes", deserialize_with = "or_true")]
    pub data_change: bool,
    /// Whether partition values and size stand here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extended_file_metadata: Option<bool>,
    /// Partition values by physical column name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition_values: Option<TextMap>,
    /// Size in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<i64>,
    /// Notes about the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<TextMap>,
    /// The deletion vector that the add had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_vector: Option<DeletionVector>,
    /// The row id of the first row, on tables with row tracking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_row_id: Option<i64>,
    /// The version in which the rows were last changed, on tables with row tracking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_row_commit_version: Option<i64>,
    /// Statistics as JSON text.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "shared_option",
        serialize_with = "write_shared_option"
    )]
    pub stats: Option<Arc<str>>,
}

impl Remove {
    /// What replay tells files apart by: the decoded path and the id of the deletion vector.
    #[must_use]
    pub fn key(&self) -> Arc<str> {
        key_of(&self.path, self.deletion_vector.as_ref())
    }
}

/// A file of row-level changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AddCdc {
    /// The path as the log spells it.
    #[serde(deserialize_with = "shared", serialize_with = "write_shared")]
    pub path: Arc<str>,
    /// Partition values by physical column name.
    #[serde(default, deserialize_with = "or_default")]
    pub partition_values: TextMap,
    /// Size in bytes.
    #[serde(default, deserialize_with = "or_default")]
    pub size: i64,
    /// Notes about the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<TextMap>,
    /// Always false.
    #[serde(default, deserialize_with = "or_default")]
    pub data_change: bool,
}

fn key_of(raw: &Arc<str>, vector: Option<&DeletionVector>) -> Arc<str> {
    other_key(raw, vector).unwrap_or_else(|| Arc::clone(raw))
}

/// What tells files apart, where it is another text than the path in the log.
pub(crate) fn other_key(raw: &str, vector: Option<&DeletionVector>) -> Option<Arc<str>> {
    match (vector, path::identity(raw)) {
        // A line feed cannot start an id, so a file without a vector never meets one with a vector.
        (Some(vector), identity) => Some(Arc::from(format!("{identity}\n{}", vector.unique_id()))),
        (None, std::borrow::Cow::Borrowed(text)) if text.len() == raw.len() => None,
        (None, identity) => Some(Arc::from(identity)),
    }
}
