//! The log, version by version.

use super::accounts;
use super::{Verified, files};
use crate::load::delta::{load_from, log_listing};
use crate::snapshot::DeltaVersion;
use crate::time_travel::stamped_from;
use crate::{Table, TableError};
use bytes::Bytes;
use lakebed_delta::Snapshot;
use lakebed_delta::action::{Action, Add, CommitInfo, parse_actions};
use lakebed_delta::deletion_vector::{VectorPlace, place};
use lakebed_naming::Version;
use lakebed_naming::delta::{DataPath, LogListing, commit_path};
use lakebed_storage::Listed;
use std::collections::BTreeMap;
use std::collections::HashMap;

/// What the log names.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) named: BTreeMap<String, Named>,
    /// When objects were taken out, in milliseconds since 1970.
    pub(super) removed: BTreeMap<String, Option<i64>>,
    /// Files outside of the table's root.
    pub(super) outside: u64,
}

/// An object that a version names.
pub(super) struct Named {
    /// The version that named it first.
    pub(super) version: Version,
    /// The size that the log tells, of data files.
    pub(super) size_bytes: Option<u64>,
    /// How far a vector reaches in it.
    pub(super) reach_bytes: u64,
}

impl Seen {
    fn add(&mut self, version: Version, add: &Add) {
        match files::object(add) {
            Some(name) => {
                let size_bytes = u64::try_from(add.size).ok();
                self.named.entry(name).or_insert(Named { version, size_bytes, reach_bytes: 0 });
            }
            None => self.outside += 1,
        }
        if let Some(Ok(VectorPlace::Object { object, range })) = add.deletion_vector.as_ref().map(place) {
            let named = self.named.entry(object).or_insert(Named { version, size_bytes: None, reach_bytes: 0 });
            named.reach_bytes = named.reach_bytes.max(range.end);
        }
    }

    fn action(&mut self, version: Version, action: &Action) {
        match action {
            Action::Add(add) => self.add(version, add),
            Action::Remove(remove) => {
                if let Ok(DataPath::Relative(name)) = DataPath::decode(&remove.path) {
                    self.removed.insert(name, remove.deletion_timestamp);
                }
                if let Some(Ok(VectorPlace::Object { object, .. })) = remove.deletion_vector.as_ref().map(place) {
                    self.removed.insert(object, remove.deletion_timestamp);
                }
            }
            Action::Cdc(cdc) => {
                if let Ok(DataPath::Relative(name)) = DataPath::decode(&cdc.path) {
                    let size_bytes = u64::try_from(cdc.size).ok();
                    self.named.entry(name).or_insert(Named { version, size_bytes, reach_bytes: 0 });
                }
            }
            Action::Metadata(_)
            | Action::Protocol(_)
            | Action::Txn(_)
            | Action::Domain(_)
            | Action::CommitInfo(_)
            | Action::CheckpointMetadata(_)
            | Action::Sidecar(_) => {}
        }
    }
}

/// Goes through all versions, holds each against the other accounts of it, and gathers what they name.
pub(super) async fn walk(
    table: &Table,
    held: &DeltaVersion,
    listed: &[Listed],
    verified: &mut Verified,
    step: &mut impl FnMut(Version),
) -> Result<Seen, TableError> {
    let listing = log_listing(listed);
    let newest = held.snapshot.version();
    let first = listing.oldest_readable().unwrap_or(newest);
    verified.versions = Some((first, newest));
    oddities(&listing, first, verified);
    let mut seen = Seen::default();
    let mut promises = Promises { ids: HashMap::new(), stamp: None, stamped: stamped_from(held.snapshot.metadata()) };
    let Some(mut state) = start(table, listed, first, verified).await? else { return Ok(seen) };
    state.files().for_each(|add| seen.add(first, add));
    for tombstone in state.tombstones() {
        seen.action(first, &Action::Remove((**tombstone).clone()));
    }
    accounts::hold(table, listed, &listing, &state, verified).await?;
    step(first);
    let mut at = first;
    loop {
        if let Some(bytes) = table.store().get(&commit_path(at)).await?
            && !entry(at, &bytes, verified, &mut seen, &mut promises)
        {
            return Ok(seen);
        }
        let Some(next) = at.next().filter(|next| *next <= newest) else { break };
        let Some(bytes) = table.store().get(&commit_path(next)).await? else { break };
        match state.advance(next, &bytes) {
            Ok(after) => state = after,
            Err(error) => {
                verified.wrong(
                    "log",
                    &commit_path(next),
                    Some(next),
                    error.to_string(),
                    "bring back a copy of the entry",
                );
                return Ok(seen);
            }
        }
        accounts::hold(table, listed, &listing, &state, verified).await?;
        step(next);
        at = next;
    }
    if let Some(difference) = accounts::difference(&state, &held.snapshot) {
        let remedy = "open the table without its checkpoints, and write a new one (lakebed checkpoint)";
        verified.wrong(
            "log",
            "_delta_log",
            Some(newest),
            format!("opening and replaying differ: {difference}"),
            remedy,
        );
    }
    accounts::rows(&held.snapshot, verified);
    Ok(seen)
}

/// What the entries so far promise of the next one.
struct Promises {
    /// Which version carries a transaction's id.
    ids: HashMap<String, Version>,
    /// The newest timestamp of a version's own, in milliseconds since 1970.
    stamp: Option<(Version, i64)>,
    /// From which version on each has one.
    stamped: Option<Version>,
}

/// What the names of the log show already.
fn oddities(listing: &LogListing, first: Version, verified: &mut Verified) {
    for gap in listing.gaps().into_iter().filter(|gap| gap.first() > first) {
        let object = commit_path(gap.first());
        let problem = format!("versions {} to {} have no entry, and newer ones do", gap.first(), gap.last());
        verified.wrong(
            "log",
            &object,
            Some(gap.first()),
            problem,
            "bring back the entries; a checkpoint above may stand in",
        );
    }
    for (version, name) in listing.unpadded() {
        verified.notes.push(format!("{name} looks like version {version} and is not taken for it"));
    }
    for broken in listing.incomplete_checkpoints() {
        let (found, all) = (broken.parts_found, broken.parts_total);
        verified
            .notes
            .push(format!("the checkpoint of version {} has {found} of {all} parts and is not used", broken.version));
    }
}

/// The oldest state that the log gives.
async fn start(
    table: &Table,
    listed: &[Listed],
    first: Version,
    verified: &mut Verified,
) -> Result<Option<Snapshot>, TableError> {
    match load_from(&**table.store(), listed, |_| true, first).await {
        Ok(state) => Ok(Some(state)),
        Err(TableError::Delta { source, .. }) => {
            let remedy = "bring back what is missing, or clean the log up to a newer checkpoint";
            verified.wrong("log", &commit_path(first), Some(first), source.to_string(), remedy);
            Ok(None)
        }
        Err(other) => Err(other),
    }
}

/// One entry: its own soundness, its id and its time. `false`: it cannot be read.
fn entry(at: Version, bytes: &Bytes, verified: &mut Verified, seen: &mut Seen, promises: &mut Promises) -> bool {
    let name = commit_path(at);
    let actions = match parse_actions(&name, bytes) {
        Ok(actions) => actions,
        Err(error) => {
            verified.wrong("log", &name, Some(at), error.to_string(), "bring back a copy of the entry");
            return false;
        }
    };
    actions.iter().for_each(|action| seen.action(at, action));
    let info = actions.iter().find_map(|action| if let Action::CommitInfo(info) = action { Some(info) } else { None });
    if let Some(id) = info.and_then(CommitInfo::transaction_id)
        && let Some(before) = promises.ids.insert(id.to_owned(), at)
    {
        let problem = format!("versions {before} and {at} carry the same transaction");
        let remedy =
            "find out whether its rows are there twice (lakebed diff), and restore the version before the second";
        verified.wrong("id", id, Some(at), problem, remedy);
    }
    if promises.stamped.is_some_and(|from| at >= from) {
        match (info.and_then(CommitInfo::in_commit_timestamp_ms), promises.stamp) {
            (None, _) => {
                let problem = "it has no timestamp of its own, and the table promises one".to_owned();
                verified.wrong("time", &name, Some(at), problem, "ask for versions by number; no entry may be changed");
            }
            (Some(ms), Some((before, earlier))) if ms <= earlier => {
                let problem = format!("its time, {ms}, is not after that of version {before}, {earlier}");
                verified.wrong("time", &name, Some(at), problem, "ask for versions by number; no entry may be changed");
                promises.stamp = Some((at, ms));
            }
            (Some(ms), _) => promises.stamp = Some((at, ms)),
        }
    }
    true
}
