//! Finding a version and loading it.

pub(crate) mod delta;
pub(crate) mod lance;

use crate::{Table, TableError};
use bytes::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};
use lakebed_commit::ObjectName;
use lakebed_naming::Version;
use lakebed_naming::lance::VERSIONS_FOLDER;
use lakebed_storage::{Listed, Store, StoreError};
use std::collections::HashMap;
use std::time::Duration;
use tokio::time::Instant;

/// Objects read at once.
const READ_AT_ONCE: usize = 32;
/// Names asked for at once; what object stores give at most.
pub(crate) const PAGE: usize = 1_000;

/// The same of a local folder, which is read whole for every page of it.
const LOCAL_PAGE: usize = 20_000;

/// How long after a listing began what it showed stands for sure: no cleanup frees a number that was newest within this time.
const STANDS: Duration = Duration::from_secs(60);
/// How often a log that changes under its reader is read anew.
const READINGS: usize = 3;

/// When a look at a log began.
///
/// Between a listing and the reading of what it showed, a cleanup may free a number and a writer that slept may fill it again. So
/// whoever took longer than the listing stands for has to look once more before what was read is believed.
pub(crate) struct Look(Instant);

impl Look {
    pub(crate) fn begin() -> Self {
        Self(Instant::now())
    }

    /// Whether what the listing showed may be gone by now.
    pub(crate) fn is_late(&self) -> bool {
        self.0.elapsed() > STANDS
    }
}

/// Whether objects that were read stand as they were listed before they were read. One listing.
async fn still_stand(
    store: &dyn Store,
    folder: &str,
    listed: &[Listed],
    was_read: impl Fn(&str) -> bool,
) -> Result<bool, StoreError> {
    let now = list_all(store, folder, None).await?;
    let now: HashMap<&str, &Listed> = now.iter().map(|entry| (entry.name.as_str(), entry)).collect();
    let mut read = listed.iter().filter(|entry| was_read(&entry.name));
    Ok(read.all(|entry| now.get(entry.name.as_str()).is_some_and(|now| *now == entry)))
}

fn overtaken(store: &dyn Store) -> TableError {
    TableError::Unavailable {
        root: store.root().to_owned(),
        problem: "entries of the log were removed while they were read, again and again".to_owned(),
        advice: "open the table again; a cleanup that runs all the time should keep more".to_owned(),
    }
}

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

/// The Lance versions with their times, ascending, from the newest down to the first that is as old as `at_ms`.
pub(crate) async fn lance_times_ascending(table: &Table, at_ms: i64) -> Result<Vec<(Version, i64)>, TableError> {
    let listed = list_all(&*table.place.store, VERSIONS_FOLDER, None).await?;
    let mut names = lance::versions(&listed);
    names.reverse();
    let mut times = Vec::new();
    for some in names.chunks(READ_AT_ONCE) {
        for head in lance::heads(&*table.place.store, some).await? {
            let name = some.iter().find(|name| name.version == head.version);
            let modified_ms = name.map_or(i64::MIN, |name| name.modified_ms);
            times.push((head.version, head.timestamp_ms.unwrap_or(modified_ms)));
        }
        if times.last().is_some_and(|(_, ms)| *ms <= at_ms) {
            break;
        }
    }
    while times.iter().rev().nth(1).is_some_and(|(_, ms)| *ms <= at_ms) {
        times.pop();
    }
    times.reverse();
    Ok(times)
}

/// Lists a folder to its end.
pub(crate) async fn list_all(store: &dyn Store, prefix: &str, after: Option<&str>) -> Result<Vec<Listed>, StoreError> {
    list_until(store, prefix, after, |_| false).await
}

/// Lists a folder up to the page that ends with such a name, or to its end.
async fn list_until(
    store: &dyn Store,
    prefix: &str,
    after: Option<&str>,
    is_past: impl Fn(&str) -> bool,
) -> Result<Vec<Listed>, StoreError> {
    let limit = if store.local_folder().is_some() { LOCAL_PAGE } else { PAGE };
    let mut names = store.list(prefix, after, limit).await?;
    let mut page = names.len();
    while page == limit
        && let Some(last) = names.last().map(|listed| listed.name.clone()).filter(|last| !is_past(last))
    {
        let more = store.list(prefix, Some(&last), limit).await?;
        page = more.len();
        names.extend(more);
    }
    Ok(names)
}
