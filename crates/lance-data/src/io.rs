//! Objects of a store as Lance's reader sees them.

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use lakebed_storage::Store;
use lance_core::deepsize::{Context, DeepSizeOf};
use object_store::path::Path;
use std::ops::Range;
use std::sync::Arc;

/// Below this distance two ranges are read as one.
const BLOCK_BYTES: usize = 64 << 10;

/// Ranges that are asked for at the same time.
const PARALLEL: usize = 8;

/// One object of a store, of known size.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) name: String,
    /// The name for Lance's own messages and caches.
    pub(crate) path: Path,
    pub(crate) size_bytes: usize,
}

impl Object {
    fn range(&self, range: Range<u64>) -> BoxFuture<'static, object_store::Result<Bytes>> {
        let (store, name) = (Arc::clone(&self.store), self.name.clone());
        async move {
            let generic = |source: Box<dyn std::error::Error + Send + Sync>| object_store::Error::Generic {
                store: "lakebed",
                source,
            };
            let wanted = range.end.saturating_sub(range.start);
            let bytes = store.get_range(&name, range).await.map_err(|error| generic(Box::new(error)))?;
            let bytes = bytes.ok_or_else(|| generic(format!("the data file {name} is not there").into()))?;
            if bytes.len() as u64 != wanted {
                return Err(generic(format!("the data file {name} is shorter than the manifest says").into()));
            }
            Ok(bytes)
        }
        .boxed()
    }
}

impl DeepSizeOf for Object {
    fn deep_size_of_children(&self, _: &mut Context) -> usize {
        self.name.len()
    }
}

impl lance_io::traits::Reader for Object {
    fn path(&self) -> &Path {
        &self.path
    }

    fn block_size(&self) -> usize {
        BLOCK_BYTES
    }

    fn io_parallelism(&self) -> usize {
        PARALLEL
    }

    fn size(&self) -> BoxFuture<'_, object_store::Result<usize>> {
        futures::future::ready(Ok(self.size_bytes)).boxed()
    }

    fn get_range(&self, range: Range<usize>) -> BoxFuture<'static, object_store::Result<Bytes>> {
        self.range(range.start as u64..range.end as u64)
    }

    fn get_all(&self) -> BoxFuture<'_, object_store::Result<Bytes>> {
        self.range(0..self.size_bytes as u64)
    }
}
