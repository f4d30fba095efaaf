//! Row ids and row versions of fragments that are put in or changed.

use super::fragments::{invalid, used_up};
use crate::LanceError;
use crate::proto::table::data_fragment::{CreatedAtVersionSequence, LastUpdatedAtVersionSequence, RowIdSequence};
use crate::proto::table::transaction::Update;
use crate::proto::table::{DataFragment, Manifest};
use crate::row_ids::{RowIds, RowVersions};
use roaring::RoaringBitmap;

/// Completes what new fragments say of their rows: rows without an id are new and get the next ids; rows that have one are as
/// old as where they came from; all were last changed now.
pub(super) fn complete(manifest: &mut Manifest, new: &mut [DataFragment]) -> Result<(), LanceError> {
    let version = manifest.version;
    let mut origins: Option<Origins> = None;
    for fragment in new {
        let rows = fragment.physical_rows;
        let (ids, known) = match &fragment.row_id_sequence {
            None => (RowIds::default(), 0),
            Some(RowIdSequence::InlineRowIds(bytes)) => {
                let ids = RowIds::decode(bytes).ok_or_else(|| bad_ids("cannot be read"))?;
                let known = ids.len();
                (ids, known)
            }
            Some(RowIdSequence::ColumnRowIds(_)) => return Err(bad_ids("stand in a data file")),
        };
        let missing = rows.checked_sub(known).ok_or_else(|| bad_ids("are more than its rows"))?;
        if fragment.created_at_version_sequence.is_none() {
            let mut created = RowVersions::default();
            if known > 0 {
                let origins = origins.get_or_insert_with(|| Origins::new(&manifest.fragments));
                ids.iter().for_each(|id| created.push(origins.created_at(id).unwrap_or(version), 1));
            }
            created.push(version, missing);
            fragment.created_at_version_sequence =
                Some(CreatedAtVersionSequence::InlineCreatedAtVersions(created.encode()));
        }
        if fragment.last_updated_at_version_sequence.is_none() {
            fragment.last_updated_at_version_sequence = Some(updated_at(&RowVersions::of(version, rows)));
        }
        if missing > 0 || fragment.row_id_sequence.is_none() {
            let mut ids = ids;
            ids.extend(manifest.next_row_id, missing).ok_or_else(used_up)?;
            manifest.next_row_id = manifest.next_row_id.checked_add(missing).ok_or_else(used_up)?;
            fragment.row_id_sequence = Some(RowIdSequence::InlineRowIds(ids.encode()));
        }
    }
    Ok(())
}

/// Rows of a fragment that changed in place were last changed now: those that the Update names.
pub(super) fn touch(fragment: &mut DataFragment, update: &Update, version: u64) -> Result<(), LanceError> {
    let mut rows = RoaringBitmap::new();
    if let Some(offsets) = update.updated_fragment_offsets.get(&fragment.id) {
        rows.extend(offsets.values.iter().copied());
    }
    if let Some(bytes) = update.updated_fragment_offset_bitmaps.get(&fragment.id) {
        rows |= RoaringBitmap::deserialize_from(bytes.as_ref())
            .map_err(|_| invalid("the rows that an Update changed cannot be read", "build the Update again"))?;
    }
    touch_rows(fragment, &rows, version)
}

/// These rows of the fragment were last changed now.
pub(super) fn touch_rows(fragment: &mut DataFragment, rows: &RoaringBitmap, version: u64) -> Result<(), LanceError> {
    if rows.is_empty() {
        return Ok(());
    }
    let before = last_updated(fragment)?;
    fragment.last_updated_at_version_sequence = Some(updated_at(&before.with(rows, version)));
    Ok(())
}

/// Every row of the fragment was last changed now.
pub(super) fn touch_all(fragment: &mut DataFragment, version: u64) {
    fragment.last_updated_at_version_sequence = Some(updated_at(&RowVersions::of(version, fragment.physical_rows)));
}

/// Whether the fragment's rows all had ids before, so that none of them is new.
pub(super) fn is_moved(fragment: &DataFragment) -> bool {
    match &fragment.row_id_sequence {
        Some(RowIdSequence::InlineRowIds(bytes)) => {
            RowIds::decode(bytes).is_some_and(|ids| ids.len() == fragment.physical_rows)
        }
        Some(RowIdSequence::ColumnRowIds(_)) | None => false,
    }
}

fn updated_at(versions: &RowVersions) -> LastUpdatedAtVersionSequence {
    LastUpdatedAtVersionSequence::InlineLastUpdatedAtVersions(versions.encode())
}

fn last_updated(fragment: &DataFragment) -> Result<RowVersions, LanceError> {
    let found = match &fragment.last_updated_at_version_sequence {
        Some(LastUpdatedAtVersionSequence::InlineLastUpdatedAtVersions(bytes)) => RowVersions::decode(bytes),
        Some(LastUpdatedAtVersionSequence::ColumnLastUpdatedAtVersions(_)) => None,
        // Tables from before row versions: their rows count as changed when the table began.
        None => Some(RowVersions::of(1, fragment.physical_rows)),
    };
    found.ok_or_else(|| {
        invalid(&format!("the row versions of fragment {} cannot be read", fragment.id), "compact the table")
    })
}

/// Where rows come from.
struct Origins {
    fragments: Vec<(RowIds, RowVersions)>,
    last: usize,
}

impl Origins {
    fn new(fragments: &[DataFragment]) -> Self {
        let fragments = fragments.iter().filter_map(|fragment| {
            let ids = match fragment.row_id_sequence.as_ref()? {
                RowIdSequence::InlineRowIds(bytes) => RowIds::decode(bytes)?,
                RowIdSequence::ColumnRowIds(_) => return None,
            };
            let created = match fragment.created_at_version_sequence.as_ref()? {
                CreatedAtVersionSequence::InlineCreatedAtVersions(bytes) => RowVersions::decode(bytes)?,
                CreatedAtVersionSequence::ColumnCreatedAtVersions(_) => return None,
            };
            Some((ids, created))
        });
        Self { fragments: fragments.collect(), last: 0 }
    }

    /// The version that created the row. A row that moved stands in several fragments, with the same version in each, so the
    /// one that had the row before is asked first.
    fn created_at(&mut self, id: u64) -> Option<u64> {
        let find = |(ids, created): &(RowIds, RowVersions)| created.at(ids.position(id)?);
        if let Some(version) = self.fragments.get(self.last).and_then(find) {
            return Some(version);
        }
        let (at, version) = self.fragments.iter().enumerate().find_map(|(at, entry)| Some((at, find(entry)?)))?;
        self.last = at;
        Some(version)
    }
}

fn bad_ids(problem: &str) -> LanceError {
    invalid(&format!("the row ids of a new fragment {problem}"), "write them inline, one for each row that is not new")
}
