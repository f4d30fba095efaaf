//! DataOverlay: values that replace cells without rewriting files.

use super::draft::Draft;
use super::fragments::{TOMBSTONE, invalid};
use super::lineage;
use super::rows::missing;
use crate::LanceError;
use crate::proto::table::data_overlay_file::Coverage;
use crate::proto::table::transaction::DataOverlay;
use crate::proto::table::{DataFragment, DataOverlayFile};
use bytes::Bytes;
use roaring::RoaringBitmap;

/// Each overlay comes behind those of its fragment and says which version it came with: later ones win, and an index that is
/// older than an overlay does not answer for the cells under it.
pub(super) fn put(draft: &mut Draft, overlay: &DataOverlay) -> Result<(), LanceError> {
    let (live, version, stable) = (draft.field_ids(), draft.manifest.version, draft.stable_row_ids);
    for group in &overlay.groups {
        let mut covered = RoaringBitmap::new();
        for file in &group.overlays {
            let fields = file.data_file.as_ref().map_or(&[][..], |file| file.fields.as_slice());
            if fields.is_empty() || fields.iter().any(|field| !live.contains(field)) {
                return Err(invalid(
                    &format!(
                        "an overlay of fragment {} holds no field, or one that is not in the schema",
                        group.fragment_id
                    ),
                    "read the newest version and plan again",
                ));
            }
            covered |= coverage(file, fields.len(), group.fragment_id)?;
        }
        let fragment = draft.fragment_mut(group.fragment_id).ok_or_else(|| missing(group.fragment_id))?;
        let stamped = group.overlays.iter().cloned();
        fragment.overlays.extend(stamped.map(|file| DataOverlayFile { committed_version: version, ..file }));
        if stable {
            lineage::touch_rows(fragment, &covered, version)?;
        }
    }
    Ok(())
}

/// Fields whose values were written anew are no longer read from overlays up to the version that the writer had read.
pub(super) fn supersede(fragment: &mut DataFragment, fields: &[i32], read_version: u64) {
    for overlay in fragment.overlays.iter_mut().filter(|overlay| overlay.committed_version <= read_version) {
        let Some(file) = &mut overlay.data_file else { continue };
        file.fields.iter_mut().filter(|field| fields.contains(field)).for_each(|field| *field = TOMBSTONE);
    }
    fragment.overlays.retain(|overlay| {
        overlay.data_file.as_ref().is_some_and(|file| file.fields.iter().any(|field| *field != TOMBSTONE))
    });
}

/// Whether a cell of these fields was overlaid after this version.
pub(super) fn newer_than(fragment: &DataFragment, fields: &[i32], version: u64) -> bool {
    fragment.overlays.iter().filter(|overlay| overlay.committed_version > version).any(|overlay| {
        overlay.data_file.as_ref().is_none_or(|file| file.fields.iter().any(|field| fields.contains(field)))
    })
}

/// The rows that an overlay covers in any of its fields.
fn coverage(file: &DataOverlayFile, fields: usize, fragment: u64) -> Result<RoaringBitmap, LanceError> {
    let read = |bitmap: &Bytes| RoaringBitmap::deserialize_from(bitmap.as_ref()).ok();
    let covered = match &file.coverage {
        Some(Coverage::SharedOffsetBitmap(bitmap)) => read(bitmap),
        Some(Coverage::FieldCoverage(each)) if each.offset_bitmaps.len() == fields => {
            each.offset_bitmaps.iter().try_fold(RoaringBitmap::new(), |all, bitmap| Some(all | read(bitmap)?))
        }
        Some(Coverage::FieldCoverage(_)) | None => None,
    };
    covered.ok_or_else(|| {
        invalid(&format!("an overlay of fragment {fragment} does not say which rows it covers"), "build it again")
    })
}
