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
//! | `dynamodb:TABLE` | `dynamodb` | an existing DynamoDB table in pylance's layout or in Spark's, whichever its key is |
//!
//! Each says in its documentation what a row looks like and what its server has to promise.

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
