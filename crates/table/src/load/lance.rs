//! Loading a Lance version: one listing and one manifest.

use super::{Look, PAGE, READ_AT_ONCE, READINGS, list_all, overtaken};
use crate::snapshot::LanceVersion;
use crate::{TableError, traced};
use bytes::Bytes;
use futures::stream::{self, StreamExt, TryStreamExt};
use lakebed_commit::FormatError;
use lakebed_lance::{Snapshot, TransactionHead, VersionHead};
use lakebed_naming::Version;
use lakebed_naming::lance::{
    DetachedVersion, ListingOrder, MIGRATION_FILE, ManifestName, Page, Scheme, VERSIONS_FOLDER, manifest_path,
};
use lakebed_storage::{Listed, Store};
use std::sync::Arc;

/// The first page is small: where names sort newest first it is the only one.
const FIRST_PAGE: usize = 64;

/// The newest version by the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Newest {
    pub(crate) version: Version,
    pub(crate) scheme: Scheme,
    /// A migration of names is under way, or stopped half-way: both schemes occur, or the mark of one is there.
    pub(crate) migrating: bool,
}

/// Loads the newest version, or the one asked for. `None`: there is no Lance table.
pub(crate) async fn load(store: &dyn Store, at: Option<Version>) -> Result<Option<LanceVersion>, TableError> {
    for _ in 0..READINGS {
        let look = Look::begin();
        let Some(found) = newest(store).await? else { return Ok(None) };
        let loaded = load_found(store, Newest { version: at.unwrap_or(found.version), ..found }).await?;
        if at.is_some() || !look.is_late() || newest(store).await? == Some(found) {
            return Ok(Some(loaded));
        }
    }
    Err(overtaken(store))
}

/// Loads a version of a table whose names are as a look at the folder showed.
pub(crate) async fn load_found(store: &dyn Store, found: Newest) -> Result<LanceVersion, TableError> {
    let mut loaded = load_version(store, found.scheme, found.version).await?;
    loaded.migrating |= found.migrating;
    Ok(loaded)
}

/// Loads the manifest of a version. The name of the other scheme is tried where the table's own is not there: a migration may
/// have passed since the table was opened.
pub(crate) async fn load_version(
    store: &dyn Store,
    scheme: Scheme,
    version: Version,
) -> Result<LanceVersion, TableError> {
    traced::replay("lance", load_named(store, scheme, version)).await
}

async fn load_named(store: &dyn Store, scheme: Scheme, version: Version) -> Result<LanceVersion, TableError> {
    if let Some(number) = DetachedVersion::new(version.get()) {
        return load_detached(store, number).await;
    }
    let other = other_scheme(scheme);
    let (name, other_name) = (manifest_path(scheme, version), manifest_path(other, version));
    let (bytes, found, name) = match store.get(&name).await? {
        Some(bytes) => (bytes, scheme, name),
        None => match store.get(&other_name).await? {
            Some(bytes) => (bytes, other, other_name),
            None => {
                return Err(TableError::Unavailable {
                    root: store.root().to_owned(),
                    problem: format!("version {version} is not there (neither {name} nor {other_name})"),
                    advice: "choose a version that `history` lists; a cleanup removes old ones".to_owned(),
                });
            }
        },
    };
    traced::replayed(version, if found == scheme { 1 } else { 2 });
    let snapshot = opened(store, &name, &bytes, version)?;
    Ok(LanceVersion { snapshot: Arc::new(snapshot), scheme: found, migrating: false })
}

async fn load_detached(store: &dyn Store, number: DetachedVersion) -> Result<LanceVersion, TableError> {
    let name = ManifestName::Detached(number).path().unwrap_or_default();
    let bytes = store.get(&name).await?.ok_or_else(|| TableError::Unavailable {
        root: store.root().to_owned(),
        problem: format!("the detached version {} is not there ({name})", number.get()),
        advice: "give the number that its commit answered".to_owned(),
    })?;
    let snapshot = opened(store, &name, &bytes, Version::new(number.get()))?;
    Ok(LanceVersion { snapshot: Arc::new(snapshot), scheme: Scheme::V2, migrating: false })
}

fn opened(store: &dyn Store, name: &str, bytes: &Bytes, version: Version) -> Result<Snapshot, TableError> {
    let snapshot = Snapshot::open(name, bytes).map_err(|source| format_error(store, source))?;
    if snapshot.version() == version {
        return Ok(snapshot);
    }
    Err(damaged(store, name, &format!("it says that it is version {}", snapshot.version())))
}

/// The scheme that a table does not use.
pub(crate) const fn other_scheme(scheme: Scheme) -> Scheme {
    match scheme {
        Scheme::V1 => Scheme::V2,
        Scheme::V2 => Scheme::V1,
    }
}

/// What versions say of themselves, in the order of their names; what was removed since it was listed is left out. No fragment
/// is decoded.
pub(crate) async fn heads(store: &dyn Store, names: &[Name]) -> Result<Vec<VersionHead>, TableError> {
    let heads: Vec<Option<VersionHead>> =
        stream::iter(names.iter().copied().map(|name| head(store, name))).buffered(READ_AT_ONCE).try_collect().await?;
    Ok(heads.into_iter().flatten().collect())
}

async fn head(store: &dyn Store, name: Name) -> Result<Option<VersionHead>, TableError> {
    let mut path = manifest_path(name.scheme, name.version);
    let mut bytes = store.get(&path).await?;
    if bytes.is_none() {
        // A migration may have passed.
        path = manifest_path(other_scheme(name.scheme), name.version);
        bytes = store.get(&path).await?;
    }
    let Some(bytes) = bytes else { return Ok(None) };
    let mut head = VersionHead::decode(&path, &bytes).map_err(|source| format_error(store, source))?;
    if head.version != name.version {
        return Err(damaged(store, &path, &format!("it says that it is version {}", head.version)));
    }
    if let (None, Some(file)) = (&head.transaction, &head.transaction_file) {
        let bytes = store.get(file.as_str()).await?;
        head.transaction = bytes.and_then(|bytes| TransactionHead::decode(&bytes));
    }
    Ok(Some(head))
}

/// The newest version by the names. One request where names sort newest first and nothing else is in the way. A folder with
/// names of both schemes is read whole, and only believed where no version has two contents.
pub(crate) async fn newest(store: &dyn Store) -> Result<Option<Newest>, TableError> {
    let mut names: Vec<Listed> = Vec::new();
    loop {
        let after = names.last().map(|listed| listed.name.clone());
        let limit = if names.is_empty() { FIRST_PAGE } else { PAGE };
        let page = store.list(VERSIONS_FOLDER, after.as_deref(), limit).await?;
        let last = page.len() < limit;
        names.extend(page);
        let marked = file_names(&names).next() == Some(MIGRATION_FILE);
        let read = Page::new(file_names(&names), ListingOrder::Lexical, None);
        match read {
            Ok(read) if !marked && (last || read.nothing_newer_follows) => {
                let found = |found: lakebed_naming::lance::Found| Newest {
                    version: found.version,
                    scheme: found.scheme,
                    migrating: false,
                };
                return Ok(read.newest.map(found));
            }
            Ok(_) if !marked => {}
            Ok(_) | Err(_) => return mixed(store).await,
        }
    }
}

/// The newest version of a folder in which names of both schemes may stand.
async fn mixed(store: &dyn Store) -> Result<Option<Newest>, TableError> {
    let names = manifests(&list_all(store, VERSIONS_FOLDER, None).await?);
    check_contents(store, &names).await?;
    let newest = names.iter().max_by_key(|name| (name.version, name.scheme));
    Ok(newest.map(|name| Newest { version: name.version, scheme: name.scheme, migrating: true }))
}

/// The name of a version in a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Name {
    pub(crate) version: Version,
    pub(crate) scheme: Scheme,
    pub(crate) size_bytes: u64,
    pub(crate) modified_ms: i64,
}

/// The names of versions among listed ones, ascending; a version that has names of both schemes stands twice.
pub(crate) fn manifests(listed: &[Listed]) -> Vec<Name> {
    let name = |entry: &Listed| {
        let file = entry.name.strip_prefix(VERSIONS_FOLDER)?.strip_prefix('/')?;
        if let ManifestName::Version { scheme, version } = ManifestName::parse(file) {
            Some(Name { version, scheme, size_bytes: entry.size_bytes, modified_ms: entry.modified_ms })
        } else {
            None
        }
    };
    let mut names: Vec<_> = listed.iter().filter_map(name).collect();
    names.sort_unstable();
    names
}

/// The names of versions among listed ones, ascending, one for each version.
pub(crate) fn versions(listed: &[Listed]) -> Vec<Name> {
    let mut names = manifests(listed);
    names.dedup_by_key(|name| name.version);
    names
}

/// Refuses a folder in which one version has two contents: which of them is the table's cannot be told.
pub(crate) async fn check_contents(store: &dyn Store, names: &[Name]) -> Result<(), TableError> {
    for pair in names.windows(2) {
        let [a, b] = pair else { continue };
        if a.version != b.version {
            continue;
        }
        let (first, second) = (manifest_path(a.scheme, a.version), manifest_path(b.scheme, b.version));
        // One of them may have been removed since: a migration removes the older name last.
        let same = a.size_bytes == b.size_bytes
            && match (store.get(&first).await?, store.get(&second).await?) {
                (Some(first), Some(second)) => first == second,
                (None, _) | (_, None) => true,
            };
        if !same {
            let advice = "find out which of the two its readers used, and move the other away".to_owned();
            let problem = format!("version {} has two contents, and {second} holds the other", a.version);
            return Err(format_error(store, FormatError::Damaged { object: first, problem, advice }));
        }
    }
    Ok(())
}

fn file_names(listed: &[Listed]) -> impl Iterator<Item = &str> {
    listed.iter().filter_map(|entry| entry.name.strip_prefix(VERSIONS_FOLDER)?.strip_prefix('/'))
}

fn damaged(store: &dyn Store, name: &str, problem: &str) -> TableError {
    let advice = "verify the table".to_owned();
    format_error(store, FormatError::Damaged { object: name.to_owned(), problem: problem.to_owned(), advice })
}

pub(crate) fn format_error(store: &dyn Store, source: FormatError) -> TableError {
    TableError::Format { root: store.root().to_owned(), source }
}
