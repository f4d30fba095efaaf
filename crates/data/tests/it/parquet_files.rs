//! Parquet files out and in.

use crate::conformance::{adds, set};
use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, record_batch};
use arrow_schema::{DataType, Field};
use lakebed_data::{
    DataError, ParquetSink, ReadOptions, WriteOptions, arrow_schema, json_row, read_parquet, write_parquet,
};
use lakebed_storage::{MemoryStore, Store, StoreOptions, open};
use lakebed_transaction::{BinaryOp, Column, ColumnType, Expr, RowSet, Scalar};
use std::sync::Arc;

fn long(name: &str) -> Column {
    Column::new(name, ColumnType::Long, true)
}

async fn stored(bytes: bytes::Bytes) -> Arc<dyn Store> {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    store.put("f.parquet", bytes).await.unwrap();
    store
}

fn all_types() -> Vec<Column> {
    let simple = [
        ("bool", ColumnType::Boolean),
        ("i8", ColumnType::Byte),
        ("i16", ColumnType::Short),
        ("i32", ColumnType::Integer),
        ("i64", ColumnType::Long),
        ("f", ColumnType::Float),
        ("d", ColumnType::Double),
        ("dec5", ColumnType::Decimal { precision: 5, scale: 2 }),
        ("dec18", ColumnType::Decimal { precision: 18, scale: 0 }),
        ("dec38", ColumnType::Decimal { precision: 38, scale: 10 }),
        ("date", ColumnType::Date),
        ("ts", ColumnType::Timestamp),
        ("ntz", ColumnType::TimestampNtz),
        ("s", ColumnType::String),
        ("bin", ColumnType::Binary),
    ];
    let mut columns: Vec<Column> = simple.into_iter().map(|(name, kind)| Column::new(name, kind, true)).collect();
    let strings = ColumnType::Array(Box::new(Column::new("element", ColumnType::String, true)));
    let map = ColumnType::Map(
        Box::new(Column::new("key", ColumnType::String, false)),
        Box::new(Column::new("value", strings.clone(), true)),
    );
    columns.push(Column::new("st", ColumnType::Struct(vec![long("x"), Column::new("m", map, true)]), true));
    columns.push(Column::new("ar", strings, true));
    columns
}

fn one_of_each() -> RecordBatch {
    let line = r#"{"bool":true,"i8":-128,"i16":1,"i32":2,"i64":9223372036854775807,"f":1.5,"d":-0.25,"dec5":"123.45","dec18":"999999999999999999","dec38":"-1.0000000001","date":"0001-01-01","ts":"9999-12-31T23:59:59.999999Z","ntz":"1500-06-07T08:09:10","s":"é","bin":"AAEC","st":{"x":1,"m":{"k":["a",null]}},"ar":[]}"#;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.jsonl");
    std::fs::write(&path, format!("{line}\n{{}}\n")).unwrap();
    let mut source = lakebed_data::open_source(path.to_str().unwrap(), &all_types()).unwrap();
    source.next().unwrap().unwrap()
}

#[tokio::test]
async fn every_type_comes_back() {
    let rows = one_of_each();
    let file = write_parquet(std::slice::from_ref(&rows), &all_types(), &WriteOptions::default()).unwrap();
    assert_eq!(file.num_rows, 2);
    let store = stored(file.bytes).await;
    let back =
        read_parquet(&store, "f.parquet", ReadOptions::new(&all_types())).await.unwrap().collect().await.unwrap();
    assert_eq!(back[0].batch, rows);
    assert_eq!(
        json_row(&back[0].batch, 0).unwrap(),
        concat!(
            r#"{"bool":true,"i8":-128,"i16":1,"i32":2,"i64":"9223372036854775807","f":1.5,"d":-0.25,"dec5":"123.45","#,
            r#""dec18":"999999999999999999","dec38":"-1.0000000001","date":"0001-01-01","ts":"9999-12-31T23:59:59.999999Z","#,
            r#""ntz":"1500-06-07T08:09:10.000000","s":"é","bin":"AAEC","st":{"x":1,"m":{"k":["a",null]}},"ar":[]}"#
        )
    );
}

fn numbers(count: i64) -> RecordBatch {
    let ids: ArrayRef = Arc::new((0..count).collect::<Int64Array>());
    let texts: ArrayRef =
        Arc::new((0..count).map(|id| Some(format!("text {:020}", id * 7_919 % 100_003))).collect::<StringArray>());
    RecordBatch::try_from_iter([("id", ids), ("s", texts)]).unwrap()
}

/// A file above one mebibyte with several row groups is read by ranges: the same rows, at the same positions.
#[tokio::test]
async fn deleted_rows_positions_and_filters() {
    let columns = [long("id"), Column::new("s", ColumnType::String, true)];
    let mut options = WriteOptions::default();
    options.row_group_rows = 30_000;
    let file = write_parquet(&[numbers(100_000)], &columns, &options).unwrap();
    let size = file.bytes.len() as u64;
    assert!(size > 1 << 20, "{size} bytes do not test ranges");
    let store = stored(file.bytes).await;
    let deleted: RowSet =
        (0..100_000).filter(|row| row % 3 == 0 || (40_000..60_000).contains(row)).chain([200_000]).collect();
    let filter = Expr::column("id").binary(BinaryOp::GreaterOrEqual, Expr::Literal(Scalar::Int(29_990)));
    let expected: Vec<u64> = (29_990..100_000).filter(|row| !deleted.contains(*row)).collect();
    for size in [None, Some(size)] {
        let mut options = ReadOptions::new(&columns[..1])
            .with_deleted(Some(deleted.clone()))
            .with_filter(Some(filter.clone()))
            .with_positions();
        options.size_bytes = size;
        let mut found = (Vec::new(), Vec::new());
        let mut rows = read_parquet(&store, "f.parquet", options).await.unwrap();
        assert_eq!(rows.num_rows(), 100_000);
        while let Some(rows) = rows.next().await.unwrap() {
            found.0.extend(rows.positions.unwrap());
            found.1.extend(
                rows.batch.column(0).as_primitive::<Int64Type>().values().iter().map(|id| u64::try_from(*id).unwrap()),
            );
        }
        assert_eq!(found.0, expected);
        assert_eq!(found.1, expected);
    }
}

#[tokio::test]
async fn partition_values_missing_columns_and_older_types() {
    let file = write_parquet(
        &[record_batch!(("ID", Int32, [1, 2])).unwrap()],
        &[Column::new("ID", ColumnType::Integer, true)],
        &WriteOptions::default(),
    );
    let store = stored(file.unwrap().bytes).await;
    let columns =
        [Column::new("day", ColumnType::Date, true), long("id"), Column::new("new", ColumnType::String, true)];
    let partition = vec![(Arc::from("DAY"), Scalar::Date(3))];
    let options = ReadOptions::new(&columns).with_partition(partition.clone());
    let rows = read_parquet(&store, "f.parquet", options).await.unwrap().collect().await.unwrap();
    assert_eq!(rows[0].batch.schema(), arrow_schema(&columns).unwrap());
    assert_eq!(json_row(&rows[0].batch, 1).unwrap(), r#"{"day":"1970-01-04","id":2,"new":null}"#);
    // Only constants: the file still tells how many rows there are.
    let only = ReadOptions::new(&columns[..1]).with_partition(partition).with_deleted(Some([0].into_iter().collect()));
    let rows = read_parquet(&store, "f.parquet", only).await.unwrap().collect().await.unwrap();
    assert_eq!(rows.iter().map(|rows| rows.batch.num_rows()).sum::<usize>(), 1);
    let narrow = [Column::new("id", ColumnType::Short, true)];
    let error =
        read_parquet(&store, "f.parquet", ReadOptions::new(&narrow)).await.unwrap().collect().await.unwrap_err();
    assert!(error.to_string().starts_with("f.parquet: column id: Int32 does not fit Int16"), "{error}");
}

#[tokio::test]
async fn files_that_are_gone_or_damaged_are_named() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let gone = read_parquet(&store, "gone.parquet", ReadOptions::new(&[long("id")])).await.unwrap_err();
    assert!(matches!(gone, DataError::MissingFile { ref file, .. } if file == "gone.parquet"));
    let whole = write_parquet(
        &[numbers(500)],
        &[long("id"), Column::new("s", ColumnType::String, true)],
        &WriteOptions::default(),
    );
    let whole = whole.unwrap().bytes.to_vec();
    let read = async |bytes: Vec<u8>| {
        let store = stored(bytes.into()).await;
        match read_parquet(&store, "f.parquet", ReadOptions::new(&[long("id")])).await {
            Ok(rows) => rows.collect().await.map(|rows| rows.len()),
            Err(error) => Err(error),
        }
    };
    assert_eq!(read(whole.clone()).await.unwrap(), 1);
    for length in [0, 3, 8, whole.len() / 2, whole.len() - 1] {
        let error = read(whole[..length].to_vec()).await.unwrap_err().to_string();
        assert!(error.contains("f.parquet"), "{error}");
    }
    // Any flipped byte gives rows or an error, never a panic.
    for at in (0..whole.len()).step_by(5) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x55;
        let _ = read(bytes).await;
    }
}

/// Rows of a list are left out after they were decoded: a reader that skips them never ends where damage took some of their levels.
#[tokio::test]
async fn deleted_rows_of_lists_and_damage_among_them() {
    let element = Column::new("element", ColumnType::Long, true);
    let columns = [long("id"), Column::new("list", ColumnType::Array(Box::new(element)), true)];
    let mut ids = Int64Array::builder(500);
    let mut lists = ListBuilder::new(Int64Builder::new()).with_field(Field::new("element", DataType::Int64, true));
    for id in 0..500 {
        ids.append_value(id);
        (0..id % 3).for_each(|item| lists.values().append_value(item * id));
        lists.append(id % 5 != 0);
    }
    let arrays: Vec<ArrayRef> = vec![Arc::new(ids.finish()), Arc::new(lists.finish())];
    let batch = RecordBatch::try_new(arrow_schema(&columns).unwrap(), arrays).unwrap();
    let whole = write_parquet(std::slice::from_ref(&batch), &columns, &WriteOptions::default()).unwrap().bytes.to_vec();
    let deleted: RowSet = (0..500).filter(|row| row % 7 == 0 || (100..450).contains(row)).collect();
    let read = async |bytes: Vec<u8>, only: Option<RowSet>| {
        let store = stored(bytes.into()).await;
        let mut options = ReadOptions::new(&columns).with_deleted(Some(deleted.clone())).with_positions();
        (options.batch_rows, options.only) = (64, only);
        read_parquet(&store, "f.parquet", options).await?.collect().await
    };
    for only in [None, Some(RowSet::from_iter([0, 1, 99, 100, 460, 461, 499, 600]))] {
        let is_kept = |row: &u64| !deleted.contains(*row) && only.as_ref().is_none_or(|only| only.contains(*row));
        let expected: Vec<u64> = (0..500).filter(is_kept).collect();
        let found = read(whole.clone(), only.clone()).await.unwrap();
        let positions: Vec<u64> = found.iter().flat_map(|rows| rows.positions.clone().unwrap()).collect();
        assert_eq!(positions, expected);
        let rows =
            found.iter().flat_map(|rows| (0..rows.batch.num_rows()).map(|row| json_row(&rows.batch, row).unwrap()));
        let own = expected.iter().map(|row| json_row(&batch, usize::try_from(*row).unwrap()).unwrap());
        assert!(rows.eq(own));
    }
    for (at, flip) in (0..whole.len()).step_by(2).flat_map(|at| [0x1a, 0xff].map(|flip| (at, flip))) {
        let mut bytes = whole.clone();
        bytes[at] ^= flip;
        let _ = read(bytes, None).await;
    }
}

#[test]
fn files_roll_at_their_size_and_lose_nothing() {
    let columns = [long("id"), Column::new("s", ColumnType::String, true)];
    let mut sink = ParquetSink::new(&columns, WriteOptions::default().with_target_size_bytes(200_000)).unwrap();
    for _ in 0..3 {
        sink.write(&numbers(20_000)).unwrap();
    }
    let early = sink.take_files();
    let files: Vec<_> = early.into_iter().chain(sink.finish().unwrap()).collect();
    assert!(files.len() > 2, "{} files", files.len());
    assert_eq!(files.iter().map(|file| file.num_rows).sum::<u64>(), 60_000);
    let empty = ParquetSink::new(&columns, WriteOptions::default()).unwrap().finish().unwrap();
    assert!(empty.is_empty());
    assert_eq!(write_parquet(&[], &columns, &WriteOptions::default()).unwrap().num_rows, 0);
}

/// Spark writes instants in the old 96-bit form; years 1 and 9999 do not fit nanoseconds.
#[tokio::test]
async fn instants_of_spark_reach_from_year_1_to_9999() {
    let Some(folder) = set("delta-spark") else { return };
    let table = folder.join("types_extreme");
    let store: Arc<dyn Store> = open(&format!("file://{}", table.display()), &StoreOptions::new()).unwrap();
    let mut found = Vec::new();
    for add in adds(&table).iter().take(2) {
        let columns: Vec<Column> =
            add.columns.iter().filter(|column| ["ts", "f", "i32"].contains(&column.name.as_str())).cloned().collect();
        let rows = read_parquet(&store, &add.path, ReadOptions::new(&columns)).await.unwrap().collect().await.unwrap();
        assert_eq!(rows[0].batch.column(0).as_primitive::<Int32Type>().len(), 1);
        found.push(json_row(&rows[0].batch, 0).unwrap());
    }
    assert_eq!(
        found,
        [
            r#"{"i32":-2147483648,"f":"-Infinity","ts":"0001-01-01T00:00:00.000000Z"}"#,
            r#"{"i32":2147483647,"f":"Infinity","ts":"9999-12-31T23:59:59.999999Z"}"#
        ]
    );
}
