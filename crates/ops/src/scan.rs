//! Reading the rows of a version.

use crate::OpsError;
use crate::delete::matching_files;
use crate::view::{Deleted, SnapshotView, ViewFile};
use arrow_array::RecordBatch;
use lakebed_data::{ParquetRows, ReadOptions, Rows, read_parquet};
use lakebed_delta::action::DeletionVector;
use lakebed_delta::deletion_vector::{VectorPlace, decode, decode_framed, place};
use lakebed_storage::Store;
use lakebed_transaction::{Column, Expr, RowSet};
use std::sync::Arc;

/// The rows of a version, file by file, batch by batch. Memory holds one batch and what its file's decoder needs.
#[derive(Debug)]
pub struct Scan {
    store: Arc<dyn Store>,
    files: std::vec::IntoIter<ViewFile>,
    columns: Vec<Column>,
    predicate: Option<Expr>,
    open: Option<ParquetRows>,
    left: Option<usize>,
}

impl Scan {
    /// A scan of the rows that meet a predicate, which is bound to the view's columns; at most `limit` of them.
    ///
    /// # Errors
    /// A file's entry cannot be read.
    pub fn new(
        store: Arc<dyn Store>,
        view: &dyn SnapshotView,
        predicate: Option<Expr>,
        limit: Option<usize>,
    ) -> Result<Self, OpsError> {
        let files: Vec<_> = match &predicate {
            Some(predicate) => matching_files(view, predicate)?.into_iter().map(|(file, _)| file).collect(),
            None => view.files()?,
        };
        Ok(Self { store, files: files.into_iter(), columns: view.columns(), predicate, open: None, left: limit })
    }

    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// A file cannot be read, or the predicate cannot be evaluated.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>, OpsError> {
        while self.left != Some(0) {
            let mut rows = match self.open.take() {
                Some(rows) => rows,
                None => match self.files.next() {
                    Some(file) => open_view_file(&self.store, &file, &self.columns, self.predicate.clone()).await?,
                    None => return Ok(None),
                },
            };
            let Some(Rows { batch, .. }) = rows.next().await? else { continue };
            self.open = Some(rows);
            let take = self.left.map_or(batch.num_rows(), |left| left.min(batch.num_rows()));
            self.left = self.left.map(|left| left - take);
            return Ok(Some(batch.slice(0, take)));
        }
        Ok(None)
    }
}

/// Opens one file for its live rows.
pub(crate) async fn open_view_file(
    store: &Arc<dyn Store>,
    file: &ViewFile,
    columns: &[Column],
    filter: Option<Expr>,
) -> Result<ParquetRows, OpsError> {
    let deleted = deleted_rows(&**store, file).await?;
    let options = ReadOptions::new(columns)
        .with_partition(file.partition.clone())
        .with_deleted(deleted)
        .with_filter(filter)
        .with_size_bytes(file.size_bytes);
    Ok(read_parquet(store, &file.object, options).await?)
}

/// The deleted rows of a file, `None` when there are none.
pub(crate) async fn deleted_rows(store: &dyn Store, file: &ViewFile) -> Result<Option<RowSet>, OpsError> {
    match &file.deleted {
        Deleted::Nothing => Ok(None),
        Deleted::Vector(vector) => vector_rows(store, vector).await.map(Some),
    }
}

async fn vector_rows(store: &dyn Store, vector: &DeletionVector) -> Result<RowSet, OpsError> {
    match place(vector)? {
        VectorPlace::Inline(bytes) => Ok(decode(vector, &bytes)?),
        VectorPlace::Object { object, range } => match store.get_range(&object, range).await? {
            Some(bytes) => Ok(decode_framed(vector, &bytes)?),
            None => Err(OpsError::Invalid {
                problem: format!("the deletion vector file {object} is not there"),
                advice: "read an earlier version, or restore the file".to_owned(),
            }),
        },
    }
}
