//! Rows into a data file.

use crate::error::{guarded, wrong};
use arrow_array::RecordBatch;
use async_trait::async_trait;
use bytes::Bytes;
use lakebed_data::DataError;
use lakebed_lance::proto::table::DataFile;
use lakebed_ops::LanceSink;
use lance_arrow::json::convert_json_columns;
use lance_core::datatypes::Schema;
use lance_file::version::ConcreteFileVersion;
use lance_file::versions::{create_writer, data_file_columns};
use lance_file::writer::{FileWriter, FileWriterOptions};
use lance_io::object_writer::WriteResult;
use lance_io::traits::Writer;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use tokio::io::AsyncWrite;

/// A data file being written, held in memory: a store takes an object as a whole.
pub(crate) struct Sink {
    file: &'static str,
    writer: FileWriter,
    written: Buffer,
    version: ConcreteFileVersion,
    schema: Schema,
    /// Bytes of the rows that came, as they lie in memory.
    taken_bytes: u64,
}

impl Sink {
    /// # Errors
    /// The version does not hold such a schema.
    pub(crate) fn new(schema: Schema, version: ConcreteFileVersion, file: &'static str) -> Result<Self, DataError> {
        let written = Buffer::default();
        let options = FileWriterOptions::default();
        let writer = create_writer(version, Box::new(written.clone()), schema.clone(), options);
        let writer = writer.map_err(wrong(file))?;
        Ok(Self { file, writer, written, version, schema, taken_bytes: 0 })
    }
}

#[async_trait]
impl LanceSink for Sink {
    async fn write(&mut self, rows: &RecordBatch) -> Result<(), DataError> {
        self.taken_bytes = self.taken_bytes.saturating_add(rows.get_array_memory_size() as u64);
        let Self { file, writer, .. } = self;
        guarded(file, async { writer.write_batch(&convert_json_columns(rows)?).await }).await
    }

    fn size_bytes(&self) -> u64 {
        self.taken_bytes.max(self.written.with(|bytes| bytes.len() as u64))
    }

    async fn finish(mut self: Box<Self>) -> Result<(Bytes, DataFile), DataError> {
        let summary = guarded(self.file, self.writer.finish()).await?;
        let (fields, column_indices) = data_file_columns(self.version, &self.schema);
        let (file_major_version, file_minor_version) = self.version.to_data_file_numbers();
        let file = DataFile {
            fields,
            column_indices,
            file_major_version,
            file_minor_version,
            file_size_bytes: summary.size_bytes,
            ..DataFile::default()
        };
        Ok((Bytes::from(self.written.with(std::mem::take)), file))
    }
}

/// What Lance's writer wrote, shared with who wants the bytes.
#[derive(Clone, Debug, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Buffer {
    fn with<T>(&self, work: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl AsyncWrite for Buffer {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.with(|written| written.extend_from_slice(bytes));
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[async_trait]
impl Writer for Buffer {
    async fn tell(&mut self) -> lance_core::Result<usize> {
        Ok(self.with(|bytes| bytes.len()))
    }

    async fn shutdown(&mut self) -> lance_core::Result<WriteResult> {
        Ok(WriteResult { size: self.with(|bytes| bytes.len()), e_tag: None })
    }
}
