//! Every version of the tables that Spark wrote, against Spark's own answers.

use crate::support::{conformance, load};
use lakebed_delta::Snapshot;
use lakebed_delta::partition;
use lakebed_delta::schema::{ColumnMapping, StructType};
use lakebed_delta::stats::bounds;
use lakebed_naming::Version;
use lakebed_transaction::{ColumnType, Scalar};
use serde_json::Value;
use std::cmp::Ordering;
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
            check_bounds(&ours, theirs, &label);
            versions += 1;
        }
    }
    println!("{versions} versions, {with_rows} of them with a row count");
    assert!(versions >= 200 && with_rows >= 180, "{versions} versions, {with_rows} with rows");
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
