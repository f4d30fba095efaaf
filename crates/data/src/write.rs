//! Parquet files out of rows.

use crate::DataError;
use crate::schema::{align, arrow_schema, relabel};
use crate::stats::{Collector, StatsColumns};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use lakebed_transaction::{Column, ColumnBounds};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::sync::Arc;

/// How to write.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WriteOptions {
    /// A file is closed once about so many bytes are encoded (default 128 MiB).
    pub target_size_bytes: usize,
    /// A row group is closed after so many rows (default 2^20).
    pub row_group_rows: usize,
    /// A row group is closed once its buffers hold about so many bytes (default 64 MiB).
    pub row_group_bytes: usize,
    /// Which columns get statistics, by their names in the file.
    pub stats: StatsColumns,
    /// The schema of the file where its columns have other names there, or field ids: the types and the order are those of the
    /// columns. Field ids stand in the metadata under `PARQUET:field_id`.
    pub file_schema: Option<SchemaRef>,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            target_size_bytes: 128 << 20,
            row_group_rows: 1 << 20,
            row_group_bytes: 64 << 20,
            stats: StatsColumns::default(),
            file_schema: None,
        }
    }
}

impl WriteOptions {
    /// These options with another size at which files are closed.
    #[must_use]
    pub const fn with_target_size_bytes(mut self, bytes: usize) -> Self {
        self.target_size_bytes = bytes;
        self
    }

    /// These options with the schema that the file is to have.
    #[must_use]
    pub fn with_file_schema(mut self, schema: Option<SchemaRef>) -> Self {
        self.file_schema = schema;
        self
    }

    /// These options with another choice of columns that get statistics.
    #[must_use]
    pub fn with_stats(mut self, stats: StatsColumns) -> Self {
        self.stats = stats;
        self
    }
}

/// One finished Parquet file, not stored yet.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WrittenFile {
    /// The file.
    pub bytes: Bytes,
    /// Rows in it.
    pub num_rows: u64,
    /// The text of Delta's `stats`.
    pub stats_json: String,
    /// Bounds of the top-level columns that have statistics, for footprints; exact, and sound also where `stats_json`
    /// shortens.
    pub bounds: Vec<(Arc<str>, ColumnBounds)>,
}

/// Takes rows and makes files of about the target size, Snappy-compressed.
///
/// Memory stays within one file: what is encoded so far, and the row group that is open.
///
/// ```
/// use arrow_array::record_batch;
/// use lakebed_data::{ParquetSink, WriteOptions};
/// use lakebed_transaction::{Column, ColumnType};
///
/// let mut sink = ParquetSink::new(&[Column::new("id", ColumnType::Long, false)], WriteOptions::default())?;
/// sink.write(&record_batch!(("id", Int32, [3, 1]))?)?;
/// let files = sink.finish()?;
/// assert_eq!(files[0].stats_json, r#"{"numRecords":2,"minValues":{"id":1},"maxValues":{"id":3},"nullCount":{"id":0}}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ParquetSink {
    columns: Vec<Column>,
    /// The columns by their names in the file.
    in_file: Vec<Column>,
    schema: SchemaRef,
    options: WriteOptions,
    open: Option<Open>,
    done: Vec<WrittenFile>,
}

#[derive(Debug)]
struct Open {
    writer: ArrowWriter<Vec<u8>>,
    stats: Collector,
    rows: u64,
}

/// Rows that are encoded before sizes are looked at again.
const SLICE_ROWS: usize = 8_192;

const NAME: &str = "a new data file";

impl ParquetSink {
    /// A sink for rows of these columns: the ones that the file is to hold, without partition columns.
    ///
    /// # Errors
    /// [`DataError::UnsupportedType`] for a type that cannot be written.
    pub fn new(columns: &[Column], options: WriteOptions) -> Result<Self, DataError> {
        let schema = arrow_schema(columns)?;
        let (schema, in_file) = match &options.file_schema {
            Some(named) => (Arc::clone(named), renamed(columns, named)?),
            None => (schema, columns.to_vec()),
        };
        Ok(Self { columns: columns.to_vec(), in_file, schema, options, open: None, done: Vec::new() })
    }

    /// Adds rows, aligned to the columns first (see [`align`]).
    ///
    /// # Errors
    /// The rows do not fit the columns; nothing of them is written then.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), DataError> {
        let batch = align(batch, &self.columns)?;
        let mut from = 0;
        while from < batch.num_rows() {
            let slice = batch.slice(from, SLICE_ROWS.min(batch.num_rows() - from));
            from += slice.num_rows();
            self.write_slice(&slice)?;
        }
        Ok(())
    }

    fn write_slice(&mut self, slice: &RecordBatch) -> Result<(), DataError> {
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.begin()?,
        };
        let named = self.options.file_schema.as_ref().map(|schema| relabel(slice, schema)).transpose()?;
        open.writer.write(named.as_ref().unwrap_or(slice)).map_err(DataError::parquet(NAME))?;
        open.stats.update(slice)?;
        open.rows += slice.num_rows() as u64;
        if open.writer.in_progress_size() >= self.options.row_group_bytes {
            open.writer.flush().map_err(DataError::parquet(NAME))?;
        }
        let size = open.writer.bytes_written() + open.writer.in_progress_size();
        if size >= self.options.target_size_bytes {
            self.done.push(close(open)?);
        } else {
            self.open = Some(open);
        }
        Ok(())
    }

    fn begin(&self) -> Result<Open, DataError> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(self.options.row_group_rows.max(1)))
            .build();
        // The embedded Arrow schema is left out: other engines do not read it, and ours takes types from the table.
        let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(Vec::new(), Arc::clone(&self.schema), options)
            .map_err(DataError::parquet(NAME))?;
        Ok(Open { writer, stats: Collector::new(&self.in_file, &self.options.stats), rows: 0 })
    }

    /// The files that are finished so far; each is handed out once.
    pub fn take_files(&mut self) -> Vec<WrittenFile> {
        std::mem::take(&mut self.done)
    }

    /// Closes the open file and hands out the files not taken yet. Without rows there is no file.
    ///
    /// # Errors
    /// The last file could not be finished.
    pub fn finish(mut self) -> Result<Vec<WrittenFile>, DataError> {
        if let Some(open) = self.open.take() {
            self.done.push(close(open)?);
        }
        Ok(self.done)
    }
}

/// The columns under the names of the file's schema.
fn renamed(columns: &[Column], schema: &SchemaRef) -> Result<Vec<Column>, DataError> {
    let in_file = crate::schema::columns_of(schema)?;
    if in_file.len() == columns.len() {
        return Ok(in_file);
    }
    let names = crate::schema::listed(columns.iter().map(|column| column.name.as_str()));
    Err(DataError::ExtraColumn { column: "of the file's schema".to_owned(), known: names })
}

fn close(open: Open) -> Result<WrittenFile, DataError> {
    let bytes = open.writer.into_inner().map_err(DataError::parquet(NAME))?;
    Ok(WrittenFile {
        bytes: bytes.into(),
        num_rows: open.rows,
        stats_json: open.stats.to_json(),
        bounds: open.stats.bounds(),
    })
}

/// All rows of `batches` as one file, whatever its size; a file without rows where there are none.
///
/// # Errors
/// As [`ParquetSink::write`].
pub fn write_parquet(
    batches: &[RecordBatch],
    columns: &[Column],
    options: &WriteOptions,
) -> Result<WrittenFile, DataError> {
    let mut sink = ParquetSink::new(columns, options.clone().with_target_size_bytes(usize::MAX))?;
    sink.open = Some(sink.begin()?);
    for batch in batches {
        sink.write(batch)?;
    }
    let open = match sink.open.take() {
        Some(open) => open,
        None => sink.begin()?,
    };
    close(open)
}
