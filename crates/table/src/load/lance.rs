//! Loading a Lance version: one listing and one manifest.

use super::PAGE;
use crate::TableError;
use crate::snapshot::LanceVersion;
use lakebed_commit::FormatError;
use lakebed_lance::Snapshot;
use lakebed_lance::transaction::Transaction;
use lakebed_naming::Version;
use lakebed_naming::lance::{Found, ListingOrder, Page, Scheme, VERSIONS_FOLDER, manifest_path};
use lakebed_storage::{Listed, Store};
use std::sync::Arc;

/// The first page is small: where names sort newest first it is the only one.
const FIRST_PAGE: usize = 64;

/// Loads the newest version, or the one asked for. `None`: there is no Lance table.
pub(crate) async fn load(store: &dyn Store, at: Option<Version>) -> Result<Option<LanceVersion>, TableError> {
    let Some(newest) = newest(store).await? else {
        return Ok(None);
    };
    let version = at.unwrap_or(newest.version);
    load_version(store, newest.scheme, version).await.map(Some)
}

/// Loads the manifest of a version, and its transaction from the file beside it where it is not inline.
pub(crate) async fn load_version(
    store: &dyn Store,
    scheme: Scheme,
    version: Version,
) -> Result<LanceVersion, TableError> {
    let name = manifest_path(scheme, version);
    let Some(bytes) = store.get(&name).await? else {
        return Err(TableError::Unavailable {
            root: store.root().to_owned(),
            problem: format!("version {version} is not there ({name})"),
            advice: "choose a version that `history` lists; a cleanup removes old ones".to_owned(),
        });
    };
    let snapshot = Snapshot::open(&name, &bytes).map_err(|source| format_error(store, source))?;
    if snapshot.version() != version {
        return Err(format_error(
            store,
            FormatError::Damaged {
                object: name,
                problem: format!("it says that it is version {}", snapshot.version()),
                advice: "verify the table".to_owned(),
            },
        ));
    }
    Ok(LanceVersion { snapshot: Arc::new(snapshot), scheme })
}

/// The transaction that made a version: inline, or from its own file; `None` where neither is there.
pub(crate) async fn transaction(store: &dyn Store, version: &LanceVersion) -> Result<Option<Transaction>, TableError> {
    if let Some(transaction) = version.snapshot.transaction() {
        return Ok(Some(transaction.clone()));
    }
    let Some(name) = version.snapshot.transaction_file() else { return Ok(None) };
    let Some(bytes) = store.get(name.as_str()).await? else { return Ok(None) };
    Ok(Transaction::decode(name.as_str(), &bytes).ok())
}

/// The newest version by the names. One request where names sort newest first and nothing else is in the way.
pub(crate) async fn newest(store: &dyn Store) -> Result<Option<Found>, TableError> {
    let mut names: Vec<Listed> = Vec::new();
    loop {
        let after = names.last().map(|listed| listed.name.clone());
        let limit = if names.is_empty() { FIRST_PAGE } else { PAGE };
        let page = store.list(VERSIONS_FOLDER, after.as_deref(), limit).await?;
        let last = page.len() < limit;
        names.extend(page);
        let read = Page::new(file_names(&names), ListingOrder::Lexical, None).map_err(|error| mixed(store, &error))?;
        if last || read.nothing_newer_follows {
            return Ok(read.newest);
        }
    }
}

fn file_names(listed: &[Listed]) -> impl Iterator<Item = &str> {
    listed.iter().filter_map(|entry| entry.name.strip_prefix(VERSIONS_FOLDER)?.strip_prefix('/'))
}

pub(crate) fn mixed(store: &dyn Store, error: &lakebed_naming::lance::MixedSchemes) -> TableError {
    TableError::Unavailable {
        root: store.root().to_owned(),
        problem: error.to_string(),
        advice: "see the names under _versions/".to_owned(),
    }
}

pub(crate) fn format_error(store: &dyn Store, source: FormatError) -> TableError {
    TableError::Format { root: store.root().to_owned(), source }
}
