//! From a URL to an index.

use lakebed_storage::{CommitIndex, StoreError};
use std::sync::Arc;

const ADVICE: &str = "write sqlite:PATH, postgres://user@host/database, redis://host:port/0 or dynamodb:TABLE; passwords stand in the URL";

/// Opens the index at a URL. Nothing is asked of it here but for SQLite, whose file is made where it is not there.
///
/// # Errors
/// The URL is wrong, its kind is not part of this build, or the SQLite file cannot be opened. No message shows the URL beyond
/// its scheme, for it may hold a password.
pub fn open(url: &str) -> Result<Arc<dyn CommitIndex>, StoreError> {
    let (scheme, rest) = url.split_once(':').ok_or_else(|| unusable("index", "it has no scheme"))?;
    match scheme {
        "sqlite" => sqlite(rest),
        "postgres" | "postgresql" => postgres(url),
        "redis" => redis(url),
        "dynamodb" => dynamodb(rest),
        _ => Err(unusable("index", "its scheme is not known")),
    }
}

/// A table's URL in pylance's form for DynamoDB, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableUrl {
    /// Where the table's objects are: `s3://bucket/path`.
    pub table: String,
    /// The URL of the index, for [`open`].
    pub index: String,
}

/// Takes `s3+ddb://bucket/path?ddbTableName=TABLE` apart; `None` for any other URL.
///
/// # Errors
/// It is such a URL, and does not name exactly one DynamoDB table.
pub fn table_url(url: &str) -> Result<Option<TableUrl>, StoreError> {
    let Some(rest) = url.strip_prefix("s3+ddb://") else { return Ok(None) };
    let named = rest.split_once('?').and_then(|(path, query)| Some((path, query.strip_prefix("ddbTableName=")?)));
    match named {
        Some((path, name)) if !name.is_empty() && !name.contains(['&', '#', '?']) => {
            Ok(Some(TableUrl { table: format!("s3://{path}"), index: format!("dynamodb:{name}") }))
        }
        Some(_) | None => Err(StoreError::Unusable {
            url: format!("s3+ddb://{}", rest.split('?').next().unwrap_or_default()),
            problem: "it does not name one DynamoDB table".to_owned(),
            advice: "write s3+ddb://bucket/path?ddbTableName=TABLE".to_owned(),
        }),
    }
}

fn unusable(what: &str, problem: &str) -> StoreError {
    StoreError::Unusable { url: what.to_owned(), problem: problem.to_owned(), advice: ADVICE.to_owned() }
}

#[cfg(not(all(feature = "dynamodb", feature = "postgres", feature = "redis", feature = "sqlite")))]
fn not_built(scheme: &str) -> StoreError {
    StoreError::Unusable {
        url: format!("index {scheme}:"),
        problem: format!("this build has no {scheme} index"),
        advice: format!("build it with the feature `{scheme}` of lakebed-index (`index-{scheme}` of lakebed-cli)"),
    }
}

#[cfg(feature = "sqlite")]
fn sqlite(path: &str) -> Result<Arc<dyn CommitIndex>, StoreError> {
    Ok(Arc::new(crate::SqliteIndex::open(path)?))
}

#[cfg(not(feature = "sqlite"))]
fn sqlite(_path: &str) -> Result<Arc<dyn CommitIndex>, StoreError> {
    Err(not_built("sqlite"))
}

#[cfg(feature = "postgres")]
fn postgres(url: &str) -> Result<Arc<dyn CommitIndex>, StoreError> {
    Ok(Arc::new(crate::PostgresIndex::new(url)?))
}

#[cfg(not(feature = "postgres"))]
fn postgres(_url: &str) -> Result<Arc<dyn CommitIndex>, StoreError> {
    Err(not_built("postgres"))
}

#[cfg(feature = "redis")]
fn redis(url: &str) -> Result<Arc<dyn CommitIndex>, StoreError> {
    Ok(Arc::new(crate::RedisIndex::new(url)?))
}

#[cfg(not(feature = "redis"))]
fn redis(_url: &str) -> Result<Arc<dyn CommitIndex>, StoreError> {
    Err(not_built("redis"))
}

#[cfg(feature = "dynamodb")]
fn dynamodb(rest: &str) -> Result<Arc<dyn CommitIndex>, StoreError> {
    Ok(Arc::new(crate::DynamoIndex::from_env(rest)?))
}

#[cfg(not(feature = "dynamodb"))]
fn dynamodb(_rest: &str) -> Result<Arc<dyn CommitIndex>, StoreError> {
    Err(not_built("dynamodb"))
}
