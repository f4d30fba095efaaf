//! Configuration, metadata and base paths.

use crate::proto::table::BasePath;
use crate::proto::table::transaction::{UpdateConfig, UpdateMap};
use crate::transaction::map_updates;
use lakebed_conflict::lance::{BaseFacts, LanceFacts, MapEdit};
use lakebed_transaction::{Access, Register};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The maps that an UpdateConfig changes, in its older form too.
pub(super) fn update_config(facts: &mut LanceFacts, update: &UpdateConfig) {
    let maps = map_updates(update);
    facts.config.config = maps.config_updates.as_ref().map(edit);
    facts.config.table_metadata = maps.table_metadata_updates.as_ref().map(edit);
    facts.config.schema_metadata = maps.schema_metadata_updates.as_ref().map(edit);
    facts.config.field_metadata =
        maps.field_metadata_updates.iter().map(|(field, map)| (i64::from(*field), edit(map))).collect();
    write_properties(facts);
}

/// Marks every configuration key that is set or deleted as written.
pub(super) fn write_properties(facts: &mut LanceFacts) {
    let keys = facts.config.config.iter().flat_map(MapEdit::keys);
    facts.footprint.registers.extend(keys.map(|key| (Register::Property(Arc::clone(key)), Access::Write)));
}

/// Keys that are set, if there is one.
pub(super) fn upserts(map: &BTreeMap<String, String>) -> Option<MapEdit> {
    let upserts: Vec<Arc<str>> = map.keys().map(|key| Arc::from(key.as_str())).collect();
    (!upserts.is_empty()).then(|| MapEdit { upserts, ..MapEdit::default() })
}

/// Base paths that are added.
pub(super) fn bases(bases: &[BasePath]) -> Vec<BaseFacts> {
    let one = |base: &BasePath| BaseFacts {
        id: base.id,
        name: base.name.as_deref().map(Arc::from),
        path: Arc::from(base.path.as_str()),
    };
    bases.iter().map(one).collect()
}

fn edit(map: &UpdateMap) -> MapEdit {
    let mut edit = MapEdit { replace: map.replace, ..MapEdit::default() };
    for entry in &map.update_entries {
        let keys = if entry.value.is_some() { &mut edit.upserts } else { &mut edit.deletes };
        keys.push(Arc::from(entry.key.as_str()));
    }
    edit
}
