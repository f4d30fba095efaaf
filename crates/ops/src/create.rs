//! CREATE TABLE: the first metadata and protocol, and which properties need which features.

use crate::OpsError;
use lakebed_delta::action::{Action, Metadata, Protocol};
use lakebed_delta::schema::StructType;
use lakebed_transaction::{Column, ColumnType};
use std::collections::BTreeMap;

/// What a new table is to be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableDefinition {
    /// Its columns.
    pub columns: Vec<Column>,
    /// Names of the columns that it is partitioned by.
    pub partition_columns: Vec<String>,
    /// Table properties.
    pub properties: BTreeMap<String, String>,
}

/// A property that turns a table feature on.
struct Switch {
    key: &'static str,
    /// The feature; `None` where a table of the plainest protocol may carry the property.
    feature: Option<&'static str>,
    /// Whether readers must know the feature too.
    reads: bool,
}

/// Properties that switch features. Facts: Delta protocol, "Table Features" and each feature's section.
const SWITCHES: &[Switch] = &[
    Switch { key: "delta.appendOnly", feature: None, reads: false },
    Switch { key: "delta.enableDeletionVectors", feature: Some("deletionVectors"), reads: true },
    Switch { key: "delta.enableInCommitTimestamps", feature: Some("inCommitTimestamp"), reads: false },
];

/// Properties of features that this version cannot keep up when it writes rows, with the feature's name.
const NOT_WRITTEN: &[(&str, &str)] = &[
    ("delta.enableChangeDataFeed", "changeDataFeed"),
    ("delta.columnMapping.mode", "columnMapping"),
    ("delta.enableRowTracking", "rowTracking"),
    ("delta.enableTypeWidening", "typeWidening"),
    ("delta.enableIcebergCompatV1", "icebergCompatV1"),
    ("delta.enableIcebergCompatV2", "icebergCompatV2"),
    ("delta.enableIcebergCompatV3", "icebergCompatV3"),
    ("delta.enableVariantShredding", "variantShredding"),
    ("delta.universalFormat.enabledFormats", "universal format"),
];

/// The protocol and metadata of version 0. The plainest protocol that the columns and properties allow is taken.
///
/// # Errors
/// A partition column is not a column or cannot be one, two columns share a name, or a property needs a feature that is
/// not written here.
pub fn delta_definition(definition: &TableDefinition, id: &str, now_ms: i64) -> Result<Vec<Action>, OpsError> {
    check_columns(definition)?;
    let mut features: Vec<(&'static str, bool)> = Vec::new();
    for (key, value) in &definition.properties {
        refuse_unwritten(key, value)?;
        let switch = SWITCHES.iter().find(|switch| switch.key == key && value.eq_ignore_ascii_case("true"));
        if let Some((feature, reads)) = switch.and_then(|switch| Some((switch.feature?, switch.reads))) {
            features.push((feature, reads));
        }
        check_value(key, value)?;
    }
    if definition.columns.iter().any(|column| holds_wall_clock(&column.column_type)) {
        features.push(("timestampNtz", true));
    }
    let mut metadata = Metadata {
        id: id.to_owned(),
        schema_string: StructType::from_columns(&definition.columns).to_json(),
        partition_columns: exact_names(definition),
        created_time: Some(now_ms),
        ..Metadata::default()
    };
    for (key, value) in &definition.properties {
        metadata.configuration.set(key, Some(value));
    }
    Ok(vec![Action::Protocol(protocol(&features)), Action::Metadata(metadata)])
}

fn protocol(features: &[(&'static str, bool)]) -> Protocol {
    if features.is_empty() {
        return Protocol { min_reader_version: 1, min_writer_version: 2, reader_features: None, writer_features: None };
    }
    let named = |keep: &dyn Fn(bool) -> bool| -> Vec<String> {
        let mut names: Vec<_> =
            features.iter().filter(|(_, reads)| keep(*reads)).map(|(name, _)| (*name).to_owned()).collect();
        names.sort();
        names.dedup();
        names
    };
    let reader = named(&|reads| reads);
    // Writer version 7 must name what version 2 implied.
    let mut writer = named(&|_| true);
    writer.extend(["appendOnly".to_owned(), "invariants".to_owned()]);
    writer.sort();
    if reader.is_empty() {
        return Protocol {
            min_reader_version: 1,
            min_writer_version: 7,
            reader_features: None,
            writer_features: Some(writer),
        };
    }
    Protocol {
        min_reader_version: 3,
        min_writer_version: 7,
        reader_features: Some(reader),
        writer_features: Some(writer),
    }
}

fn check_columns(definition: &TableDefinition) -> Result<(), OpsError> {
    let invalid = |problem: String, advice: &str| OpsError::Invalid { problem, advice: advice.to_owned() };
    for (at, column) in definition.columns.iter().enumerate() {
        if definition.columns.iter().take(at).any(|other| other.name.eq_ignore_ascii_case(&column.name)) {
            return Err(invalid(
                format!("column {} is there twice", column.name),
                "names differ by more than their case",
            ));
        }
    }
    for name in &definition.partition_columns {
        let Some(column) = definition.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name)) else {
            let names: Vec<_> = definition.columns.iter().map(|column| column.name.as_str()).collect();
            return Err(invalid(
                format!("partition column {name} is not a column; the columns are {}", names.join(", ")),
                "partition by one of them",
            ));
        };
        if matches!(column.column_type, ColumnType::Array(_) | ColumnType::Map(..) | ColumnType::Struct(_)) {
            return Err(invalid(format!("column {name} is nested"), "partition by a column of a simple type"));
        }
    }
    if !definition.columns.is_empty() && definition.partition_columns.len() >= definition.columns.len() {
        return Err(invalid(
            "every column is a partition column".to_owned(),
            "leave at least one column for the files",
        ));
    }
    Ok(())
}

/// Partition columns as the schema spells them.
fn exact_names(definition: &TableDefinition) -> Vec<String> {
    let exact = |name: &String| definition.columns.iter().find(|column| column.name.eq_ignore_ascii_case(name));
    definition.partition_columns.iter().filter_map(exact).map(|column| column.name.clone()).collect()
}

fn holds_wall_clock(column_type: &ColumnType) -> bool {
    match column_type {
        ColumnType::TimestampNtz => true,
        ColumnType::Array(element) => holds_wall_clock(&element.column_type),
        ColumnType::Map(key, value) => holds_wall_clock(&key.column_type) || holds_wall_clock(&value.column_type),
        ColumnType::Struct(fields) => fields.iter().any(|field| holds_wall_clock(&field.column_type)),
        ColumnType::Boolean
        | ColumnType::Byte
        | ColumnType::Short
        | ColumnType::Integer
        | ColumnType::Long
        | ColumnType::Float
        | ColumnType::Double
        | ColumnType::Decimal { .. }
        | ColumnType::Date
        | ColumnType::Timestamp
        | ColumnType::String
        | ColumnType::Binary
        | ColumnType::Other(_) => false,
    }
}

fn refuse_unwritten(key: &str, value: &str) -> Result<(), OpsError> {
    let off = value.eq_ignore_ascii_case("false") || value.eq_ignore_ascii_case("none");
    match NOT_WRITTEN.iter().find(|(known, _)| *known == key && !off) {
        Some((_, feature)) => Err(OpsError::Unsupported {
            feature: (*feature).to_owned(),
            statement: "setting its property",
            advice: format!("leave {key} unset"),
        }),
        None if key == "delta.checkpointPolicy" && value.eq_ignore_ascii_case("v2") => Err(OpsError::Unsupported {
            feature: "v2Checkpoint".to_owned(),
            statement: "setting its property",
            advice: "keep classic checkpoints".to_owned(),
        }),
        None => Ok(()),
    }
}

/// Whether properties may be set on a table of this protocol.
pub(crate) fn check_properties(set: &BTreeMap<String, String>, protocol: &Protocol) -> Result<(), OpsError> {
    for (key, value) in set {
        refuse_unwritten(key, value)?;
        check_value(key, value)?;
        let needed = SWITCHES.iter().find(|switch| switch.key == key && value.eq_ignore_ascii_case("true"));
        if let Some(feature) = needed.and_then(|switch| switch.feature)
            && !protocol.supports(feature)
        {
            return Err(OpsError::Unsupported {
                feature: feature.to_owned(),
                statement: "setting its property on a table that was created without it",
                advice: format!("create a table with {key}"),
            });
        }
    }
    Ok(())
}

/// Values that would make later commits fail are refused when they are set.
fn check_value(key: &str, value: &str) -> Result<(), OpsError> {
    let bad = match key {
        "delta.checkpointInterval" => value.parse::<u64>().map_or(true, |interval| interval == 0),
        "delta.isolationLevel" => {
            !["serializable", "writeserializable", "snapshotisolation"].contains(&value.to_ascii_lowercase().as_str())
        }
        "delta.appendOnly" | "delta.enableDeletionVectors" | "delta.enableInCommitTimestamps" => {
            !["true", "false"].contains(&value.to_ascii_lowercase().as_str())
        }
        _ => false,
    };
    if bad {
        return Err(OpsError::Invalid {
            problem: format!("`{value}` is no value for {key}"),
            advice: match key {
                "delta.checkpointInterval" => "give a whole number of commits, at least 1".to_owned(),
                "delta.isolationLevel" => "choose Serializable, WriteSerializable or SnapshotIsolation".to_owned(),
                _ => "choose true or false".to_owned(),
            },
        });
    }
    Ok(())
}
