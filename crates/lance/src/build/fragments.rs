//! Fragments: ids, row ids, and what must hold of them.

use super::draft::Draft;
use crate::LanceError;
pub(super) use crate::fragments::TOMBSTONE;
use crate::fragments::{Fragments, deletes_too_much, is_dead};
use crate::proto::table::transaction::ReserveFragments;
use crate::proto::table::{DataFragment, Manifest};

/// Below this, field ids of a file are hidden columns, not tombstones.
const FIRST_HIDDEN: i32 = -3;

pub(super) fn reserve(draft: &mut Draft, reserve: &ReserveFragments) -> Result<(), LanceError> {
    let max = max_id(&draft.manifest)?.unwrap_or(0);
    draft.manifest.max_fragment_id = Some(max.checked_add(reserve.num_fragments).ok_or_else(used_up)?);
    Ok(())
}

/// The greatest fragment id that was ever given. Old writers did not keep it.
fn max_id(manifest: &Manifest) -> Result<Option<u32>, LanceError> {
    match manifest.max_fragment_id {
        Some(max) => Ok(Some(max)),
        None => greatest(manifest.fragments.iter().map(|fragment| fragment.id)),
    }
}

fn greatest(ids: impl Iterator<Item = u64>) -> Result<Option<u32>, LanceError> {
    ids.max().map(|id| u32::try_from(id).map_err(|_| used_up())).transpose()
}

/// Gives ids to new fragments. An id that is not 0 was reserved earlier and stays, unless all ids are to be fresh. The greatest
/// id is raised at once: groups of one operation are given theirs one after the other.
pub(super) fn assign_ids(manifest: &mut Manifest, new: &mut [DataFragment], fresh: bool) -> Result<(), LanceError> {
    let mut next = match max_id(manifest)? {
        Some(max) => u64::from(max) + 1,
        None => 0,
    };
    for fragment in &mut *new {
        if fresh || fragment.id == 0 {
            fragment.id = next;
            next = next.checked_add(1).ok_or_else(used_up)?;
        }
    }
    let given = greatest(new.iter().map(|fragment| fragment.id))?;
    manifest.max_fragment_id = manifest.max_fragment_id.max(given);
    Ok(())
}

/// What must hold of fragments before they are put in.
pub(super) fn check_new(manifest: &Manifest, new: &[DataFragment]) -> Result<(), LanceError> {
    let format = manifest.data_format.as_ref().and_then(|format| file_version(&format.version));
    for (at, fragment) in new.iter().enumerate() {
        if fragment.files.is_empty() || fragment.physical_rows == 0 {
            return Err(invalid(
                &format!("new fragment {at} has no data file or no rows"),
                "leave empty fragments out, and say how many rows each has",
            ));
        }
        for file in &fragment.files {
            let version = (file.file_major_version, file.file_minor_version);
            let version = if version == (0, 3) { (2, 0) } else { version };
            let same_family = |major: u32| major >= 2;
            if let Some(format) = format
                && version != format
                && (same_family(version.0) || same_family(format.0))
            {
                return Err(invalid(
                    &format!(
                        "data file {} has format version {}.{}, the table {}.{}",
                        file.path, version.0, version.1, format.0, format.1
                    ),
                    "write it in the table's data format",
                ));
            }
            if !file.column_indices.is_empty() && file.column_indices.len() != file.fields.len() {
                return Err(invalid(
                    &format!("data file {} lists fields and columns of different numbers", file.path),
                    "list one column for each field",
                ));
            }
        }
    }
    Ok(())
}

/// Major and minor version of data files in a table of this data format; `None` for a name that is not known.
fn file_version(format: &str) -> Option<(u32, u32)> {
    match format {
        "2.0" => Some((2, 0)),
        "2.1" => Some((2, 1)),
        "2.2" => Some((2, 2)),
        "2.3" => Some((2, 3)),
        _ => None,
    }
}

/// Takes out files of which no field is read any more.
pub(super) fn drop_dead_files(fragment: &mut DataFragment) {
    fragment.files.retain(|file| !is_dead(&file.fields));
}

/// Takes out files that hold no field of the schema.
pub(super) fn prune_files(fragment: &mut DataFragment, live: &std::collections::BTreeSet<i32>) {
    fragment.files.retain(|file| file.fields.iter().any(|field| live.contains(field) || *field <= FIRST_HIDDEN));
}

/// What must hold of all fragments of the next version.
pub(super) fn check(manifest: &Manifest) -> Result<(), LanceError> {
    for pair in manifest.fragments.windows(2) {
        if let [a, b] = pair
            && a.id == b.id
        {
            return Err(invalid(&format!("two fragments would have the id {}", a.id), "give new fragments the id 0"));
        }
    }
    for fragment in &manifest.fragments {
        if deletes_too_much(fragment) {
            return Err(invalid(
                &format!("fragment {} would have more deleted rows than rows", fragment.id),
                "count the rows of the deletion file again",
            ));
        }
    }
    Ok(())
}

/// Raises the greatest fragment id that was ever given; it never falls, and stays unset in a table that never had a fragment.
pub(super) fn raise_max_id(manifest: &mut Manifest, fragments: &Fragments) -> Result<(), LanceError> {
    let present = greatest(fragments.traits().greatest.into_iter())?;
    manifest.max_fragment_id = manifest.max_fragment_id.max(present);
    Ok(())
}

pub(super) fn invalid(problem: &str, advice: &str) -> LanceError {
    LanceError::Invalid { problem: problem.to_owned(), advice: advice.to_owned() }
}

pub(super) fn used_up() -> LanceError {
    invalid("the table's ids are used up", "copy the table into a new one")
}
