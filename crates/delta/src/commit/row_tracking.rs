//! Row ids: which ones a commit gives out, and how they move when ours follows a landed commit.
//!
//! Source: the protocol's row tracking, and what Spark does with a commit that it rebases. Ids that ours is still to give
//! out are not kept in its actions but drawn when it is rendered, so that every attempt draws them anew.

use super::format::Landed;
use super::pending::Pending;
use crate::DeltaError;
use crate::action::{Action, Add, DomainMetadata, Metadata, Protocol};
use crate::path;
use lakebed_naming::Version;
use serde_json::json;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The domain in which the high-water mark stands.
pub(crate) const DOMAIN: &str = "delta.rowTracking";
/// Switches the numbering off while the feature is being dropped.
const SUSPENDED: &str = "delta.rowTrackingSuspended";
/// Names of the columns in which rows that moved keep their ids and versions, and how such names begin.
const COLUMN_NAMES: [(&str, &str); 2] = [
    ("delta.rowTracking.materializedRowIdColumnName", "_row-id-col-"),
    ("delta.rowTracking.materializedRowCommitVersionColumnName", "_row-commit-version-col-"),
];
const BACKFILL: &str = "ROW TRACKING BACKFILL";
const UNBACKFILL: &str = "ROW TRACKING UNBACKFILL";

/// The numbering that ours continues.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RowIds {
    /// The highest id that was given out, as far as ours follows the log.
    pub(super) mark: Option<i64>,
    /// Whether ours followed any commit since it was built.
    pub(super) rebased: bool,
}

/// Whether commits under this protocol and metadata number the files that they add.
pub(super) fn numbers(protocol: &Protocol, metadata: &Metadata) -> bool {
    protocol.supports("rowTracking") && !metadata.flag(SUSPENDED)
}

/// The mark that a document of the domain holds.
pub(crate) fn mark_in(configuration: &str) -> Option<i64> {
    serde_json::from_str::<serde_json::Value>(configuration).ok()?.get("rowIdHighWaterMark")?.as_i64()
}

/// Gives metadata the names of the columns in which moved rows keep their ids, where the protocol supports row tracking:
/// those that it had before, else fresh ones. `fresh` draws a UUID.
pub fn name_row_tracking_columns(
    protocol: &Protocol,
    before: Option<&Metadata>,
    metadata: &mut Metadata,
    mut fresh: impl FnMut() -> String,
) {
    if !protocol.supports("rowTracking") {
        return;
    }
    for (key, prefix) in COLUMN_NAMES {
        if metadata.configuration.get(key).is_none() {
            let known = before.and_then(|before| before.configuration.get(key)).map(str::to_owned);
            let name = known.unwrap_or_else(|| format!("{prefix}{}", fresh()));
            metadata.configuration.set(key, Some(&name));
        }
    }
}

/// Refuses files that cannot be numbered.
pub(super) fn check(actions: &[Action]) -> Result<(), DeltaError> {
    let uncounted = |action: &&Action| matches!(action, Action::Add(add) if add.base_row_id.is_none() && add.num_records().is_none());
    let Some(Action::Add(add)) = actions.iter().find(uncounted) else { return Ok(()) };
    Err(DeltaError::invalid(
        format!(
            "[DELTA_ROW_ID_ASSIGNMENT_WITHOUT_STATS] the file {} has no row count, and the table numbers its rows",
            add.path
        ),
        "give statistics with numRecords",
    ))
}

/// Numbers the files of one attempt, and says how far the numbers go.
///
/// The mark is written by every commit that followed another one, in front, and otherwise where ids were given out, behind.
pub(super) fn number(pending: &Pending, actions: &mut Vec<Action>, at: Version) {
    let read = pending.row_ids.mark.unwrap_or(-1);
    let (mut mark, mut given) = (read, false);
    let version = i64::try_from(at.get()).unwrap_or(i64::MAX);
    for action in actions.iter_mut() {
        let Action::Add(add) = action else { continue };
        if add.base_row_id.is_none() {
            add.base_row_id = Some(mark.saturating_add(1));
            let rows = add.num_records().and_then(|rows| i64::try_from(rows).ok()).unwrap_or(0);
            mark = mark.saturating_add(rows);
            given = true;
        }
        add.default_row_commit_version.get_or_insert(version);
    }
    let domain = || {
        Action::Domain(DomainMetadata {
            domain: DOMAIN.to_owned(),
            configuration: json!({"rowIdHighWaterMark": mark, "domainName": DOMAIN}).to_string(),
            removed: false,
        })
    };
    if pending.row_ids.rebased {
        actions.insert(0, domain());
    } else if given {
        actions.push(domain());
    }
}

/// Follows what a landed commit did to row ids. `tracked_before` tells whether the table supported them before it; the
/// protocol and metadata that it brought are adopted already. Says whether the files of ours changed.
pub(super) fn follow(pending: &mut Pending, landed: &Landed) -> bool {
    let ours = pending.transaction.operation.clone();
    let theirs = landed.facts().operation.clone();
    let supported = pending.core.as_ref().is_some_and(|core| core.protocol.supports("rowTracking"));
    let drops = supported && pending.own_protocol().is_some_and(|own| !own.supports("rowTracking"));
    let mut changed = false;
    if ours == BACKFILL {
        changed |= leave_to(&mut pending.transaction.actions, &landed_paths(landed, true));
    }
    if ours == UNBACKFILL || drops {
        changed |= leave_to(&mut pending.transaction.actions, &landed_paths(landed, false));
        changed |= absorb(&mut pending.transaction.actions, landed);
    }
    if numbers_now(pending) {
        forget_numbers(pending, landed.version());
    }
    // A mark never goes down, whatever landed says: ids below the one that was read are in use.
    let mark = landed.actions().iter().find_map(|action| mark_in(&action.domain_of(DOMAIN)?.configuration));
    pending.row_ids.mark = pending.row_ids.mark.max(mark);
    pending.row_ids.rebased = true;
    if &*theirs == BACKFILL {
        take_backfilled(&mut pending.transaction.actions, landed);
    }
    changed
}

fn numbers_now(pending: &Pending) -> bool {
    match (pending.own_protocol(), pending.own_metadata()) {
        (Some(protocol), Some(metadata)) => numbers(protocol, metadata),
        (_, _) => false,
    }
}

/// Ids above the mark that was read may be taken by now, and the version of the attempt is; both are drawn anew.
fn forget_numbers(pending: &mut Pending, landed: Version) {
    let read = pending.row_ids.mark.unwrap_or(-1);
    let taken = i64::try_from(landed.get()).ok();
    for action in &mut pending.transaction.actions {
        let Action::Add(add) = action else { continue };
        add.base_row_id = add.base_row_id.filter(|id| *id <= read);
        add.default_row_commit_version = add.default_row_commit_version.filter(|version| Some(*version) != taken);
    }
}

/// The files that a landed commit removed and did not put back, or all that it touched.
fn landed_paths(landed: &Landed, all: bool) -> BTreeSet<Cow<'_, str>> {
    let mut paths = BTreeSet::new();
    for action in landed.actions() {
        match action {
            Action::Remove(remove) => {
                paths.insert(path::identity(&remove.path));
            }
            Action::Add(add) if all => {
                paths.insert(path::identity(&add.path));
            }
            Action::Add(_)
            | Action::Cdc(_)
            | Action::Metadata(_)
            | Action::Protocol(_)
            | Action::Txn(_)
            | Action::Domain(_)
            | Action::CommitInfo(_)
            | Action::CheckpointMetadata(_)
            | Action::Sidecar(_) => {}
        }
    }
    paths
}

/// Leaves files to the landed commit that saw to them already.
fn leave_to(actions: &mut Vec<Action>, paths: &BTreeSet<Cow<'_, str>>) -> bool {
    let before = actions.len();
    actions.retain(|action| !matches!(action, Action::Add(add) if paths.contains(&path::identity(&add.path))));
    actions.len() != before
}

/// Takes the numbers out of the files that a landed commit added, too, where ours takes them out of the whole table.
fn absorb(actions: &mut Vec<Action>, landed: &Landed) -> bool {
    let mut any = false;
    for action in landed.actions() {
        let Action::Add(add) = action else { continue };
        if add.base_row_id.is_none() {
            continue;
        }
        let plain = Add { data_change: false, base_row_id: None, default_row_commit_version: None, ..add.clone() };
        let same = |known: &Action| matches!(known, Action::Add(own) if own.key() == plain.key());
        actions.retain(|known| !same(known));
        actions.push(Action::Add(plain));
        any = true;
    }
    any
}

/// A backfill numbered files that ours names: they keep those numbers.
fn take_backfilled(actions: &mut [Action], landed: &Landed) {
    let numbered: BTreeMap<Cow<'_, str>, &Add> = landed
        .actions()
        .iter()
        .filter_map(|action| if let Action::Add(add) = action { Some((path::identity(&add.path), add)) } else { None })
        .collect();
    for action in actions {
        let (raw, id, version) = match action {
            Action::Add(add) => (&add.path, &mut add.base_row_id, &mut add.default_row_commit_version),
            Action::Remove(remove) => (&remove.path, &mut remove.base_row_id, &mut remove.default_row_commit_version),
            Action::Cdc(_)
            | Action::Metadata(_)
            | Action::Protocol(_)
            | Action::Txn(_)
            | Action::Domain(_)
            | Action::CommitInfo(_)
            | Action::CheckpointMetadata(_)
            | Action::Sidecar(_) => continue,
        };
        if let Some(add) = numbered.get(&path::identity(raw)) {
            (*id, *version) = (add.base_row_id, add.default_row_commit_version);
        }
    }
}
