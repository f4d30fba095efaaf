//! Actions as the conflict rules see them.

use super::pending::Transaction;
use crate::Core;
use crate::action::{Action, CommitInfo, Metadata, Protocol, TextMap};
use crate::schema::{DataType, StructType};
use lakebed_conflict::delta::{
    DeltaFacts, DeltaFile, MetadataChange, MetadataState, PartitionText, ProtocolChange, TableState,
};
use lakebed_transaction::{DeltaKind, Footprint, Unit, UnitId};
use serde_json::{Map, Value};
use std::sync::Arc;

/// The tag by which a commit says that only high-water marks of identity columns moved.
const IDENTITY_TAG: &str = "delta.identity.schemaUpdate";

/// The facts of a landed commit.
pub(super) fn landed(actions: &[Action]) -> DeltaFacts {
    let info = actions.iter().find_map(|action| if let Action::CommitInfo(info) = action { Some(info) } else { None });
    let mut facts = of_actions(actions);
    facts.operation = Arc::from(info.and_then(CommitInfo::operation).unwrap_or_default());
    facts.declared_blind = info.and_then(|info| info.flag("isBlindAppend"));
    if let Some(change) = &mut facts.metadata {
        change.identity_only = info.and_then(|info| info.tag(IDENTITY_TAG)).is_some_and(|text| text != "false");
    }
    let scope = info.and_then(|info| info.parameter("predicate"));
    // Without one it was of the whole table, whatever stood in it.
    facts.footprint.read_whole_table = &*facts.operation == "TRUNCATE" && scope.is_none();
    let blind = facts.landed_blind();
    facts.kind = kind_of(&facts, blind);
    facts.footprint.blind = blind;
    facts
}

/// The facts of ours, on the table that it read.
pub(super) fn ours(core: Option<&Core>, transaction: &Transaction) -> DeltaFacts {
    let mut facts = of_actions(&transaction.actions);
    facts.operation = Arc::from(transaction.operation.as_str());
    facts.changes_data = transaction.changes_data;
    facts.large = transaction.large;
    facts.skip_if_empty = transaction.skip_if_empty;
    facts.app_ids_read.clone_from(&transaction.reads.app_ids);
    facts.footprint.read_units = transaction.read_units().collect();
    facts.footprint.read_whole_table = transaction.reads.whole_table;
    facts.footprint.predicates.clone_from(&transaction.reads.predicates);
    facts.footprint.keys.clone_from(&transaction.reads.keys);
    facts.footprint.rows =
        transaction.row_changes.iter().map(|change| (UnitId::file(&change.path), change.deleted.clone())).collect();
    let blind = facts.derived_blind();
    facts.kind = kind_of(&facts, blind);
    facts.footprint.blind = blind;
    if let Some(core) = core {
        facts.table = TableState {
            protocol: core.protocol.state(),
            access: core.protocol.access(),
            metadata: MetadataState::clone(&core.metadata_state),
            partition_columns: core.partition_columns(),
        };
    }
    facts
}

fn of_actions(actions: &[Action]) -> DeltaFacts {
    let mut facts = DeltaFacts::default();
    let mut removed = Vec::new();
    for action in actions {
        match action {
            Action::Add(add) => {
                facts.data_change |= add.data_change;
                let unit = UnitId::file(&add.path);
                facts.footprint.added_units.push(Unit { data_change: add.data_change, ..Unit::named(unit.clone()) });
                facts.added.push(DeltaFile {
                    unit,
                    partition: Some(texts(&add.partition_values)),
                    data_change: add.data_change,
                });
            }
            Action::Remove(remove) => {
                facts.data_change |= remove.data_change;
                let unit = UnitId::file(&remove.path);
                removed.push(unit.clone());
                let partition = remove.partition_values.as_ref().map(texts);
                facts.removed.push(DeltaFile { unit, partition, data_change: remove.data_change });
            }
            Action::Cdc(_) => facts.carries_cdc = true,
            Action::Metadata(metadata) => {
                let schema = StructType::parse(&metadata.schema_string).ok();
                let state = metadata_state(metadata, schema.as_ref());
                facts.metadata = Some(MetadataChange { state, identity_only: false });
            }
            Action::Protocol(protocol) => facts.protocol = Some(change_of(protocol)),
            Action::Txn(txn) => {
                facts.app_ids_written.insert(Arc::from(txn.app_id.as_str()));
            }
            Action::Domain(domain) => {
                facts.domains.insert(Arc::from(domain.domain.as_str()));
            }
            Action::CommitInfo(_) | Action::CheckpointMetadata(_) | Action::Sidecar(_) => {}
        }
    }
    facts.footprint = Footprint {
        removed_units: removed.into_iter().collect(),
        data_change: facts.data_change,
        ..std::mem::take(&mut facts.footprint)
    };
    facts
}

fn texts(map: &TextMap) -> Vec<PartitionText> {
    map.iter().map(|(key, value)| (Arc::from(key), value.map(Arc::from))).collect()
}

fn change_of(protocol: &Protocol) -> ProtocolChange {
    ProtocolChange { state: protocol.state(), access: protocol.access() }
}

/// The metadata as the rules compare them; `schema` is what stands in them, parsed, or nothing where it is no schema.
pub(crate) fn metadata_state(metadata: &Metadata, schema: Option<&StructType>) -> MetadataState {
    let configuration =
        metadata.configuration.iter().filter_map(|(key, value)| Some((Arc::from(key), Arc::from(value?)))).collect();
    // The fields' own text: a rule that compares them needs equality only.
    let rest = Metadata {
        id: metadata.id.clone(),
        name: metadata.name.clone(),
        description: metadata.description.clone(),
        format: metadata.format.clone(),
        schema_string: String::new(),
        partition_columns: metadata.partition_columns.clone(),
        configuration: TextMap::new(),
        created_time: metadata.created_time,
    };
    let text = metadata.schema_string.as_str();
    MetadataState {
        configuration,
        schema: Arc::from(text),
        schema_without_mapping: schema
            .map_or_else(|| Arc::from(text), |schema| Arc::from(without_mapping(schema.clone()))),
        rest: Arc::from(serde_json::to_string(&rest).unwrap_or_default()),
    }
}

/// The schema's text without the ids and physical names of column mapping, keys in order.
fn without_mapping(mut schema: StructType) -> String {
    strip(&mut schema);
    schema.to_json()
}

/// Recursion is bounded by the depth that the JSON reader allows.
fn strip(schema: &mut StructType) {
    for field in &mut schema.fields {
        let mut kept: Vec<(String, Value)> = std::mem::take(&mut field.metadata)
            .into_iter()
            .filter(|(key, _)| key != "delta.columnMapping.id" && key != "delta.columnMapping.physicalName")
            .collect();
        kept.sort_by(|(a, _), (b, _)| a.cmp(b));
        field.metadata = kept.into_iter().collect::<Map<_, _>>();
        strip_type(&mut field.data_type);
    }
}

fn strip_type(data_type: &mut DataType) {
    match data_type {
        DataType::Primitive(_) => {}
        DataType::Struct(inner) => strip(inner),
        DataType::Array { element, .. } => strip_type(element),
        DataType::Map { key, value, .. } => {
            strip_type(key);
            strip_type(value);
        }
    }
}

/// What a commit does, by its operation's name where that says it, else by its actions.
fn kind_of(facts: &DeltaFacts, blind: bool) -> DeltaKind {
    let (adds, removes) = (!facts.added.is_empty(), !facts.removed.is_empty());
    if !adds && !removes && !facts.carries_cdc {
        return if facts.metadata.is_some() || facts.protocol.is_some() || !facts.domains.is_empty() {
            DeltaKind::Metadata
        } else if facts.app_ids_written.is_empty() {
            DeltaKind::Empty
        } else {
            DeltaKind::Other
        };
    }
    let append = if blind { DeltaKind::Append } else { DeltaKind::AppendWithReads };
    match &*facts.operation {
        "DELETE" | "TRUNCATE" => DeltaKind::Delete,
        "UPDATE" => DeltaKind::Update,
        "MERGE" => DeltaKind::Merge,
        "OPTIMIZE" | "REORG" => DeltaKind::Compact,
        "RESTORE" => DeltaKind::Restore,
        _ if adds && removes && !facts.data_change => DeltaKind::Compact,
        "WRITE" | "REPLACE TABLE AS SELECT" | "CREATE OR REPLACE TABLE AS SELECT" if removes => DeltaKind::Overwrite,
        _ if adds && !removes => append,
        _ if removes && !adds => DeltaKind::Delete,
        _ => DeltaKind::Other,
    }
}
