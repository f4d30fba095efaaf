//! Configuration and metadata maps.

use super::check;
use crate::lance::{ConfigFacts, MapEdit};
use lakebed_transaction::{Evidence, Register};

check! {
    /// Setting and deleting clash, deleting twice does not.
    CONFIG_KEY, Incompatible, "config-key-clash",
    "both transactions change the same configuration key, and one sets it",
    "change the key on the newest version, if it is still to be changed",
    |ours, landed| {
        let key = upsert_clash(ours.config.config.as_ref()?, landed.config.config.as_ref()?)?;
        Some(Evidence::Register(Register::Property(key)))
    },
}

check! {
    /// The overwrite replaced the schema that the metadata hangs on.
    METADATA_OVERWRITTEN, Incompatible, "metadata-of-overwritten-schema",
    "landed replaced the schema whose metadata ours changes",
    "look at the new schema and change its metadata",
    |ours, _| ours.config.changes_schema().then_some(Evidence::Register(Register::Schema)),
}

check! {
    /// Stricter than the configuration: any common key, and a replacement meets any change.
    TABLE_METADATA, Incompatible, "table-metadata-clash",
    "both transactions change the same key of the table's metadata, or one replaces all of it",
    "change the metadata on the newest version",
    |ours, landed| {
        let (mine, other) = (ours.config.table_metadata.as_ref()?, landed.config.table_metadata.as_ref()?);
        if mine.replace || other.replace {
            return Some(Evidence::text("the whole of the table's metadata"));
        }
        mine.keys().find(|key| other.keys().any(|theirs| theirs == *key)).map(|key| Evidence::text(format!("key {key}")))
    },
}

check! {
    /// Whatever the keys.
    SCHEMA_METADATA, Incompatible, "schema-metadata-clash",
    "both transactions change metadata of the schema",
    "change the metadata on the newest version",
    |ours, landed| {
        let both = touched(ours.config.schema_metadata.as_ref()) && touched(landed.config.schema_metadata.as_ref());
        both.then_some(Evidence::Register(Register::Schema))
    },
}

check! {
    /// Whatever the keys.
    FIELD_METADATA, Incompatible, "field-metadata-clash",
    "both transactions change metadata of the same field",
    "change the metadata on the newest version",
    |ours, landed| {
        let (mine, other) = (&ours.config.field_metadata, &landed.config.field_metadata);
        let field = mine.iter().map(|(field, _)| *field).find(|field| other.iter().any(|(theirs, _)| theirs == field))?;
        Some(Evidence::Fields(vec![field]))
    },
}

impl ConfigFacts {
    /// Whether metadata of the schema or of a field may change.
    #[must_use]
    pub fn changes_schema(&self) -> bool {
        touched(self.schema_metadata.as_ref()) || self.field_metadata.iter().any(|(_, edit)| edit.changes())
    }
}

fn touched(edit: Option<&MapEdit>) -> bool {
    edit.is_some_and(MapEdit::changes)
}

fn upsert_clash(ours: &MapEdit, landed: &MapEdit) -> Option<std::sync::Arc<str>> {
    let set_here = ours.upserts.iter().find(|key| landed.keys().any(|theirs| theirs == *key));
    let set_there = || ours.deletes.iter().find(|key| landed.upserts.contains(key));
    set_here.or_else(set_there).cloned()
}
