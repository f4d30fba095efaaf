//! Facts from Delta commits, read the short way: enough for commits that other clients wrote, no validation.

use lakebed_conflict::delta::{
    DeltaFacts, DeltaFile, MetadataChange, MetadataState, PartitionColumn, PartitionText, ProtocolAccess,
    ProtocolChange, ProtocolState, TableState, operation_changes_data, partitions_in, split_read,
};
use lakebed_transaction::{ColumnType, Expr, Footprint, UnitId};
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// Features that a current client knows; whatever else a protocol names cannot be read or written.
const KNOWN_FEATURES: &[&str] = &[
    "appendOnly",
    "invariants",
    "checkConstraints",
    "changeDataFeed",
    "generatedColumns",
    "allowColumnDefaults",
    "columnMapping",
    "identityColumns",
    "deletionVectors",
    "rowTracking",
    "timestampNtz",
    "v2Checkpoint",
    "domainMetadata",
    "inCommitTimestamp",
    "clustering",
    "vacuumProtocolCheck",
    "checkpointProtection",
    "typeWidening",
    "typeWidening-preview",
    "variantType",
    "variantType-preview",
    "variantShredding-preview",
    "icebergCompatV1",
    "icebergCompatV2",
    "icebergCompatV3",
    "catalogManaged",
    "catalogOwned-preview",
    "collations-preview",
    "materializePartitionColumns",
];

/// The lines of a commit.
pub(super) fn lines(path: &Path) -> Vec<Json> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().filter(|line| !line.trim().is_empty()).map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The newest version of a table whose log is commits alone.
pub(super) fn table(log: &Path) -> TableState {
    let mut names: Vec<_> = std::fs::read_dir(log).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|end| end == "json"));
    names.sort();
    let mut state = TableState::default();
    for line in names.iter().flat_map(|path| lines(path)) {
        if let Some(action) = line.get("protocol") {
            state.protocol = protocol(action);
            state.access = access(&state.protocol);
        }
        if let Some(action) = line.get("metaData") {
            state.metadata = metadata(action);
            state.partition_columns = partition_columns(action);
        }
    }
    state
}

/// A landed commit.
pub(super) fn landed(lines: &[Json]) -> DeltaFacts {
    let mut facts = DeltaFacts::default();
    let info = lines.iter().find_map(|line| line.get("commitInfo"));
    if let Some(info) = info {
        facts.operation = Arc::from(info["operation"].as_str().unwrap_or(""));
        facts.declared_blind = info["isBlindAppend"].as_bool();
    }
    let tag = info.map(|info| info["tags"]["delta.identity.schemaUpdate"].clone());
    actions(&mut facts, lines);
    if let Some(change) = &mut facts.metadata {
        change.identity_only = tag.is_some_and(|tag| tag == "true" || tag == true);
    }
    facts
}

/// Ours: the first line says what was read, the others are its actions.
pub(super) fn ours(lines: &[Json], table: TableState) -> DeltaFacts {
    let (head, rest) = lines.split_first().unwrap();
    let operation = head["operation"].as_str().unwrap_or("");
    let reads = &head["reads"];
    let list = |key: &str| reads[key].as_array().cloned().unwrap_or_default();
    let texts = |key: &str| list(key).iter().map(|x| Arc::from(x.as_str().unwrap())).collect::<Vec<Arc<str>>>();
    let filters = |read: &Json| {
        let filters = read.as_array().unwrap().iter().map(|one| filter(one, &table)).collect();
        split_read(filters, &table.partition_columns)
    };
    let mut facts = DeltaFacts {
        operation: Arc::from(operation),
        changes_data: head["changes_data"].as_bool().unwrap_or_else(|| operation_changes_data(operation)),
        large: head["large"].as_bool().unwrap_or(matches!(operation, "RESTORE" | "CLONE" | "CONVERT")),
        skip_if_empty: head["ifNeeded"].as_bool().unwrap_or(false),
        footprint: Footprint {
            read_units: texts("files").iter().map(|path| UnitId::file(path)).collect(),
            read_whole_table: reads["whole_table"].as_bool().unwrap_or(false),
            predicates: list("predicates").iter().map(filters).collect(),
            ..Footprint::default()
        },
        app_ids_read: texts("app_ids").into_iter().collect(),
        ..DeltaFacts::default()
    };
    actions(&mut facts, rest);
    if let Some(action) = head.get("updateMetadata") {
        facts.metadata = Some(MetadataChange { state: metadata(action), identity_only: false });
    }
    facts.table = table;
    facts
}

fn filter(json: &Json, table: &TableState) -> Expr {
    if let Some(text) = json.as_str() {
        return lakebed_sql::parse_expression(text).unwrap();
    }
    let partitions: Vec<Vec<PartitionText>> =
        json["partitions_in"].as_array().unwrap().iter().map(|one| partition(one).unwrap()).collect();
    partitions_in(&partitions, &table.partition_columns)
}

fn actions(facts: &mut DeltaFacts, lines: &[Json]) {
    for line in lines {
        let Some((kind, action)) = line.as_object().and_then(|object| object.iter().next()) else { continue };
        let text = |key: &str| Arc::<str>::from(action[key].as_str().unwrap_or(""));
        match kind.as_str() {
            "add" => facts.added.push(file(action)),
            "remove" => facts.removed.push(file(action)),
            "cdc" => facts.carries_cdc = true,
            "metaData" => {
                facts.metadata = Some(MetadataChange { state: metadata(action), identity_only: false });
            }
            "protocol" => {
                let state = protocol(action);
                facts.protocol = Some(ProtocolChange { access: access(&state), state });
            }
            "txn" => {
                facts.app_ids_written.insert(text("appId"));
            }
            "domainMetadata" => {
                facts.domains.insert(text("domain"));
            }
            "commitInfo" => {}
            _ => facts.carries_unknown_actions = true,
        }
    }
    facts.data_change = facts.added.iter().chain(&facts.removed).any(|file| file.data_change);
    facts.footprint.removed_units = facts.removed.iter().map(|file| file.unit.clone()).collect();
}

fn file(action: &Json) -> DeltaFile {
    DeltaFile {
        unit: UnitId::file(action["path"].as_str().unwrap()),
        partition: partition(&action["partitionValues"]),
        data_change: action["dataChange"].as_bool().unwrap_or(true),
    }
}

fn partition(values: &Json) -> Option<Vec<PartitionText>> {
    let one = |(key, text): (&String, &Json)| (Arc::from(key.as_str()), text.as_str().map(Arc::from));
    values.as_object().map(|values| values.iter().map(one).collect())
}

fn protocol(action: &Json) -> ProtocolState {
    let features = |key: &str| -> BTreeSet<Arc<str>> {
        action[key].as_array().into_iter().flatten().filter_map(|name| name.as_str().map(Arc::from)).collect()
    };
    ProtocolState {
        reader_version: action["minReaderVersion"].as_i64().unwrap_or(0),
        writer_version: action["minWriterVersion"].as_i64().unwrap_or(0),
        reader_features: features("readerFeatures"),
        writer_features: features("writerFeatures"),
    }
}

fn access(state: &ProtocolState) -> ProtocolAccess {
    let unknown = |features: &BTreeSet<Arc<str>>| {
        features.iter().filter(|name| !KNOWN_FEATURES.contains(&&***name)).cloned().collect::<Vec<_>>()
    };
    if state.reader_version > 3 || state.writer_version > 7 {
        return ProtocolAccess::UnsupportedVersion;
    }
    match (unknown(&state.reader_features), unknown(&state.writer_features)) {
        (read, _) if !read.is_empty() => ProtocolAccess::UnsupportedReaderFeatures(read),
        (_, write) if !write.is_empty() => ProtocolAccess::UnsupportedWriterFeatures(write),
        _ => ProtocolAccess::Usable,
    }
}

fn metadata(action: &Json) -> MetadataState {
    let schema = action["schemaString"].as_str().unwrap_or("");
    let mut without_mapping: Json = serde_json::from_str(schema).unwrap_or(Json::Null);
    strip_mapping(&mut without_mapping);
    let mut rest = action.clone();
    if let Some(object) = rest.as_object_mut() {
        object.remove("schemaString");
        object.remove("configuration");
    }
    let configuration: BTreeMap<Arc<str>, Arc<str>> = action["configuration"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| (Arc::from(key.as_str()), Arc::from(value.as_str().unwrap_or(""))))
        .collect();
    MetadataState {
        configuration,
        schema: Arc::from(schema),
        schema_without_mapping: Arc::from(canonical(&without_mapping)),
        rest: Arc::from(canonical(&rest)),
    }
}

fn strip_mapping(json: &mut Json) {
    match json {
        Json::Object(object) => {
            object.remove("delta.columnMapping.id");
            object.remove("delta.columnMapping.physicalName");
            object.values_mut().for_each(strip_mapping);
        }
        Json::Array(items) => items.iter_mut().for_each(strip_mapping),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => {}
    }
}

fn canonical(json: &Json) -> String {
    match json {
        Json::Object(object) => {
            let sorted: BTreeMap<_, _> = object.iter().map(|(key, value)| (key, canonical(value))).collect();
            format!("{sorted:?}")
        }
        Json::Array(items) => format!("{:?}", items.iter().map(canonical).collect::<Vec<_>>()),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => json.to_string(),
    }
}

fn partition_columns(action: &Json) -> Vec<PartitionColumn> {
    let schema: Json = serde_json::from_str(action["schemaString"].as_str().unwrap()).unwrap();
    let mapped = action["configuration"]["delta.columnMapping.mode"].as_str().is_some_and(|mode| mode != "none");
    let names = action["partitionColumns"].as_array().cloned().unwrap_or_default();
    let column = |name: &Json| {
        let field = schema["fields"].as_array().unwrap().iter().find(|field| field["name"] == *name).unwrap();
        let physical = field["metadata"]["delta.columnMapping.physicalName"].as_str().filter(|_| mapped);
        let name = name.as_str().unwrap();
        PartitionColumn {
            name: Arc::from(name),
            physical_name: Arc::from(physical.unwrap_or(name)),
            column_type: column_type(field["type"].as_str().unwrap()),
        }
    };
    names.iter().map(column).collect()
}

/// The type of its name in a Delta schema.
pub(super) fn column_type(name: &str) -> ColumnType {
    match name {
        "boolean" => ColumnType::Boolean,
        "byte" => ColumnType::Byte,
        "short" => ColumnType::Short,
        "integer" => ColumnType::Integer,
        "long" => ColumnType::Long,
        "float" => ColumnType::Float,
        "double" => ColumnType::Double,
        "date" => ColumnType::Date,
        "timestamp" => ColumnType::Timestamp,
        "timestamp_ntz" => ColumnType::TimestampNtz,
        "string" => ColumnType::String,
        "binary" => ColumnType::Binary,
        other => ColumnType::Other(other.to_owned()),
    }
}
