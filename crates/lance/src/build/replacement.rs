//! DataReplacement: data files of whole columns replaced.

use super::draft::Draft;
use super::fragments::{TOMBSTONE, invalid};
use super::rows::{missing, retain_indices, uncover};
use super::{lineage, overlay};
use crate::LanceError;
use crate::proto::table::transaction::DataReplacement;
use crate::proto::table::{DataFile, DataFragment};
use std::collections::BTreeSet;

/// The first data format holds all fields of a file in one layout, from which none can be taken.
const LEGACY_MAJOR: u32 = 0;

/// Each fragment's new file takes the place of the file with the same fields, or of these fields in a file with more.
pub(super) fn replace(draft: &mut Draft, replacement: &DataReplacement, read_version: u64) -> Result<(), LanceError> {
    let (stable, version) = (draft.stable_row_ids, draft.manifest.version);
    let mut fields: Option<&[i32]> = None;
    for group in &replacement.replacements {
        let new = group.new_file.as_ref().ok_or_else(|| invalid("a replacement has no file", "name the new file"))?;
        if *fields.get_or_insert(&new.fields) != new.fields {
            return Err(invalid("the new files hold different fields", "replace the same fields in every fragment"));
        }
        let fragment = draft.fragment_mut(group.fragment_id).ok_or_else(|| missing(group.fragment_id))?;
        replace_one(fragment, new)?;
        overlay::supersede(fragment, &new.fields, read_version);
        if stable {
            lineage::touch_all(fragment, version);
        }
    }
    let fields = fields.unwrap_or_default().iter().map(|field| i64::from(*field)).collect::<BTreeSet<_>>();
    let fragments: Vec<u64> = replacement.replacements.iter().map(|group| group.fragment_id).collect();
    uncover(draft, &fields, &fragments);
    retain_indices(draft);
    Ok(())
}

fn replace_one(fragment: &mut DataFragment, new: &DataFile) -> Result<(), LanceError> {
    let format = |file: &DataFile| (file.file_major_version, file.file_minor_version);
    let same = fragment.files.iter_mut().find(|file| file.fields == new.fields && format(file) == format(new));
    if let Some(file) = same {
        file.path.clone_from(&new.path);
        (file.file_size_bytes, file.base_id) = (new.file_size_bytes, new.base_id);
        return Ok(());
    }
    let mut holders =
        fragment.files.iter_mut().filter(|file| file.fields.iter().any(|field| new.fields.contains(field)));
    match (holders.next(), holders.next()) {
        (None, _) => {}
        (Some(file), None)
            if file.file_major_version > LEGACY_MAJOR && new.fields.iter().all(|field| file.fields.contains(field)) =>
        {
            let gone = file.fields.iter_mut().filter(|field| new.fields.contains(field));
            gone.for_each(|field| *field = TOMBSTONE);
        }
        (Some(_), _) => {
            return Err(invalid(
                &format!("the replaced fields do not stand in one data file of fragment {}", fragment.id),
                "replace the fields of one file, or some of them",
            ));
        }
    }
    fragment.files.push(new.clone());
    Ok(())
}
