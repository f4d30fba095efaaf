//! Rows of fragments, where nothing else decides.

use super::{at_hand, unread};
use crate::proto::table::DataFragment;
use crate::{Landed, Snapshot};
use bytes::Bytes;
use lakebed_commit::{Fetched, ObjectName};
use lakebed_conflict::precise::PreciseFacts;
use lakebed_transaction::{Expr, RowSet, RowsFound, RowsSeen, RowsWanted, SeenRow, UnitId};
use std::fmt::Debug;
use std::sync::Arc;

/// Bytes of data files that are looked at for one landed version, at most; beyond that ours is refused.
const LOOK_BYTES_MAX: u64 = 128 << 20;

/// Looks at rows of fragments. This crate decodes no data file; whoever does gives it to
/// [`LanceFormat::with_looker`](crate::LanceFormat::with_looker).
pub trait LookAtRows: Debug + Send + Sync {
    /// The rows of one fragment for which one of the filters may be TRUE; a filter that cannot be evaluated is TRUE. Their values
    /// are those of every column of [`FragmentSeen::version`]. `None`: they cannot be read.
    fn rows(&self, fragment: FragmentSeen<'_>, filters: &[Expr]) -> Option<Vec<SeenRow>>;
}

/// A fragment that is looked at.
#[derive(Clone, Debug)]
pub struct FragmentSeen<'a> {
    /// The version in whose columns it is seen, even where the fragment stood in the one before.
    pub version: &'a Arc<Snapshot>,
    /// The fragment.
    pub fragment: &'a DataFragment,
    /// Its data files.
    pub objects: Vec<(ObjectName, Bytes)>,
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

/// Rows of one fragment that are looked at.
struct Part<'a> {
    unit: &'a UnitId,
    stands_in: &'a Snapshot,
    fragment: &'a DataFragment,
    only: Option<&'a RowSet>,
    came: bool,
}

/// Looks at the rows of a landed version that are wanted, as [`RowsWanted`] says.
pub(super) fn look(
    before: &Snapshot,
    landed: &Landed,
    images: &PreciseFacts,
    wanted: &RowsWanted,
    (fetched, looker): (&Fetched, &dyn LookAtRows),
) -> Look {
    let refused = || Look::Seen(RowsSeen::Refused);
    let Some(parts) = parts(before, &landed.snapshot, images, wanted) else { return refused() };
    let Some(objects) = parts.iter().map(objects).collect::<Option<Vec<_>>>() else { return refused() };
    let mut needs = unread(parts.iter().map(|part| (part.stands_in, part.fragment)), fetched);
    let mut bytes = 0_u64;
    for (name, size_bytes) in objects.iter().flatten() {
        bytes = bytes.saturating_add(*size_bytes);
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
    for (part, names) in parts.iter().zip(&objects) {
        let files = names.iter().map(|(name, _)| Some((name.clone(), fetched.get(name)??.clone())));
        let Some(files) = files.collect::<Option<Vec<_>>>() else { return refused() };
        let without =
            if part.only.is_some() { Some(RowSet::new()) } else { at_hand(part.stands_in, part.fragment, fetched) };
        let Some(without) = without else { return refused() };
        let fragment = FragmentSeen {
            version: &landed.snapshot,
            fragment: part.fragment,
            objects: files,
            only: part.only,
            without: &without,
            values,
        };
        let Some(rows) = looker.rows(fragment, &wanted.filters) else { return refused() };
        let side = if part.came { &mut came } else { &mut went };
        side.extend(rows.into_iter().map(|row| (part.unit, row)));
    }
    Look::Seen(RowsSeen::Looked(RowsFound::paired(went, came)))
}

/// The fragments that are wanted; `None` where one is not known.
fn parts<'a>(
    before: &'a Snapshot,
    after: &'a Snapshot,
    images: &'a PreciseFacts,
    wanted: &'a RowsWanted,
) -> Option<Vec<Part<'a>>> {
    let mut parts = Vec::new();
    for unit in &wanted.removed {
        parts.push(Part { unit, stands_in: before, fragment: fragment(before, unit)?, only: None, came: false });
    }
    for unit in &wanted.shrunk {
        let only = images.footprint.rows.iter().find(|(id, _)| id == unit).map(|(_, rows)| rows)?;
        parts.push(Part { unit, stands_in: before, fragment: fragment(before, unit)?, only: Some(only), came: false });
    }
    for unit in &wanted.added {
        parts.push(Part { unit, stands_in: after, fragment: fragment(after, unit)?, only: None, came: true });
    }
    Some(parts)
}

fn fragment<'a>(version: &'a Snapshot, unit: &UnitId) -> Option<&'a DataFragment> {
    match unit {
        UnitId::Fragment(id) => version.fragment(*id),
        UnitId::File { .. } => None,
    }
}

/// The data files of a fragment with their sizes; `None` where one lies elsewhere, or says no size.
fn objects(part: &Part<'_>) -> Option<Vec<(ObjectName, u64)>> {
    let own = |file: &crate::proto::table::DataFile| {
        let size_bytes = (file.base_id.is_none() && file.file_size_bytes > 0).then_some(file.file_size_bytes)?;
        Some((part.stands_in.data_object(file).ok()?, size_bytes))
    };
    if !part.fragment.overlays.is_empty() {
        return None;
    }
    part.fragment.files.iter().map(own).collect()
}
