//! Partitioned Delta tables, with values that paths and logs must escape.

use crate::support::{batch_of, columns, committed, created, ids, once, opened, place, sound, source};
use arrow_array::cast::AsArray;
use lakebed_storage::Store;
use lakebed_table::{NewTable, ScanRequest, Scope, Table, TableFormat};
use lakebed_transaction::Outcome;
use std::collections::BTreeMap;
use std::sync::Arc;

const VALUES: [Option<&str>; 9] = [
    Some("plain"),
    None,
    Some("a b"),
    Some("100%"),
    Some("x=y/z"),
    Some("snow ☃ \u{1F600}"),
    Some("__HIVE_DEFAULT_PARTITION__"),
    Some("quote ' and \" and \\"),
    Some("a:b?c*d#e\t"),
];

async fn partitioned() -> (Arc<dyn Store>, Table) {
    let store = place(TableFormat::Delta);
    let definition = NewTable::new(TableFormat::Delta, columns()).with_partition_columns(vec!["p".to_owned()]);
    let mut table = created(&store, &definition).await;
    let rows: Vec<_> = VALUES.iter().enumerate().map(|(at, value)| (i64::try_from(at).unwrap(), *value)).collect();
    let report = table.append(source(batch_of(&rows)), &once()).await.unwrap();
    assert_eq!(committed(&report), 1);
    assert_eq!(report.metrics["files_added"], VALUES.len() as u64);
    (store, table)
}

/// id → p, of the whole table.
async fn rows(table: &Table, predicate: Option<&str>) -> BTreeMap<i64, Option<String>> {
    let request = ScanRequest { predicate: predicate.map(str::to_owned), ..ScanRequest::default() };
    let mut rows = BTreeMap::new();
    for batch in table.scan(table.snapshot(), &request).unwrap().all().await.unwrap() {
        let id = batch.column_by_name("id").unwrap().as_primitive::<arrow_array::types::Int64Type>();
        let p = batch.column_by_name("p").unwrap().as_string::<i32>();
        for (id, p) in id.iter().zip(p) {
            rows.insert(id.unwrap(), p.map(str::to_owned));
        }
    }
    rows
}

fn literal(value: Option<&str>) -> String {
    value.map_or("p IS NULL".to_owned(), |text| format!("p = '{}'", text.replace('\\', "\\\\").replace('\'', "''")))
}

#[tokio::test]
async fn partition_values_come_back_as_they_went_in() {
    let (store, table) = partitioned().await;
    let expected: BTreeMap<_, _> = (0..).zip(VALUES.iter().map(|value| value.map(str::to_owned))).collect();
    assert_eq!(rows(&table, None).await, expected);
    assert_eq!(rows(&opened(&store).await, None).await, expected);
    // Every object that the log names is in the store, under the name that the log's path decodes to.
    sound(&store, TableFormat::Delta).await;
    table.checkpoint().await.unwrap();
    store.delete(&format!("_delta_log/{:020}.json", 0)).await.unwrap();
    assert_eq!(rows(&opened(&store).await, None).await, expected, "from the checkpoint");
}

/// Each partition is deleted by its value, without a row being read or copied, and no other partition goes with it.
#[tokio::test]
async fn each_partition_is_deleted_by_its_value() {
    let (store, mut table) = partitioned().await;
    let mut left: Vec<i64> = (0..).take(VALUES.len()).collect();
    for value in VALUES {
        let predicate = literal(value);
        let report = table.delete(&predicate, &once()).await.unwrap();
        committed(&report);
        let counts = ["rows_deleted", "files_removed", "rows_copied"].map(|key| report.metrics[key]);
        assert_eq!(counts, [1, 1, 0], "{predicate}");
        left.remove(0);
        assert_eq!(ids(&store).await, left, "{predicate}");
        let again = table.delete(&predicate, &once()).await.unwrap();
        assert!(matches!(again.outcome, Outcome::Nothing { .. }), "{predicate}");
    }
    sound(&store, TableFormat::Delta).await;
}

#[tokio::test]
async fn a_partition_is_overwritten_alone() {
    let (store, mut table) = partitioned().await;
    let scope = Scope::Where(literal(Some("x=y/z")));
    let report = table.overwrite(source(batch_of(&[(40, Some("x=y/z")), (41, Some("x=y/z"))])), &scope, &once()).await;
    committed(&report.unwrap());
    assert_eq!(ids(&store).await, vec![0, 1, 2, 3, 5, 6, 7, 8, 40, 41]);
    let outside = table.overwrite(source(batch_of(&[(50, None)])), &scope, &once()).await;
    assert!(outside.is_err(), "{outside:?}");
    assert_eq!(rows(&table, Some(&literal(None))).await, BTreeMap::from([(1, None)]));
    sound(&store, TableFormat::Delta).await;
}

/// The empty string cannot be told from NULL in a partition value of the log, so it is one.
#[tokio::test]
async fn an_empty_partition_value_is_null() {
    let (store, mut table) = partitioned().await;
    committed(&table.append(source(batch_of(&[(60, Some(""))])), &once()).await.unwrap());
    assert_eq!(rows(&opened(&store).await, Some("id = 60")).await, BTreeMap::from([(60, None)]));
    sound(&store, TableFormat::Delta).await;
}

/// Predicates over rows and partitions together: files of other partitions are not touched.
#[tokio::test]
async fn a_delete_within_a_partition_rewrites_only_its_file() {
    let (store, mut table) = partitioned().await;
    let more = [(70, Some("plain")), (71, Some("plain")), (72, None)];
    committed(&table.append(source(batch_of(&more)), &once()).await.unwrap());
    let report = table.delete("p = 'plain' AND id >= 71", &once()).await.unwrap();
    committed(&report);
    let counts = ["rows_deleted", "files_removed", "rows_copied"].map(|key| report.metrics[key]);
    assert_eq!(counts, [1, 1, 1]);
    assert_eq!(ids(&store).await, vec![0, 1, 2, 3, 4, 5, 6, 7, 8, 70, 72]);
    sound(&store, TableFormat::Delta).await;
}
