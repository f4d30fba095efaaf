//! PostgreSQL.

use crate::failure::{Failure, Why};
use async_trait::async_trait;
use lakebed_storage::{CommitIndex, Entry, Reserve, Secrets, StoreError};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, Error, NoTls, Row};

const CONNECT_WAIT: Duration = Duration::from_secs(10);

/// Made once for each connection. Two clients that make the table at one moment may collide in the catalog, so it is looked
/// for first.
const SCHEMA: &str = "
    CREATE TABLE IF NOT EXISTS lakebed_index (
        table_key TEXT NOT NULL,
        name TEXT NOT NULL,
        staged TEXT NOT NULL,
        size_bytes BIGINT NOT NULL,
        confirmed BOOLEAN NOT NULL DEFAULT FALSE,
        PRIMARY KEY (table_key, name)
    );
    CREATE INDEX IF NOT EXISTS lakebed_index_unconfirmed ON lakebed_index (table_key) WHERE NOT confirmed;";

/// An index in a PostgreSQL database, in the table `lakebed_index`, which is made where it is not there: table key, name, staged
/// name, size in bytes, and whether it is confirmed.
///
/// # What the server must promise
/// `synchronous_commit` is on (the default), and a standby that may be promoted is synchronous; else an answered reservation may
/// be lost with the server, and the version be reserved twice. There is no TLS here.
pub struct PostgresIndex {
    location: String,
    config: Config,
    secrets: Secrets,
    client: Mutex<Option<Arc<Client>>>,
}

impl PostgresIndex {
    /// The index at `postgres://user[:password]@host[:port]/database`, or `postgres:` before PostgreSQL's own form of words
    /// (`host=… user=…`). Nothing is sent yet.
    ///
    /// # Errors
    /// The URL is wrong; it is not repeated, for it may hold a password.
    pub fn new(url: &str) -> Result<Self, StoreError> {
        let text = match url.split_once(':') {
            Some(("postgres" | "postgresql", rest)) if !rest.starts_with("//") => rest,
            Some(_) | None => url,
        };
        let mut config: Config = text.parse().map_err(|_| StoreError::Unusable {
            url: "postgres:".to_owned(),
            problem: "this is no URL of a PostgreSQL database".to_owned(),
            advice: "write postgres://user@host/database".to_owned(),
        })?;
        config.connect_timeout(CONNECT_WAIT).application_name("lakebed");
        let hosts = config.get_hosts().iter().map(|host| match host {
            tokio_postgres::config::Host::Tcp(host) => host.clone(),
            #[cfg(unix)]
            tokio_postgres::config::Host::Unix(path) => path.display().to_string(),
        });
        let location = format!(
            "index postgres://{}/{}",
            hosts.collect::<Vec<_>>().join(","),
            config.get_dbname().unwrap_or_default()
        );
        let password = config.get_password().map(|password| String::from_utf8_lossy(password).into_owned());
        Ok(Self { location, secrets: Secrets::new(password), config, client: Mutex::new(None) })
    }

    /// The connection, made anew after it broke.
    async fn client(&self) -> Result<Arc<Client>, Failure> {
        let mut slot = self.client.lock().await;
        if let Some(client) = slot.as_ref().filter(|client| !client.is_closed()) {
            return Ok(Arc::clone(client));
        }
        // Nothing was asked yet, so what gets lost here is only lost time.
        let busy = |error: Error| match self.failure(&error) {
            Failure { why: Why::Unknown, said } => Failure::new(Why::Busy, said),
            failure => failure,
        };
        let (client, connection) = self.config.connect(NoTls).await.map_err(busy)?;
        // Its end is seen by `is_closed`.
        drop(tokio::spawn(connection));
        let there = client.query_one("SELECT to_regclass('lakebed_index') IS NOT NULL", &[]).await.map_err(busy)?;
        if !there.get::<_, bool>(0)
            && let Err(error) = client.batch_execute(SCHEMA).await
            && error.code() != Some(&SqlState::UNIQUE_VIOLATION)
            && error.code() != Some(&SqlState::DUPLICATE_TABLE)
        {
            return Err(busy(error));
        }
        let client = Arc::new(client);
        *slot = Some(Arc::clone(&client));
        Ok(client)
    }

    async fn found(&self, table: &str, name: &str) -> Result<Option<Entry>, Failure> {
        let select = "SELECT name, staged, size_bytes, confirmed FROM lakebed_index WHERE table_key = $1 AND name = $2";
        let row =
            self.client().await?.query_opt(select, &[&table, &name]).await.map_err(|error| self.failure(&error))?;
        row.map(|row| entry(&row)).transpose()
    }

    async fn inserted(&self, table: &str, entry: &Entry) -> Result<bool, Failure> {
        let insert = "INSERT INTO lakebed_index (table_key, name, staged, size_bytes) VALUES ($1, $2, $3, $4) \
                      ON CONFLICT DO NOTHING";
        let size = i64::try_from(entry.size_bytes).unwrap_or(i64::MAX);
        let client = self.client().await?;
        let inserted = client.execute(insert, &[&table, &entry.name, &entry.staged, &size]).await;
        Ok(inserted.map_err(|error| self.failure(&error))? == 1)
    }

    /// What a failed request means. No server is sure not to repeat what it was told.
    fn failure(&self, error: &Error) -> Failure {
        failure(error).without(&self.secrets)
    }

    /// A statement about one entry.
    async fn change(&self, statement: &str, table: &str, entry: &Entry) -> Result<(), StoreError> {
        let changed = async {
            let client = self.client().await?;
            let changed = client.execute(statement, &[&table, &entry.name, &entry.staged]).await;
            changed.map_err(|error| self.failure(&error))
        };
        changed.await.map(|_| ()).map_err(|failure| failure.error(&self.location, &entry.name))
    }
}

impl fmt::Debug for PostgresIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresIndex").field("location", &self.location).finish_non_exhaustive()
    }
}

/// What the server refused it did not carry out: each statement is a transaction of its own.
fn failure(error: &Error) -> Failure {
    let Some(refused) = error.as_db_error() else {
        return Failure::new(Why::Unknown, said(error));
    };
    let code = refused.code().code();
    let why = match code.get(..2) {
        Some("08" | "40" | "53" | "55") => Why::Busy,
        Some("57") if matches!(code, "57P03") => Why::Busy,
        // The server went down under the statement, which may have been at its end.
        Some("57" | "58" | "XX") => Why::Unknown,
        Some("28") => Why::Denied,
        Some("42") if code == "42501" => Why::Denied,
        Some(_) | None => Why::Refused,
    };
    Failure::new(why, format!("{code}: {}", refused.message()))
}

/// The error with its cause; neither holds the configuration.
fn said(error: &Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

fn entry(row: &Row) -> Result<Entry, Failure> {
    let strange = |error: Error| Failure::new(Why::Refused, error.to_string());
    let size: i64 = row.try_get(2).map_err(strange)?;
    Ok(Entry {
        name: row.try_get(0).map_err(strange)?,
        staged: row.try_get(1).map_err(strange)?,
        size_bytes: u64::try_from(size).unwrap_or_default(),
        confirmed: row.try_get(3).map_err(strange)?,
    })
}

#[async_trait]
impl CommitIndex for PostgresIndex {
    fn location(&self) -> &str {
        &self.location
    }

    async fn reserve(&self, table: &str, entry: &Entry) -> Result<Reserve, StoreError> {
        match self.inserted(table, entry).await {
            Ok(true) => Ok(Reserve::Reserved),
            Ok(false) => Ok(match self.found(table, &entry.name).await {
                Ok(Some(by)) => Reserve::Taken(by),
                Ok(None) => Reserve::Unknown("the row that was in the way is gone".to_owned()),
                // The name is taken, though by whom could not be read.
                Err(failure) => Reserve::Unknown(failure.said),
            }),
            Err(failure) => failure.reserve(&self.location, &entry.name),
        }
    }

    async fn confirm(&self, table: &str, entry: &Entry) -> Result<(), StoreError> {
        let update = "UPDATE lakebed_index SET confirmed = TRUE WHERE table_key = $1 AND name = $2 AND staged = $3";
        self.change(update, table, entry).await
    }

    async fn get(&self, table: &str, name: &str) -> Result<Option<Entry>, StoreError> {
        self.found(table, name).await.map_err(|failure| failure.error(&self.location, name))
    }

    async fn latest(&self, table: &str) -> Result<Vec<Entry>, StoreError> {
        let select =
            "SELECT name, staged, size_bytes, confirmed FROM lakebed_index WHERE table_key = $1 AND NOT confirmed";
        let found = async {
            let rows = self.client().await?.query(select, &[&table]).await.map_err(|error| self.failure(&error))?;
            rows.iter().map(entry).collect::<Result<Vec<_>, _>>()
        };
        found.await.map_err(|failure| failure.error(&self.location, "unconfirmed names"))
    }

    async fn release(&self, table: &str, entry: &Entry) -> Result<(), StoreError> {
        let delete = "DELETE FROM lakebed_index WHERE table_key = $1 AND name = $2 AND staged = $3";
        self.change(delete, table, entry).await
    }
}
