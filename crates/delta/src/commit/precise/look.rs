//! Rows of data files, where nothing else decides.

use super::judge::missing;
use super::{adds, at_hand, removes};
use crate::Snapshot;
use crate::action::{Add, DeletionVector};
use crate::commit::format::Landed;
use crate::commit::pending::Pending;
use crate::path;
use bytes::Bytes;
use lakebed_commit::{Fetched, ObjectName};
use lakebed_conflict::precise::PreciseFacts;
use lakebed_naming::delta::DataPath;
use lakebed_transaction::{Expr, RowSet, RowsFound, RowsSeen, RowsWanted, SeenRow, UnitId};
use std::collections::HashMap;
use std::fmt::Debug;

/// Bytes of data files that one commit looks at, at most; beyond that ours is refused.
const LOOK_BYTES_MAX: u64 = 128 << 20;

/// Looks at rows of data files. This crate decodes none; whoever does gives it to
/// [`DeltaFormat::with_looker`](crate::DeltaFormat::with_looker).
pub trait LookAtRows: Debug + Send + Sync {
    /// The rows of one file, given whole, for which one of the filters may be TRUE; a filter that cannot be evaluated is TRUE.
    /// Only rows at the positions `only`, where given, and never those in `without`. `values`: whether the rows' values are
    /// compared. `None`: they cannot be read.
    fn rows(&self, file: FileSeen<'_>, filters: &[Expr]) -> Option<Vec<SeenRow>>;
}

/// A file that is looked at.
#[derive(Clone, Copy, Debug)]
pub struct FileSeen<'a> {
    /// The version that ours read, whose columns the file has.
    pub table: &'a Snapshot,
    /// The file as the log describes it.
    pub add: &'a Add,
    /// Its bytes.
    pub bytes: &'a Bytes,
    /// The positions that count; `None`: all.
    pub only: Option<&'a RowSet>,
    /// Positions that do not count.
    pub without: &'a RowSet,
    /// Whether the rows' values are compared.
    pub values: bool,
}

/// What came of a look.
pub(super) enum Look {
    /// These objects must be read first.
    Needs(Vec<ObjectName>),
    /// The answer.
    Seen(RowsSeen),
}

/// Rows of one file that are looked at.
struct Part<'a> {
    unit: &'a UnitId,
    add: Add,
    only: Option<RowSet>,
    came: bool,
}

/// Looks at the rows of a landed commit that are wanted, as [`RowsWanted`] says.
pub(super) fn look(
    pending: &Pending,
    landed: &Landed,
    images: &PreciseFacts,
    wanted: &RowsWanted,
    (fetched, looker): (&Fetched, &dyn LookAtRows),
) -> Look {
    let refused = || Look::Seen(RowsSeen::Refused);
    let Some(table) = pending.rows.table.as_deref() else { return refused() };
    let Some(parts) = parts(pending, table, landed, images, wanted) else { return refused() };
    let mut needs = missing(parts.iter().filter_map(|part| part.add.deletion_vector.clone()), fetched);
    let Some(objects) = parts.iter().map(|part| object(&part.add)).collect::<Option<Vec<_>>>() else {
        return refused();
    };
    let mut bytes = 0_u64;
    for (part, name) in parts.iter().zip(&objects) {
        bytes = bytes.saturating_add(u64::try_from(part.add.size).unwrap_or(u64::MAX));
        if fetched.get(name).is_none() && !needs.contains(name) {
            needs.push(name.clone());
        }
    }
    if bytes > LOOK_BYTES_MAX {
        return refused();
    }
    if !needs.is_empty() {
        return Look::Needs(needs);
    }
    let values = parts.iter().any(|part| part.came) && parts.iter().any(|part| !part.came);
    let (mut went, mut came) = (Vec::new(), Vec::new());
    for (part, name) in parts.iter().zip(&objects) {
        let Some(Some(bytes)) = fetched.get(name) else { return refused() };
        let Some(without) = deleted(part.add.deletion_vector.as_ref(), fetched) else { return refused() };
        let without = if part.only.is_some() { RowSet::new() } else { without };
        let file = FileSeen { table, add: &part.add, bytes, only: part.only.as_ref(), without: &without, values };
        let Some(rows) = looker.rows(file, &wanted.filters) else { return refused() };
        let side = if part.came { &mut came } else { &mut went };
        side.extend(rows.into_iter().map(|row| (part.unit, row)));
    }
    Look::Seen(RowsSeen::Looked(RowsFound::paired(went, came)))
}

/// The files that are wanted, as the log describes them; `None` where one is not known.
fn parts<'a>(
    pending: &Pending,
    table: &Snapshot,
    landed: &Landed,
    images: &PreciseFacts,
    wanted: &'a RowsWanted,
) -> Option<Vec<Part<'a>>> {
    let added: HashMap<UnitId, &Add> = adds(landed.actions()).map(|add| (UnitId::file(&add.path), add)).collect();
    let removed: HashMap<UnitId, _> = removes(landed.actions()).map(|gone| (UnitId::file(&gone.path), gone)).collect();
    let mut parts = Vec::new();
    for unit in &wanted.removed {
        let gone = removed.get(unit)?;
        let since_read = pending.rows.places.standing(&path::identity(&gone.path));
        let add = match since_read {
            Some(add) => add?.clone(),
            None => Add::clone(table.file(&gone.key())?),
        };
        parts.push(Part { unit, add, only: None, came: false });
    }
    for unit in &wanted.shrunk {
        let (_, lost) = images.footprint.rows.iter().find(|(id, _)| id == unit)?;
        parts.push(Part { unit, add: Add::clone(added.get(unit)?), only: Some(lost.clone()), came: false });
    }
    for unit in &wanted.added {
        parts.push(Part { unit, add: Add::clone(added.get(unit)?), only: None, came: true });
    }
    Some(parts)
}

fn object(add: &Add) -> Option<ObjectName> {
    match DataPath::decode(&add.path).ok()? {
        DataPath::Relative(name) => Some(ObjectName::new(name)),
        DataPath::Absolute(_) => None,
    }
}

fn deleted(vector: Option<&DeletionVector>, fetched: &Fetched) -> Option<RowSet> {
    vector.map_or_else(|| Some(RowSet::new()), |vector| at_hand(vector, fetched))
}
