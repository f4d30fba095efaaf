//! Clone: a version of one table made the first of another, whose files stay where they are.

use super::draft::Draft;
use super::fragments::{invalid, used_up};
use crate::LanceError;
use crate::proto::table::BasePath;
use crate::proto::table::transaction::Clone;

/// Everything comes from the source, its number too. What lay in the source itself now lies under a base path of its own.
pub(super) fn shallow(draft: &mut Draft, clone: &Clone) -> Result<(), LanceError> {
    if !clone.is_shallow {
        return Err(invalid(
            "a deep Clone copies files, which no commit does",
            "copy the files, then create the table",
        ));
    }
    if clone.ref_version != draft.manifest.version {
        return Err(invalid(
            &format!("version {} of the source was read, not version {}", draft.manifest.version, clone.ref_version),
            "read the version that is cloned",
        ));
    }
    let bases = &mut draft.manifest.base_paths;
    let id = (0..=u32::MAX).find(|id| bases.iter().all(|base| base.id != *id)).ok_or_else(used_up)?;
    bases.push(BasePath { id, name: clone.ref_name.clone(), is_dataset_root: true, path: clone.ref_path.clone() });
    for fragment in &mut draft.manifest.fragments {
        let overlays = fragment.overlays.iter_mut().filter_map(|overlay| overlay.data_file.as_mut());
        for file in fragment.files.iter_mut().chain(overlays) {
            file.base_id.get_or_insert(id);
        }
        if let Some(file) = &mut fragment.deletion_file {
            file.base_id.get_or_insert(id);
        }
    }
    for index in &mut draft.indices {
        index.base_id.get_or_insert(id);
    }
    draft.manifest.branch.clone_from(&clone.branch_name);
    Ok(())
}
