//! Values that paths, partition values and statistics can tell wrongly.

use crate::local::{Local, add, commit};
use crate::support::{committed, created, opened, place, source};
use arrow_array::{ArrayRef, Decimal128Array, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use lakebed_data::json_row;
use lakebed_naming::Version;
use lakebed_naming::delta::commit_path;
use lakebed_storage::Store;
use lakebed_table::{CommitOptions, MergeSpec, NewTable, ScanRequest, Table, TableFormat};
use lakebed_transaction::{Column, ColumnType};
use serde_json::{Value, json};
use std::sync::Arc;

async fn append(table: &mut Table, columns: Vec<(&str, ArrayRef)>) -> u64 {
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, rows)| (name, rows, true)));
    committed(&table.append(source(batch.unwrap()), &CommitOptions::default()).await.unwrap())
}

/// The rows that meet a predicate, each as JSON, sorted.
async fn found(table: &Table, predicate: &str) -> Vec<String> {
    let request = ScanRequest { predicate: Some(predicate.to_owned()), ..ScanRequest::default() };
    let batches = table.scan(table.snapshot(), &request).unwrap().all().await.unwrap();
    let rows = batches.iter().flat_map(|batch| (0..batch.num_rows()).map(|at| json_row(batch, at).unwrap()));
    let mut rows: Vec<String> = rows.collect();
    rows.sort();
    rows
}

/// The actions of a commit.
async fn actions(store: &Arc<dyn Store>, version: u64) -> Vec<Value> {
    let bytes = store.get(&commit_path(Version::new(version))).await.unwrap().unwrap();
    std::str::from_utf8(&bytes).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn long(name: &str) -> Column {
    Column::new(name, ColumnType::Long, true)
}

/// Field case 60: the value of one partition column is NULL and that of the next is not; a checkpoint keeps which is which.
#[tokio::test]
async fn case_60_a_null_partition_value_keeps_its_place_in_a_checkpoint() {
    let local = Local::new();
    let file = add("a=__HIVE_DEFAULT_PARTITION__/b=20240101/x.parquet")
        .replace(r#""partitionValues":{}"#, r#""partitionValues":{"a":null,"b":"20240101"}"#);
    let mut lines = crate::local::first("");
    lines[1] = crate::local::metadata(&["a", "b"], "");
    local.commit(0, &lines, 1_000);
    local.commit(1, &[file], 2_000);
    let before = local.open().await.snapshot().files();
    let expected = [("a".to_owned(), None), ("b".to_owned(), Some("20240101".to_owned()))];
    assert_eq!(before[0].partition_values, expected.into());
    local.open().await.checkpoint().await.unwrap();
    std::fs::remove_file(local.path(&commit(0))).unwrap();
    std::fs::remove_file(local.path(&commit(1))).unwrap();
    assert_eq!(local.open().await.snapshot().files(), before);
}

/// Field case 90: one upsert three times, in a partition whose name is escaped: one row each time, and every file that goes is named
/// byte for byte as it came.
#[tokio::test]
async fn case_90_an_upsert_that_is_repeated_leaves_one_row() {
    let store = place(TableFormat::Delta);
    let columns = vec![Column::new("p", ColumnType::String, true), long("k"), long("v")];
    let definition = NewTable::new(TableFormat::Delta, columns).with_partition_columns(vec!["p".to_owned()]);
    let mut table = created(&store, &definition).await;
    let spec = MergeSpec { on: vec!["p".to_owned(), "k".to_owned()], ..MergeSpec::default() };
    for partition in ["x y", "50%", "a=b/c", "é:?"] {
        let mut standing: Option<String> = None;
        for round in 0..3 {
            let rows = RecordBatch::try_from_iter_with_nullable([
                ("p", Arc::new(StringArray::from(vec![partition])) as ArrayRef, true),
                ("k", Arc::new(Int64Array::from(vec![1])) as ArrayRef, true),
                ("v", Arc::new(Int64Array::from(vec![round])) as ArrayRef, true),
            ]);
            let report = table.merge(source(rows.unwrap()), &spec, &CommitOptions::default()).await.unwrap();
            let actions = actions(&store, committed(&report)).await;
            let named = |kind: &str| actions.iter().find_map(|action| Some(action[kind]["path"].as_str()?.to_owned()));
            assert_eq!(named("remove"), standing, "{partition}, round {round}");
            standing = named("add");
            let predicate = format!("p = '{partition}'");
            let expected = json!({"p": partition, "k": "1", "v": round.to_string()});
            let found = found(&opened(&store).await, &predicate).await;
            let found: Vec<Value> = found.iter().map(|row| serde_json::from_str(row).unwrap()).collect();
            assert_eq!(found.len(), 1, "{partition}, round {round}: {found:?}");
            assert_eq!(found[0]["p"], expected["p"]);
            assert_eq!(found[0]["v"].to_string().trim_matches('"'), round.to_string());
        }
    }
}

/// Field case 91: NULL is JSON's null in the log, never the empty text; who reads takes null, an absent key and, but for strings, the
/// empty text for NULL; rows and filters agree.
#[tokio::test]
async fn case_91_null_and_empty_partition_values_are_read_as_they_are_filtered() {
    let store = place(TableFormat::Delta);
    let columns =
        vec![Column::new("s", ColumnType::String, true), Column::new("i", ColumnType::Integer, true), long("id")];
    let definition =
        NewTable::new(TableFormat::Delta, columns).with_partition_columns(vec!["s".to_owned(), "i".to_owned()]);
    let mut table = created(&store, &definition).await;
    let texts: ArrayRef = Arc::new(StringArray::from(vec![Some(""), None, Some("abc")]));
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None, None]));
    let ids: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let version = append(&mut table, vec![("s", texts), ("i", numbers), ("id", ids)]).await;
    let written = actions(&store, version).await;
    let adds: Vec<&Value> = written.iter().filter_map(|action| action.get("add")).collect();
    let values: Vec<&Value> = adds.iter().map(|add| &add["partitionValues"]).collect();
    for expected in [json!({"s": null, "i": "1"}), json!({"s": null, "i": null}), json!({"s": "abc", "i": null})] {
        assert!(values.contains(&&expected), "{expected} is not in {values:?}");
    }
    let ids = |rows: Vec<String>| -> Vec<String> {
        let id = |row: &String| serde_json::from_str::<Value>(row).unwrap()["id"].to_string();
        let mut ids: Vec<String> = rows.iter().map(id).map(|id| id.trim_matches('"').to_owned()).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(found(&table, "s IS NULL").await), ["1", "2"]);
    assert_eq!(ids(found(&table, "s = ''").await), Vec::<String>::new());
    assert_eq!(ids(found(&table, "i IS NULL").await), ["2", "3"]);
    // As others may have written it: the file of row 3 under other values.
    let of_3 = adds.iter().find(|add| add["partitionValues"]["s"] == "abc").unwrap();
    let path = lakebed_naming::delta::DataPath::decode(of_3["path"].as_str().unwrap()).unwrap();
    let lakebed_naming::delta::DataPath::Relative(object) = path else { panic!("{path:?}") };
    let bytes = store.get(&object).await.unwrap().unwrap();
    let mut lines = Vec::new();
    for (name, values) in [("none", json!({})), ("empty", json!({"s": "", "i": ""}))] {
        store.put(&format!("{name}.parquet"), bytes.clone()).await.unwrap();
        let mut add = (*of_3).clone();
        add["path"] = format!("{name}.parquet").into();
        add["partitionValues"] = values;
        lines.push(json!({"add": add}).to_string());
    }
    store.put(&commit_path(Version::new(version + 1)), lines.join("\n").into()).await.unwrap();
    let table = opened(&store).await;
    assert_eq!(ids(found(&table, "s IS NULL").await), ["1", "2", "3"], "an absent key");
    assert_eq!(ids(found(&table, "s = ''").await), ["3"], "an empty string that stands in the log is one");
    assert_eq!(ids(found(&table, "i IS NULL").await), ["2", "3", "3", "3"]);
    let shown = found(&table, "id = 3").await;
    assert_eq!(shown.iter().filter(|row| row.contains(r#""s":"""#)).count(), 1, "{shown:?}");
    assert_eq!(shown.iter().filter(|row| row.contains(r#""s":null"#)).count(), 1, "{shown:?}");
}

/// Field case 95: numbers of more than 53 bits are found by equality, each in its own file, from the commit and from a checkpoint.
#[tokio::test]
async fn case_95_large_integers_are_found_by_equality() {
    let store = place(TableFormat::Delta);
    let decimal = ColumnType::Decimal { precision: 19, scale: 0 };
    let mut table =
        created(&store, &NewTable::new(TableFormat::Delta, vec![long("k"), Column::new("d", decimal, true)])).await;
    let values = [123_456_789_012_345_679, 9_007_199_254_740_993, -9_223_372_036_854_775_808_i64];
    for value in values {
        let decimals = Decimal128Array::from(vec![i128::from(value)]).with_precision_and_scale(19, 0).unwrap();
        append(&mut table, vec![("k", Arc::new(Int64Array::from(vec![value]))), ("d", Arc::new(decimals))]).await;
    }
    table.checkpoint().await.unwrap();
    for version in 0..4 {
        store.delete(&commit(version)).await.unwrap();
    }
    for table in [table, opened(&store).await] {
        for value in values {
            for predicate in [format!("k = {value}"), format!("d = {value}"), format!("k <= {value} AND k >= {value}")]
            {
                let rows = found(&table, &predicate).await;
                assert!(rows.len() == 1 && rows[0].contains(&value.to_string()), "{predicate}: {rows:?}");
            }
            for near in [value.saturating_add(1), value.saturating_sub(1)].into_iter().filter(|near| *near != value) {
                assert!(found(&table, &format!("k = {near}")).await.is_empty(), "{near}");
            }
        }
    }
}

/// Field case 96: NaN is larger than every number, wherever statistics say nothing of it: no filter loses its row.
#[tokio::test]
async fn case_96_rows_with_nan_are_not_skipped() {
    let store = place(TableFormat::Delta);
    let x = Column::new("x", ColumnType::Double, true);
    let mut table = created(&store, &NewTable::new(TableFormat::Delta, vec![x])).await;
    let version = append(&mut table, vec![("x", Arc::new(Float64Array::from(vec![3.0, f64::NAN, -0.0])))]).await;
    let ours = actions(&store, version).await;
    let add = ours.iter().find(|action| action.get("add").is_some()).unwrap().clone();
    // As a client writes it that takes bounds from Parquet's footer: NaN is in none of them.
    let mut theirs = add.clone();
    theirs["add"]["stats"] =
        r#"{"numRecords":3,"minValues":{"x":0.0},"maxValues":{"x":3.0},"nullCount":{"x":0}}"#.into();
    for line in [add, theirs] {
        store.put(&commit(version + 1), line.to_string().into()).await.unwrap();
        let table = opened(&store).await;
        for (predicate, rows) in [
            ("x <> 3", 2),
            ("x > 5", 1),
            ("x >= 3", 2),
            ("NOT (x < 10)", 1),
            ("x = CAST('NaN' AS DOUBLE)", 1),
            ("x <> x", 0),
            ("x = 0", 1),
            ("x < 0", 0),
        ] {
            let found = found(&table, predicate).await;
            assert_eq!(found.len(), rows, "{predicate}: {found:?} of {line}");
        }
    }
}
