//! SQLite: an index for the writers of one machine.

use crate::failure::{Failure, Why};
use async_trait::async_trait;
use lakebed_storage::{CommitIndex, Entry, Reserve, StoreError};
use rusqlite::{Connection, ErrorCode, OptionalExtension, Row, params};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long a statement waits while another process writes.
const BUSY_WAIT: Duration = Duration::from_secs(30);

const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS lakebed_index (
        table_key TEXT NOT NULL,
        name TEXT NOT NULL,
        staged TEXT NOT NULL,
        size_bytes INTEGER NOT NULL,
        confirmed INTEGER NOT NULL DEFAULT 0,
        PRIMARY KEY (table_key, name)
    ) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS lakebed_index_unconfirmed ON lakebed_index (table_key) WHERE confirmed = 0;";

/// An index in a SQLite file, for writers of one machine: SQLite's locks do not reach over network file systems.
///
/// An answered reservation survives a power cut (write-ahead log, synchronised at each commit). A row is table key, name,
/// staged name, size in bytes, and whether it is confirmed, in the table `lakebed_index`.
#[derive(Debug)]
pub struct SqliteIndex {
    location: String,
    connection: Arc<Mutex<Connection>>,
}

impl SqliteIndex {
    /// Opens the file, and makes it where it is not there.
    ///
    /// # Errors
    /// It cannot be opened, or is no SQLite file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        let location = format!("sqlite:{}", path.display());
        let open = || -> rusqlite::Result<Connection> {
            let connection = Connection::open(path)?;
            connection.busy_timeout(BUSY_WAIT)?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", "FULL")?;
            connection.execute_batch(SCHEMA)?;
            Ok(connection)
        };
        let connection = open().map_err(|error| failure(&error).error(&location, "the file"))?;
        Ok(Self { location, connection: Arc::new(Mutex::new(connection)) })
    }

    /// Runs statements on a thread that may wait.
    async fn run<T: Send + 'static>(
        &self,
        statements: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Failure> {
        let connection = Arc::clone(&self.connection);
        let ran = tokio::task::spawn_blocking(move || {
            // A statement that panicked was rolled back by SQLite.
            let connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
            statements(&connection)
        });
        match ran.await {
            Ok(answer) => answer.map_err(|error| failure(&error)),
            Err(error) => Err(Failure::new(Why::Unknown, error.to_string())),
        }
    }

    async fn ask<T: Send + 'static>(
        &self,
        name: &str,
        statements: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run(statements).await.map_err(|failure| failure.error(&self.location, name))
    }
}

fn failure(error: &rusqlite::Error) -> Failure {
    let why = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Why::Busy,
        Some(ErrorCode::PermissionDenied | ErrorCode::ReadOnly | ErrorCode::AuthorizationForStatementDenied) => {
            Why::Denied
        }
        Some(ErrorCode::SystemIoFailure) => Why::Unknown,
        Some(_) | None => Why::Refused,
    };
    Failure::new(why, error.to_string())
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let size: i64 = row.get(2)?;
    Ok(Entry {
        name: row.get(0)?,
        staged: row.get(1)?,
        size_bytes: u64::try_from(size).unwrap_or_default(),
        confirmed: row.get(3)?,
    })
}

fn find(connection: &Connection, table: &str, name: &str) -> rusqlite::Result<Option<Entry>> {
    let mut select = connection.prepare_cached(
        "SELECT name, staged, size_bytes, confirmed FROM lakebed_index WHERE table_key = ?1 AND name = ?2",
    )?;
    select.query_row(params![table, name], entry).optional()
}

#[async_trait]
impl CommitIndex for SqliteIndex {
    fn location(&self) -> &str {
        &self.location
    }

    async fn reserve(&self, table: &str, entry: &Entry) -> Result<Reserve, StoreError> {
        let (table, wanted) = (table.to_owned(), entry.clone());
        let reserved = self.run(move |connection| {
            let size = i64::try_from(wanted.size_bytes).unwrap_or(i64::MAX);
            let inserted = connection
                .prepare_cached(
                    "INSERT INTO lakebed_index (table_key, name, staged, size_bytes) VALUES (?1, ?2, ?3, ?4) \
                     ON CONFLICT DO NOTHING",
                )?
                .execute(params![table, wanted.name, wanted.staged, size])?;
            if inserted == 1 {
                return Ok(Reserve::Reserved);
            }
            Ok(match find(connection, &table, &wanted.name)? {
                Some(by) => Reserve::Taken(by),
                None => Reserve::Unknown("the row that was in the way is gone".to_owned()),
            })
        });
        match reserved.await {
            Ok(reserved) => Ok(reserved),
            Err(failure) => failure.reserve(&self.location, &entry.name),
        }
    }

    async fn confirm(&self, table: &str, entry: &Entry) -> Result<(), StoreError> {
        let (table, wanted) = (table.to_owned(), entry.clone());
        let update = "UPDATE lakebed_index SET confirmed = 1 WHERE table_key = ?1 AND name = ?2 AND staged = ?3";
        let confirmed = self.ask(&entry.name, move |connection| {
            connection.prepare_cached(update)?.execute(params![table, wanted.name, wanted.staged])
        });
        confirmed.await.map(|_| ())
    }

    async fn get(&self, table: &str, name: &str) -> Result<Option<Entry>, StoreError> {
        let (table, wanted) = (table.to_owned(), name.to_owned());
        self.ask(name, move |connection| find(connection, &table, &wanted)).await
    }

    async fn latest(&self, table: &str) -> Result<Vec<Entry>, StoreError> {
        let table = table.to_owned();
        let select =
            "SELECT name, staged, size_bytes, confirmed FROM lakebed_index WHERE table_key = ?1 AND confirmed = 0";
        let found = self.ask("unconfirmed names", move |connection| {
            let mut select = connection.prepare_cached(select)?;
            let rows = select.query_map(params![table], entry)?;
            rows.collect()
        });
        found.await
    }

    async fn release(&self, table: &str, entry: &Entry) -> Result<(), StoreError> {
        let (table, wanted) = (table.to_owned(), entry.clone());
        let delete = "DELETE FROM lakebed_index WHERE table_key = ?1 AND name = ?2 AND staged = ?3";
        let released = self.ask(&entry.name, move |connection| {
            connection.prepare_cached(delete)?.execute(params![table, wanted.name, wanted.staged])
        });
        released.await.map(|_| ())
    }
}
