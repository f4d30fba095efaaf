//! Fragments, rows, cells and keys.

use crate::Snapshot;
use crate::proto::table::data_overlay_file::Coverage;
use crate::proto::table::transaction::key_existence_filter::Data;
use crate::proto::table::transaction::{
    DataOverlay, DataReplacement, Delete, KeyExistenceFilter, Update, UpdateMode as WireMode,
};
use crate::proto::table::{DataFile, DataFragment, DataOverlayFile};
use lakebed_conflict::lance::{FileList, KeyFilter, KeySet, LanceFacts, OverlayFacts, UpdateFacts, UpdateMode};
use lakebed_transaction::{RowSet, Unit, UnitId};
use prost::Message as _;
use roaring::RoaringBitmap;
use std::collections::BTreeMap;

/// Fragments that are put in.
pub(super) fn units(fragments: &[DataFragment], data_change: bool) -> Vec<Unit> {
    let one = |fragment: &DataFragment| Unit {
        row_count: (fragment.physical_rows > 0).then_some(fragment.physical_rows),
        data_change,
        ..Unit::named(UnitId::Fragment(fragment.id))
    };
    fragments.iter().map(one).collect()
}

/// A Delete.
pub(super) fn delete(facts: &mut LanceFacts, delete: &Delete, base: Option<&Snapshot>) {
    modify(facts, &delete.updated_fragments, &delete.deleted_fragment_ids, base);
}

/// An Update.
pub(super) fn update(facts: &mut LanceFacts, update: &Update, base: Option<&Snapshot>) {
    modify(facts, &update.updated_fragments, &update.removed_fragment_ids, base);
    let mode = match update.update_mode() {
        WireMode::RewriteRows => UpdateMode::RewriteRows,
        WireMode::RewriteColumns => UpdateMode::RewriteColumns,
    };
    let fields_modified: Vec<i64> = update.fields_modified.iter().map(|field| i64::from(*field)).collect();
    facts.relies_on_nullability = true;
    facts.footprint.added_units = units(&update.new_fragments, true);
    facts.footprint.rows = offsets(update);
    if mode == UpdateMode::RewriteColumns {
        facts.footprint.columns.clone_from(&fields_modified);
    }
    super::index::take_shards(facts, &update.compacted_sstables);
    let inserted_rows = update.inserted_rows.as_ref().map(key_filter);
    facts.update = Some(UpdateFacts { mode, fields_modified, inserted_rows });
}

/// A DataReplacement.
pub(super) fn replacement(facts: &mut LanceFacts, replacement: &DataReplacement) {
    facts.relies_on_nullability = true;
    let fields = |file: &Option<DataFile>| file.as_ref().map_or_else(Vec::new, live_fields);
    facts.replacements = replacement.replacements.iter().map(|it| (it.fragment_id, fields(&it.new_file))).collect();
    facts.footprint.updated_units = facts.replacements.iter().map(|(id, _)| UnitId::Fragment(*id)).collect();
    facts.footprint.columns = facts.replacements.iter().flat_map(|(_, fields)| fields.iter().copied()).collect();
    tidy_columns(facts);
}

/// A DataOverlay.
pub(super) fn overlay(facts: &mut LanceFacts, overlay: &DataOverlay) {
    facts.relies_on_nullability = true;
    for group in &overlay.groups {
        for file in &group.overlays {
            cells(group.fragment_id, file, &mut facts.overlays);
        }
    }
    facts.footprint.updated_units = overlay.groups.iter().map(|group| UnitId::Fragment(group.fragment_id)).collect();
    facts.footprint.columns = facts.overlays.iter().map(|cells| cells.field).collect();
    tidy_columns(facts);
}

fn tidy_columns(facts: &mut LanceFacts) {
    facts.footprint.columns.sort_unstable();
    facts.footprint.columns.dedup();
}

/// Fragments that stay with other rows or columns, and fragments that go.
fn modify(facts: &mut LanceFacts, updated: &[DataFragment], removed: &[u64], base: Option<&Snapshot>) {
    let read = |id: u64| base.and_then(|base| base.fragment(id)).map(|fragment| (id, files(fragment)));
    let by_id = |lists: Vec<(u64, FileList)>| {
        let mut lists = lists;
        lists.sort_by_key(|(id, _)| *id);
        lists
    };
    facts.files_written = by_id(updated.iter().map(|fragment| (fragment.id, files(fragment))).collect());
    let touched = updated.iter().map(|fragment| fragment.id).chain(removed.iter().copied());
    facts.files_read = by_id(touched.filter_map(read).collect());
    facts.footprint.updated_units = updated.iter().map(|fragment| UnitId::Fragment(fragment.id)).collect();
    facts.footprint.removed_units = removed.iter().map(|id| UnitId::Fragment(*id)).collect();
    facts.footprint.read_whole_table = true;
}

pub(super) fn files(fragment: &DataFragment) -> FileList {
    FileList::of(&DataFragment { files: fragment.files.clone(), ..DataFragment::default() }.encode_to_vec())
}

/// The ids of the fields that a file holds; negative ones stand for columns that are gone.
fn live_fields(file: &DataFile) -> Vec<i64> {
    file.fields.iter().filter(|field| **field >= 0).map(|field| i64::from(*field)).collect()
}

fn cells(fragment: u64, file: &DataOverlayFile, out: &mut Vec<OverlayFacts>) {
    let fields = file.data_file.as_ref().map_or(&[][..], |data| &data.fields);
    for (at, field) in fields.iter().enumerate().filter(|(_, field)| **field >= 0) {
        let bitmap = match &file.coverage {
            None => None,
            Some(Coverage::SharedOffsetBitmap(bitmap)) => Some(bitmap),
            Some(Coverage::FieldCoverage(coverage)) => coverage.offset_bitmaps.get(at),
        };
        let rows = bitmap.and_then(|bytes| rows_in(bytes));
        out.push(OverlayFacts { fragment, field: i64::from(*field), rows });
    }
}

fn rows_in(bitmap: &[u8]) -> Option<RowSet> {
    Some(RoaringBitmap::deserialize_from(bitmap).ok()?.iter().map(u64::from).collect())
}

fn offsets(update: &Update) -> Vec<(UnitId, RowSet)> {
    let mut rows: BTreeMap<u64, RowSet> = BTreeMap::new();
    for (fragment, list) in &update.updated_fragment_offsets {
        rows.insert(*fragment, list.values.iter().copied().map(u64::from).collect());
    }
    for (fragment, bitmap) in &update.updated_fragment_offset_bitmaps {
        if let Some(found) = rows_in(bitmap) {
            rows.entry(*fragment).and_modify(|known| *known = known.union(&found)).or_insert(found);
        }
    }
    rows.into_iter().map(|(fragment, rows)| (UnitId::Fragment(fragment), rows)).collect()
}

fn key_filter(filter: &KeyExistenceFilter) -> KeyFilter {
    let keys = match &filter.data {
        Some(Data::Exact(exact)) => KeySet::exact(exact.key_hashes.clone()),
        Some(Data::Bloom(bloom)) => KeySet::bloom(&bloom.bitmap, bloom.number_of_items, bloom.probability),
        None => KeySet::Unknown,
    };
    KeyFilter { field_ids: filter.field_ids.iter().map(|field| i64::from(*field)).collect(), keys }
}
