//! CreateIndex: entries are put in and taken out.

use super::draft::Draft;
use crate::LanceError;
use crate::proto::table::transaction::CreateIndex;

/// Entries go by their ids (those of new entries too, which replace an entry), new ones follow at the end.
pub(super) fn create(draft: &mut Draft, create: &CreateIndex) -> Result<(), LanceError> {
    if let Some(covering) = create.new_indices.iter().find(|index| !index.covering_fields.is_empty()) {
        return Err(super::unsupported(&format!("index {}, which carries columns beside its key", covering.name)));
    }
    let gone: Vec<_> = create.removed_indices.iter().chain(&create.new_indices).map(|index| &index.uuid).collect();
    draft.indices.retain(|index| !gone.contains(&&index.uuid));
    draft.indices.extend(create.new_indices.iter().cloned());
    Ok(())
}
