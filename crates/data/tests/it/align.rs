//! Rows brought to the columns of a table.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, RecordBatch, StructArray, TimestampNanosecondArray, record_batch};
use arrow_schema::{DataType, Field, Schema};
use lakebed_data::{DataError, align, arrow_schema, columns_of, constant};
use lakebed_transaction::{Column, ColumnType, Scalar};
use std::sync::Arc;

fn long(name: &str, nullable: bool) -> Column {
    Column::new(name, ColumnType::Long, nullable)
}

#[test]
fn by_name_in_the_order_of_the_table_and_widened() {
    let rows = record_batch!(("B", Float32, [1.5]), ("a", Int32, [7])).unwrap();
    let columns = [long("A", false), long("absent", true), Column::new("b", ColumnType::Double, true)];
    let aligned = align(&rows, &columns).unwrap();
    assert_eq!(aligned.schema(), arrow_schema(&columns).unwrap());
    assert_eq!(aligned.column(0).as_primitive::<Int64Type>().value(0), 7);
    assert!(aligned.column(1).is_null(0));
}

#[test]
fn what_does_not_fit_is_named() {
    let rows = record_batch!(("a", Int64, [Some(1), None, None]), ("x", Utf8, ["q", "r", "s"])).unwrap();
    let error = |columns: &[Column]| align(&rows, columns).unwrap_err();
    assert!(error(&[long("a", true)]).to_string().contains("column x is not in the table, which has a"));
    let text = Column::new("x", ColumnType::String, true);
    assert!(matches!(
        error(&[long("a", false), text.clone()]),
        DataError::NotNull { column, count: 2, first_row: 1 } if column == "a"
    ));
    let narrow = Column::new("a", ColumnType::Integer, true);
    let message = error(&[narrow, text.clone()]).to_string();
    assert!(message.contains("column a") && message.contains("Int64") && message.contains("Int32"), "{message}");
    assert!(
        matches!(error(&[long("a", true), text, long("z", false)]), DataError::MissingColumn { column } if column == "z")
    );
}

#[test]
fn nested_fields_are_aligned_and_judged_within_rows_that_are_there() {
    let inner: ArrayRef = Arc::new(arrow_array::Int32Array::from(vec![Some(1), None]));
    let fields = vec![Arc::new(Field::new("x", DataType::Int32, true))].into();
    let present = StructArray::new(fields, vec![inner], Some(vec![true, false].into()));
    let schema = Arc::new(Schema::new(vec![Field::new("s", present.data_type().clone(), true)]));
    let rows = RecordBatch::try_new(schema, vec![Arc::new(present)]).unwrap();
    let columns = [Column::new("s", ColumnType::Struct(vec![long("x", false), long("y", true)]), true)];
    let aligned = align(&rows, &columns).unwrap();
    assert_eq!(aligned.schema(), arrow_schema(&columns).unwrap());
    assert_eq!(aligned.column(0).as_struct().column(0).as_primitive::<Int64Type>().value(0), 1);
}

/// Nanoseconds that are whole microseconds are taken; others would lose digits.
#[test]
fn nanoseconds_fit_where_nothing_is_lost() {
    let columns = [Column::new("t", ColumnType::Timestamp, true)];
    let rows = |nanos: i64| {
        let array: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![nanos]).with_timezone("+02:00"));
        RecordBatch::try_from_iter([("t", array)]).unwrap()
    };
    let aligned = align(&rows(5_000), &columns).unwrap();
    assert_eq!(aligned.column(0).as_primitive::<TimestampMicrosecondType>().value(0), 5);
    assert!(matches!(align(&rows(5_001), &columns), Err(DataError::TypeMismatch { .. })));
}

#[test]
fn types_there_and_back() {
    let nested = ColumnType::Map(
        Box::new(Column::new("key", ColumnType::String, false)),
        Box::new(Column::new("value", ColumnType::Array(Box::new(long("element", true))), true)),
    );
    let columns = [
        Column::new("m", nested, true),
        Column::new("d", ColumnType::Decimal { precision: 38, scale: 38 }, false),
        Column::new("n", ColumnType::TimestampNtz, true),
    ];
    assert_eq!(columns_of(&arrow_schema(&columns).unwrap()).unwrap(), columns);
    let other = [Column::new("v", ColumnType::Other("geometry(any)".into()), true)];
    let message = arrow_schema(&other).unwrap_err().to_string();
    assert!(message.contains("column v") && message.contains("geometry(any)"), "{message}");
}

#[test]
fn constants_keep_their_value_or_are_refused() {
    let decimal = ColumnType::Decimal { precision: 4, scale: 2 };
    let array = constant(&Scalar::Int(5), "p", &decimal, 2).unwrap();
    assert_eq!(lakebed_data::scalar_at(&*array, 1), Some(Scalar::Decimal { unscaled: 500, scale: 2 }));
    assert!(constant(&Scalar::Int(300), "p", &ColumnType::Byte, 1).is_err());
    assert!(constant(&Scalar::Decimal { unscaled: 1_234, scale: 3 }, "p", &decimal, 1).is_err());
    assert_eq!(constant(&Scalar::Null, "p", &decimal, 3).unwrap().null_count(), 3);
}
