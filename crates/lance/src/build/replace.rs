//! Overwrite and Merge: the fragments and the schema are replaced.

use super::draft::Draft;
use super::fragments::invalid;
use super::rows::retain_indices;
use crate::LanceError;
use crate::proto::table::transaction::{Merge, Overwrite};
use std::collections::{BTreeMap, BTreeSet};

/// All fragments are new and get fresh ids, the schema is replaced, no index stays; the counters go on.
pub(super) fn overwrite(draft: &mut Draft, overwrite: &Overwrite) -> Result<(), LanceError> {
    if overwrite.fragments.iter().any(|fragment| fragment.deletion_file.is_some()) {
        return Err(invalid("a fragment of an Overwrite has deleted rows", "write only the rows that are to be there"));
    }
    if draft.extends && !overwrite.initial_bases.is_empty() {
        return Err(invalid("base paths can only be given when the table is created", "add them with UpdateBases"));
    }
    draft.manifest.fields.clone_from(&overwrite.schema);
    if draft.extends || !overwrite.schema_metadata.is_empty() {
        draft.manifest.schema_metadata.clone_from(&overwrite.schema_metadata);
    }
    let new = draft.prepare_new(&overwrite.fragments, true)?;
    draft.manifest.fragments = new;
    draft.manifest.base_paths.extend(overwrite.initial_bases.iter().cloned());
    draft.unknown.fragments.clear();
    draft.indices.clear();
    let upserts = overwrite.config_upsert_values.iter().map(|(key, value)| (key.clone(), value.clone()));
    draft.manifest.config.extend(upserts);
    Ok(())
}

/// The list in the transaction is the complete new list: fragments that were there keep their rows and their order, others
/// are new. The schema is replaced.
pub(super) fn merge(draft: &mut Draft, merge: &Merge) -> Result<(), LanceError> {
    let before: BTreeMap<u64, u64> =
        draft.manifest.fragments.iter().map(|fragment| (fragment.id, fragment.physical_rows)).collect();
    let mut seen = BTreeSet::new();
    let (mut kept, mut new) = (Vec::new(), Vec::new());
    for fragment in &merge.fragments {
        match before.get(&fragment.id) {
            Some(rows) if seen.insert(fragment.id) => {
                if *rows != fragment.physical_rows {
                    return Err(invalid(
                        &format!("a Merge changes how many rows fragment {} has", fragment.id),
                        "read the newest version and plan again",
                    ));
                }
                kept.push(fragment.clone());
            }
            Some(_) | None => new.push(fragment.clone()),
        }
    }
    if seen.len() != before.len() || !kept.is_sorted_by_key(|fragment| fragment.id) {
        return Err(invalid(
            "a Merge loses fragments or changes their order",
            "read the newest version and plan again",
        ));
    }
    if draft.stable_row_ids && new.iter().any(|fragment| fragment.row_id_sequence.is_some()) {
        return Err(invalid("new fragments of a Merge have row ids", "leave them out; they are given at commit"));
    }
    draft.manifest.fields.clone_from(&merge.schema);
    if !merge.schema_metadata.is_empty() {
        draft.manifest.schema_metadata.clone_from(&merge.schema_metadata);
    }
    let new = draft.prepare_new(&new, false)?;
    kept.extend(new);
    draft.manifest.fragments = kept;
    retain_indices(draft);
    Ok(())
}
