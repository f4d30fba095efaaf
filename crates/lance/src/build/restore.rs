//! Restore: an earlier version made current.

use super::Inputs;
use super::draft::Draft;
use super::fragments::invalid;
use crate::proto::table::transaction::Operation;
use crate::{LanceError, application, flags};

/// Everything comes from the earlier version, its writer too; number, time and transaction are those of the new version. No
/// counter goes back, and no batch of an application is forgotten.
pub(super) fn restore(draft: &mut Draft, inputs: &Inputs<'_>) -> Result<(), LanceError> {
    let Some(Operation::Restore(restore)) = &inputs.transaction.operation else {
        return Err(invalid("it is no Restore", "build a Restore"));
    };
    let old = inputs.restored.filter(|old| old.version().get() == restore.version).ok_or_else(|| {
        invalid(&format!("version {}, which it restores, was not read", restore.version), "read that version first")
    })?;
    flags::check_writable(old.header())?;
    if draft.stable_row_ids && !old.has_stable_row_ids() {
        return Err(invalid("the earlier version has no stable row ids, the table has", "write its rows anew instead"));
    }
    let current = std::mem::replace(&mut draft.manifest, old.manifest());
    let manifest = &mut draft.manifest;
    manifest.version = current.version;
    manifest.version_aux_data = 0;
    manifest.tag.clone_from(&current.tag);
    manifest.transaction_file.clone_from(&current.transaction_file);
    manifest.timestamp = current.timestamp;
    manifest.max_fragment_id = manifest.max_fragment_id.max(current.max_fragment_id);
    manifest.next_row_id = manifest.next_row_id.max(current.next_row_id);
    manifest.max_allocated_field_id = manifest.max_allocated_field_id.max(current.max_allocated_field_id);
    application::carry(manifest, &current);
    draft.indices = old.indices().to_vec();
    draft.unknown = old.unknown_fields().clone();
    Ok(())
}
