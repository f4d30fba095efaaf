//! UpdateConfig: the maps of a table.

use super::draft::Draft;
use super::fragments::invalid;
use crate::LanceError;
use crate::proto::file::Field;
use crate::proto::table::transaction::{UpdateConfig, UpdateMap};
use crate::transaction::map_updates;
use bytes::Bytes;
use std::collections::BTreeMap;

/// Field metadata that makes the field part of a key that nobody checks, and its place in that key.
const PRIMARY_KEY: (&str, &str) =
    ("lance-schema:unenforced-primary-key", "lance-schema:unenforced-primary-key:position");
const CLUSTERING_KEY: (&str, &str) =
    ("lance-schema:unenforced-clustering-key", "lance-schema:unenforced-clustering-key:position");

pub(super) fn update(draft: &mut Draft, update: &UpdateConfig) -> Result<(), LanceError> {
    let older = !update.upsert_values.is_empty()
        || !update.delete_keys.is_empty()
        || !update.schema_metadata.is_empty()
        || !update.field_metadata.is_empty();
    let newer = update.config_updates.is_some()
        || update.table_metadata_updates.is_some()
        || update.schema_metadata_updates.is_some()
        || !update.field_metadata_updates.is_empty();
    if older && newer {
        return Err(invalid("its changes of maps stand in the older and in the newer form", "use one form"));
    }
    let update = map_updates(update);
    let manifest = &mut draft.manifest;
    if let Some(change) = &update.config_updates {
        apply(&mut manifest.config, change, |text| text);
    }
    if let Some(change) = &update.table_metadata_updates {
        apply(&mut manifest.table_metadata, change, |text| text);
    }
    if let Some(change) = &update.schema_metadata_updates {
        apply(&mut manifest.schema_metadata, change, Bytes::from);
    }
    for (id, change) in &update.field_metadata_updates {
        let field = manifest.fields.iter_mut().find(|field| field.id == *id).ok_or_else(|| {
            invalid(&format!("field {id}, whose metadata it changes, is not in the schema"), "read the newest version")
        })?;
        update_field(field, change)?;
    }
    Ok(())
}

fn apply<V>(map: &mut BTreeMap<String, V>, change: &UpdateMap, value: impl Fn(String) -> V) {
    if change.replace {
        map.clear();
    }
    for entry in &change.update_entries {
        match &entry.value {
            Some(text) => drop(map.insert(entry.key.clone(), value(text.clone()))),
            None => drop(map.remove(&entry.key)),
        }
    }
}

/// Metadata of a field; keys of rows are set by it and cannot change once they are set.
fn update_field(field: &mut Field, change: &UpdateMap) -> Result<(), LanceError> {
    let before = keys(field);
    let set = |key: &Key| key.member;
    apply(&mut field.metadata, change, Bytes::from);
    let after = keys(field);
    for (was, is) in [(&before.0, &after.0), (&before.1, &after.1)] {
        if set(was) && was != is {
            return Err(invalid(
                &format!("field {} is part of a key that cannot change any more", field.name),
                "leave the key's metadata as it is",
            ));
        }
    }
    field.unenforced_primary_key |= after.0.member;
    field.unenforced_primary_key_position = field.unenforced_primary_key_position.max(after.0.position);
    field.unenforced_clustering_key |= after.1.member;
    field.unenforced_clustering_key_position = field.unenforced_clustering_key_position.max(after.1.position);
    Ok(())
}

/// Whether the field's metadata makes it part of a key, and where.
#[derive(PartialEq, Eq)]
struct Key {
    member: bool,
    position: u32,
}

fn keys(field: &Field) -> (Key, Key) {
    let key = |(flag, place): (&str, &str)| {
        let text = |name: &str| field.metadata.get(name).and_then(|value| std::str::from_utf8(value).ok());
        let flagged =
            text(flag).is_some_and(|value| matches!(value.to_ascii_lowercase().as_str(), "true" | "1" | "yes"));
        let position = text(place).and_then(|value| value.parse().ok()).unwrap_or(0);
        Key { member: flagged || position > 0, position }
    };
    (key(PRIMARY_KEY), key(CLUSTERING_KEY))
}
