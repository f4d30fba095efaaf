//! Lance data files, as statements need them. Who decodes and encodes them is given from outside: it takes longer to compile than
//! all the rest, and most of what is done to a Lance table touches no data file.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use async_trait::async_trait;
use bytes::Bytes;
use lakebed_data::DataError;
use lakebed_lance::proto::file::Field;
use lakebed_lance::proto::table::DataFile;
use lakebed_storage::Store;
use std::fmt::Debug;
use std::sync::Arc;

/// Reads and writes Lance data files.
#[async_trait]
pub trait LanceFiles: Debug + Send + Sync {
    /// Fields, parents before their children, as Arrow has them in memory.
    ///
    /// # Errors
    /// A type is not known.
    fn schema(&self, fields: &[Field]) -> Result<SchemaRef, DataError>;

    /// Opens a data file for some of its fields, given with all their parents; a field that the file does not have must not be
    /// among them.
    ///
    /// # Errors
    /// The file is not there, or is no such file.
    async fn open(
        &self,
        store: &Arc<dyn Store>,
        object: &str,
        file: &DataFile,
        fields: &[Field],
    ) -> Result<Box<dyn LanceReader>, DataError>;

    /// Begins a data file of these fields in a format version such as `2.2`.
    ///
    /// # Errors
    /// The version is not known, or does not hold such fields.
    fn create(&self, fields: &[Field], version: &str) -> Result<Box<dyn LanceSink>, DataError>;
}

/// The rows of one data file, in order.
#[async_trait]
pub trait LanceReader: Send {
    /// How many rows the file has.
    fn num_rows(&self) -> u64;

    /// The next [`BATCH_ROWS`] rows, less only at the end; `None` behind it.
    ///
    /// # Errors
    /// The file cannot be read.
    async fn next(&mut self) -> Result<Option<RecordBatch>, DataError>;
}

/// Rows in a batch of a [`LanceReader`]: the same for every file, so that files of one fragment are read side by side.
pub const BATCH_ROWS: u32 = 8_192;

/// A data file being written.
#[async_trait]
pub trait LanceSink: Send {
    /// Adds rows, which have exactly the fields of the file.
    ///
    /// # Errors
    /// The rows cannot be encoded.
    async fn write(&mut self, rows: &RecordBatch) -> Result<(), DataError>;

    /// About how many bytes it has so far.
    fn size_bytes(&self) -> u64;

    /// The finished file, and what a manifest says of it but for its path.
    ///
    /// # Errors
    /// The file cannot be encoded.
    async fn finish(self: Box<Self>) -> Result<(Bytes, DataFile), DataError>;
}
