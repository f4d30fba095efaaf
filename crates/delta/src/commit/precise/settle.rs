//! Writing the actions of ours anew, where the rows that it takes out stand elsewhere or under other vectors by now.

use super::judge::missing;
use super::recount::recount;
use super::{at_hand, removes};
use crate::DeltaError;
use crate::action::{Action, Add};
use crate::commit::pending::Pending;
use crate::commit::{facts, vectors};
use crate::deletion_vector::VectorFile;
use crate::{path, stats};
use lakebed_commit::{Fetched, Need, ObjectName};
use lakebed_transaction::{PreciseKind, RowSet};
use std::sync::Arc;

/// What came of it.
pub(in crate::commit) enum Settled {
    /// The actions fit.
    Done,
    /// This must be read or written first.
    Needs(Vec<Need>),
}

/// What becomes of one file.
enum Edit {
    /// It goes.
    Remove(Add),
    /// It stays with these rows deleted.
    Mark(Add, RowSet),
    /// One of ours comes with these rows deleted.
    MarkOwn(Add, RowSet),
    /// One of ours does not come.
    Withdraw(Add),
}

/// Writes the part of ours anew that landed commits touched.
pub(in crate::commit) fn settle(pending: &mut Pending, fetched: &Fetched) -> Result<Settled, DeltaError> {
    let places = &pending.rows.places;
    if places.dirty.is_empty() && places.dirty_own.is_empty() {
        return Ok(Settled::Done);
    }
    let files = touched(pending);
    let needs = missing(files.iter().filter_map(|(add, ..)| add.deletion_vector.clone()), fetched);
    if !needs.is_empty() {
        return Ok(Settled::Needs(needs.into_iter().map(Need::Read).collect()));
    }
    let mut edits = Vec::with_capacity(files.len());
    for (add, rows, own) in files {
        edits.extend(edit(add, rows, own, fetched)?);
    }
    let mut file = VectorFile::new(vectors::name(pending));
    let mut written = Vec::new();
    for edit in &edits {
        if let Edit::Mark(_, rows) | Edit::MarkOwn(_, rows) = edit {
            written.push(file.push(rows)?);
        }
    }
    if !written.is_empty() {
        let (object, bytes) = file.finish();
        let name = ObjectName::new(object);
        if !fetched.is_written(&name) {
            return Ok(Settled::Needs(vec![Need::Write(name, bytes)]));
        }
        pending.merging.files += 1;
    }
    apply(pending, edits, written);
    recount(pending);
    Ok(Settled::Done)
}

/// Each file whose part in ours is written anew, as it stands, with the rows that go; `None`: all of them. `true`: one of ours.
fn touched(pending: &Pending) -> Vec<(Add, Option<RowSet>, bool)> {
    let places = &pending.rows.places;
    let mut files = Vec::new();
    for identity in &places.dirty {
        let Some(Some(add)) = places.standing(identity) else { continue };
        if places.wholes.contains(identity) {
            files.push((add.clone(), None, false));
        } else if let Some(rows) = places.marks.get(identity) {
            files.push((add.clone(), Some(rows.clone()), false));
        }
    }
    for action in &pending.transaction.actions {
        if let Action::Add(add) = action
            && let Some(rows) = places.withheld.get(&*path::identity(&add.path))
            && places.dirty_own.contains(&*path::identity(&add.path))
        {
            files.push((add.clone(), Some(rows.clone()), true));
        }
    }
    files
}

fn edit(add: Add, rows: Option<RowSet>, own: bool, fetched: &Fetched) -> Result<Option<Edit>, DeltaError> {
    let Some(rows) = rows else { return Ok(Some(Edit::Remove(add))) };
    let unreadable = || {
        DeltaError::invalid(
            format!("the rows of {} that landed commits deleted cannot be told", add.path),
            "run the statement again on the newest version",
        )
    };
    let before = match &add.deletion_vector {
        None => RowSet::new(),
        Some(vector) => at_hand(vector, fetched).ok_or_else(unreadable)?,
    };
    let all = before.union(&rows);
    let records = add.num_records().ok_or_else(unreadable)?;
    Ok(match (all.len() >= records, own) {
        (true, false) => Some(Edit::Remove(add)),
        (true, true) => Some(Edit::Withdraw(add)),
        (false, _) if all.len() == before.len() => None,
        (false, false) => Some(Edit::Mark(add, all)),
        (false, true) => Some(Edit::MarkOwn(add, all)),
    })
}

fn apply(pending: &mut Pending, edits: Vec<Edit>, written: Vec<crate::action::DeletionVector>) {
    let data_change = pending.rows.facts.get().is_none_or(|facts| facts.kind != PreciseKind::Layout);
    let removed_ms = removes(&pending.transaction.actions).filter_map(|remove| remove.deletion_timestamp).max();
    let stamp = removed_ms.or(pending.floor_ms).unwrap_or_default();
    let places = &mut pending.rows.places;
    let actions = &mut pending.transaction.actions;
    let dirty = std::mem::take(&mut places.dirty);
    let is_dirty = |raw: &str| dirty.contains(&*path::identity(raw));
    actions.retain(|action| {
        let file = action.as_add().map(|add| &add.path).or_else(|| action.as_remove().map(|remove| &remove.path));
        file.is_none_or(|path| !is_dirty(path))
    });
    places.dirty_own.clear();
    let mut written = written.into_iter();
    for edit in edits {
        match edit {
            Edit::Remove(add) => actions.push(Action::Remove(add.to_remove(stamp, data_change))),
            Edit::Mark(add, _) => {
                let vector = written.next();
                actions.push(Action::Remove(add.to_remove(stamp, data_change)));
                actions.push(Action::Add(under(add, vector, data_change)));
            }
            Edit::MarkOwn(add, _) => {
                let vector = written.next();
                replace(actions, &add.path.clone(), Some(under(add, vector, data_change)));
            }
            Edit::Withdraw(add) => replace(actions, &add.path, None),
        }
    }
    pending.facts = facts::ours(pending.core.as_ref(), &pending.transaction);
}

/// The file under a vector. What its statistics say holds for all its rows, so their bounds are no longer tight.
fn under(add: Add, vector: Option<crate::action::DeletionVector>, data_change: bool) -> Add {
    let loose = stats::loosened(add.stats.as_deref(), add.num_records().unwrap_or_default());
    Add { deletion_vector: vector, stats: Some(Arc::from(loose)), data_change, ..add }
}

fn replace(actions: &mut Vec<Action>, raw: &str, with: Option<Add>) {
    let at = actions.iter().position(|action| matches!(action, Action::Add(add) if *add.path == *raw));
    match (at, with) {
        (Some(at), Some(add)) => actions[at] = Action::Add(add),
        (Some(at), None) => {
            actions.remove(at);
        }
        (None, _) => {}
    }
}
