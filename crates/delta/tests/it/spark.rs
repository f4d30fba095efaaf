//! Every version of the tables that Spark wrote, against Spark's own answers.

use crate::support::{conformance, load};
use lakebed_delta::Snapshot;
use lakebed_delta::action::Add;
use lakebed_delta::partition;
use lakebed_delta::schema::{ColumnMapping, StructType};
use lakebed_delta::stats::bounds;
use lakebed_naming::Version;
use lakebed_transaction::{ColumnType, Scalar};
use serde_json::Value;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn expected(root: &Path, table: &str) -> Value {
    let bytes = std::fs::read(root.join(format!("{table}.expected.json"))).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

fn tables(root: &Path) -> Vec<String> {
    let inventory = std::fs::read_to_string(root.join("INVENTORY.tsv")).unwrap();
    inventory.lines().skip(1).filter_map(|line| line.split('\t').next().map(str::to_owned)).collect()
}

#[test]
fn every_version_agrees_with_spark() {
    let Some(root) = conformance("delta-spark") else { return };
    let (mut versions, mut with_rows) = (0, 0);
    for table in tables(&root) {
        let newest = load(&root.join(&table), None).unwrap_or_else(|e| panic!("{table}: {e}"));
        for theirs in expected(&root, &table)["versions"].as_array().unwrap() {
            let Some(files) = theirs["num_files"].as_u64() else { continue };
            let at = theirs["version"].as_u64().unwrap();
            let label = format!("{table} at {at}");
            let ours = load(&root.join(&table), Some(Version::new(at))).unwrap_or_else(|e| panic!("{label}: {e}"));
            assert_eq!(ours.version(), Version::new(at), "{label}");
            assert_eq!(ours.num_files(), files, "{label}");
            assert_eq!(Some(ours.size_bytes()), theirs["size_in_bytes"].as_u64(), "{label}");
            assert_eq!(serde_json::to_value(ours.partition_columns()).unwrap(), theirs["partition_columns"], "{label}");
            let protocol = &theirs["protocol"];
            assert_eq!(Value::from(ours.protocol().min_reader_version), protocol["min_reader"], "{label}");
            assert_eq!(Value::from(ours.protocol().min_writer_version), protocol["min_writer"], "{label}");
            if let Some(rows) = ours.num_rows() {
                assert_eq!(Some(rows), theirs["num_rows"].as_u64(), "{label}");
                with_rows += 1;
            }
            if let Some(info) = ours.commit_info() {
                assert_eq!(info.operation(), theirs["operation"].as_str(), "{label}");
            }
            let commit_ms = theirs["commit_timestamp_ms"].as_i64().unwrap();
            // Spark's history goes by the newest version: once switched off again, no version's own timestamp counts.
            if let Some(own) = ours.in_commit_timestamp_ms().filter(|_| newest.metadata().in_commit_timestamps()) {
                assert_eq!(own, commit_ms, "{label}");
            }
            check_table(&ours, theirs, &label);
            check_bounds(&ours, theirs, &label);
            versions += 1;
        }
        check_newest(&newest, &expected(&root, &table), &table);
    }
    println!("{versions} versions, {with_rows} of them with a row count");
    assert!(versions >= 200 && with_rows >= 180, "{versions} versions, {with_rows} with rows");
}

/// Schema, properties and features of one version.
fn check_table(ours: &Snapshot, theirs: &Value, label: &str) {
    let schema: Value = serde_json::from_str(&ours.schema().to_json()).unwrap();
    assert_eq!(schema, theirs["schema"], "{label}");
    let properties = serde_json::to_value(ours.properties()).unwrap();
    assert_eq!(sorted_object(&properties), sorted_object(&theirs["properties"]), "{label}");
    for (own, key) in
        [(&ours.protocol().reader_features, "reader_features"), (&ours.protocol().writer_features, "writer_features")]
    {
        let list = |value: &Value| -> BTreeSet<String> {
            value.as_array().into_iter().flatten().map(|name| name.as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(list(&serde_json::to_value(own).unwrap()), list(&theirs["protocol"][key]), "{label}: {key}");
    }
}

fn sorted_object(value: &Value) -> BTreeMap<&String, &Value> {
    value.as_object().into_iter().flatten().collect()
}

/// The live files of the newest version, its documents and its application transactions, field by field.
fn check_newest(ours: &Snapshot, expected: &Value, table: &str) {
    let theirs = expected["latest_files"].as_array().unwrap();
    assert_eq!(ours.num_files(), theirs.len() as u64, "{table}");
    for file in theirs {
        // Spark decodes the path; a shallow clone's paths stand for a folder that the data leave open.
        let named = |add: &&std::sync::Arc<Add>| {
            let decoded = lakebed_delta::path::identity(&add.path).into_owned();
            file["path"] == *add.path
                || file["path"] == decoded
                || *file["path"].as_str().unwrap() == format!("file:{decoded}")
        };
        let add = ours.files().find(named).unwrap_or_else(|| panic!("{table}: no file {}", file["path"]));
        let values = serde_json::to_value(&add.partition_values).unwrap();
        assert_eq!(sorted_object(&values), sorted_object(&file["partition_values"]), "{table}");
        let number = |value: Option<i64>| value.map_or(Value::Null, Value::from);
        assert_eq!(Value::from(add.size), file["size"], "{table}");
        assert_eq!(add.num_records(), file["num_physical_records"].as_u64(), "{table}");
        let deleted = add.deletion_vector.as_ref().map(|vector| vector.cardinality);
        assert_eq!(number(deleted), file["dv_cardinality"], "{table}");
        assert_eq!(number(add.base_row_id), file["base_row_id"], "{table}");
        assert_eq!(number(add.default_row_commit_version), file["default_row_commit_version"], "{table}");
        assert_eq!(add.clustering_provider.as_deref(), file["clustering_provider"].as_str(), "{table}");
    }
    let documents: BTreeMap<&str, &str> =
        ours.domain_metadata().iter().map(|(name, domain)| (&**name, &*domain.configuration)).collect();
    let theirs = expected["domain_metadata"].as_array().unwrap().iter().map(|action| &action["domainMetadata"]);
    let theirs: BTreeMap<&str, &str> = theirs
        .filter(|domain| domain["removed"] != true)
        .map(|domain| (domain["domain"].as_str().unwrap(), domain["configuration"].as_str().unwrap()))
        .collect();
    assert_eq!(documents, theirs, "{table}");
    let txns: BTreeMap<&str, (i64, Option<i64>)> =
        ours.app_transactions().iter().map(|(app, txn)| (&**app, (txn.version, txn.last_updated))).collect();
    let theirs = expected["txns"].as_array().unwrap().iter().map(|action| &action["txn"]);
    let theirs: BTreeMap<&str, (i64, Option<i64>)> = theirs
        .map(|txn| (txn["appId"].as_str().unwrap(), (txn["version"].as_i64().unwrap(), txn["lastUpdated"].as_i64())))
        .collect();
    assert_eq!(txns, theirs, "{table}");
}

/// The value of a row's JSON, as the conformance data spells it.
fn value_of(json: &Value, column_type: &ColumnType) -> Option<Scalar> {
    match json {
        Value::Null => None,
        Value::Bool(flag) => Some(Scalar::Boolean(*flag)),
        Value::Number(number) => partition::parse(Some(&number.to_string()), column_type).ok(),
        Value::String(text) if *column_type == ColumnType::Binary || text.is_empty() => None,
        Value::String(text) => partition::parse(Some(text), column_type).ok(),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// Every value of every row lies within the bounds of some file, and where there is one file, within its bounds.
fn check_bounds(snapshot: &Snapshot, theirs: &Value, label: &str) {
    let Some(rows) = theirs["rows"].as_array() else { return };
    let mapping = snapshot.column_mapping();
    let files: Vec<_> = snapshot.files().collect();
    for field in &snapshot.schema().fields {
        // Spark pads CHAR(n) when it reads; what the file holds is shorter.
        if field.metadata.contains_key("__CHAR_VARCHAR_TYPE_STRING") {
            continue;
        }
        let column = field.column();
        for row in rows {
            let Some(value) = value_of(&row[&column.name], &column.column_type) else { continue };
            let within = files.iter().any(|add| {
                let Some(stats) = add.stats.as_deref() else { return true };
                let all = bounds(stats, snapshot.schema(), mapping);
                let Some((_, known)) = all.iter().find(|(name, _)| **name == *column.name) else { return true };
                known.min.as_ref().is_none_or(|min| min.compare(&value) != Some(Ordering::Greater))
                    && known.max.as_ref().is_none_or(|max| max.compare(&value) != Some(Ordering::Less))
            });
            assert!(within, "{label}: {} = {value} lies outside of every file's bounds", column.name);
        }
    }
}

#[test]
fn schemas_keep_everything_that_spark_wrote() {
    let mut seen = 0;
    for part in ["delta-spark", "delta"] {
        let Some(root) = conformance(part) else { return };
        let mut folders = vec![root];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|end| end == "json")
                    && path.parent().is_some_and(|p| p.ends_with("_delta_log"))
                {
                    seen += check_schemas(&path);
                }
            }
        }
    }
    println!("{seen} schemas");
    assert!(seen > 300, "only {seen} schemas");
}

fn check_schemas(commit: &Path) -> usize {
    let text = std::fs::read_to_string(commit).unwrap_or_default();
    let mut seen = 0;
    for line in text.lines() {
        let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
        let Some(schema) = line["metaData"]["schemaString"].as_str() else { continue };
        let parsed = StructType::parse(schema).unwrap_or_else(|e| panic!("{}: {e}", commit.display()));
        let (ours, theirs): (Value, Value) =
            (serde_json::from_str(&parsed.to_json()).unwrap(), serde_json::from_str(schema).unwrap());
        assert_eq!(ours, theirs, "{}", commit.display());
        let through_columns = StructType::from_columns(&parsed.columns());
        assert_eq!(through_columns.columns(), parsed.columns());
        let physical: Vec<_> = parsed.fields.iter().map(|field| field.physical_name(ColumnMapping::None)).collect();
        assert_eq!(physical, parsed.fields.iter().map(|field| field.name.as_str()).collect::<Vec<_>>());
        seen += 1;
    }
    seen
}
