//! Parquet files of a table into rows.

mod bytes;
mod guard;
mod metadata;
mod names;
mod positions;
mod source;

pub use names::{FileColumn, FileKey, FileNames, FileType};
pub use source::{Source, TextTypes, open_source, source_columns};

use crate::DataError;
use crate::eval::filter_mask;
use crate::schema::{Extra, align_with, arrow_schema, constant, same_name};
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::Field;
use arrow_select::filter::filter_record_batch;
use bytes::Object;
use guard::guarded;
use lakebed_storage::Store;
use lakebed_transaction::{Column, Expr, RowSet, Scalar};
use parquet::DecodeResult;
use parquet::arrow::ProjectionMask;
use parquet::arrow::push_decoder::{ParquetPushDecoder, ParquetPushDecoderBuilder};
use positions::Positions;
use std::sync::Arc;

/// What to read of a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReadOptions {
    /// The columns to give, in this order. They are matched to the file's by name without regard to case; a column that
    /// the file does not have is NULL, and one with a wider type than the file's is widened.
    pub columns: Vec<Column>,
    /// Values of partition columns: they stand in the log, never in the file. Those not among `columns` are ignored.
    pub partition: Vec<(Arc<str>, Scalar)>,
    /// Physical rows that are deleted.
    pub deleted: Option<RowSet>,
    /// Only the rows at these physical positions; those that are deleted are left out all the same.
    pub only: Option<RowSet>,
    /// Only rows for which this is TRUE; it may name any of `columns`.
    pub filter: Option<Expr>,
    /// Whether each batch tells the physical positions of its rows.
    pub with_positions: bool,
    /// Rows in a batch, at most (default 8,192).
    pub batch_rows: usize,
    /// Size of the file where the log tells it; without it the whole file is fetched at once.
    pub size_bytes: Option<u64>,
    /// How the columns are called in the file, where not by their own names.
    pub names: Option<Arc<FileNames>>,
}

impl ReadOptions {
    /// All rows of these columns.
    #[must_use]
    pub fn new(columns: &[Column]) -> Self {
        Self {
            columns: columns.to_vec(),
            partition: Vec::new(),
            deleted: None,
            only: None,
            filter: None,
            with_positions: false,
            batch_rows: 8_192,
            size_bytes: None,
            names: None,
        }
    }

    /// These options with partition values.
    #[must_use]
    pub fn with_partition(mut self, partition: Vec<(Arc<str>, Scalar)>) -> Self {
        self.partition = partition;
        self
    }

    /// These options without the deleted rows.
    #[must_use]
    pub fn with_deleted(mut self, deleted: Option<RowSet>) -> Self {
        self.deleted = deleted;
        self
    }

    /// These options for the rows at these physical positions alone.
    #[must_use]
    pub fn with_only(mut self, only: Option<RowSet>) -> Self {
        self.only = only;
        self
    }

    /// These options with a filter.
    #[must_use]
    pub fn with_filter(mut self, filter: Option<Expr>) -> Self {
        self.filter = filter;
        self
    }

    /// These options with positions.
    #[must_use]
    pub const fn with_positions(mut self) -> Self {
        self.with_positions = true;
        self
    }

    /// These options with the names that the columns have in the file.
    #[must_use]
    pub fn with_names(mut self, names: Option<Arc<FileNames>>) -> Self {
        self.names = names;
        self
    }

    /// These options with the file's size.
    #[must_use]
    pub const fn with_size_bytes(mut self, size_bytes: u64) -> Self {
        self.size_bytes = Some(size_bytes);
        self
    }
}

/// Some rows of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// The rows, with the schema of the columns that were asked for.
    pub batch: RecordBatch,
    /// The physical position of each row in the file, from 0, when asked for; ascending.
    pub positions: Option<Vec<u64>>,
}

/// A file that is being read, batch by batch.
#[derive(Debug)]
pub struct ParquetRows {
    object: Object,
    /// `None` once it failed.
    decoder: Option<ParquetPushDecoder>,
    options: ReadOptions,
    in_file: Vec<Column>,
    positions: Positions,
    /// How many physical rows were decoded, where the rows to leave out are decoded too and left out afterwards.
    sifted: Option<u64>,
    num_rows: u64,
}

/// Opens a Parquet file of a table. Only the footer and then, row group by row group, the columns that are asked for are
/// fetched where the file's size is given and worth it; memory holds one row group's columns.
///
/// ```
/// use arrow_array::record_batch;
/// use lakebed_data::{ReadOptions, WriteOptions, read_parquet, write_parquet};
/// use lakebed_storage::{MemoryStore, Store};
/// use lakebed_transaction::{Column, ColumnType};
/// use std::sync::Arc;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let columns = [Column::new("id", ColumnType::Integer, true)];
/// let file = write_parquet(&[record_batch!(("id", Int32, [1, 2, 3]))?], &columns, &WriteOptions::default())?;
/// let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
/// store.put("a.parquet", file.bytes).await?;
/// let deleted = [1].into_iter().collect();
/// let options = ReadOptions::new(&columns).with_deleted(Some(deleted)).with_positions();
/// let mut rows = read_parquet(&store, "a.parquet", options).await?;
/// assert_eq!(rows.next().await?.and_then(|rows| rows.positions), Some(vec![0, 2]));
/// assert!(rows.next().await?.is_none());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The file is gone, is no Parquet file, or a partition value does not fit its column.
pub async fn read_parquet(store: &Arc<dyn Store>, path: &str, options: ReadOptions) -> Result<ParquetRows, DataError> {
    arrow_schema(&options.columns)?;
    let object = Object::open(store, path, options.size_bytes).await?;
    let metadata = metadata::fetch(&object).await?;
    let num_rows = u64::try_from(metadata.metadata().file_metadata().num_rows()).unwrap_or(0);
    let constant = |column: &Column| options.partition.iter().any(|(name, _)| same_name(name, &column.name));
    let in_file: Vec<Column> = options.columns.iter().filter(|column| !constant(column)).cloned().collect();
    if let Some(names) = &options.names {
        names.check(path, metadata.schema())?;
    }
    let is_wanted = |field: &Field| {
        let name = match &options.names {
            Some(names) => names.table_name(field),
            None => Some(field.name().as_str()),
        };
        name.is_some_and(|name| in_file.iter().any(|column| same_name(&column.name, name)))
    };
    let roots = metadata.schema().fields().iter().enumerate().filter(|(_, field)| is_wanted(field));
    let mask = ProjectionMask::roots(metadata.parquet_schema(), roots.map(|(at, _)| at));
    let positions = match &options.only {
        None => Positions::new(num_rows, options.deleted.as_ref()),
        Some(only) => Positions::only(num_rows, only, options.deleted.as_ref()),
    };
    // The decoder skips the rows of a list by its levels, and never ends where damage took some of them; reading them it says so.
    let leaves = metadata.parquet_schema().columns().iter().enumerate();
    let has_lists = leaves.into_iter().any(|(at, leaf)| leaf.max_rep_level() > 0 && mask.leaf_included(at));
    let mut builder = ParquetPushDecoderBuilder::new_with_metadata(metadata)
        .with_projection(mask)
        .with_batch_size(options.batch_rows.max(1));
    let mut sifted = None;
    match positions.selection() {
        Some(_) if has_lists => sifted = Some(0),
        Some(selection) => builder = builder.with_row_selection(selection),
        None => {}
    }
    let decoder = Some(guarded(path, || builder.build())?);
    Ok(ParquetRows { object, decoder, options, in_file, positions, sifted, num_rows })
}

impl ParquetRows {
    /// Physical rows in the file, deleted ones included.
    #[must_use]
    pub const fn num_rows(&self) -> u64 {
        self.num_rows
    }

    /// The next rows; `None` at the end. Batches are never empty.
    ///
    /// # Errors
    /// The store could not be asked, the bytes are damaged, the types do not fit, or the filter cannot be evaluated.
    pub async fn next(&mut self) -> Result<Option<Rows>, DataError> {
        loop {
            let decoder = self.decoder.as_mut();
            let Some(decoder) = decoder else { return Ok(None) };
            let step = guarded(self.object.path(), || decoder.try_decode());
            if step.is_err() {
                self.decoder = None;
            }
            match step? {
                DecodeResult::NeedsData(ranges) => {
                    let data = self.object.fetch(&ranges).await?;
                    if let Some(decoder) = &mut self.decoder {
                        decoder.push_ranges(ranges, data).map_err(DataError::parquet(self.object.path()))?;
                    }
                }
                DecodeResult::Finished => return Ok(None),
                DecodeResult::Data(batch) => {
                    let (batch, positions) = self.placed(batch)?;
                    let rows = self.finish(&batch, positions).map_err(|e| e.in_file(self.object.path()))?;
                    if rows.batch.num_rows() > 0 {
                        return Ok(Some(rows));
                    }
                }
            }
        }
    }

    /// The rows of a decoded batch that count, with their positions.
    fn placed(&mut self, batch: RecordBatch) -> Result<(RecordBatch, Vec<u64>), DataError> {
        let Some(from) = &mut self.sifted else {
            let positions = self.positions.take(batch.num_rows());
            return Ok((batch, positions));
        };
        let start = *from;
        *from += batch.num_rows() as u64;
        let positions = self.positions.take_below(*from);
        let mut kept = positions.iter().map(|at| at - start).peekable();
        let mask = (0..batch.num_rows() as u64).map(|row| Some(kept.next_if_eq(&row).is_some())).collect();
        let batch = filter_record_batch(&batch, &mask).map_err(DataError::arrow("deleted rows"))?;
        Ok((batch, positions))
    }

    /// All rows that are left.
    ///
    /// # Errors
    /// As [`next`](Self::next).
    pub async fn collect(mut self) -> Result<Vec<Rows>, DataError> {
        let mut all = Vec::new();
        while let Some(rows) = self.next().await? {
            all.push(rows);
        }
        Ok(all)
    }

    fn finish(&self, batch: &RecordBatch, positions: Vec<u64>) -> Result<Rows, DataError> {
        let named = self.options.names.as_ref().map(|names| names.relabel(batch)).transpose()?;
        let batch = align_with(named.as_ref().unwrap_or(batch), &self.in_file, Extra::Drop)?;
        let batch = self.with_constants(&batch)?;
        let (batch, positions) = match &self.options.filter {
            None => (batch, positions),
            Some(filter) => {
                let mask = filter_mask(filter, &batch)?;
                let kept =
                    positions.into_iter().zip(mask.values()).filter(|(_, keep)| *keep).map(|(at, _)| at).collect();
                (filter_record_batch(&batch, &mask).map_err(DataError::arrow("a filter"))?, kept)
            }
        };
        Ok(Rows { batch, positions: self.options.with_positions.then_some(positions) })
    }

    fn with_constants(&self, batch: &RecordBatch) -> Result<RecordBatch, DataError> {
        let rows = batch.num_rows();
        let mut from_file = batch.columns().iter();
        let one = |column: &Column| {
            let value = self.options.partition.iter().find(|(name, _)| same_name(name, &column.name));
            match value {
                Some((_, scalar)) => constant(scalar, &column.name, &column.column_type, rows),
                None => {
                    from_file.next().cloned().ok_or_else(|| DataError::MissingColumn { column: column.name.clone() })
                }
            }
        };
        let arrays = self.options.columns.iter().map(one).collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(arrow_schema(&self.options.columns)?, arrays, &options)
            .map_err(DataError::arrow("rows with partition values"))
    }
}
