//! The bytes of one object, whole or by ranges.

use crate::DataError;
use bytes::Bytes;
use futures::future::try_join_all;
use lakebed_storage::Store;
use std::ops::Range;
use std::sync::Arc;

/// Below this size one request for everything beats several.
const WHOLE_BYTES: u64 = 1 << 20;

/// Ranges that are nearer than this are fetched together.
const GAP_BYTES: u64 = 64 << 10;

/// An object of which parts can be had.
#[derive(Debug)]
pub(super) struct Object {
    store: Arc<dyn Store>,
    path: String,
    size: u64,
    whole: Option<Bytes>,
}

impl Object {
    pub(super) async fn open(store: &Arc<dyn Store>, path: &str, size: Option<u64>) -> Result<Self, DataError> {
        let (store, path) = (Arc::clone(store), path.to_owned());
        if let Some(size) = size.filter(|size| *size > WHOLE_BYTES) {
            return Ok(Self { store, path, size, whole: None });
        }
        let found = store.get(&path).await.map_err(|source| DataError::Store { file: path.clone(), source })?;
        let Some(bytes) = found else { return Err(missing(&*store, &path)) };
        Ok(Self { store, path, size: bytes.len() as u64, whole: Some(bytes) })
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) const fn size(&self) -> u64 {
        self.size
    }

    /// The bytes of each range.
    pub(super) async fn fetch(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, DataError> {
        let joined = match &self.whole {
            Some(bytes) => vec![(0, bytes.clone())],
            None => try_join_all(joined(ranges).into_iter().map(|range| self.get(range))).await?,
        };
        ranges.iter().map(|range| part(&joined, range).ok_or_else(|| self.short())).collect()
    }

    async fn get(&self, range: Range<u64>) -> Result<(u64, Bytes), DataError> {
        let start = range.start;
        let found = self.store.get_range(&self.path, range).await;
        let found = found.map_err(|source| DataError::Store { file: self.path.clone(), source })?;
        found.map(|bytes| (start, bytes)).ok_or_else(|| missing(&*self.store, &self.path))
    }

    fn short(&self) -> DataError {
        DataError::Truncated { file: self.path.clone(), size_bytes: self.size }
    }
}

fn missing(store: &dyn Store, path: &str) -> DataError {
    DataError::MissingFile { file: path.to_owned(), root: store.root().to_owned() }
}

/// The ranges in order, near ones together.
fn joined(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut sorted: Vec<Range<u64>> = ranges.iter().filter(|range| range.start < range.end).cloned().collect();
    sorted.sort_by_key(|range| range.start);
    let mut out: Vec<Range<u64>> = Vec::new();
    for range in sorted {
        match out.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(GAP_BYTES) => last.end = last.end.max(range.end),
            _ => out.push(range),
        }
    }
    out
}

fn part(joined: &[(u64, Bytes)], range: &Range<u64>) -> Option<Bytes> {
    if range.start >= range.end {
        return Some(Bytes::new());
    }
    joined.iter().find_map(|(start, bytes)| {
        let from = usize::try_from(range.start.checked_sub(*start)?).ok()?;
        let to = usize::try_from(range.end.checked_sub(*start)?).ok()?;
        (to <= bytes.len()).then(|| bytes.slice(from..to))
    })
}
