//! Reading the rows of a version.

use crate::OpsError;
use crate::delete::matching_files;
use crate::elsewhere::locate;
use crate::names::with_column;
use crate::tracking::{Tracking, fill, with_versions};
use crate::view::{Deleted, SnapshotView, ViewFile};
use arrow_array::RecordBatch;
use lakebed_data::{ParquetRows, ReadOptions, read_parquet};
use lakebed_delta::action::DeletionVector;
use lakebed_delta::deletion_vector::{VectorPlace, decode, decode_framed, place};
use lakebed_storage::Store;
use lakebed_transaction::{Column, Expr, RowSet, UnitId};
use std::collections::HashMap;
use std::sync::Arc;

/// The rows of a version, file by file, batch by batch. Memory holds one batch and what its file's decoder needs.
#[derive(Debug)]
pub struct Scan {
    store: Arc<dyn Store>,
    files: std::vec::IntoIter<ViewFile>,
    columns: Vec<Column>,
    predicate: Option<Expr>,
    tracking: Option<Tracking>,
    versions: Option<HashMap<UnitId, Option<i64>>>,
    open: Option<(ParquetRows, ViewFile)>,
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
        Ok(Self {
            store,
            files: files.into_iter(),
            columns: view.columns(),
            predicate,
            tracking: None,
            versions: None,
            open: None,
            left: limit,
        })
    }

    /// The scan without columns that neither the predicate nor the caller looks at: `wanted` are positions among the view's
    /// columns. Gives the positions at which they stand in the batches.
    #[must_use]
    pub fn select(&mut self, wanted: &[usize]) -> Vec<usize> {
        let in_predicate = |column: &Column| {
            let paths = self.predicate.iter().flat_map(Expr::columns);
            paths.filter_map(<[_]>::first).any(|name| name.eq_ignore_ascii_case(&column.name))
        };
        let is_read = |(at, column): (usize, &Column)| wanted.contains(&at) || in_predicate(column);
        let read: Vec<usize> =
            self.columns.iter().enumerate().filter(|(at, column)| is_read((*at, column))).map(|(at, _)| at).collect();
        self.columns = read.iter().filter_map(|at| self.columns.get(*at).cloned()).collect();
        wanted.iter().filter_map(|wanted| read.iter().position(|at| at == wanted)).collect()
    }

    /// How many columns of the table the batches have; those of row tracking follow.
    #[must_use]
    pub const fn width(&self) -> usize {
        self.columns.len()
    }

    /// The scan with two columns more, [`ROW_ID`](crate::ROW_ID) and [`ROW_COMMIT_VERSION`](crate::ROW_COMMIT_VERSION).
    ///
    /// # Errors
    /// The table does not track its rows.
    pub fn with_row_tracking(mut self, view: &dyn SnapshotView) -> Result<Self, OpsError> {
        let names = view.tracking_columns().ok_or_else(|| OpsError::Invalid {
            problem: "the table does not track its rows, so they have no ids".to_owned(),
            advice: "ask for the rows alone, or turn on delta.enableRowTracking for what is written from then on"
                .to_owned(),
        })?;
        self.tracking = Some(Tracking::new(names));
        Ok(self)
    }

    /// The scan with one column more at the very end, [`ROW_VERSION`](crate::ROW_VERSION): the version that wrote each row, which is
    /// that of its file where the table does not keep one for each row.
    #[must_use]
    pub fn with_versions(mut self, versions: HashMap<UnitId, Option<i64>>) -> Self {
        self.versions = Some(versions);
        self
    }

    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// A file cannot be read, or the predicate cannot be evaluated.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>, OpsError> {
        while self.left != Some(0) {
            let (mut rows, file) = match self.open.take() {
                Some(open) => open,
                None => match self.files.next() {
                    Some(file) => {
                        let reading = (self.columns.as_slice(), self.predicate.clone());
                        (open_file(&self.store, &file, self.tracking.as_ref(), reading).await?, file)
                    }
                    None => return Ok(None),
                },
            };
            let Some(read) = rows.next().await? else { continue };
            self.open = Some((rows, file.clone()));
            let batch = if self.tracking.is_some() { fill(&read, &file)? } else { read.batch };
            let batch = match &self.versions {
                Some(versions) => with_versions(&batch, versions.get(&file.id).copied().flatten())?,
                None => batch,
            };
            let take = self.left.map_or(batch.num_rows(), |left| left.min(batch.num_rows()));
            self.left = self.left.map(|left| left - take);
            return Ok(Some(batch.slice(0, take)));
        }
        Ok(None)
    }
}

/// Opens a file for a scan. It borrows no scan, of which only one thread may hold the open file.
async fn open_file(
    store: &Arc<dyn Store>,
    file: &ViewFile,
    tracking: Option<&Tracking>,
    (columns, predicate): (&[Column], Option<Expr>),
) -> Result<ParquetRows, OpsError> {
    let Some(tracking) = tracking else { return open_view_file(store, file, columns, predicate).await };
    let deleted = deleted_rows(store, file).await?;
    open_tracked(store, file, tracking, columns, deleted, predicate).await
}

/// Opens one file for rows with their positions, and two columns more for what row tracking knows of them: see
/// [`fill`](crate::tracking::fill).
pub(crate) async fn open_tracked(
    store: &Arc<dyn Store>,
    file: &ViewFile,
    tracking: &Tracking,
    columns: &[Column],
    deleted: Option<RowSet>,
    filter: Option<Expr>,
) -> Result<ParquetRows, OpsError> {
    let own: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let mut names = file.names.clone();
    for (name, in_file) in tracking.in_files() {
        names = Some(with_column(names.as_ref(), &own, (name, in_file)));
    }
    let tracked = ViewFile { names, ..file.clone() };
    let columns: Vec<Column> = columns.iter().cloned().chain(Tracking::columns()).collect();
    open_rows(store, &tracked, |options| options.with_deleted(deleted).with_positions(), &columns, filter).await
}

/// Opens one file for its live rows.
pub(crate) async fn open_view_file(
    store: &Arc<dyn Store>,
    file: &ViewFile,
    columns: &[Column],
    filter: Option<Expr>,
) -> Result<ParquetRows, OpsError> {
    let deleted = deleted_rows(store, file).await?;
    open_rows(store, file, |options| options.with_deleted(deleted), columns, filter).await
}

/// Opens one file; which of its rows are read is the caller's business.
pub(crate) async fn open_rows(
    store: &Arc<dyn Store>,
    file: &ViewFile,
    which: impl FnOnce(ReadOptions) -> ReadOptions,
    columns: &[Column],
    filter: Option<Expr>,
) -> Result<ParquetRows, OpsError> {
    let options = ReadOptions::new(columns)
        .with_partition(file.partition.clone())
        .with_names(file.names.clone())
        .with_filter(filter)
        .with_size_bytes(file.size_bytes);
    let options = which(options);
    if !file.outside {
        return Ok(read_parquet(store, &file.object, options).await?);
    }
    let (store, object) = locate(store, &file.object)?;
    Ok(read_parquet(&store, &object, options).await?)
}

/// The deleted rows of a file, `None` when there are none.
pub(crate) async fn deleted_rows(store: &Arc<dyn Store>, file: &ViewFile) -> Result<Option<RowSet>, OpsError> {
    match &file.deleted {
        Deleted::Nothing => Ok(None),
        Deleted::Vector(vector) => vector_rows(store, vector).await.map(Some),
    }
}

/// The rows that a deletion vector deletes.
pub(crate) async fn vector_rows(store: &Arc<dyn Store>, vector: &DeletionVector) -> Result<RowSet, OpsError> {
    let (store, object, range) = match place(vector)? {
        VectorPlace::Inline(bytes) => return Ok(decode(vector, &bytes)?),
        VectorPlace::Object { object, range } => (Arc::clone(store), object, range),
        VectorPlace::Elsewhere { uri, range } => {
            let (store, object) = locate(store, &uri)?;
            (store, object, range)
        }
    };
    match store.get_range(&object, range).await? {
        Some(bytes) => Ok(decode_framed(vector, &bytes)?),
        None => Err(OpsError::MissingVector { object }),
    }
}
