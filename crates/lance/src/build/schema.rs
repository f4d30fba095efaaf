//! Project: columns dropped or renamed.

use super::draft::Draft;
use super::fragments;
use super::rows::retain_indices;
use crate::LanceError;
use crate::proto::table::transaction::Project;

/// The schema is replaced; files without a field that is left go, and indices on fields that are gone.
pub(super) fn project(draft: &mut Draft, project: &Project) -> Result<(), LanceError> {
    draft.manifest.fields.clone_from(&project.schema);
    let live = draft.field_ids();
    for fragment in &mut draft.manifest.fragments {
        fragments::prune_files(fragment, &live);
    }
    retain_indices(draft);
    Ok(())
}
