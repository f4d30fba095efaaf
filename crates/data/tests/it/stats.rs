//! Statistics, compared with what Spark wrote for the same rows, and cases that no conformance table holds.

use crate::conformance::{Add, adds, set};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray};
use lakebed_data::{
    Collector, ParquetSink, ReadOptions, StatsColumns, WriteOptions, arrow_schema, read_parquet, truncate_max,
};
use lakebed_storage::{Store, StoreOptions, open};
use lakebed_transaction::{Column, ColumnType, Scalar};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// Tables whose statistics are not those of a plain write: columns under other names, an explicit choice of columns, types
/// that rows here do not have, or files that are gone.
fn is_plain(add: &Add) -> bool {
    let keys = ["delta.columnMapping.mode", "delta.dataSkippingStatsColumns", "delta.dataSkippingNumIndexedCols"];
    let plain = keys.iter().all(|key| add.configuration.get(*key).is_none());
    // Where the log was cleaned, the schema stands in a checkpoint only.
    // Spark's shredded variants have statistics of their own.
    let variant = |column: &Column| column.column_type == ColumnType::Other("variant".to_owned());
    plain && !add.columns.is_empty() && !add.columns.iter().any(variant) && arrow_schema(&add.columns).is_ok()
}

async fn recomputed(table: &Path, add: &Add) -> Option<Value> {
    let path = percent_decoded(&add.path);
    if path.contains(':') || !table.join(&path).is_file() {
        return None;
    }
    let store: Arc<dyn Store> = open(&format!("file://{}", table.display()), &StoreOptions::new()).unwrap();
    let columns: Vec<Column> =
        add.columns.iter().filter(|column| !add.partition_columns.contains(&column.name)).cloned().collect();
    let mut rows = read_parquet(&store, &path, ReadOptions::new(&columns)).await.unwrap();
    let mut collector = Collector::new(&columns, &StatsColumns::default());
    while let Some(rows) = rows.next().await.unwrap() {
        collector.update(&rows.batch).unwrap();
    }
    Some(serde_json::from_str(&collector.to_json()).unwrap())
}

fn percent_decoded(path: &str) -> String {
    let mut out = Vec::new();
    let bytes = path.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let hex = (bytes[at] == b'%').then(|| path.get(at + 1..at + 3)).flatten();
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8(out).unwrap()
}

/// Numbers are compared digit by digit: the JSON reader keeps their text.
#[tokio::test]
async fn ours_are_those_that_spark_wrote() {
    let Some(folder) = set("delta-spark") else { return };
    let (mut compared, mut differences) = (0, Vec::new());
    for entry in std::fs::read_dir(folder).unwrap() {
        let table = entry.unwrap().path();
        if !table.join("_delta_log").is_dir() {
            continue;
        }
        for add in adds(&table).iter().filter(|add| is_plain(add)) {
            let Some(text) = &add.stats else { continue };
            let theirs: Value = serde_json::from_str(text).unwrap();
            if theirs.get("tightBounds") == Some(&Value::Bool(false)) || theirs.get("minValues").is_none() {
                continue;
            }
            let Some(ours) = recomputed(&table, add).await else { continue };
            compared += 1;
            // There Spark's optimizer knew that all fields of a struct are NULL, and made the struct of bounds NULL too.
            let folded = table.ends_with("merge_schema") && add.path.starts_with("part-00001-ffdf83e1");
            for key in ["numRecords", "minValues", "maxValues", "nullCount"] {
                let same = ours[key] == theirs[key] || (folded && theirs[key] == json!({ "id": 10 }));
                if !same {
                    let name = table.file_name().unwrap().to_string_lossy();
                    differences
                        .push(format!("{name} {} {key}\n  ours   {}\n  theirs {}", add.path, ours[key], theirs[key]));
                }
            }
        }
    }
    assert!(differences.is_empty(), "{compared} compared\n{}", differences.join("\n"));
    assert!(compared > 300, "only {compared} files were compared");
}

fn stats_of(columns: &[Column], arrays: Vec<ArrayRef>) -> Value {
    let batch = RecordBatch::try_new(arrow_schema(columns).unwrap(), arrays).unwrap();
    let mut collector = Collector::new(columns, &StatsColumns::default());
    collector.update(&batch).unwrap();
    serde_json::from_str(&collector.to_json()).unwrap()
}

/// Field case 96: a NaN, whatever its sign bit, is the greatest number and is not left out.
#[test]
fn a_nan_is_in_the_maximum() {
    let columns = [Column::new("f", ColumnType::Double, true)];
    for nan in [f64::NAN, -f64::NAN] {
        let stats = stats_of(&columns, vec![Arc::new(Float64Array::from(vec![Some(1.5), Some(nan), None]))]);
        assert_eq!(stats["minValues"]["f"].to_string(), "1.5");
        assert_eq!(stats["maxValues"]["f"], "NaN");
        assert_eq!(stats["nullCount"]["f"], 1);
    }
    let zeros = stats_of(&columns, vec![Arc::new(Float64Array::from(vec![0.0, -0.0, 0.0]))]);
    assert_eq!(
        (zeros["minValues"]["f"].to_string(), zeros["maxValues"]["f"].to_string()),
        ("-0.0".into(), "0.0".into())
    );
}

/// Field case 95: 64-bit integers and decimals keep every digit. Field case 94: times are cut to milliseconds.
#[test]
fn digits_stay_and_times_are_cut() {
    use arrow_array::{Decimal128Array, Int64Array, TimestampMicrosecondArray};
    let decimal = ColumnType::Decimal { precision: 38, scale: 18 };
    let columns = [
        Column::new("l", ColumnType::Long, true),
        Column::new("d", decimal, true),
        Column::new("t", ColumnType::Timestamp, true),
    ];
    let unscaled = 12_345_678_901_234_567_890_123_456_789_012_345_678_i128;
    let stats = stats_of(
        &columns,
        vec![
            Arc::new(Int64Array::from(vec![9_007_199_254_740_993])),
            Arc::new(Decimal128Array::from(vec![unscaled]).with_precision_and_scale(38, 18).unwrap()),
            Arc::new(TimestampMicrosecondArray::from(vec![-1]).with_timezone("UTC")),
        ],
    );
    assert_eq!(stats["maxValues"]["l"].to_string(), "9007199254740993");
    assert_eq!(stats["maxValues"]["d"].to_string(), "12345678901234567890.123456789012345678");
    assert_eq!(stats["maxValues"]["t"], "1969-12-31T23:59:59.999Z");
}

#[test]
fn only_the_first_leaf_columns_count_and_nested_ones_do() {
    let inner = ColumnType::Struct(vec![
        Column::new("x", ColumnType::Integer, true),
        Column::new("y", ColumnType::Boolean, true),
    ]);
    let columns = [
        Column::new("a", ColumnType::Integer, true),
        Column::new("s", inner, true),
        Column::new("z", ColumnType::Integer, true),
    ];
    let json = |which| Collector::new(&columns, &which).to_json();
    assert_eq!(
        json(StatsColumns::First(2)),
        r#"{"numRecords":0,"minValues":{"s":{}},"maxValues":{"s":{}},"nullCount":{"a":0,"s":{"x":0}}}"#
    );
    assert_eq!(
        json(StatsColumns::Named(vec!["Z".into(), "`s`.y".into()])),
        r#"{"numRecords":0,"minValues":{},"maxValues":{},"nullCount":{"s":{"y":0},"z":0}}"#
    );
    assert_eq!(json(StatsColumns::First(0)), r#"{"numRecords":0,"minValues":{},"maxValues":{},"nullCount":{}}"#);
}

/// Every bound of a cut string holds in the order of UTF-8 bytes.
#[test]
fn cut_strings_bound_the_whole_ones() {
    for unit in ["a", "~", "\u{7f}", "é", "\u{ffff}", "\u{d7ff}", "😀", "\u{10ffff}"] {
        for count in [1, 31, 32, 33, 64, 65, 100] {
            let text = unit.repeat(count);
            if let Some(bound) = truncate_max(&text) {
                assert!(bound.as_bytes() >= text.as_bytes(), "{unit:?} × {count} gives {bound:?}");
            }
        }
    }
    assert_eq!(truncate_max(&"\u{10ffff}".repeat(33)), None);
}

#[test]
fn bounds_of_a_footprint_are_exact() {
    let columns = [Column::new("s", ColumnType::String, true), Column::new("b", ColumnType::Boolean, true)];
    let mut sink = ParquetSink::new(&columns, WriteOptions::default()).unwrap();
    let long = "x".repeat(50);
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some(long.as_str()), None]));
    let bools: ArrayRef = Arc::new(BooleanArray::from(vec![Some(true), None]));
    sink.write(&RecordBatch::try_from_iter([("s", texts), ("b", bools)]).unwrap()).unwrap();
    let files = sink.finish().unwrap();
    let (name, bounds) = &files[0].bounds[0];
    assert_eq!((&**name, bounds.max.as_ref(), bounds.null_count), ("s", Some(&Scalar::string(&long)), Some(1)));
    let (_, bounds) = &files[0].bounds[1];
    assert_eq!((bounds.min.as_ref(), bounds.null_count), (None, Some(1)));
}
