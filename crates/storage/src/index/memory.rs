//! An index in memory.

use super::{CommitIndex, Entry, Reserve};
use crate::StoreError;
use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An index in this process's memory, gone with it: for tests, and for writers that all live in one process.
#[derive(Debug, Default)]
pub struct MemoryIndex {
    rows: Mutex<BTreeMap<(String, String), Entry>>,
}

impl MemoryIndex {
    /// An empty index.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A panic while the lock was held cannot leave the map half changed.
    fn rows(&self) -> MutexGuard<'_, BTreeMap<(String, String), Entry>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn key(table: &str, name: &str) -> (String, String) {
    (table.to_owned(), name.to_owned())
}

#[async_trait]
impl CommitIndex for MemoryIndex {
    fn location(&self) -> &str {
        "memory:"
    }

    async fn reserve(&self, table: &str, entry: &Entry) -> Result<Reserve, StoreError> {
        let mut rows = self.rows();
        if let Some(taken) = rows.get(&key(table, &entry.name)) {
            return Ok(Reserve::Taken(taken.clone()));
        }
        rows.insert(key(table, &entry.name), Entry { confirmed: false, ..entry.clone() });
        Ok(Reserve::Reserved)
    }

    async fn confirm(&self, table: &str, entry: &Entry) -> Result<(), StoreError> {
        if let Some(row) = self.rows().get_mut(&key(table, &entry.name)).filter(|row| row.staged == entry.staged) {
            row.confirmed = true;
        }
        Ok(())
    }

    async fn get(&self, table: &str, name: &str) -> Result<Option<Entry>, StoreError> {
        Ok(self.rows().get(&key(table, name)).cloned())
    }

    async fn latest(&self, table: &str) -> Result<Vec<Entry>, StoreError> {
        let rows = self.rows();
        let mine = rows.iter().filter(|((of, _), entry)| of == table && !entry.confirmed);
        Ok(mine.map(|(_, entry)| entry.clone()).collect())
    }

    async fn release(&self, table: &str, entry: &Entry) -> Result<(), StoreError> {
        let mut rows = self.rows();
        if rows.get(&key(table, &entry.name)).is_some_and(|row| row.staged == entry.staged) {
            rows.remove(&key(table, &entry.name));
        }
        Ok(())
    }
}
