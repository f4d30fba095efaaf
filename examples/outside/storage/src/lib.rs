//! A storage backend in one file: every write is appended, and the newest record of a name is the object.
//!
//! One process at a time has the file, and a lock in it makes *create if absent* atomic. What it promises is what
//! [`lakebed_storage::Store`] asks for; `tests/it.rs` runs the public suite on it, and tables of both formats.

use async_trait::async_trait;
use bytes::Bytes;
use lakebed_storage::{Create, Listed, Store, StoreError, check_name};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::ops::{Bound, Range};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Length of the name, length of the bytes, milliseconds since 1970; in front of each record.
const HEAD_BYTES: usize = 20;
/// As the length of the bytes: the object is gone.
const REMOVED: u64 = u64::MAX;

/// The backend.
#[derive(Debug)]
pub struct Journal {
    root: String,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    file: File,
    end: u64,
    objects: BTreeMap<String, Object>,
}

#[derive(Clone, Copy, Debug)]
struct Object {
    at: u64,
    size_bytes: u64,
    modified_ms: i64,
}

impl Journal {
    /// Opens or makes the file. A record that a crash cut short is dropped: nobody was told that it stands.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        file.try_lock()?;
        let length = file.metadata()?.len();
        let mut state = State { file, end: 0, objects: BTreeMap::new() };
        while state.replay(length)? {}
        state.file.set_len(state.end)?;
        Ok(Self { root: format!("journal://{}", path.display()), state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, name: &str, error: io::Error) -> StoreError {
        StoreError::Failed { root: self.root.clone(), name: name.to_owned(), source: Box::new(error) }
    }

    fn read(&self, name: &str, range: Range<u64>) -> Result<Option<Bytes>, StoreError> {
        check_name(name)?;
        let mut state = self.state();
        let Some(Object { at, size_bytes, .. }) = state.objects.get(name).copied() else { return Ok(None) };
        let (start, end) = (range.start.min(size_bytes), range.end.min(size_bytes));
        let read = state.bytes(at + start, end.saturating_sub(start));
        read.map(|bytes| Some(bytes.into())).map_err(|error| self.failed(name, error))
    }
}

impl State {
    /// Takes in the record at the end of what is known; whether there was a whole one.
    fn replay(&mut self, length: u64) -> io::Result<bool> {
        let Some(left) = length.checked_sub(self.end + HEAD_BYTES as u64) else { return Ok(false) };
        let head = self.bytes(self.end, HEAD_BYTES as u64)?;
        let number = |at: usize| u64::from_le_bytes(head[at..at + 8].try_into().unwrap_or_default());
        let name_bytes = u64::from(u32::from_le_bytes(head[..4].try_into().unwrap_or_default()));
        let (size_bytes, modified_ms) = (number(4), number(12) as i64);
        let kept = if size_bytes == REMOVED { 0 } else { size_bytes };
        if name_bytes.checked_add(kept).is_none_or(|record| record > left) {
            return Ok(false);
        }
        let name = self.bytes(self.end + HEAD_BYTES as u64, name_bytes)?;
        let name = String::from_utf8(name).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        let at = self.end + HEAD_BYTES as u64 + name_bytes;
        match size_bytes {
            REMOVED => drop(self.objects.remove(&name)),
            _ => drop(self.objects.insert(name, Object { at, size_bytes, modified_ms })),
        }
        self.end = at + kept;
        Ok(true)
    }

    fn bytes(&mut self, at: u64, length: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(length).map_err(io::Error::other)?];
        self.file.seek(SeekFrom::Start(at))?;
        self.file.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Writes a record to the end and makes it durable. A failure leaves the end where it was, and the next record cuts the half one off.
    fn append(&mut self, name: &str, bytes: Option<&[u8]>) -> io::Result<()> {
        let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64);
        let mut record = u32::try_from(name.len()).map_err(io::Error::other)?.to_le_bytes().to_vec();
        record.extend(bytes.map_or(REMOVED, |bytes| bytes.len() as u64).to_le_bytes());
        record.extend(now_ms.to_le_bytes());
        record.extend(name.as_bytes());
        record.extend(bytes.unwrap_or_default());
        self.file.set_len(self.end)?;
        self.file.seek(SeekFrom::Start(self.end))?;
        self.file.write_all(&record)?;
        self.file.sync_data()?;
        self.replay(self.end + record.len() as u64).map(drop)
    }
}

#[async_trait]
impl Store for Journal {
    fn root(&self) -> &str {
        &self.root
    }

    async fn get(&self, name: &str) -> Result<Option<Bytes>, StoreError> {
        self.read(name, 0..u64::MAX)
    }

    async fn get_range(&self, name: &str, range: Range<u64>) -> Result<Option<Bytes>, StoreError> {
        self.read(name, range)
    }

    async fn head(&self, name: &str) -> Result<Option<Listed>, StoreError> {
        check_name(name)?;
        Ok(self.state().objects.get(name).map(|object| listed(name, object)))
    }

    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize) -> Result<Vec<Listed>, StoreError> {
        let folder = prefix.strip_suffix('/').unwrap_or(prefix);
        let below = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let from = Bound::Excluded(after.unwrap_or_default().to_owned());
        let state = self.state();
        let objects = state.objects.range((from, Bound::Unbounded));
        let inside = objects.filter(|(name, _)| name.starts_with(&below));
        Ok(inside.take(limit).map(|(name, object)| listed(name, object)).collect())
    }

    async fn put(&self, name: &str, bytes: Bytes) -> Result<(), StoreError> {
        check_name(name)?;
        self.state().append(name, Some(&bytes)).map_err(|error| self.failed(name, error))
    }

    async fn create(&self, name: &str, bytes: Bytes) -> Result<Create, StoreError> {
        check_name(name)?;
        let mut state = self.state();
        if state.objects.contains_key(name) {
            return Ok(Create::Exists);
        }
        // How far a failed write came is not known: after a crash the record may be there.
        Ok(state.append(name, Some(&bytes)).map_or_else(|error| Create::Unknown(error.to_string()), |()| Create::Created))
    }

    async fn copy(&self, from: &str, to: &str) -> Result<(), StoreError> {
        let bytes = self.read(from, 0..u64::MAX)?;
        let absent = || StoreError::Absent { root: self.root.clone(), name: from.to_owned() };
        self.put(to, bytes.ok_or_else(absent)?).await
    }

    async fn delete(&self, name: &str) -> Result<(), StoreError> {
        check_name(name)?;
        let mut state = self.state();
        let gone = if state.objects.contains_key(name) { state.append(name, None) } else { Ok(()) };
        gone.map_err(|error| self.failed(name, error))
    }
}

fn listed(name: &str, object: &Object) -> Listed {
    Listed { name: name.to_owned(), size_bytes: object.size_bytes, modified_ms: object.modified_ms }
}
