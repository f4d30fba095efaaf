//! Properties of ours that name the version of its own commit: they move on when ours does.

use crate::action::{Action, Metadata};
use crate::schema::StructType;
use lakebed_naming::Version;
use serde_json::Value;

/// Under this key a field lists how its type was widened, and in which version.
const TYPE_CHANGES: &str = "delta.typeChanges";
/// Below this version the history may not be rewritten, because a feature was dropped there.
const PROTECTED_BELOW: &str = "delta.requireCheckpointProtectionBeforeVersion";

/// Moves what ours says of its own version from the version that landed to the next one.
pub(super) fn follow(actions: &mut [Action], landed: Version) {
    let (Ok(from), Some(to)) = (i64::try_from(landed.get()), landed.next()) else { return };
    for action in actions {
        let Action::Metadata(metadata) = action else { continue };
        if metadata.configuration.get(PROTECTED_BELOW) == Some(landed.to_string().as_str()) {
            metadata.configuration.set(PROTECTED_BELOW, Some(&to.to_string()));
        }
        move_type_changes(metadata, from);
    }
}

fn move_type_changes(metadata: &mut Metadata, from: i64) {
    if !metadata.schema_string.contains(TYPE_CHANGES) {
        return;
    }
    if let Ok(mut schema) = serde_json::from_str::<Value>(&metadata.schema_string) {
        if move_within(&mut schema, from) {
            metadata.schema_string = schema.to_string();
        }
    } else if let Ok(mut schema) = StructType::parse(&metadata.schema_string) {
        // Types that nest deeper than the JSON reader goes at once.
        let mut moved = false;
        schema.each_metadata(&mut |known| {
            moved |= known.get_mut(TYPE_CHANGES).is_some_and(|entries| move_entries(entries, from));
        });
        if moved {
            metadata.schema_string = schema.to_json();
        }
    }
}

/// Recursion is bounded: the JSON reader refuses text that nests deeper than 128 levels.
fn move_within(value: &mut Value, from: i64) -> bool {
    match value {
        Value::Array(items) => items.iter_mut().fold(false, |moved, item| move_within(item, from) | moved),
        Value::Object(map) => map.iter_mut().fold(false, |moved, (key, inner)| {
            if key == TYPE_CHANGES { move_entries(inner, from) | moved } else { move_within(inner, from) | moved }
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn move_entries(entries: &mut Value, from: i64) -> bool {
    let mut moved = false;
    for entry in entries.as_array_mut().into_iter().flatten() {
        if let Some(version) = entry.get_mut("tableVersion").filter(|version| version.as_i64() == Some(from)) {
            *version = Value::from(from + 1);
            moved = true;
        }
    }
    moved
}
