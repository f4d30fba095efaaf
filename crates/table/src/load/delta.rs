//! Loading a Delta version: the hint, the listing, and each needed object once.

use super::{Look, READINGS, list_until, overtaken, read_all, still_stand};
use crate::TableError;
use crate::snapshot::DeltaVersion;
use crate::time_travel::lifted;
use crate::traced;
use bytes::Bytes;
use lakebed_commit::ObjectName;
use lakebed_delta::{DeltaError, Head, Hint, Load, LoadHead, LoadStep, LogTail, Snapshot};
use lakebed_naming::Version;
use lakebed_naming::delta::{
    LAST_CHECKPOINT, LOG_FOLDER, LogListing, LogName, commit_path, is_past_versions, log_path,
};
use lakebed_storage::{Listed, Store, StoreError};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// By how much the times of two entries may fall without one of them being out of the history: clocks of a store differ.
const REFILLED_MS: i64 = 60_000;

/// Loads the newest version, or the one asked for. `None`: there is no Delta log.
pub(crate) async fn load(
    store: &dyn Store,
    at: Option<Version>,
    tail: Option<&LogTail>,
) -> Result<Option<DeltaVersion>, TableError> {
    traced::replay("delta", load_at(store, at, tail)).await
}

/// Loads the newest version without its files. `None`: there is no Delta log.
pub(crate) async fn load_head(store: &dyn Store) -> Result<Option<Head>, TableError> {
    let head = async {
        let found = read_through(store, None, None, Load::without_files).await?;
        Ok(found.map(|(head, _)| head))
    };
    traced::replay("delta", head).await
}

async fn load_at(
    store: &dyn Store,
    at: Option<Version>,
    tail: Option<&LogTail>,
) -> Result<Option<DeltaVersion>, TableError> {
    let Some((snapshot, listed)) = read_through(store, at, tail, |load| load).await? else { return Ok(None) };
    let commit_modified_ms = modified_ms(&listed, snapshot.version());
    Ok(Some(DeltaVersion { snapshot: Arc::new(snapshot), commit_modified_ms, by_file_time: false }))
}

/// Loads by the hint and a listing, again where the log was cleaned meanwhile. `None`: there is no Delta log.
async fn read_through<L: Loading>(
    store: &dyn Store,
    at: Option<Version>,
    tail: Option<&LogTail>,
    how: impl Fn(Load) -> L,
) -> Result<Option<(L::Loaded, Vec<Listed>)>, TableError> {
    for _ in 0..READINGS {
        let look = Look::begin();
        let Some((load, mut listed)) = begun(store, at, tail).await? else { return Ok(None) };
        let mut read = HashSet::new();
        let loaded = replay(store, how(load), &mut listed, &mut read).await?;
        if !look.is_late() || still_stand(store, LOG_FOLDER, &listed, |name| read.contains(name)).await? {
            return Ok(Some((loaded, listed)));
        }
    }
    Err(overtaken(store))
}

/// A load by the hint and a listing. `None`: there is no Delta log.
async fn begun(
    store: &dyn Store,
    at: Option<Version>,
    tail: Option<&LogTail>,
) -> Result<Option<(Load, Vec<Listed>)>, TableError> {
    let hint = store.get(&log_path(LAST_CHECKPOINT)).await?.and_then(|bytes| Hint::parse(&bytes));
    // A hint above the version asked for would hide what that version needs.
    let hint = hint.filter(|hint| at.is_none_or(|at| hint.version <= at));
    let after = hint.map(|hint| hint.list_after());
    let listed = list_versions(store, after.as_ref().map(ObjectName::as_str)).await?;
    if listed.is_empty() && hint.is_none() {
        return Ok(None);
    }
    let whole = hint.is_none();
    // The store shows the log as the catalog says that it is; what is left is to say that it was asked.
    let tail = tail.map(|tail| LogTail::new(tail.newest()));
    let load = Load::with_tail(names(&listed), whole, at, tail);
    Ok(Some((load, listed)))
}

/// The newest version above the one held; `None` when there is none. One request when there is none.
pub(crate) async fn newer(
    store: &dyn Store,
    held: &DeltaVersion,
    tail: Option<&LogTail>,
) -> Result<Option<DeltaVersion>, TableError> {
    traced::replay("delta", newer_than(store, held, tail)).await
}

async fn newer_than(
    store: &dyn Store,
    held: &DeltaVersion,
    tail: Option<&LogTail>,
) -> Result<Option<DeltaVersion>, TableError> {
    let (base, look) = (held.snapshot.version(), Look::begin());
    let listed = list_versions(store, Some(&commit_path(base))).await?;
    let commits = commits(&listed);
    let Some((newest, modified_ms)) = commits.last().copied() else {
        traced::replayed(base, 1);
        return Ok(None);
    };
    let contiguous = commits.iter().zip(base.get() + 1..).all(|((version, _), expected)| version.get() == expected);
    // An entry that is much younger than the one above it fills a number that a cleanup had freed: it is no part of the
    // history, however well it fits by its name.
    let falls = commits.windows(2).any(|pair| match pair {
        [(_, below), (_, above)] => above.saturating_add(REFILLED_MS) < *below,
        _ => false,
    });
    if !contiguous || falls {
        // A cleanup has passed over what we would have read; a checkpoint stands in for it.
        return load(store, None, tail).await;
    }
    let wanted = commits.iter().map(|(version, _)| ObjectName::new(commit_path(*version))).collect();
    traced::replayed(newest, 1 + commits.len());
    let mut entries: HashMap<_, _> = read_all(store, wanted).await?.into_iter().collect();
    let mut snapshot = Arc::clone(&held.snapshot);
    for (version, _) in commits {
        let Some(Some(bytes)) = entries.remove(&ObjectName::new(commit_path(version))) else {
            return load(store, None, tail).await;
        };
        let next = snapshot.advance(version, &bytes).map_err(|source| delta_error(store, source))?;
        snapshot = Arc::new(next);
    }
    snapshot.check_catalog(tail.is_some()).map_err(|source| delta_error(store, source))?;
    debug_assert_eq!(snapshot.version(), newest, "every commit of the listing was applied");
    if look.is_late() && !still_stand(store, LOG_FOLDER, &listed, |name| is_commit_above(name, base)).await? {
        return load(store, None, tail).await;
    }
    Ok(Some(DeltaVersion { snapshot, commit_modified_ms: Some(modified_ms), by_file_time: false }))
}

fn is_commit_above(name: &str, base: Version) -> bool {
    let file = name.strip_prefix(LOG_FOLDER).and_then(|name| name.strip_prefix('/'));
    matches!(file.map(LogName::parse), Some(LogName::Commit(version)) if version > base)
}

/// One version from some of the objects of a listing: those that `wanted` takes, by their names relative to the table's root.
pub(crate) async fn load_from(
    store: &dyn Store,
    listed: &[Listed],
    wanted: impl Fn(&str) -> bool,
    at: Version,
) -> Result<Snapshot, TableError> {
    let some = listed.iter().filter(|entry| entry.name.starts_with(LOG_FOLDER) && wanted(&entry.name));
    let some: Vec<Listed> = some.cloned().collect();
    let mut load = Load::new(names(&some), true, Some(at));
    loop {
        match load.step().map_err(|source| delta_error(store, source))? {
            LoadStep::Needs(needed) => {
                for (name, bytes) in read_all(store, needed).await? {
                    load.feed(name, bytes);
                }
            }
            LoadStep::Relist => load.relist(names(&some)),
            LoadStep::Done(snapshot) => return Ok(*snapshot),
        }
    }
}

/// The snapshot of a table's first version, from its entry alone.
pub(crate) fn first(version: Version, entry: &Bytes) -> Result<Snapshot, DeltaError> {
    let name = commit_path(version);
    let mut load = Load::new([(name.as_str(), entry.len() as u64)], true, Some(version));
    load.feed(ObjectName::new(&name), Some(entry.clone()));
    match load.step()? {
        LoadStep::Done(snapshot) => Ok(*snapshot),
        LoadStep::Needs(_) | LoadStep::Relist => Err(DeltaError::Damaged {
            object: name,
            problem: "it does not stand for itself".to_owned(),
            advice: "open the table again".to_owned(),
        }),
    }
}

/// A load of a version, with its files or without.
trait Loading {
    type Loaded;

    fn step(&mut self) -> Result<LoadStep<Self::Loaded>, DeltaError>;
    fn feed(&mut self, name: ObjectName, bytes: Option<Bytes>);
    fn relist(&mut self, listed: &[Listed]);
    fn version(loaded: &Self::Loaded) -> Version;
}

impl Loading for Load {
    type Loaded = Snapshot;

    fn step(&mut self) -> Result<LoadStep, DeltaError> {
        Self::step(self)
    }

    fn feed(&mut self, name: ObjectName, bytes: Option<Bytes>) {
        Self::feed(self, name, bytes);
    }

    fn relist(&mut self, listed: &[Listed]) {
        Self::relist(self, names(listed));
    }

    fn version(loaded: &Snapshot) -> Version {
        loaded.version()
    }
}

impl Loading for LoadHead {
    type Loaded = Head;

    fn step(&mut self) -> Result<LoadStep<Head>, DeltaError> {
        Self::step(self)
    }

    fn feed(&mut self, name: ObjectName, bytes: Option<Bytes>) {
        Self::feed(self, name, bytes);
    }

    fn relist(&mut self, listed: &[Listed]) {
        Self::relist(self, names(listed));
    }

    fn version(loaded: &Head) -> Version {
        loaded.version()
    }
}

/// Lists the log as far as versions go.
pub(crate) async fn list_versions(store: &dyn Store, after: Option<&str>) -> Result<Vec<Listed>, StoreError> {
    list_until(store, LOG_FOLDER, after, is_past_versions).await
}

/// Reads what the load asks for, after a hint and a listing.
async fn replay<L: Loading>(
    store: &dyn Store,
    mut load: L,
    listed: &mut Vec<Listed>,
    read: &mut HashSet<String>,
) -> Result<L::Loaded, TableError> {
    let mut requests = 2;
    loop {
        match load.step().map_err(|source| delta_error(store, source))? {
            LoadStep::Needs(needed) => {
                requests += needed.len();
                read.extend(needed.iter().map(|name| name.as_str().to_owned()));
                for (name, bytes) in read_all(store, needed).await? {
                    load.feed(name, bytes);
                }
            }
            LoadStep::Relist => {
                requests += 1;
                *listed = list_versions(store, None).await?;
                load.relist(listed);
            }
            LoadStep::Done(loaded) => {
                traced::replayed(L::version(&loaded), requests);
                return Ok(*loaded);
            }
        }
    }
}

fn names(listed: &[Listed]) -> impl Iterator<Item = (&str, u64)> {
    listed.iter().map(|entry| (entry.name.as_str(), entry.size_bytes))
}

/// When the commit of a version was written, as time travel counts, where the listing has it.
fn modified_ms(listed: &[Listed], version: Version) -> Option<i64> {
    let times = lifted(&commits(listed));
    times.iter().find(|(listed, _)| *listed == version).map(|(_, ms)| *ms)
}

/// What a listing of the log offers.
pub(crate) fn log_listing(listed: &[Listed]) -> LogListing {
    let inside = |entry: &Listed| {
        let file = entry.name.strip_prefix(LOG_FOLDER)?.strip_prefix('/')?;
        Some((file.to_owned(), entry.size_bytes))
    };
    LogListing::new(listed.iter().filter_map(inside))
}

/// The commits of a listing with their times, ascending.
pub(crate) fn commits(listed: &[Listed]) -> Vec<(Version, i64)> {
    let commit = |entry: &Listed| {
        let file = entry.name.strip_prefix(LOG_FOLDER)?.strip_prefix('/')?;
        if let LogName::Commit(version) = LogName::parse(file) { Some((version, entry.modified_ms)) } else { None }
    };
    let mut commits: Vec<_> = listed.iter().filter_map(commit).collect();
    commits.sort_unstable();
    commits
}

pub(crate) fn delta_error(store: &dyn Store, source: DeltaError) -> TableError {
    TableError::Delta { root: store.root().to_owned(), source }
}
