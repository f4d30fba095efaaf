//! Finding a version and loading it.

pub(crate) mod delta;
pub(crate) mod lance;

use bytes::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};
use lakebed_commit::ObjectName;
use lakebed_storage::{Listed, Store, StoreError};

/// Objects read at once.
const READ_AT_ONCE: usize = 32;
/// Names asked for at once; what object stores give at most.
pub(crate) const PAGE: usize = 1_000;

/// Reads several objects, each once, several at a time; in no order.
pub(crate) async fn read_all(
    store: &dyn Store,
    names: Vec<ObjectName>,
) -> Result<Vec<(ObjectName, Option<Bytes>)>, StoreError> {
    if let [name] = names.as_slice() {
        let bytes = store.get(name.as_str()).await?;
        return Ok(vec![(name.clone(), bytes)]);
    }
    stream::iter(names)
        .map(|name| async move { store.get(name.as_str()).await.map(|bytes| (name, bytes)) })
        .buffer_unordered(READ_AT_ONCE)
        .try_collect()
        .await
}

/// Lists a folder to its end.
pub(crate) async fn list_all(store: &dyn Store, prefix: &str, after: Option<&str>) -> Result<Vec<Listed>, StoreError> {
    let mut names = store.list(prefix, after, PAGE).await?;
    let mut page = names.len();
    while page == PAGE {
        let last = names.last().map(|listed| listed.name.clone());
        let more = store.list(prefix, last.as_deref(), PAGE).await?;
        page = more.len();
        names.extend(more);
    }
    Ok(names)
}
