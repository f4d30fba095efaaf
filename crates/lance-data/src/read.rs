//! Rows out of a data file.

use crate::error::{failed, guarded, wrong};
use crate::io::Object;
use arrow_array::RecordBatch;
use async_trait::async_trait;
use futures::StreamExt;
use lakebed_data::DataError;
use lakebed_lance::proto::table::DataFile;
use lakebed_ops::{LANCE_BATCH_ROWS, LanceReader};
use lakebed_storage::Store;
use lance_arrow::json::convert_lance_json_to_arrow;
use lance_core::cache::LanceCache;
use lance_core::datatypes::Schema;
use lance_encoding::decoder::{DecoderPlugins, FilterExpression};
use lance_file::reader::{FileReader, FileReaderOptions};
use lance_file::versions::{OpenedFileReader, open_self_described_reader, reader_projection_from_field_ids};
use lance_io::ReadBatchParams;
use lance_io::object_store::ObjectStore;
use lance_io::scheduler::{FileScheduler, ScanScheduler, SchedulerConfig};
use lance_io::stream::RecordBatchStream;
use object_store::path::Path;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

/// Bytes that may be read ahead of the decoder.
const BUFFER_BYTES: u64 = 64 << 20;

/// Batches that are decoded ahead of the caller.
const BATCHES_AHEAD: u32 = 2;

/// A data file, opened for some of its fields.
pub(crate) struct Reader {
    object: String,
    num_rows: u64,
    rows: Pin<Box<dyn RecordBatchStream>>,
}

impl Reader {
    /// # Errors
    /// The file is not there, is damaged, or is of the first format.
    pub(crate) async fn open(
        store: &Arc<dyn Store>,
        object: &str,
        file: &DataFile,
        schema: Schema,
    ) -> Result<Self, DataError> {
        let opened = open(store, object, file).await?;
        let columns: BTreeMap<u32, u32> = file
            .fields
            .iter()
            .zip(&file.column_indices)
            .filter_map(|(field, column)| Some((u32::try_from(*field).ok()?, u32::try_from(*column).ok()?)))
            .collect();
        let projection =
            reader_projection_from_field_ids(opened.version(), &schema, &columns).map_err(wrong(object))?;
        let rows = opened.read_stream_projected(
            ReadBatchParams::RangeFull,
            LANCE_BATCH_ROWS,
            BATCHES_AHEAD,
            projection,
            FilterExpression::no_filter(),
        );
        let rows = guarded(object, rows).await?;
        Ok(Self { object: object.to_owned(), num_rows: opened.num_rows(), rows })
    }
}

#[async_trait]
impl LanceReader for Reader {
    fn num_rows(&self) -> u64 {
        self.num_rows
    }

    async fn next(&mut self) -> Result<Option<RecordBatch>, DataError> {
        let Self { object, rows, .. } = self;
        guarded(object, async {
            let stored = rows.next().await.transpose()?;
            Ok(stored.map(|stored| convert_lance_json_to_arrow(&stored)).transpose()?)
        })
        .await
    }
}

async fn open(store: &Arc<dyn Store>, object: &str, file: &DataFile) -> Result<FileReader, DataError> {
    let size_bytes = match file.file_size_bytes {
        0 => size_of(store, object).await?,
        known => known,
    };
    let size_bytes = usize::try_from(size_bytes).map_err(|_| failed(object, "it is too large"))?;
    let reader = Object { store: Arc::clone(store), name: object.to_owned(), path: Path::from(object), size_bytes };
    // The scheduler asks this store only how it likes to be read; every byte comes through the reader.
    let like = Arc::new(ObjectStore::memory());
    let scheduler = ScanScheduler::new(like, SchedulerConfig::new(BUFFER_BYTES));
    let scheduler: FileScheduler = scheduler.open_reader(Arc::new(reader));
    let options = FileReaderOptions::default();
    let cache = LanceCache::no_cache();
    let opened = open_self_described_reader(scheduler, Arc::<DecoderPlugins>::default(), &cache, options);
    match guarded(object, opened).await? {
        OpenedFileReader::Current(reader) => Ok(reader),
        OpenedFileReader::V1 { .. } => Err(failed(
            object,
            "files of the first format (0.1) are not read here; have a Lance client rewrite the table",
        )),
    }
}

async fn size_of(store: &Arc<dyn Store>, object: &str) -> Result<u64, DataError> {
    let found = store.head(object).await;
    let found = found.map_err(|source| DataError::Store { file: object.to_owned(), source })?;
    let missing = || DataError::MissingFile { file: object.to_owned(), root: store.root().to_owned() };
    found.map(|listed| listed.size_bytes).ok_or_else(missing)
}
