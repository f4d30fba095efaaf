//! External commit indexes: what a table's commits stand on where its store cannot create atomically, or where the other
//! writers of the table use one.
//!
//! [`open`] makes an index from a URL; [`table_url`] takes apart pylance's form of a table's URL that names one. The protocol
//! itself is [`lakebed_storage::Indexed`]'s.
//!
//! | URL | feature | index |
//! |---|---|---|
//! | `sqlite:PATH` | `sqlite` | a file on this machine |
//! | `postgres://user@host/database` | `postgres` | a table `lakebed_index` there |
//! | `redis://host:port/0` | `redis` | hashes `lakebed:{key}:names` |
//! | `dynamodb:TABLE`, `dynamodb:TABLE?layout=delta&scheme=s3a` | `dynamodb` | an existing DynamoDB table in pylance's layout, or in Spark's |
//!
//! Each says in its documentation what a row looks like and what its server has to promise.
//!
#![cfg_attr(feature = "sqlite", doc = "```")]
#![cfg_attr(not(feature = "sqlite"), doc = "```text")]
//! use lakebed_storage::{Create, Indexed, MemoryStore, Store};
//! use std::sync::Arc;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let file = folder.path().join("index.db").display().to_string();
//! let index = lakebed_index::open(&format!("sqlite:{file}"))?;
//! // Of two writers that create one log entry, the index decides; the store need not be able to.
//! let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
//! let store = Indexed::new(store, index);
//! let entry = "_delta_log/00000000000000000000.json";
//! assert_eq!(store.create(entry, "ours".into()).await?, Create::Created);
//! assert_eq!(store.create(entry, "theirs".into()).await?, Create::Exists);
//! assert_eq!(store.get(entry).await?, Some("ours".into()));
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "dynamodb")]
mod dynamodb;
#[cfg(any(feature = "dynamodb", feature = "postgres", feature = "redis", feature = "sqlite"))]
mod failure;
mod open;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "sqlite")]
mod sqlite;

#[cfg(feature = "dynamodb")]
pub use dynamodb::{DynamoIndex, DynamoOptions, Layout};
pub use open::{TableUrl, open, table_url};
#[cfg(feature = "postgres")]
pub use postgres::PostgresIndex;
#[cfg(feature = "redis")]
pub use redis::RedisIndex;
#[cfg(feature = "sqlite")]
pub use sqlite::SqliteIndex;
