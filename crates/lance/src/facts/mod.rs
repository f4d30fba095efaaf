//! What the conflict rules look at, taken from messages.

mod fields;
mod history;
mod indices;
mod maps;
mod units;

pub(crate) use history::{is_recorded, record, rewritten_from};

use crate::Snapshot;
use crate::precise::Reads;
use crate::proto::file::Field;
use crate::proto::table::transaction::{
    KeyExistenceFilter, Operation, Update, UpdateMode as Mode, key_existence_filter,
};
use crate::proto::table::{CompactedSsTable, DataFragment, Transaction as Message, Uuid};
use lakebed_conflict::lance::{
    BaseFacts, FileList, KeyFilter, KeySet, LanceFacts, SchemaChange, SchemaOrigin, ShardId, UpdateFacts, UpdateMode,
};
use lakebed_transaction::{RowSet, UnitId};
use prost::Message as _;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Ours: what only its writer knows stands beside the message.
pub(crate) struct Ours<'a> {
    pub(crate) message: &'a Message,
    pub(crate) base: Option<&'a Snapshot>,
    pub(crate) read_fragments: &'a BTreeMap<u64, DataFragment>,
    pub(crate) affected: Option<&'a BTreeMap<u64, RowSet>>,
    pub(crate) reads: &'a Reads,
}

/// The facts of ours.
pub(crate) fn ours_facts(ours: &Ours<'_>) -> LanceFacts {
    let mut facts = facts_of(ours.message, ours.base, None);
    facts.fields_used = fields::used(ours.message.operation.as_ref(), ours.reads);
    facts.keeps_schema = ours.reads.keeps_schema;
    facts.files_read = ours.read_fragments.iter().map(|(id, fragment)| (*id, file_list(fragment))).collect();
    if let Some(rows) = ours.affected {
        let updated = facts.footprint.updated_units.as_slice();
        facts.affected_rows_known = !updated.is_empty()
            && updated.iter().all(|unit| matches!(unit, UnitId::Fragment(id) if rows.contains_key(id)));
        facts.footprint.rows = rows.iter().map(|(id, rows)| (UnitId::Fragment(*id), rows.clone())).collect();
    }
    facts
}

/// The facts in a transaction's message: `before` is the version that it was built on or that it follows, `after` the version
/// that it made, where it landed.
#[must_use]
pub fn facts_of(message: &Message, before: Option<&Snapshot>, after: Option<&Snapshot>) -> LanceFacts {
    let mut facts = LanceFacts {
        footprint: units::footprint(message.operation.as_ref()),
        tagged_history: before.is_some_and(history::is_tagged),
        ..LanceFacts::default()
    };
    if let (Some(before), Some(after)) = (before, after) {
        facts.fields_changed = fields::changed(before, after);
        facts.schema_changed = fields::schema_changed(before, after);
    }
    let Some(operation) = &message.operation else { return facts };
    facts.relies_on_nullability = matches!(
        operation,
        Operation::Append(_) | Operation::Update(_) | Operation::DataReplacement(_) | Operation::DataOverlay(_)
    );
    match operation {
        Operation::Append(_) | Operation::ReserveFragments(_) | Operation::Clone(_) => {}
        Operation::Delete(delete) => facts.files_written = written(&delete.updated_fragments),
        Operation::Update(update) => {
            facts.files_written = written(&update.updated_fragments);
            take_shards(&mut facts, &update.compacted_sstables);
            facts.update = Some(update_facts(update));
        }
        Operation::Overwrite(overwrite) => {
            facts.config = maps::of_overwrite(overwrite);
            facts.schema = Some(schema_change(SchemaOrigin::Overwrite, &overwrite.schema, before, true));
        }
        Operation::Merge(merge) => {
            let keeps = merge.preserves_nullability;
            facts.schema = Some(schema_change(SchemaOrigin::Merge, &merge.schema, before, keeps));
        }
        Operation::Project(project) => {
            let keeps = project.preserves_nullability;
            facts.schema = Some(schema_change(SchemaOrigin::Project, &project.schema, before, keeps));
        }
        Operation::CreateIndex(create) => indices::fill(&mut facts, create, before),
        Operation::Rewrite(rewrite) => facts.rewrite = Some(history::rewrite(rewrite, after)),
        Operation::UpdateConfig(update) => facts.config = maps::of_update(update),
        Operation::DataReplacement(replace) => {
            facts.replacements = replace
                .replacements
                .iter()
                .map(|group| {
                    // A negative id stands for a column that is gone.
                    let fields = group.new_file.iter().flat_map(|file| &file.fields).filter(|field| **field >= 0);
                    (group.fragment_id, fields.map(|field| i64::from(*field)).collect())
                })
                .collect();
        }
        Operation::DataOverlay(overlay) => facts.overlays = units::overlays(overlay),
        Operation::Restore(restore) => facts.restore_to = Some(restore.version),
        Operation::UpdateMemWalState(update) => take_shards(&mut facts, &update.compacted_sstables),
        Operation::UpdateBases(update) => {
            facts.bases = update
                .new_bases
                .iter()
                .map(|base| BaseFacts {
                    id: base.id,
                    name: base.name.as_deref().map(Arc::from),
                    path: Arc::from(base.path.as_str()),
                })
                .collect();
        }
    }
    facts
}

fn update_facts(update: &Update) -> UpdateFacts {
    let columns = update.update_mode == Mode::RewriteColumns as i32;
    UpdateFacts {
        mode: if columns { UpdateMode::RewriteColumns } else { UpdateMode::RewriteRows },
        fields_modified: update.fields_modified.iter().map(|field| i64::from(*field)).collect(),
        inserted_rows: update.inserted_rows.as_ref().map(key_filter),
    }
}

/// The files of fragments, ascending by fragment.
fn written(fragments: &[DataFragment]) -> Vec<(u64, FileList)> {
    let mut written: Vec<_> = fragments.iter().map(|fragment| (fragment.id, file_list(fragment))).collect();
    written.sort_by_key(|(id, _)| *id);
    written
}

fn file_list(fragment: &DataFragment) -> FileList {
    let mut encoding = Vec::new();
    for file in &fragment.files {
        encoding.extend(file.encode_length_delimited_to_vec());
    }
    FileList::of(&encoding)
}

fn schema_change(
    origin: SchemaOrigin,
    schema: &[Field],
    before: Option<&Snapshot>,
    preserves_nullability: bool,
) -> SchemaChange {
    let types: HashMap<i32, &str> = schema.iter().map(|field| (field.id, field.logical_type.as_str())).collect();
    let lost = before.map_or(&[][..], Snapshot::fields).iter();
    let lost = lost.filter(|field| types.get(&field.id) != Some(&field.logical_type.as_str()));
    SchemaChange {
        origin,
        remaining: schema.iter().map(|field| i64::from(field.id)).collect(),
        lost: lost.map(|field| i64::from(field.id)).collect(),
        preserves_nullability,
    }
}

fn key_filter(filter: &KeyExistenceFilter) -> KeyFilter {
    let keys = match &filter.data {
        Some(key_existence_filter::Data::Exact(exact)) => KeySet::exact(exact.key_hashes.clone()),
        Some(key_existence_filter::Data::Bloom(bloom)) => {
            KeySet::bloom(&bloom.bitmap, bloom.number_of_items, bloom.probability)
        }
        None => KeySet::Unknown,
    };
    KeyFilter { field_ids: filter.field_ids.iter().map(|field| i64::from(*field)).collect(), keys }
}

/// Adds generations by shard; a shard without a proper id may be any.
fn take_shards(facts: &mut LanceFacts, tables: &[CompactedSsTable]) {
    for table in tables {
        match uuid_bytes(table.shard_id.as_ref()) {
            Some(id) => facts.shards.push((ShardId(id), table.generation)),
            None => facts.shards_unknown = true,
        }
    }
}

fn uuid_bytes(uuid: Option<&Uuid>) -> Option<[u8; 16]> {
    <[u8; 16]>::try_from(uuid?.uuid.as_ref()).ok()
}
