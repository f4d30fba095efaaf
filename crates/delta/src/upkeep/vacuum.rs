//! Which files of a table nobody needs any more.
//!
//! Source: the rules of Spark's VACUUM. A file goes when no live file, no unexpired tombstone and none of their deletion
//! vectors names it, and when it is itself older than the retention: what a writer has not committed yet is protected by its
//! age alone.

use super::Retention;
use crate::action::DeletionVector;
use crate::{DeltaError, Snapshot, path};
use lakebed_naming::delta::{DataPath, DeletionVectorName};
use std::collections::HashSet;

/// Folders that are hidden by their first character and yet hold files of the table.
const CHANGE_DATA_FOLDER: &str = "_change_data";

/// How long unneeded files are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VacuumScope {
    /// The retention in milliseconds; `None`: the table's own.
    pub retain_ms: Option<i64>,
    /// Take a retention that is shorter than the table's own.
    pub allow_shorter: bool,
}

/// Decides for each object below the table's root whether it goes.
#[derive(Clone, Debug)]
pub struct Vacuum {
    needed: HashSet<String>,
    hidden_exceptions: Vec<String>,
    hides_iceberg: bool,
    expired_ms: i64,
}

impl Vacuum {
    /// A vacuum by the newest version. List the table's objects *before* that version is loaded: then a file that a version
    /// in between brought is young, or named.
    ///
    /// # Errors
    /// The table cannot be written by us, its files are a catalog's to remove, or the retention is too short.
    pub fn new(newest: &Snapshot, scope: VacuumScope, now_ms: i64) -> Result<Self, DeltaError> {
        super::allowed(newest, "a vacuum")?;
        let expired_ms = now_ms.saturating_sub(retention(newest, scope)?);
        let mut needed = HashSet::new();
        for add in newest.files() {
            keep(&mut needed, &add.path);
            keep_vector(&mut needed, add.deletion_vector.as_ref());
        }
        for remove in newest.tombstones().filter(|remove| remove.deletion_timestamp.unwrap_or(0) >= expired_ms) {
            keep(&mut needed, &remove.path);
            keep_vector(&mut needed, remove.deletion_vector.as_ref());
        }
        let columns = newest.core().partition_columns();
        let formats = newest.properties().get("delta.universalFormat.enabledFormats").unwrap_or_default();
        Ok(Self {
            needed,
            hidden_exceptions: columns.iter().map(|column| format!("{}=", column.physical_name)).collect(),
            hides_iceberg: formats.to_ascii_lowercase().contains("iceberg"),
            expired_ms,
        })
    }

    /// Whether an object goes, by its name relative to the table's root and its time in milliseconds since 1970.
    #[must_use]
    pub fn removes(&self, name: &str, modified_ms: i64) -> bool {
        modified_ms < self.expired_ms && !self.is_hidden(name) && !self.needed.contains(name)
    }

    /// Whether a file that is no object goes, by its time alone: one that a writer left behind when it died.
    #[must_use]
    pub const fn removes_stray(&self, modified_ms: i64) -> bool {
        modified_ms < self.expired_ms
    }

    /// Hidden are names that start with `_` or `.`, folders and files alike, but for change data and for folders of
    /// partition columns whose names start so.
    fn is_hidden(&self, name: &str) -> bool {
        let mut segments = name.split('/').peekable();
        if self.hides_iceberg && segments.peek() == Some(&"metadata") {
            return true;
        }
        while let Some(segment) = segments.next() {
            let is_folder = segments.peek().is_some();
            let marked = segment.starts_with(['_', '.']);
            let excepted = is_folder
                && (segment == CHANGE_DATA_FOLDER
                    || self.hidden_exceptions.iter().any(|start| segment.starts_with(start.as_str())));
            if marked && !excepted {
                return true;
            }
        }
        false
    }
}

fn retention(newest: &Snapshot, scope: VacuumScope) -> Result<i64, DeltaError> {
    let own = Retention::of(newest.properties()).deleted_files_ms;
    match (scope.retain_ms, own) {
        (Some(told), Some(own)) if told >= own || scope.allow_shorter => Ok(told),
        (Some(told), None) if scope.allow_shorter => Ok(told),
        (Some(told), own) => Err(DeltaError::invalid(
            format!(
                "a retention of {told} ms is shorter than the table's own ({}): files of writers that are still at work and \
                 of versions that somebody reads would go",
                own.map_or_else(|| "for ever, by an unreadable property".to_owned(), |own| format!("{own} ms")),
            ),
            "retain longer, set delta.deletedFileRetentionDuration, or allow a shorter one (`--allow-shorter`)",
        )),
        (None, Some(own)) => Ok(own),
        (None, None) => Err(DeltaError::invalid(
            "the property delta.deletedFileRetentionDuration is no duration, so nothing is ever unneeded",
            "set it to a text such as `interval 7 days`",
        )),
    }
}

/// Keeps what a path of the log names. Of an absolute one it is not known how the root is spelled in it, so everything stays
/// whose name it ends with.
fn keep(needed: &mut HashSet<String>, raw: &str) {
    match DataPath::decode(raw) {
        Ok(DataPath::Relative(name)) => {
            needed.insert(name);
        }
        Ok(DataPath::Absolute(_)) | Err(_) => {
            let decoded = path::identity(raw);
            for spelling in [decoded.as_ref(), raw] {
                needed.insert(spelling.to_owned());
                let ends = spelling.match_indices('/').filter_map(|(at, _)| spelling.get(at + 1..));
                needed.extend(ends.filter(|end| !end.is_empty()).map(str::to_owned));
            }
        }
    }
}

fn keep_vector(needed: &mut HashSet<String>, vector: Option<&DeletionVector>) {
    let Some(vector) = vector else { return };
    match vector.storage_type.as_str() {
        "u" => {
            if let Ok(name) = DeletionVectorName::from_descriptor(&vector.path_or_inline_dv) {
                needed.insert(name.path());
            }
        }
        "i" => {}
        _ => keep(needed, &vector.path_or_inline_dv),
    }
}
