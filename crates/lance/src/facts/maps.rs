//! Maps of texts.

use crate::proto::table::transaction::{Overwrite, UpdateConfig, UpdateMap};
use crate::transaction::map_updates;
use lakebed_conflict::lance::{ConfigFacts, MapEdit};
use std::sync::Arc;

/// What an UpdateConfig changes, in either of its forms.
pub(super) fn of_update(update: &UpdateConfig) -> ConfigFacts {
    let update = map_updates(update);
    ConfigFacts {
        config: update.config_updates.as_ref().map(edit),
        table_metadata: update.table_metadata_updates.as_ref().map(edit),
        schema_metadata: update.schema_metadata_updates.as_ref().map(edit),
        field_metadata: update
            .field_metadata_updates
            .iter()
            .map(|(field, change)| (i64::from(*field), edit(change)))
            .collect(),
    }
}

/// What an Overwrite adds to the configuration.
pub(super) fn of_overwrite(overwrite: &Overwrite) -> ConfigFacts {
    let upserts: Vec<Arc<str>> = overwrite.config_upsert_values.keys().map(|key| Arc::from(key.as_str())).collect();
    let config = (!upserts.is_empty()).then(|| MapEdit { upserts, ..MapEdit::default() });
    ConfigFacts { config, ..ConfigFacts::default() }
}

fn edit(change: &UpdateMap) -> MapEdit {
    let mut edit = MapEdit { replace: change.replace, ..MapEdit::default() };
    for entry in &change.update_entries {
        let key = Arc::from(entry.key.as_str());
        match entry.value {
            Some(_) => edit.upserts.push(key),
            None => edit.deletes.push(key),
        }
    }
    edit
}
