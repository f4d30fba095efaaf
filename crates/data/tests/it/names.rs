//! Files whose columns have other names than the table's, or go by their field ids.

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Int64Array, ListArray, RecordBatch, StringArray, StructArray};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Fields, Schema};
use lakebed_data::{FileColumn, FileKey, FileNames, FileType, ReadOptions, arrow_schema, json_row, read_parquet};
use lakebed_storage::{MemoryStore, Store};
use lakebed_transaction::{Column, ColumnType, RowSet};
use parquet::arrow::ArrowWriter;
use std::sync::Arc;

fn field(name: &str, data_type: DataType, id: Option<i32>) -> Field {
    let metadata = id.map(|id| ("PARQUET:field_id".to_owned(), id.to_string())).into_iter().collect();
    Field::new(name, data_type, true).with_metadata(metadata)
}

/// A file with a number, a text, and a list of structs, under names that say nothing.
async fn stored(ids: bool) -> Arc<dyn Store> {
    let id = |id: i32| ids.then_some(id);
    let inner = Fields::from(vec![field("p3", DataType::Int64, id(4)), field("p4", DataType::Utf8, id(5))]);
    let element = Arc::new(field("element", DataType::Struct(inner.clone()), None));
    let schema = Arc::new(Schema::new(vec![
        field("p1", DataType::Int64, id(1)),
        field("p2", DataType::Utf8, id(2)),
        field("p5", DataType::List(Arc::clone(&element)), id(3)),
        field("gone", DataType::Utf8, id(9)),
    ]));
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "c"]));
    let structs: ArrayRef =
        Arc::new(StructArray::try_new(inner, vec![Arc::clone(&numbers), Arc::clone(&texts)], None).unwrap());
    let lists = ListArray::try_new(element, OffsetBuffer::from_lengths([2, 0, 1]), structs, None).unwrap();
    let batch =
        RecordBatch::try_new(Arc::clone(&schema), vec![numbers, Arc::clone(&texts), Arc::new(lists), texts]).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), schema, None).unwrap();
    writer.write(&batch).unwrap();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    store.put("f.parquet", writer.into_inner().unwrap().into()).await.unwrap();
    store
}

fn column(name: &str, name_in_file: &str, field_id: i32, inner: FileType) -> FileColumn {
    FileColumn { name: name.to_owned(), name_in_file: name_in_file.to_owned(), field_id: Some(field_id), inner }
}

/// The table's names; what a name and an id say of the file differs in `p1` and `p2`, which are swapped.
fn names(by: FileKey) -> Arc<FileNames> {
    let inner = vec![column("x", "p3", 4, FileType::Plain), column("y", "none", 5, FileType::Plain)];
    let list = FileType::List(Box::new(FileType::Struct(inner)));
    let columns = vec![
        column("text", "p2", 2, FileType::Plain),
        column("number", "p1", 1, FileType::Plain),
        column("list", "p5", 3, list),
        column("new", "p7", 7, FileType::Plain),
    ];
    Arc::new(FileNames { columns, by })
}

fn columns() -> Vec<Column> {
    let inner = vec![Column::new("x", ColumnType::Long, true), Column::new("y", ColumnType::String, true)];
    let list = ColumnType::Array(Box::new(Column::new("element", ColumnType::Struct(inner), true)));
    vec![
        Column::new("number", ColumnType::Long, true),
        Column::new("text", ColumnType::String, true),
        Column::new("list", list, true),
        Column::new("new", ColumnType::Double, true),
    ]
}

async fn rows(store: &Arc<dyn Store>, by: FileKey, columns: &[Column]) -> Result<Vec<String>, lakebed_data::DataError> {
    let options = ReadOptions::new(columns).with_names(Some(names(by)));
    let mut all = Vec::new();
    for read in read_parquet(store, "f.parquet", options).await?.collect().await? {
        assert_eq!(read.batch.schema(), arrow_schema(columns).unwrap());
        all.extend((0..read.batch.num_rows()).map(|row| json_row(&read.batch, row).unwrap()));
    }
    Ok(all)
}

#[tokio::test]
async fn columns_are_found_by_the_names_or_by_the_ids_that_files_have() {
    let store = stored(true).await;
    let by_name = rows(&store, FileKey::Name, &columns()).await.unwrap();
    assert_eq!(
        by_name[0], r#"{"number":1,"text":"a","list":[{"x":1,"y":null},{"x":2,"y":null}],"new":null}"#,
        "no file has the name of y"
    );
    let by_id = rows(&store, FileKey::FieldId, &columns()).await.unwrap();
    assert_eq!(by_id[0], r#"{"number":1,"text":"a","list":[{"x":1,"y":"a"},{"x":2,"y":"b"}],"new":null}"#);
    assert_eq!(
        by_id[1..],
        [
            r#"{"number":2,"text":"b","list":[],"new":null}"#,
            r#"{"number":3,"text":"c","list":[{"x":3,"y":"c"}],"new":null}"#
        ]
    );
    // Only what is asked for.
    assert_eq!(rows(&store, FileKey::FieldId, &columns()[1..2]).await.unwrap()[2], r#"{"text":"c"}"#);
}

#[tokio::test]
async fn a_file_without_ids_is_refused_where_ids_tell_columns_apart() {
    let store = stored(false).await;
    let error = rows(&store, FileKey::FieldId, &columns()).await.unwrap_err().to_string();
    assert!(error.contains("f.parquet") && error.contains("no field ids"), "{error}");
    assert_eq!(rows(&store, FileKey::Name, &columns()).await.unwrap().len(), 3);
}

#[tokio::test]
async fn only_some_positions_are_read_and_never_deleted_ones() {
    let store = stored(false).await;
    let set = |rows: &[u64]| rows.iter().copied().collect::<RowSet>();
    for (only, deleted, expected) in
        [(set(&[0, 2]), set(&[]), vec![1, 3]), (set(&[1, 2, 70]), set(&[1]), vec![3]), (set(&[]), set(&[]), vec![])]
    {
        let options = ReadOptions::new(&columns()[..1])
            .with_names(Some(names(FileKey::Name)))
            .with_only(Some(only))
            .with_deleted(Some(deleted))
            .with_positions();
        let mut found = Vec::new();
        for read in read_parquet(&store, "f.parquet", options).await.unwrap().collect().await.unwrap() {
            let numbers = read.batch.column(0).as_primitive::<arrow_array::types::Int64Type>();
            found.extend(numbers.values().iter().copied());
            let positions: Vec<i64> =
                read.positions.unwrap().iter().map(|at| i64::try_from(*at).unwrap() + 1).collect();
            assert_eq!(positions, numbers.values().to_vec());
        }
        assert_eq!(found, expected);
    }
}
