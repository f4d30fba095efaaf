//! Deletion vectors of ours merged with those that landed, so that both sides' rows are deleted.
//!
//! A policy that lets ours follow a commit which put another vector on the same file has seen that the two delete different
//! rows. Then ours takes out the file under the landed vector and puts it in under the union; the rows that ours deletes stay
//! those that it planned.

use super::format::Landed;
use super::pending::{Pending, Transaction};
use crate::DeltaError;
use crate::action::{Action, Add, DeletionVector};
use crate::deletion_vector::{VectorFile, VectorPlace, decode, decode_framed, place};
use crate::{path, stats};
use bytes::Bytes;
use lakebed_commit::{Fetched, ObjectName};
use lakebed_naming::{Uuid, Version};
use lakebed_transaction::{Judgement, Reason, RowSet, UnitId, Verdict};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Rows of one file that ours deletes by a deletion vector.
#[derive(Clone, Debug, PartialEq)]
pub struct RowChange {
    /// The file, by its path as the log spells it.
    pub path: Arc<str>,
    /// The rows that ours deletes, without those that were deleted before.
    pub deleted: RowSet,
}

/// What is to be merged, and what was.
#[derive(Clone, Debug, Default)]
pub(super) struct Merging {
    /// By path: the file as it landed last, and its deleted rows.
    landed: BTreeMap<Arc<str>, (Add, RowSet)>,
    /// How many files of merged vectors were named.
    pub(super) files: u32,
    /// Ours cannot follow after all.
    pub(super) obstacle: Option<Obstacle>,
}

/// Why ours cannot follow a landed commit.
#[derive(Clone, Debug)]
pub(super) struct Obstacle {
    pub(super) with: Version,
    pub(super) why: Judgement,
}

const SAME_ROW: Reason = Reason {
    check: "same-row-deleted",
    sentence: "landed deleted a row that ours deletes, too",
    advice: "run the statement again on the newest version",
    error_class: Some("DELTA_CONCURRENT_DELETE_DELETE"),
};

const FILE_GONE: Reason = Reason {
    check: "file-rewritten",
    sentence: "landed took out a file of which ours deletes rows",
    advice: "run the statement again on the newest version",
    error_class: Some("DELTA_CONCURRENT_DELETE_READ"),
};

/// What a landed commit did to the rows of one file that ours changes, too.
struct Meeting {
    /// The file as it stands now.
    add: Add,
    /// Its deleted rows.
    rows: RowSet,
}

/// Takes in the vectors that a landed commit put on files which ours marks, too; the objects that must be read first, if any.
pub(super) fn follow(pending: &mut Pending, landed: &Landed, fetched: &Fetched) -> Result<Vec<ObjectName>, DeltaError> {
    let mut needs = Vec::new();
    let mut met = Vec::new();
    for change in &pending.transaction.row_changes {
        let Some((removed, added)) = touched(landed, &change.path) else { continue };
        if !removed {
            continue;
        }
        let Some(add) = added else {
            met.push((Arc::clone(&change.path), Err(FILE_GONE)));
            continue;
        };
        match rows_of(add.deletion_vector.as_ref(), fetched)? {
            Ok(rows) if rows.is_disjoint(&change.deleted) => {
                met.push((Arc::clone(&change.path), Ok(Meeting { add: add.clone(), rows })));
            }
            Ok(_) => met.push((Arc::clone(&change.path), Err(SAME_ROW))),
            Err(name) => needs.push(name),
        }
    }
    if !needs.is_empty() {
        return Ok(needs);
    }
    for (path, meeting) in met {
        match meeting {
            Ok(Meeting { add, rows }) => {
                pending.merging.landed.insert(path, (add, rows));
            }
            Err(reason) => {
                let why = Judgement::by(Verdict::Retryable, reason, None);
                pending.merging.obstacle = Some(Obstacle { with: landed.version(), why });
            }
        }
    }
    Ok(Vec::new())
}

/// Whether a landed commit took the file out, and under which entry it put it in again.
fn touched<'a>(landed: &'a Landed, raw: &str) -> Option<(bool, Option<&'a Add>)> {
    let identity = path::identity(raw);
    let removed =
        landed.actions().iter().filter_map(Action::as_remove).any(|remove| path::identity(&remove.path) == identity);
    let added = landed.actions().iter().filter_map(Action::as_add).find(|add| path::identity(&add.path) == identity);
    (removed || added.is_some()).then_some((removed, added))
}

/// The rows that a vector deletes, or the object that must be read first.
pub(super) fn rows_of(
    vector: Option<&DeletionVector>,
    fetched: &Fetched,
) -> Result<Result<RowSet, ObjectName>, DeltaError> {
    let Some(vector) = vector else { return Ok(Ok(RowSet::new())) };
    match place(vector)? {
        VectorPlace::Inline(bytes) => decode(vector, &bytes).map(Ok),
        VectorPlace::Object { object, range } => {
            let name = ObjectName::new(object);
            let Some(bytes) = fetched.get(&name) else { return Ok(Err(name)) };
            let framed = bytes.and_then(|bytes| slice(bytes, range));
            let framed = framed.ok_or_else(|| DeltaError::Damaged {
                object: name.as_str().to_owned(),
                problem: "the deletion vector that landed is not there".to_owned(),
                advice: "restore the file, or read an earlier version".to_owned(),
            })?;
            decode_framed(vector, &framed).map(Ok)
        }
        VectorPlace::Elsewhere { uri, .. } => Err(DeltaError::Unsupported {
            object: "following a commit".to_owned(),
            feature: format!("the deletion vector {uri} outside of the table"),
            advice: "run the statement again on the newest version".to_owned(),
        }),
    }
}

fn slice(bytes: &Bytes, range: std::ops::Range<u64>) -> Option<Bytes> {
    let (start, end) = (usize::try_from(range.start).ok()?, usize::try_from(range.end).ok()?);
    (start <= end && end <= bytes.len()).then(|| bytes.slice(start..end))
}

/// What a landed commit did to rows of files that ours marks, too.
#[derive(Clone, Debug, PartialEq)]
pub enum LandedRows {
    /// The rows that it newly deleted, by file.
    Known(Vec<(UnitId, RowSet)>),
    /// These objects must be read first.
    Needs(Vec<ObjectName>),
}

/// Rows that a landed commit newly deleted in the files which ours marks, too, for a policy that asks; or what must be read first.
///
/// # Errors
/// A vector is damaged.
pub fn landed_rows(transaction: &Transaction, landed: &Landed, fetched: &Fetched) -> Result<LandedRows, DeltaError> {
    let (mut rows, mut needs) = (Vec::new(), Vec::new());
    for change in &transaction.row_changes {
        let Some((_, Some(add))) = touched(landed, &change.path) else { continue };
        let identity = path::identity(&change.path);
        let mut removes = landed.actions().iter().filter_map(Action::as_remove);
        let before = removes.find(|remove| path::identity(&remove.path) == identity);
        let before = before.and_then(|remove| remove.deletion_vector.as_ref());
        match (rows_of(add.deletion_vector.as_ref(), fetched)?, rows_of(before, fetched)?) {
            (Ok(after), Ok(before)) => rows.push((UnitId::file(&change.path), after.difference(&before))),
            (after, before) => needs.extend([after.err(), before.err()].into_iter().flatten()),
        }
    }
    Ok(if needs.is_empty() { LandedRows::Known(rows) } else { LandedRows::Needs(needs) })
}

/// The file of merged vectors that must be written before ours can be rendered; `None` where there is nothing to merge.
pub(super) fn merged_file(pending: &Pending) -> Result<Option<(ObjectName, Bytes)>, DeltaError> {
    let merges = merges(pending);
    if merges.is_empty() {
        return Ok(None);
    }
    let (object, bytes) = write(pending, &merges)?.0;
    Ok(Some((ObjectName::new(object), bytes)))
}

/// Puts the merged vectors into the actions of ours, once their file is written.
pub(super) fn apply(pending: &mut Pending) -> Result<(), DeltaError> {
    let merges = merges(pending);
    let (_, vectors) = write(pending, &merges)?;
    for ((landed, rows), vector) in merges.iter().zip(vectors) {
        let identity = path::identity(&landed.path).into_owned();
        let all = landed.num_records().is_some_and(|records| rows.len() >= records);
        let count = landed.num_records().unwrap_or(0);
        pending.transaction.actions.retain_mut(|action| match action {
            Action::Remove(remove) if path::identity(&remove.path) == identity => {
                remove.deletion_vector.clone_from(&landed.deletion_vector);
                remove.base_row_id = landed.base_row_id;
                remove.default_row_commit_version = landed.default_row_commit_version;
                true
            }
            Action::Add(add) if path::identity(&add.path) == identity => {
                let loose = stats::loosened(landed.stats.as_deref(), count);
                *add = Add {
                    deletion_vector: Some(vector.clone()),
                    stats: Some(Arc::from(loose)),
                    data_change: true,
                    ..landed.clone()
                };
                !all
            }
            Action::Remove(_)
            | Action::Add(_)
            | Action::Cdc(_)
            | Action::Metadata(_)
            | Action::Protocol(_)
            | Action::Txn(_)
            | Action::Domain(_)
            | Action::CommitInfo(_)
            | Action::CheckpointMetadata(_)
            | Action::Sidecar(_) => true,
        });
    }
    pending.merging.landed.clear();
    pending.merging.files += 1;
    Ok(())
}

/// The files to be merged, each with all its deleted rows.
fn merges(pending: &Pending) -> Vec<(Add, RowSet)> {
    let merged = |change: &RowChange| {
        let (add, rows) = pending.merging.landed.get(&change.path)?;
        Some((add.clone(), rows.union(&change.deleted)))
    };
    pending.transaction.row_changes.iter().filter_map(merged).collect()
}

type Written = ((String, Bytes), Vec<DeletionVector>);

fn write(pending: &Pending, merges: &[(Add, RowSet)]) -> Result<Written, DeltaError> {
    let mut file = VectorFile::new(name(pending));
    let vectors = merges.iter().map(|(_, rows)| file.push(rows)).collect::<Result<Vec<_>, _>>()?;
    Ok((file.finish(), vectors))
}

/// A name for the next file of merged vectors, drawn from the transaction's own random id, so that each is its own.
pub(super) fn name(pending: &Pending) -> Uuid {
    let text = format!("{}/{}", pending.transaction.id.as_str(), pending.merging.files);
    let half = |seed: u64| {
        text.bytes().fold(seed, |hash, byte| {
            let mixed = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            mixed ^ (mixed >> 29)
        })
    };
    let (high, low) = (half(0xcbf2_9ce4_8422_2325), half(0x9e37_79b9_7f4a_7c15));
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&high.to_be_bytes());
    bytes[8..].copy_from_slice(&low.to_be_bytes());
    Uuid::from_random(bytes)
}
