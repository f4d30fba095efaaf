//! Ids and commit versions of rows, from the file where it keeps them, else from the file's entry in the log.

use crate::OpsError;
use crate::rows::widened;
use crate::view::{RowTracking, TrackingColumns, ViewFile};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field};
use lakebed_data::Rows;
use lakebed_transaction::{Column, ColumnType};
use std::sync::Arc;

/// The name of the column that holds each row's id.
pub const ROW_ID: &str = "_metadata.row_id";
/// The name of the column that holds the version that last changed each row.
pub const ROW_COMMIT_VERSION: &str = "_metadata.row_commit_version";

/// The name of the column that holds the version that wrote each row, whether the table tracks rows or not.
pub const ROW_VERSION: &str = "_version";

/// Reads row ids and row commit versions along.
#[derive(Debug)]
pub(crate) struct Tracking {
    names: TrackingColumns,
}

impl Tracking {
    pub(crate) const fn new(names: TrackingColumns) -> Self {
        Self { names }
    }

    /// The columns that come after the table's own.
    pub(crate) fn columns() -> [Column; 2] {
        [ROW_ID, ROW_COMMIT_VERSION].map(|name| Column::new(name, ColumnType::Long, true))
    }

    /// Which columns files may have, each with its name in files.
    pub(crate) fn in_files(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let both = [(ROW_ID, self.names.row_id.as_deref()), (ROW_COMMIT_VERSION, self.names.commit_version.as_deref())];
        both.into_iter().filter_map(|(name, in_file)| Some((name, in_file?)))
    }
}

/// Completes the two last columns: a row that the file says nothing of has the id of its place, and the version of its file.
///
/// (Delta protocol, "Row Tracking": a fresh row's id is the file's base row id plus its position.)
pub(crate) fn fill(rows: &Rows, file: &ViewFile) -> Result<RecordBatch, OpsError> {
    let RowTracking { base_row_id, commit_version } = file.tracking;
    let positions = rows.positions.as_deref().unwrap_or(&[]);
    let own_id = |at: usize| base_row_id?.checked_add(i64::try_from(*positions.get(at)?).ok()?);
    let mut arrays = rows.batch.columns().to_vec();
    let at = arrays.len().saturating_sub(2);
    if let Some([ids, versions]) = arrays.get_mut(at..).and_then(|last| <&mut [ArrayRef; 2]>::try_from(last).ok()) {
        *ids = completed(ids, own_id);
        *versions = completed(versions, |_| commit_version);
    }
    RecordBatch::try_new(rows.batch.schema(), arrays).map_err(OpsError::rows(&file.object))
}

fn completed(kept: &ArrayRef, own: impl Fn(usize) -> Option<i64>) -> ArrayRef {
    let kept = kept.as_primitive_opt::<Int64Type>();
    let value = |at: usize| kept.filter(|kept| kept.is_valid(at)).map(|kept| kept.value(at)).or_else(|| own(at));
    let rows = kept.map_or(0, Array::len);
    Arc::new((0..rows).map(value).collect::<Int64Array>())
}

/// The rows with the version that wrote each: what row tracking says of it, else the version of its file.
pub(crate) fn with_versions(batch: &RecordBatch, of_file: Option<i64>) -> Result<RecordBatch, OpsError> {
    let own = batch.column_by_name(ROW_COMMIT_VERSION).and_then(|column| column.as_primitive_opt::<Int64Type>());
    let value = |at: usize| own.filter(|own| own.is_valid(at)).map(|own| own.value(at)).or(of_file);
    numbered(batch, (0..batch.num_rows()).map(value).collect())
}

/// The rows with these versions behind.
pub(crate) fn numbered(batch: &RecordBatch, versions: Int64Array) -> Result<RecordBatch, OpsError> {
    widened(batch, [Field::new(ROW_VERSION, DataType::Int64, true)], [Arc::new(versions)])
}
