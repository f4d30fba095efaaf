//! Delta tables with the columns of the scripts: `id`, `s`, and `w`, by which they may be partitioned.

use super::rows::Rows;
use super::{Texts, alone, committed, list, plainly};
use arrow_array::{Array, ArrayRef, Int32Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use lakebed_table::{Batches, NewTable, ScanRequest, Snapshot, Table, TableError, TableFormat};
use lakebed_transaction::{Column, ColumnType};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// Creates a table, as version 0.
pub(crate) async fn create(path: &Path, partitioned: bool, properties: Texts) -> Table {
    let columns = vec![
        Column::new("id", ColumnType::Long, true),
        Column::new("s", ColumnType::String, true),
        Column::new("w", ColumnType::Integer, true),
    ];
    let by = if partitioned { vec!["w".to_owned()] } else { Vec::new() };
    let definition = NewTable::new(TableFormat::Delta, columns).with_partition_columns(by).with_properties(properties);
    let (table, report) = Table::create(path.to_str().unwrap(), &alone(), &definition, &plainly()).await.unwrap();
    assert_eq!(committed(&report), 0);
    table.unwrap()
}

/// The rows as a source for a statement.
pub(crate) fn source(rows: &Rows) -> impl FnMut() -> Result<Batches, TableError> + Send + use<> {
    let schema = Schema::new(vec![
        Field::new("id", DataType::Int64, true),
        Field::new("s", DataType::Utf8, true),
        Field::new("w", DataType::Int32, true),
    ]);
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(rows.keys().copied())),
        Arc::new(rows.values().map(|(s, _)| s.as_deref()).collect::<StringArray>()),
        Arc::new(rows.values().map(|(_, w)| *w).collect::<Int32Array>()),
    ];
    let batch = RecordBatch::try_new(Arc::new(schema), columns).unwrap();
    move || Ok(Box::new(std::iter::once(Ok(batch.clone()))))
}

/// Rows of one writer as the scripts make them.
pub(crate) fn plain_rows(ids: impl IntoIterator<Item = i64>, writer: i32) -> Rows {
    ids.into_iter().map(|id| (id, (Some(format!("s{id}")), Some(writer)))).collect()
}

/// Reads all rows of a version; an id that is there twice fails the test.
pub(crate) async fn scan(table: &Table, snapshot: &Snapshot) -> Rows {
    let batches = table.scan(snapshot, &ScanRequest::default()).unwrap().all().await.unwrap();
    let mut rows = Rows::new();
    for batch in batches {
        let column = |name: &str| batch.column_by_name(name).unwrap_or_else(|| panic!("no column {name}")).as_any();
        let ids = column("id").downcast_ref::<Int64Array>().unwrap();
        let texts = column("s").downcast_ref::<StringArray>().unwrap();
        let writers = column("w").downcast_ref::<Int32Array>().unwrap();
        for at in 0..batch.num_rows() {
            let s = (!texts.is_null(at)).then(|| texts.value(at).to_owned());
            let w = (!writers.is_null(at)).then(|| writers.value(at));
            assert!(ids.is_valid(at));
            let before = rows.insert(ids.value(at), (s, w));
            assert_eq!(before, None, "id {} is there twice", ids.value(at));
        }
    }
    rows
}

/// The rows that a script printed; an id that is there twice fails the test.
pub(crate) fn printed(rows: &Value) -> Rows {
    let mut found = Rows::new();
    for row in list(rows) {
        let id = row[0].as_i64().unwrap();
        let w = row[2].as_i64().map(|w| i32::try_from(w).unwrap());
        let before = found.insert(id, (row[1].as_str().map(str::to_owned), w));
        assert_eq!(before, None, "id {id} is there twice");
    }
    found
}
