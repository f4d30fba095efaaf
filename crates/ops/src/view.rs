//! What a statement needs to know of a version.

use crate::names::file_names;
use crate::{Layout, OpsError};
use lakebed_data::FileNames;
use lakebed_delta::action::{Add, DeletionVector, TextMap};
use lakebed_delta::{Snapshot, partition, stats};
use lakebed_naming::delta::DataPath;
use lakebed_transaction::{Column, ColumnBounds, ColumnType, Scalar, UnitId};
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

    /// How rows are to stand in new files.
    ///
    /// # Errors
    /// Files of this version cannot be written here.
    fn layout(&self) -> Result<Layout, OpsError>;

    /// What is known of each column of a file without opening it, by column name; a column that is not named is not known.
    fn bounds(&self, file: &ViewFile) -> Vec<(Arc<str>, ColumnBounds)>;

    /// The columns under which files may keep row ids and row commit versions of their rows, where the table has them.
    fn tracking_columns(&self) -> Option<TrackingColumns> {
        None
    }
}

/// Under which names files keep what row tracking knows of each row; `None` where they never do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrackingColumns {
    /// The row id.
    pub row_id: Option<String>,
    /// The version that last changed the row.
    pub commit_version: Option<String>,
}

/// One file of a version.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewFile {
    /// Its name in the log; what a transaction that removes it names.
    pub id: UnitId,
    /// The object that holds it: relative to the table's root, or the URI by which the log names one outside.
    pub object: String,
    /// Whether `object` is such a URI.
    pub outside: bool,
    /// Rows in it, deleted ones included; `None` where the log does not say.
    pub physical_rows: Option<u64>,
    /// Rows of it that are deleted.
    pub deleted: Deleted,
    /// Partition values by column name.
    pub partition: Vec<(Arc<str>, Scalar)>,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Its statistics as the log has them; [`SnapshotView::bounds`] reads them.
    pub stats: Option<Arc<str>>,
    /// What its columns are called in it; `None` where as in the table.
    pub names: Option<Arc<FileNames>>,
    /// What row tracking knows of it.
    pub tracking: RowTracking,
}

/// What row tracking knows of a file's rows where the file itself does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowTracking {
    /// The id of the row at position 0; the others follow in order.
    pub base_row_id: Option<i64>,
    /// The version that last changed its rows.
    pub commit_version: Option<i64>,
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
    fn layout(&self) -> Result<Layout, OpsError> {
        Layout::of(self.core())
    }

    fn columns(&self) -> Vec<Column> {
        self.schema().columns()
    }

    fn partition_columns(&self) -> Vec<String> {
        Self::partition_columns(self).to_vec()
    }

    fn files(&self) -> Result<Vec<ViewFile>, OpsError> {
        let reader = FileReader::new(self)?;
        let mut files = Self::files(self).map(|add| reader.live(add)).collect::<Result<Vec<_>, _>>()?;
        files.sort_by(|a, b| a.object.cmp(&b.object));
        Ok(files)
    }

    fn bounds(&self, file: &ViewFile) -> Vec<(Arc<str>, ColumnBounds)> {
        let bounds = |stats: &Arc<str>| stats::bounds(stats, self.schema(), self.column_mapping());
        file.stats.as_ref().map(bounds).unwrap_or_default()
    }

    fn tracking_columns(&self) -> Option<TrackingColumns> {
        let name = |key: &str| self.properties().get(key).map(str::to_owned);
        self.protocol().supports("rowTracking").then(|| TrackingColumns {
            row_id: name("delta.rowTracking.materializedRowIdColumnName"),
            commit_version: name("delta.rowTracking.materializedRowCommitVersionColumnName"),
        })
    }
}

struct PartitionKey {
    name: Arc<str>,
    /// The key in `partitionValues`.
    physical_name: Arc<str>,
    column_type: ColumnType,
}

/// Makes files that can be read out of actions of one version.
pub(crate) struct FileReader {
    partition_columns: Vec<PartitionKey>,
    names: Option<Arc<FileNames>>,
}

impl FileReader {
    /// # Errors
    /// The version has columns that cannot be decoded here.
    pub(crate) fn new(snapshot: &Snapshot) -> Result<Self, OpsError> {
        if let Some((feature, what)) = snapshot.schema().undecodable() {
            return Err(OpsError::Unsupported {
                feature: format!("{feature} ({what})"),
                statement: "reading rows",
                advice: "read or change its rows with an engine that knows the feature; history and show work"
                    .to_owned(),
            });
        }
        let mut partition_columns = Vec::new();
        for column in snapshot.core().partition_columns() {
            let (name, physical_name, column_type) = (column.name, column.physical_name, column.column_type);
            partition_columns.push(PartitionKey { name, physical_name, column_type });
        }
        Ok(Self { partition_columns, names: file_names(snapshot.schema(), snapshot.column_mapping()) })
    }

    /// A file that is part of the version.
    pub(crate) fn live(&self, add: &Add) -> Result<ViewFile, OpsError> {
        let mut file = self.file(&add.path, &add.partition_values, add.size)?;
        file.physical_rows = add.num_records();
        file.stats.clone_from(&add.stats);
        file.deleted = add.deletion_vector.clone().map_or(Deleted::Nothing, Deleted::Vector);
        file.tracking = RowTracking { base_row_id: add.base_row_id, commit_version: add.default_row_commit_version };
        Ok(file)
    }

    /// A file by its place and its partition values.
    pub(crate) fn file(&self, path: &str, partition_values: &TextMap, size: i64) -> Result<ViewFile, OpsError> {
        let mut partition = Vec::with_capacity(self.partition_columns.len());
        for column in &self.partition_columns {
            let text = partition_values.get(&column.physical_name);
            partition.push((Arc::clone(&column.name), partition::parse(text, &column.column_type)?));
        }
        let (object, outside) = match DataPath::decode(path).map_err(lakebed_delta::DeltaError::from)? {
            DataPath::Relative(name) => (name, false),
            DataPath::Absolute(uri) => (uri, true),
        };
        Ok(ViewFile {
            id: UnitId::file(path),
            object,
            outside,
            physical_rows: None,
            deleted: Deleted::Nothing,
            partition,
            size_bytes: u64::try_from(size).unwrap_or_default(),
            stats: None,
            names: self.names.clone(),
            tracking: RowTracking::default(),
        })
    }
}
