//! Fields: which a version changed, and which ours uses.

use crate::Snapshot;
use crate::precise::Reads;
use crate::proto::file::Field;
use crate::proto::table::DataFragment;
use crate::proto::table::transaction::Operation;
use std::collections::HashMap;

/// Fields that are gone, or have another name, type or parent, or may not be NULL any more. All of them where data files are written
/// in another format since.
pub(super) fn changed(before: &Snapshot, after: &Snapshot) -> Vec<i64> {
    if before.fields() == after.fields() && !format_changed(before, after) {
        return Vec::new();
    }
    let now: HashMap<i32, &Field> = after.fields().iter().map(|field| (field.id, field)).collect();
    let is_kept = |was: &Field| now.get(&was.id).is_some_and(|is| serves_as(was, is));
    let changed = before.fields().iter().filter(|was| format_changed(before, after) || !is_kept(was));
    changed.map(|field| i64::from(field.id)).collect()
}

/// Whether the list of fields changed in any way but in their metadata.
pub(super) fn schema_changed(before: &Snapshot, after: &Snapshot) -> bool {
    let (was, is) = (before.fields(), after.fields());
    let same = |(a, b): (&Field, &Field)| a.id == b.id && a.nullable == b.nullable && serves_as(a, b);
    was.len() != is.len() || !was.iter().zip(is).all(same) || format_changed(before, after)
}

fn format_changed(before: &Snapshot, after: &Snapshot) -> bool {
    before.header().data_format != after.header().data_format
}

/// Whether what was written for a field holds for what it is now.
fn serves_as(was: &Field, is: &Field) -> bool {
    was.name == is.name
        && was.parent_id == is.parent_id
        && was.logical_type == is.logical_type
        && (is.nullable || !was.nullable)
}

/// The fields that ours uses; `None`: any.
pub(super) fn used(operation: Option<&Operation>, reads: &Reads) -> Option<Vec<i64>> {
    let mut used = reads.fields.clone()?;
    match operation? {
        Operation::Append(append) => used.extend(written(&append.fragments)),
        Operation::CreateIndex(create) => {
            used.extend(create.new_indices.iter().flat_map(|index| &index.fields).map(|field| i64::from(*field)));
        }
        Operation::DataReplacement(replace) => {
            let files = replace.replacements.iter().filter_map(|group| group.new_file.as_ref());
            used.extend(
                files.flat_map(|file| &file.fields).filter(|field| **field >= 0).map(|field| i64::from(*field)),
            );
        }
        Operation::DataOverlay(overlay) => {
            let files = overlay.groups.iter().flat_map(|group| &group.overlays);
            let fields = files.filter_map(|overlay| overlay.data_file.as_ref()).flat_map(|file| &file.fields);
            used.extend(fields.map(|field| i64::from(*field)));
        }
        Operation::UpdateConfig(update) => {
            let fields = super::maps::of_update(update).field_metadata;
            used.extend(fields.iter().map(|(field, _)| *field));
        }
        Operation::Delete(_)
        | Operation::Update(_)
        | Operation::Overwrite(_)
        | Operation::Rewrite(_)
        | Operation::Merge(_)
        | Operation::Restore(_)
        | Operation::ReserveFragments(_)
        | Operation::Project(_)
        | Operation::UpdateMemWalState(_)
        | Operation::Clone(_)
        | Operation::UpdateBases(_) => {}
    }
    used.sort_unstable();
    used.dedup();
    Some(used)
}

/// The fields of which new fragments hold values.
fn written(fragments: &[DataFragment]) -> impl Iterator<Item = i64> {
    let files = fragments.iter().flat_map(|fragment| &fragment.files);
    files.flat_map(|file| &file.fields).filter(|field| **field >= 0).map(|field| i64::from(*field))
}
