//! What a statement needs to know of a version.

use crate::OpsError;
use lakebed_delta::action::DeletionVector;
use lakebed_delta::schema::ColumnMapping;
use lakebed_delta::{Snapshot, partition};
use lakebed_naming::delta::DataPath;
use lakebed_transaction::{Column, Scalar, UnitId};
use std::sync::Arc;

/// One version of a table, as statements see it.
pub trait SnapshotView: Send + Sync {
    /// The columns, in order.
    fn columns(&self) -> Vec<Column>;

    /// The partition columns' names, in order.
    fn partition_columns(&self) -> Vec<String>;

    /// The files that hold its rows, in the order of their paths.
    ///
    /// # Errors
    /// A file's entry cannot be read.
    fn files(&self) -> Result<Vec<ViewFile>, OpsError>;
}

/// One file of a version.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewFile {
    /// Its name in the log; what a transaction that removes it names.
    pub id: UnitId,
    /// The object that holds it, relative to the table's root.
    pub object: String,
    /// Rows in it, deleted ones included; `None` where the log does not say.
    pub physical_rows: Option<u64>,
    /// Rows of it that are deleted.
    pub deleted: Deleted,
    /// Partition values by column name.
    pub partition: Vec<(Arc<str>, Scalar)>,
    /// Its size in bytes.
    pub size_bytes: u64,
}

/// Rows of a file that are deleted.
#[derive(Clone, Debug, PartialEq)]
pub enum Deleted {
    /// None.
    Nothing,
    /// Those of a deletion vector.
    Vector(DeletionVector),
}

impl Deleted {
    /// How many.
    #[must_use]
    pub fn len(&self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::Vector(vector) => vector.deleted_rows(),
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl SnapshotView for Snapshot {
    fn columns(&self) -> Vec<Column> {
        self.schema().columns()
    }

    fn partition_columns(&self) -> Vec<String> {
        Self::partition_columns(self).to_vec()
    }

    fn files(&self) -> Result<Vec<ViewFile>, OpsError> {
        // Names in files differ from the schema's then, and reading by the wrong ones would find nothing but nulls.
        if self.column_mapping() != ColumnMapping::None {
            return Err(OpsError::Unsupported {
                feature: "columnMapping".to_owned(),
                statement: "reading rows",
                advice: "read or change its rows with an engine that maps columns; history and show work".to_owned(),
            });
        }
        let columns = self.core().partition_columns();
        let mut files = Vec::new();
        for add in Self::files(self) {
            let mut values = Vec::with_capacity(columns.len());
            for column in &columns {
                let text = add.partition_values.get(&column.physical_name);
                values.push((Arc::clone(&column.name), partition::parse(text, &column.column_type)?));
            }
            files.push(ViewFile {
                id: UnitId::file(&add.path),
                object: object_of(&add.path)?,
                physical_rows: add.num_records(),
                deleted: add.deletion_vector.clone().map_or(Deleted::Nothing, Deleted::Vector),
                partition: values,
                size_bytes: u64::try_from(add.size).unwrap_or_default(),
            });
        }
        files.sort_by(|a, b| a.object.cmp(&b.object));
        Ok(files)
    }
}

/// The object that a path of the log names.
fn object_of(path: &str) -> Result<String, OpsError> {
    match DataPath::decode(path).map_err(lakebed_delta::DeltaError::from)? {
        DataPath::Relative(name) => Ok(name),
        DataPath::Absolute(uri) => Err(OpsError::Unsupported {
            feature: format!("the file {uri} outside of the table (a shallow clone)"),
            statement: "reading rows",
            advice: "copy the table, or read it with an engine that opens such files".to_owned(),
        }),
    }
}
