//! CREATE TABLE: the first metadata and protocol, and which properties need which features.

use crate::{OpsError, features};
use lakebed_delta::FEATURE_PROPERTY_PREFIX;
use lakebed_delta::action::{Action, Metadata, TextMap};
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

/// Properties of features that this version cannot keep up when it writes rows, with the feature's name.
const NOT_WRITTEN: &[(&str, &str)] = &[
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
    for (key, value) in &definition.properties {
        refuse_unwritten(key, value)?;
        check_value(key, value)?;
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
    let protocol = features::turn_on(None, &mut metadata)?.unwrap_or_default();
    Ok(vec![Action::Protocol(protocol), Action::Metadata(metadata)])
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

/// Properties under `delta.` that may be set as they are: none of them changes what files or readers must be.
const PLAIN: &[&str] = &[
    "delta.appendOnly",
    "delta.autoOptimize.autoCompact",
    "delta.autoOptimize.optimizeWrite",
    "delta.checkpoint.writeStatsAsJson",
    "delta.checkpoint.writeStatsAsStruct",
    "delta.checkpointInterval",
    "delta.checkpointPolicy",
    "delta.columnMapping.mode",
    "delta.dataSkippingNumIndexedCols",
    "delta.dataSkippingStatsColumns",
    "delta.deletedFileRetentionDuration",
    "delta.enableChangeDataFeed",
    "delta.enableDeletionVectors",
    "delta.enableExpiredLogCleanup",
    "delta.enableInCommitTimestamps",
    "delta.enableRowTracking",
    "delta.enableTypeWidening",
    "delta.isolationLevel",
    "delta.logRetentionDuration",
    "delta.parquet.compression.codec",
    "delta.randomizeFilePrefixes",
    "delta.randomPrefixLength",
    "delta.sampleRetentionDuration",
    "delta.setTransactionRetentionDuration",
    "delta.targetFileSize",
    "delta.tuneFileSizesForRewrites",
];

/// A property under `delta.` that is not a plain one belongs to a feature: setting or removing its text alone would say
/// something of the files that is not so.
fn refuse_protected(key: &str) -> Result<(), OpsError> {
    let feature = NOT_WRITTEN.iter().any(|(known, _)| *known == key);
    let ours = key.get(..6).is_some_and(|prefix| prefix.eq_ignore_ascii_case("delta."));
    let named = key.starts_with(FEATURE_PROPERTY_PREFIX) || key.starts_with(CONSTRAINT_PREFIX);
    if !ours || feature || named || PLAIN.contains(&key) {
        return Ok(());
    }
    Err(OpsError::Invalid {
        problem: format!("{key} is not a property that can be set or removed by itself"),
        advice: "it belongs to a feature of the format, or is misspelled; properties of your own have another prefix"
            .to_owned(),
    })
}

fn refuse_unwritten(key: &str, value: &str) -> Result<(), OpsError> {
    refuse_protected(key)?;
    let off = value.eq_ignore_ascii_case("false") || value.eq_ignore_ascii_case("none");
    match NOT_WRITTEN.iter().find(|(known, _)| *known == key && !off) {
        Some((_, feature)) => Err(OpsError::Unsupported {
            feature: (*feature).to_owned(),
            statement: "setting its property",
            advice: format!("leave {key} unset"),
        }),
        None => Ok(()),
    }
}

/// Whether properties of a table may be set and removed.
pub(crate) fn check_properties(
    before: &TextMap,
    set: &BTreeMap<String, String>,
    unset: &[String],
) -> Result<(), OpsError> {
    for (key, value) in set {
        refuse_unwritten(key, value)?;
        check_value(key, value)?;
    }
    for key in set.keys().chain(unset) {
        refuse_protected(key)?;
        // A feature that is in force cannot be switched off by its property: its files stay as they are.
        let in_force = |value: &str| !value.eq_ignore_ascii_case("false") && !value.eq_ignore_ascii_case("none");
        if let Some((_, feature)) = NOT_WRITTEN.iter().find(|(known, _)| known == key)
            && before.get(key).is_some_and(in_force)
        {
            return Err(OpsError::Unsupported {
                feature: (*feature).to_owned(),
                statement: "switching it off",
                advice: format!("leave {key} as it is"),
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
        "delta.logRetentionDuration" | "delta.deletedFileRetentionDuration" => {
            lakebed_delta::interval_ms(value).is_none()
        }
        "delta.checkpointPolicy" => !["classic", "v2"].contains(&value.to_ascii_lowercase().as_str()),
        "delta.appendOnly" => !is_flag(value),
        "delta.columnMapping.mode" => !["none", "name", "id"].contains(&value.to_ascii_lowercase().as_str()),
        _ if key.starts_with("delta.enable") => !is_flag(value),
        _ if key.starts_with(FEATURE_PROPERTY_PREFIX) => !["supported", "enabled"].contains(&value),
        _ if key.starts_with(CONSTRAINT_PREFIX) => lakebed_sql::parse_expression(value).is_err(),
        _ => false,
    };
    if bad {
        return Err(OpsError::Invalid {
            problem: format!("`{value}` is no value for {key}"),
            advice: match key {
                "delta.checkpointInterval" => "give a whole number of commits, at least 1".to_owned(),
                "delta.isolationLevel" => "choose Serializable, WriteSerializable or SnapshotIsolation".to_owned(),
                "delta.logRetentionDuration" | "delta.deletedFileRetentionDuration" => {
                    "give an interval of fixed length, such as `interval 7 days`".to_owned()
                }
                "delta.columnMapping.mode" => "choose none, name or id".to_owned(),
                _ if key.starts_with(FEATURE_PROPERTY_PREFIX) => "choose supported".to_owned(),
                _ if key.starts_with(CONSTRAINT_PREFIX) => "give a condition, such as `price > 0`".to_owned(),
                _ => "choose true or false".to_owned(),
            },
        });
    }
    Ok(())
}

/// A condition on every row, by name.
pub(crate) const CONSTRAINT_PREFIX: &str = "delta.constraints.";

fn is_flag(value: &str) -> bool {
    value.eq_ignore_ascii_case("true") || value.eq_ignore_ascii_case("false")
}
