//! Schema, nullability and the metadata that hangs on them.

use super::{PLAN_AGAIN, check, shared_fields};
use crate::lance::marks;
use crate::lance::{LanceFacts, SchemaOrigin};
use lakebed_transaction::{Evidence, Register};

check! {
    /// First rule (a), both directions.
    NULLABILITY, Retryable, "nullability-may-tighten",
    "one transaction may forbid NULL in a column, the other wrote values without knowing",
    "read the newest version and write the values again, or keep the nullability of every column",
    needs marks::SCHEMA,
    |ours, landed| either(ours, landed, |a, b| may_tighten(a) && b.relies_on_nullability).then_some(Evidence::Register(Register::Schema)),
}

check! {
    /// First rule (b), both directions.
    MERGE_AND_METADATA, Retryable, "merge-meets-metadata",
    "one transaction replaces the schema by a Merge, the other changes metadata of the schema or of a field",
    PLAN_AGAIN,
    needs marks::SCHEMA,
    |ours, landed| either(ours, landed, |a, b| is_merge(a) && b.config.changes_schema()).then_some(Evidence::Register(Register::Schema)),
}

check! {
    /// First rule (c), both directions.
    RESTORE_AND_METADATA, Incompatible, "restore-meets-metadata",
    "one transaction makes an earlier version current, the other changes metadata of the schema or of a field",
    "change the metadata after the restore",
    needs marks::RESTORE,
    |ours, landed| either(ours, landed, |a, b| a.restore_to.is_some() && b.config.changes_schema()).then_some(Evidence::Register(Register::Schema)),
}

check! {
    /// Only for fields that an Update says it wrote anew, so an Update by rows passes.
    MODIFIED_FIELD_LOST, Retryable, "modified-field-dropped",
    "landed dropped a column that ours rewrote",
    PLAN_AGAIN,
    |ours, landed| missing(landed, ours.update.as_ref()?.fields_modified.iter()),
}

check! {
    /// A file cannot hold a column that is gone.
    REPLACED_FIELD_LOST, Incompatible, "replaced-field-dropped",
    "landed dropped a column whose data files ours replaces",
    "drop the column from the replacement",
    |ours, landed| missing(landed, ours.replacements.iter().flat_map(|(_, fields)| fields)),
}

check! {
    /// The cast gives the column a new field id; the appended file has the old one, and the column reads NULL.
    CAUTION_APPEND_LOSES_COLUMN, Compatible, "appended-column-retired",
    "landed dropped or retyped a column that ours may have appended: pylance accepts, and the appended values are not read",
    "append after the change of type, or read the newest version first",
    |_, landed| lost(landed).first().map(|_| Evidence::Fields(lost(landed).to_vec())),
}

check! {
    /// The index then refers to a field that does not exist, and every filtered read fails.
    CAUTION_INDEX_LOSES_FIELD, Compatible, "indexed-field-dropped",
    "landed dropped or retyped a column that ours indexes: pylance accepts, and filtered reads then fail until the index is dropped",
    "drop the index, or build it on the newest version",
    |ours, landed| {
        let mut indexed = ours.new_indices.iter();
        indexed.find_map(|index| missing(landed, index.fields.iter()).or_else(|| shared_fields(&index.fields, lost(landed))))
    },
}

check! {
    /// Alone, the change of type is refused while the column has an index.
    CAUTION_MERGE_DROPS_INDEX, Compatible, "landed-index-dropped",
    "ours drops or retypes a column that landed indexed: pylance accepts, and the new index is gone",
    "build the index again after the change",
    |ours, landed| {
        let mut indexed = landed.new_indices.iter();
        indexed.find_map(|index| shared_fields(&index.fields, lost(ours)))
    },
}

check! {
    /// A Project carries the whole schema of the version that it read, primary key included.
    CAUTION_PROJECT_DROPS_METADATA, Compatible, "landed-metadata-lost",
    "landed changed metadata of the schema or of a field and ours brings its older schema: pylance accepts, and the change is lost",
    "set the metadata again after the change of schema",
    |_, landed| landed.config.changes_schema().then_some(Evidence::Register(Register::Schema)),
}

check! {
    /// By field, so that a column which ours has nothing to do with may change.
    FIELD_CHANGED, Retryable, "field-changed",
    "landed dropped, renamed or retyped a column that ours writes, indexes or looks for rows by, or brought another schema than ours keeps",
    PLAN_AGAIN,
    field_changed,
}

check! {
    /// The strict form of the caution: alone, the change of type is refused while the column has an index.
    LANDED_INDEX_LOST, Retryable, "landed-index-lost",
    "ours drops or retypes a column that landed indexed, and the new index would be gone without a word",
    "look at the index, drop it if it is to go, and change the column on the newest version",
    CAUTION_MERGE_DROPS_INDEX.fires,
}

check! {
    /// The strict form of the caution: the schema that ours brings is older than the metadata.
    METADATA_WOULD_BE_LOST, Retryable, "metadata-would-be-lost",
    "landed changed metadata of the schema or of a field, and ours would put its older schema over it",
    "read the newest version and change its schema",
    CAUTION_PROJECT_DROPS_METADATA.fires,
}

fn field_changed(ours: &LanceFacts, landed: &LanceFacts) -> Option<Evidence> {
    if ours.keeps_schema && (landed.schema_changed || landed.config.changes_schema()) {
        return Some(Evidence::Register(Register::Schema));
    }
    match &ours.fields_used {
        Some(used) => shared_fields(used, &landed.fields_changed),
        None => (!landed.fields_changed.is_empty()).then(|| Evidence::Fields(landed.fields_changed.clone())),
    }
}

fn either(ours: &LanceFacts, landed: &LanceFacts, holds: fn(&LanceFacts, &LanceFacts) -> bool) -> bool {
    holds(ours, landed) || holds(landed, ours)
}

fn may_tighten(facts: &LanceFacts) -> bool {
    facts.schema.as_ref().is_some_and(|schema| match schema.origin {
        SchemaOrigin::Merge | SchemaOrigin::Project => !schema.preserves_nullability,
        SchemaOrigin::Overwrite => false,
    })
}

fn is_merge(facts: &LanceFacts) -> bool {
    facts.schema.as_ref().is_some_and(|schema| schema.origin == SchemaOrigin::Merge)
}

pub(super) fn lost(facts: &LanceFacts) -> &[i64] {
    facts.schema.as_ref().map_or(&[], |schema| &schema.lost)
}

/// Fields that landed's schema no longer has.
fn missing<'a>(landed: &LanceFacts, fields: impl Iterator<Item = &'a i64>) -> Option<Evidence> {
    let remaining = &landed.schema.as_ref()?.remaining;
    let gone: Vec<i64> = fields.copied().filter(|field| !remaining.contains(field)).collect();
    (!gone.is_empty()).then_some(Evidence::Fields(gone))
}
