//! How ours follows versions that were accepted: the base moves, and deletion files of shared fragments are merged.

use crate::pending::{Marked, Merged};
use crate::proto::table::transaction::Operation;
use crate::proto::table::{DataFragment, DeletionFile};
use crate::{LanceError, Landed, Pending, Snapshot, deletion};
use lakebed_commit::{Fetched, Finished, Need, ObjectName};
use lakebed_naming::Version;
use lakebed_naming::lance::{DeletionFileName, DeletionKind};
use lakebed_transaction::{Evidence, Judgement, Reason, RowSet, UnitId, Verdict};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How many rows a conflict names.
const ROWS_LISTED_MAX: usize = 5;

const SAME_ROWS: Reason = Reason {
    check: "same-rows",
    sentence: "both take out the same rows",
    advice: "read the newest version and plan the operation again",
    error_class: None,
};

const ROWS_UNKNOWN: Reason = Reason {
    check: "rows-unknown",
    sentence: "both change one fragment, and which rows ours takes out is not known",
    advice: "read the newest version and plan the operation again",
    error_class: None,
};

const FRAGMENT_CHANGED: Reason = Reason {
    check: "fragment-changed",
    sentence: "a fragment that ours changes is gone or has other files",
    advice: "read the newest version and plan the operation again",
    error_class: None,
};

/// Moves ours behind a landed version, and notes which of its fragments have another deletion file since.
pub(crate) fn follow(pending: &mut Pending, landed: &Landed) -> Result<(), LanceError> {
    let base = check_next(pending, landed)?;
    if takes_rows(pending) {
        for id in pending.read_fragments.keys() {
            let deleted = |snapshot: &Snapshot| snapshot.fragment(*id).map(|fragment| fragment.deletion_file);
            if deleted(&base) != deleted(&landed.snapshot) {
                let mark = Marked { by: landed.version(), landed: landed.describe(), merged: None };
                pending.marked.insert(*id, mark);
            }
        }
    }
    move_on(pending, landed)
}

/// The version that landed follows, which must be the one that ours follows so far.
fn check_next(pending: &Pending, landed: &Landed) -> Result<Arc<Snapshot>, LanceError> {
    let Some(base) = pending.base.as_ref() else {
        return Err(invalid("a table is created only where there is none", "open the table that is there"));
    };
    if base.version().next() != Some(landed.version()) {
        return Err(invalid(
            &format!("version {} does not follow version {}", landed.version(), base.version()),
            "read the newest version and plan the operation again; versions between may have been cleaned away",
        ));
    }
    Ok(Arc::clone(base))
}

/// Puts ours on a landed version.
pub(crate) fn move_on(pending: &mut Pending, landed: &Landed) -> Result<(), LanceError> {
    check_next(pending, landed)?;
    crate::coverage::follow(&mut pending.message, landed);
    pending.base = Some(Arc::clone(&landed.snapshot));
    Ok(())
}

/// Merges the deletion files of fragments that changed on both sides, and raises the read version of a Delete or Update: such
/// a transaction says what it does to the newest version.
pub(crate) fn finish(pending: &mut Pending, fetched: &Fetched) -> Result<Finished, LanceError> {
    let Some(base) = pending.base.clone().filter(|_| takes_rows(pending)) else { return Ok(Finished::Ready) };
    if base.version().get() == pending.message.read_version {
        return Ok(Finished::Ready);
    }
    if let Some(conflict) = check_files(pending, &base) {
        return Ok(conflict);
    }
    let mut needs = Vec::new();
    let marked: Vec<u64> = pending.marked.keys().copied().collect();
    for id in marked {
        match merge(pending, &base, id, fetched)? {
            Step::Done => {}
            Step::Needs(need) => needs.push(need),
            Step::Conflict(why) => {
                let (with, landed) = changed_by(pending, id, base.version());
                return Ok(Finished::Conflict { with, landed, why });
            }
        }
    }
    if !needs.is_empty() {
        return Ok(Finished::Needs(needs));
    }
    apply(pending, &base);
    Ok(Finished::Ready)
}

/// Only a Delete and an Update take rows out of fragments.
pub(crate) const fn takes_rows(pending: &Pending) -> bool {
    matches!(pending.message.operation, Some(Operation::Delete(_) | Operation::Update(_)))
}

fn changed_by(pending: &Pending, id: u64, newest: Version) -> (Version, String) {
    match pending.marked.get(&id) {
        Some(mark) => (mark.by, mark.landed.clone()),
        None => (newest, "changes up to it".to_owned()),
    }
}

/// Whatever the policy accepted: ours can only be put on fragments that are there, with the files that it read.
pub(crate) fn check_files(pending: &Pending, base: &Snapshot) -> Option<Finished> {
    let replaces_files = matches!(pending.message.operation, Some(Operation::Update(_)));
    let changed = pending.read_fragments.iter().find(|(id, read)| match base.fragment(**id) {
        None => true,
        Some(now) => replaces_files && now.files != read.files,
    });
    let (id, _) = changed?;
    let (with, landed) = changed_by(pending, *id, base.version());
    let evidence = Some(Evidence::Units(vec![UnitId::Fragment(*id)]));
    Some(Finished::Conflict { with, landed, why: Judgement::by(Verdict::Retryable, FRAGMENT_CHANGED, evidence) })
}

enum Step {
    Done,
    Needs(Need),
    Conflict(Judgement),
}

/// Brings one marked fragment as far as what was fetched allows.
fn merge(pending: &mut Pending, base: &Snapshot, id: u64, fetched: &Fetched) -> Result<Step, LanceError> {
    let written = pending.marked.get(&id).and_then(|mark| mark.merged.as_ref());
    if let Some(merged) = written.filter(|merged| merged.on == base.version()) {
        if fetched.is_written(&merged.name) {
            return Ok(Step::Done);
        }
        return Ok(Step::Needs(Need::Write(merged.name.clone(), merged.bytes.clone())));
    }
    let Some(fragment) = base.fragment(id) else { return Ok(Step::Done) };
    let Some(ours) = pending.affected.as_ref().and_then(|affected| affected.get(&id)).cloned() else {
        let evidence = Some(Evidence::Units(vec![UnitId::Fragment(id)]));
        return Ok(Step::Conflict(Judgement::by(Verdict::Retryable, ROWS_UNKNOWN, evidence)));
    };
    let current = match deleted_rows(base, fragment, fetched)? {
        Ok(rows) => rows,
        Err(object) => return Ok(Step::Needs(Need::Read(object))),
    };
    let both = current.intersection(&ours);
    if !both.is_empty() {
        let listed = both.iter().take(ROWS_LISTED_MAX).collect();
        let evidence = Some(Evidence::Rows(UnitId::Fragment(id), listed));
        return Ok(Step::Conflict(Judgement::by(Verdict::Retryable, SAME_ROWS, evidence)));
    }
    let union = current.union(&ours);
    if removed(pending).contains(&id) {
        return Ok(Step::Done);
    }
    if union.len() == fragment.physical_rows {
        remove(pending, id);
        return Ok(Step::Done);
    }
    let name = DeletionFileName {
        fragment: id,
        read_version: base.version(),
        id: pending.next_id(),
        kind: DeletionKind::Bitmap,
    };
    let merged = Merged::of(base.version(), &name, &union)?;
    let need = Need::Write(merged.name.clone(), merged.bytes.clone());
    if let Some(mark) = pending.marked.get_mut(&id) {
        mark.merged = Some(merged);
    }
    Ok(Step::Needs(need))
}

/// The rows that the newest version deletes of the fragment, or the object that says so and was not read yet.
fn deleted_rows(
    base: &Snapshot,
    fragment: &DataFragment,
    fetched: &Fetched,
) -> Result<Result<RowSet, ObjectName>, LanceError> {
    let (Some(object), Some(file)) = (base.deletion_object(fragment)?, &fragment.deletion_file) else {
        return Ok(Ok(RowSet::new()));
    };
    let Some(answer) = fetched.get(&object) else { return Ok(Err(object)) };
    let bytes = answer.ok_or_else(|| LanceError::Damaged {
        object: object.to_string(),
        problem: format!("it is gone although version {} names it", base.version()),
        advice: "restore the object, or restore an earlier version of the table".to_owned(),
    })?;
    let rows = (fragment.physical_rows > 0).then_some(fragment.physical_rows);
    deletion::decode(object.as_str(), deletion::kind_of(object.as_str(), file)?, bytes, rows).map(Ok)
}

/// The fragments that ours removes whole.
fn removed(pending: &Pending) -> BTreeSet<u64> {
    if let Some(Operation::Delete(delete)) = &pending.message.operation {
        return delete.deleted_fragment_ids.iter().copied().collect();
    }
    if let Some(Operation::Update(update)) = &pending.message.operation {
        return update.removed_fragment_ids.iter().copied().collect();
    }
    BTreeSet::new()
}

/// No row of the fragment is left: it goes as a whole. Its entry among the updated fragments stays and counts for nothing.
fn remove(pending: &mut Pending, id: u64) {
    if let Some(Operation::Delete(delete)) = &mut pending.message.operation {
        delete.deleted_fragment_ids.push(id);
    } else if let Some(Operation::Update(update)) = &mut pending.message.operation {
        update.removed_fragment_ids.push(id);
    }
}

fn apply(pending: &mut Pending, base: &Snapshot) {
    let marked = std::mem::take(&mut pending.marked);
    let entry = |id: u64| -> Option<DeletionFile> { Some(marked.get(&id)?.merged.as_ref()?.entry) };
    let updated = match &mut pending.message.operation {
        Some(Operation::Delete(delete)) => delete.updated_fragments.as_mut_slice(),
        Some(Operation::Update(update)) => update.updated_fragments.as_mut_slice(),
        Some(
            Operation::Append(_)
            | Operation::Overwrite(_)
            | Operation::CreateIndex(_)
            | Operation::Rewrite(_)
            | Operation::Merge(_)
            | Operation::Restore(_)
            | Operation::ReserveFragments(_)
            | Operation::Project(_)
            | Operation::UpdateConfig(_)
            | Operation::DataReplacement(_)
            | Operation::UpdateMemWalState(_)
            | Operation::Clone(_)
            | Operation::UpdateBases(_)
            | Operation::DataOverlay(_),
        )
        | None => &mut [],
    };
    for fragment in updated {
        if let Some(file) = entry(fragment.id) {
            fragment.deletion_file = Some(file);
        }
    }
    pending.message.read_version = base.version().get();
    pending.capture();
}

fn invalid(problem: &str, advice: &str) -> LanceError {
    LanceError::Invalid { problem: problem.to_owned(), advice: advice.to_owned() }
}
