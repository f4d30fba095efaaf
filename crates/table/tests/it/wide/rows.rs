//! Rows of many types, from few values each, so that predicates meet them often.

use super::Random;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use lakebed_data::json_row;
use lakebed_table::{Batches, ScanRequest, Table, TableError};
use lakebed_transaction::{Column, ColumnType};
use std::sync::Arc;

/// Longer than what statistics keep of a text, and alike for as long.
const LONG: [&str; 3] = [
    "a text that is longer than what statistics hold of it: one",
    "a text that is longer than what statistics hold of it: two",
    "a text that is longer than what statistics hold of it\u{10ffff}",
];
const TEXTS: [Option<&str>; 8] =
    [None, Some(""), Some("a"), Some("B"), Some("é"), Some(LONG[0]), Some(LONG[1]), Some(LONG[2])];
const PARTITIONS: [Option<&str>; 5] = [None, Some("a"), Some("b"), Some("B"), Some("c d/é%")];
const FLOATS: [Option<f64>; 8] =
    [None, Some(f64::NAN), Some(f64::INFINITY), Some(-0.0), Some(0.0), Some(1.5), Some(-2.5), Some(1e300)];
/// In hundredths.
const DECIMALS: [Option<i128>; 5] = [None, Some(0), Some(150), Some(-225), Some(999_999)];
/// Microseconds that statistics, which hold milliseconds, do not tell apart.
const TIMES: [Option<i64>; 5] =
    [None, Some(1_704_067_200_000_000), Some(1_704_067_200_000_001), Some(1_704_067_200_000_999), Some(-1)];
const DAYS: [Option<i32>; 4] = [None, Some(19_723), Some(19_724), Some(-1)];

/// Ids are below this.
pub(super) const IDS: u64 = 16;

/// One row.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) id: i64,
    pub(super) p: Option<&'static str>,
    pub(super) d: Option<i32>,
    pub(super) s: Option<&'static str>,
    pub(super) x: Option<f64>,
    pub(super) n: Option<i128>,
    pub(super) t: Option<i64>,
    pub(super) b: Option<bool>,
}

impl Row {
    pub(super) fn random(random: &mut Random) -> Self {
        Self {
            id: i64::try_from(random.below(IDS)).unwrap(),
            p: *random.one(&PARTITIONS),
            d: *random.one(&DAYS),
            s: *random.one(&TEXTS),
            x: *random.one(&FLOATS),
            n: *random.one(&DECIMALS),
            t: *random.one(&TIMES),
            b: *random.one(&[None, Some(true), Some(false)]),
        }
    }
}

pub(super) fn columns() -> Vec<Column> {
    let decimal = ColumnType::Decimal { precision: 9, scale: 2 };
    [
        ("id", ColumnType::Long),
        ("p", ColumnType::String),
        ("d", ColumnType::Date),
        ("s", ColumnType::String),
        ("x", ColumnType::Double),
        ("n", decimal),
        ("t", ColumnType::Timestamp),
        ("b", ColumnType::Boolean),
    ]
    .into_iter()
    .map(|(name, kind)| Column::new(name, kind, true))
    .collect()
}

/// The rows, with `more` columns of texts behind.
pub(super) fn batch(rows: &[Row], more: &[String]) -> RecordBatch {
    let decimals = rows.iter().map(|row| row.n).collect::<Decimal128Array>().with_precision_and_scale(9, 2).unwrap();
    let times = rows.iter().map(|row| row.t).collect::<TimestampMicrosecondArray>().with_timezone("UTC");
    let mut columns: Vec<(String, ArrayRef)> = vec![
        ("id".to_owned(), Arc::new(rows.iter().map(|row| Some(row.id)).collect::<Int64Array>())),
        ("p".to_owned(), Arc::new(rows.iter().map(|row| row.p).collect::<StringArray>())),
        ("d".to_owned(), Arc::new(rows.iter().map(|row| row.d).collect::<Date32Array>())),
        ("s".to_owned(), Arc::new(rows.iter().map(|row| row.s).collect::<StringArray>())),
        ("x".to_owned(), Arc::new(rows.iter().map(|row| row.x).collect::<Float64Array>())),
        ("n".to_owned(), Arc::new(decimals)),
        ("t".to_owned(), Arc::new(times)),
        ("b".to_owned(), Arc::new(rows.iter().map(|row| row.b).collect::<BooleanArray>())),
    ];
    for name in more {
        columns.push((name.clone(), Arc::new(rows.iter().map(|row| row.s).collect::<StringArray>())));
    }
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

/// A source of these rows that can be asked again.
pub(super) fn source(rows: &[Row], more: &[String]) -> impl FnMut() -> Result<Batches, TableError> + use<> {
    let batch = batch(rows, more);
    move || Ok(Box::new(std::iter::once(Ok(batch.clone()))))
}

/// What a version says to whoever reads it: its columns, the properties that statements set, and every row as often as it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    columns: Vec<Column>,
    properties: Vec<(String, String)>,
    rows: Vec<String>,
}

/// What begins the names of properties that statements set.
pub(super) const PROPERTY: &str = "wide.";

impl State {
    pub(super) async fn of(table: &Table) -> Self {
        let mut rows = Vec::new();
        for batch in table.scan(table.snapshot(), &ScanRequest::default()).unwrap().all().await.unwrap() {
            rows.extend((0..batch.num_rows()).map(|row| json_row(&batch, row).unwrap()));
        }
        rows.sort();
        let properties = table.snapshot().summary().unwrap().properties.into_iter();
        Self {
            columns: table.row_columns(table.snapshot()).unwrap(),
            properties: properties.filter(|(key, _)| key.starts_with(PROPERTY)).collect(),
            rows,
        }
    }
}
