//! Fragments and rows.

use crate::proto::table::data_overlay_file::Coverage;
use crate::proto::table::transaction::{DataOverlay, Operation, UpdateMode};
use crate::proto::table::{DataFragment, DataOverlayFile};
use lakebed_conflict::lance::OverlayFacts;
use lakebed_transaction::{Access, Footprint, Register, RowSet, Unit, UnitId, UnitSet};
use roaring::{RoaringBitmap, RoaringTreemap};
use std::sync::Arc;

/// What the operation reads and writes, in neutral terms.
pub(super) fn footprint(operation: Option<&Operation>) -> Footprint {
    let mut print = Footprint { data_change: true, ..Footprint::default() };
    let Some(operation) = operation else { return print };
    match operation {
        Operation::Append(append) => print.added_units = added(&append.fragments, true),
        Operation::Delete(delete) => {
            print.updated_units = units(&delete.updated_fragments);
            print.removed_units = ids(&delete.deleted_fragment_ids);
        }
        Operation::Update(update) => {
            print.updated_units = units(&update.updated_fragments);
            print.removed_units = ids(&update.removed_fragment_ids);
            print.added_units = added(&update.new_fragments, true);
            if update.update_mode == UpdateMode::RewriteColumns as i32 {
                print.columns = update.fields_modified.iter().map(|field| i64::from(*field)).collect();
            }
        }
        Operation::Overwrite(overwrite) => {
            print.added_units = added(&overwrite.fragments, true);
            print.registers.push((Register::Schema, Access::Write));
            let keys = overwrite.config_upsert_values.keys();
            print.registers.extend(keys.map(|key| (Register::Property(Arc::from(key.as_str())), Access::Write)));
        }
        Operation::Rewrite(rewrite) => {
            let old = rewrite.groups.iter().flat_map(|group| &group.old_fragments).chain(&rewrite.old_fragments);
            print.removed_units = old.map(|fragment| UnitId::Fragment(fragment.id)).collect();
            let new = rewrite.groups.iter().flat_map(|group| &group.new_fragments).chain(&rewrite.new_fragments);
            print.added_units = new.flat_map(|fragment| added(std::slice::from_ref(fragment), false)).collect();
            print.data_change = false;
        }
        Operation::DataReplacement(replace) => {
            print.updated_units =
                replace.replacements.iter().map(|group| UnitId::Fragment(group.fragment_id)).collect();
        }
        Operation::DataOverlay(overlay) => {
            print.updated_units = overlay.groups.iter().map(|group| UnitId::Fragment(group.fragment_id)).collect();
        }
        Operation::Merge(_) | Operation::Project(_) => print.registers.push((Register::Schema, Access::Write)),
        Operation::CreateIndex(create) => {
            let names = create.new_indices.iter().chain(&create.removed_indices).map(|index| index.name.as_str());
            print.registers = names.map(|name| (Register::Index(Arc::from(name)), Access::Write)).collect();
            print.data_change = false;
        }
        Operation::UpdateConfig(update) => {
            let changes = super::maps::of_update(update);
            let keys = changes.config.iter().flat_map(|edit| edit.keys());
            print.registers = keys.map(|key| (Register::Property(Arc::clone(key)), Access::Write)).collect();
            print.data_change = false;
        }
        Operation::ReserveFragments(_)
        | Operation::UpdateMemWalState(_)
        | Operation::Clone(_)
        | Operation::UpdateBases(_) => print.data_change = false,
        Operation::Restore(_) => {}
    }
    print
}

fn units(fragments: &[DataFragment]) -> UnitSet {
    fragments.iter().map(|fragment| UnitId::Fragment(fragment.id)).collect()
}

fn ids(fragments: &[u64]) -> UnitSet {
    fragments.iter().map(|id| UnitId::Fragment(*id)).collect()
}

fn added(fragments: &[DataFragment], data_change: bool) -> Vec<Unit> {
    let unit = |fragment: &DataFragment| Unit {
        row_count: (fragment.physical_rows > 0).then_some(fragment.physical_rows),
        data_change,
        ..Unit::named(UnitId::Fragment(fragment.id))
    };
    fragments.iter().map(unit).collect()
}

/// The cells that overlays cover.
pub(super) fn overlays(overlay: &DataOverlay) -> Vec<OverlayFacts> {
    let mut found = Vec::new();
    for group in &overlay.groups {
        for file in &group.overlays {
            let fields = file.data_file.iter().flat_map(|file| &file.fields);
            for (at, field) in fields.enumerate() {
                found.push(OverlayFacts {
                    fragment: group.fragment_id,
                    field: i64::from(*field),
                    rows: covered(file, at),
                });
            }
        }
    }
    found
}

/// The rows that the overlay covers in its `at`th field.
fn covered(file: &DataOverlayFile, at: usize) -> Option<RowSet> {
    let bytes = match file.coverage.as_ref()? {
        Coverage::SharedOffsetBitmap(bytes) => bytes,
        Coverage::FieldCoverage(fields) => fields.offset_bitmaps.get(at)?,
    };
    let rows = RoaringBitmap::deserialize_from(bytes.as_ref()).ok()?;
    Some(RowSet::from(RoaringTreemap::from_bitmaps([(0, rows)])))
}
