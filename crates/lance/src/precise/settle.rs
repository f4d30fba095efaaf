//! Writing the message of ours anew, where the rows that it takes out stand elsewhere or beside other deleted rows by now.

use super::{DeletedRows, deleted_rows, layout, ours};
use crate::pending::Merged;
use crate::proto::table::transaction::Operation;
use crate::proto::table::{DataFragment, DeletionFile};
use crate::rebase::{check_files, takes_rows};
use crate::{LanceError, Pending, Snapshot, deletion};
use lakebed_commit::{Fetched, Finished, Need, ObjectName};
use lakebed_naming::lance::{DeletionFileName, DeletionKind};
use lakebed_transaction::RowSet;
use std::sync::Arc;

/// What becomes of a fragment.
enum Edit {
    /// It stays with this deletion file.
    Mark(u64, Option<DeletionFile>),
    /// No row of it is left.
    Remove(u64),
    /// The rows that ours takes out are gone already.
    Nothing,
}

/// Writes the part of ours anew that landed versions touched, and raises the read version of a Delete or Update: such a transaction
/// says what it does to the newest version.
pub(crate) fn settle(pending: &mut Pending, fetched: &Fetched) -> Result<Finished, LanceError> {
    if let Some(obstacle) = &pending.rows.obstacle {
        let (with, landed, why) = (obstacle.with, obstacle.landed.clone(), obstacle.why.clone());
        return Ok(Finished::Conflict { with, landed, why });
    }
    if let (Some(Operation::Rewrite(_)), Some(base)) = (&pending.message.operation, pending.base.clone()) {
        return layout::settle(pending, &base, fetched);
    }
    let Some(base) = pending.base.clone().filter(|_| takes_rows(pending)) else { return Ok(Finished::Ready) };
    if base.version().get() == pending.message.read_version {
        return Ok(Finished::Ready);
    }
    let in_rows = pending.rows.facts.get().is_some_and(|facts| facts.copied_units.is_empty());
    if !in_rows && let Some(conflict) = check_files(pending, &base) {
        return Ok(conflict);
    }
    if in_rows {
        let needs = edited(pending, &base, fetched)?;
        if !needs.is_empty() {
            return Ok(Finished::Needs(needs));
        }
    }
    pending.message.read_version = base.version().get();
    pending.capture();
    Ok(Finished::Ready)
}

/// Makes the fragments of ours anew, or says what must be read or written first.
fn edited(pending: &mut Pending, base: &Arc<Snapshot>, fetched: &Fetched) -> Result<Vec<Need>, LanceError> {
    let marks = pending.rows.marks.clone().unwrap_or_default();
    let (mut edits, mut needs) = (Vec::new(), Vec::new());
    for (id, rows) in &marks {
        if !pending.rows.dirty.contains(id) {
            edits.push(as_before(pending, *id));
            continue;
        }
        match edit(pending, base, (*id, rows), fetched)? {
            Ok(edit) => edits.push(edit),
            Err(need) => needs.push(need),
        }
    }
    if needs.is_empty() {
        apply(pending, base, edits);
        pending.rows.dirty.clear();
        pending.rows.merged.clear();
    }
    Ok(needs)
}

/// The part of ours in a fragment that nobody else touched.
fn as_before(pending: &Pending, id: u64) -> Edit {
    let (updated, removed) = ours::changed_fragments(&pending.message);
    if removed.contains(&id) {
        return Edit::Remove(id);
    }
    match updated.iter().find(|fragment| fragment.id == id) {
        Some(fragment) => Edit::Mark(id, fragment.deletion_file),
        None => Edit::Nothing,
    }
}

fn edit(
    pending: &mut Pending,
    base: &Snapshot,
    (id, rows): (u64, &RowSet),
    fetched: &Fetched,
) -> Result<Result<Edit, Need>, LanceError> {
    let Some(fragment) = base.fragment(id) else { return Ok(Ok(Edit::Nothing)) };
    let current = match deleted_rows(base, fragment, fetched) {
        DeletedRows::Known(rows) => rows,
        DeletedRows::In(object) => return Ok(Err(Need::Read(object))),
        DeletedRows::Lost => return Err(lost(base, id)),
    };
    let all = current.union(rows);
    if all.len() == current.len() {
        return Ok(Ok(Edit::Nothing));
    }
    if all.len() == fragment.physical_rows {
        return Ok(Ok(Edit::Remove(id)));
    }
    let known = pending.rows.merged.get(&id).filter(|merged| merged.on == base.version()).cloned();
    let merged = match known {
        Some(merged) => merged,
        None => {
            let name = DeletionFileName {
                fragment: id,
                read_version: base.version(),
                id: pending.next_id(),
                kind: DeletionKind::Bitmap,
            };
            let merged = Merged::of(base.version(), &name, &all)?;
            pending.rows.merged.insert(id, merged.clone());
            merged
        }
    };
    if fetched.is_written(&merged.name) {
        return Ok(Ok(Edit::Mark(id, Some(merged.entry))));
    }
    Ok(Err(Need::Write(merged.name, merged.bytes)))
}

fn apply(pending: &mut Pending, base: &Snapshot, edits: Vec<Edit>) {
    let (mut updated, mut removed) = (Vec::new(), Vec::new());
    for edit in edits {
        match edit {
            Edit::Mark(id, deletion_file) => {
                let fragment = base.fragment(id).cloned();
                updated.extend(fragment.map(|fragment| DataFragment { deletion_file, ..fragment }));
            }
            Edit::Remove(id) => removed.push(id),
            Edit::Nothing => {}
        }
    }
    if let Some(Operation::Delete(delete)) = &mut pending.message.operation {
        (delete.updated_fragments, delete.deleted_fragment_ids) = (updated, removed);
    } else if let Some(Operation::Update(update)) = &mut pending.message.operation {
        (update.updated_fragments, update.removed_fragment_ids) = (updated, removed);
    }
}

pub(super) fn lost(base: &Snapshot, fragment: u64) -> LanceError {
    LanceError::Damaged {
        object: format!("the deletion file of fragment {fragment}"),
        problem: format!("it is gone or cannot be decoded, although version {} names it", base.version()),
        advice: "restore the object, or restore an earlier version of the table".to_owned(),
    }
}

impl Merged {
    /// A deletion file of these rows for a fragment as it stands in a version.
    pub(crate) fn of(on: lakebed_naming::Version, name: &DeletionFileName, rows: &RowSet) -> Result<Self, LanceError> {
        Ok(Self {
            on,
            entry: deletion::entry(name, rows.len()),
            bytes: deletion::encode(name.kind, rows)?,
            name: ObjectName::new(name.path()),
        })
    }
}
