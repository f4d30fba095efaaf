//! What a transaction does, in the terms of the rules.

mod index;
mod maps;
mod rows;

use crate::Snapshot;
use crate::proto::file::Field;
use crate::proto::table::transaction::{CreateIndex, Operation, Overwrite, Rewrite};
use crate::proto::table::{DataFragment, IndexMetadata, Transaction as Message};
use crate::transaction::kind_of;
use lakebed_conflict::lance::{LanceFacts, RewriteFacts, RewriteGroup, SchemaChange, SchemaOrigin};
use lakebed_transaction::{Access, LanceKind, Register, RowSet, Unit, UnitId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The facts of a transaction, ours or landed, for [`lakebed_conflict::lance::judge`].
///
/// `base` is the version that *ours* read, for the facts of either side: fields are lost and files changed in comparison
/// with it. `landed` is the version that the transaction made, where it is a landed one. What is never in a message
/// (affected rows, a deferred remap) is set by the writer on the answer.
///
/// New fragments whose ids are given at commit stand among the added units as fragment 0.
///
/// Nothing fails here: what cannot be read (a key filter, MemWAL details) is taken down as unknown, which the rules refuse.
#[must_use]
pub fn facts_of(transaction: &Message, base: Option<&Snapshot>, landed: Option<&Snapshot>) -> (LanceKind, LanceFacts) {
    let kind = kind_of(transaction.operation.as_ref());
    let mut facts = LanceFacts::default();
    facts.tagged_history = landed.or(base).is_some_and(index::has_tagged_history);
    if let Some(operation) = &transaction.operation {
        fill(&mut facts, operation, base, landed);
    }
    (kind, facts)
}

/// Ours, with what only its writer knows.
pub(crate) struct Ours<'a> {
    /// The message.
    pub(crate) message: &'a Message,
    /// The version that was read.
    pub(crate) base: Option<&'a Snapshot>,
    /// The fragments that it changes or removes, as they were read.
    pub(crate) read_fragments: &'a BTreeMap<u64, DataFragment>,
    /// The rows that it takes out of each of these, where they are known.
    pub(crate) affected: Option<&'a BTreeMap<u64, RowSet>>,
}

/// The facts of ours.
pub(crate) fn ours_facts(ours: &Ours<'_>) -> LanceFacts {
    let (_, mut facts) = facts_of(ours.message, ours.base, None);
    facts.files_read = ours.read_fragments.iter().map(|(id, fragment)| (*id, rows::files(fragment))).collect();
    if let Some(affected) = ours.affected {
        facts.affected_rows_known = true;
        facts.footprint.rows = affected.iter().map(|(id, rows)| (UnitId::Fragment(*id), rows.clone())).collect();
    }
    facts
}

fn fill(facts: &mut LanceFacts, operation: &Operation, base: Option<&Snapshot>, landed: Option<&Snapshot>) {
    facts.footprint.data_change = changes_data(operation);
    match operation {
        Operation::Append(append) => {
            facts.relies_on_nullability = true;
            facts.footprint.added_units = rows::units(&append.fragments, true);
        }
        Operation::Delete(delete) => rows::delete(facts, delete, base),
        Operation::Update(update) => rows::update(facts, update, base),
        Operation::Overwrite(overwrite) => fill_overwrite(facts, overwrite, base),
        Operation::CreateIndex(create) => fill_indices(facts, create, base),
        Operation::Rewrite(rewrite) => fill_rewrite(facts, rewrite, landed),
        Operation::DataReplacement(replacement) => rows::replacement(facts, replacement),
        Operation::DataOverlay(overlay) => rows::overlay(facts, overlay),
        Operation::Merge(merge) => {
            facts.footprint.updated_units = merge.fragments.iter().map(|it| UnitId::Fragment(it.id)).collect();
            fill_schema(facts, &merge.schema, base, SchemaOrigin::Merge, merge.preserves_nullability);
        }
        Operation::Project(project) => {
            fill_schema(facts, &project.schema, base, SchemaOrigin::Project, project.preserves_nullability);
        }
        Operation::Restore(restore) => {
            facts.restore_to = Some(restore.version);
            facts.footprint.read_whole_table = true;
        }
        Operation::UpdateConfig(update) => maps::update_config(facts, update),
        Operation::UpdateMemWalState(state) => index::take_shards(facts, &state.compacted_sstables),
        Operation::UpdateBases(update) => facts.bases = maps::bases(&update.new_bases),
        Operation::ReserveFragments(_) | Operation::Clone(_) => {}
    }
}

const fn changes_data(operation: &Operation) -> bool {
    match operation {
        Operation::Append(_)
        | Operation::Delete(_)
        | Operation::Update(_)
        | Operation::Overwrite(_)
        | Operation::DataReplacement(_)
        | Operation::DataOverlay(_)
        | Operation::Merge(_)
        | Operation::Project(_)
        | Operation::Restore(_) => true,
        Operation::CreateIndex(_)
        | Operation::Rewrite(_)
        | Operation::ReserveFragments(_)
        | Operation::UpdateConfig(_)
        | Operation::UpdateMemWalState(_)
        | Operation::UpdateBases(_)
        | Operation::Clone(_) => false,
    }
}

fn fill_overwrite(facts: &mut LanceFacts, overwrite: &Overwrite, base: Option<&Snapshot>) {
    let before = base.map_or(&[][..], Snapshot::fragments);
    facts.footprint.removed_units = before.iter().map(|fragment| UnitId::Fragment(fragment.id)).collect();
    facts.footprint.added_units = rows::units(&overwrite.fragments, true);
    fill_schema(facts, &overwrite.schema, base, SchemaOrigin::Overwrite, true);
    facts.config.config = maps::upserts(&overwrite.config_upsert_values);
    facts.bases = maps::bases(&overwrite.initial_bases);
    maps::write_properties(facts);
}

fn fill_schema(
    facts: &mut LanceFacts,
    fields: &[Field],
    base: Option<&Snapshot>,
    origin: SchemaOrigin,
    preserves_nullability: bool,
) {
    facts.footprint.registers.push((Register::Schema, Access::Write));
    let types: BTreeMap<i32, &str> = fields.iter().map(|field| (field.id, field.logical_type.as_str())).collect();
    let before = base.map_or(&[][..], Snapshot::fields);
    let lost = before.iter().filter(|field| types.get(&field.id) != Some(&field.logical_type.as_str()));
    facts.schema = Some(SchemaChange {
        origin,
        remaining: types.keys().map(|id| i64::from(*id)).collect(),
        lost: lost.map(|field| i64::from(field.id)).collect(),
        preserves_nullability,
    });
}

fn fill_indices(facts: &mut LanceFacts, create: &CreateIndex, base: Option<&Snapshot>) {
    let stable = base.is_some_and(Snapshot::has_stable_row_ids);
    let all =
        |list: &[IndexMetadata]| -> Vec<_> { list.iter().map(|entry| index::facts_of_entry(entry, stable)).collect() };
    facts.new_indices = all(&create.new_indices);
    facts.removed_indices = all(&create.removed_indices);
    index::take_memwal_shards(facts, &create.new_indices);
    facts.trims_history = facts.tagged_history && index::is_trim(create);
    for entry in create.new_indices.iter().chain(&create.removed_indices) {
        facts.footprint.registers.push((Register::Index(Arc::from(entry.name.as_str())), Access::Write));
    }
}

fn fill_rewrite(facts: &mut LanceFacts, rewrite: &Rewrite, landed: Option<&Snapshot>) {
    let record = landed.map(index::ReuseRecord::of).unwrap_or_default();
    let ids = |list: &[DataFragment]| list.iter().map(|it| it.id).collect::<Vec<_>>();
    let mut groups = Vec::new();
    let mut added: Vec<Unit> = Vec::new();
    let lone = [(&rewrite.old_fragments, &rewrite.new_fragments)];
    let pairs = if rewrite.groups.is_empty() {
        lone.to_vec()
    } else {
        rewrite.groups.iter().map(|group| (&group.old_fragments, &group.new_fragments)).collect()
    };
    for (old, new) in pairs {
        added.extend(rows::units(new, false));
        let sources = ids(old);
        groups.push(RewriteGroup {
            recorded: record.holds(&sources),
            folds_overlays: old.iter().any(|fragment| !fragment.overlays.is_empty()),
            old: sources,
            new: ids(new),
        });
    }
    let removed = groups.iter().flat_map(|group| group.old.iter().map(|id| UnitId::Fragment(*id)));
    facts.footprint.removed_units = removed.collect();
    facts.footprint.read_units = facts.footprint.removed_units.clone();
    facts.footprint.added_units = added;
    let remapped = rewrite.rewritten_indices.iter().map(|entry| index::uuid(entry.old_id.as_ref()));
    facts.rewrite = Some(RewriteFacts { groups, extends_reuse_index: false, remapped: remapped.collect() });
}
