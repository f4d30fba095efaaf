//! Rows brought to the columns of a table.

use super::{arrow_type, cast_strict, is_lossless, join, listed, same_name};
use crate::DataError;
use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, RecordBatch, RecordBatchOptions, StructArray, new_null_array};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Fields};
use lakebed_transaction::{Column, ColumnType};
use std::sync::Arc;

/// What to do with columns that the table does not have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extra {
    /// Refuse them by name: rows to be written.
    Refuse,
    /// Leave them out: files of an older or wider schema.
    Drop,
}

/// Rows to be written, brought to the columns of the table: matched by name without regard to case, in the table's
/// order, absent nullable columns as NULL, values widened where no value can be lost.
///
/// # Errors
/// A column that the table does not have, one that is absent and may not be NULL, types that do not fit without loss,
/// NULL where none may stand (also within structs, lists and maps); each names the column.
pub fn align(batch: &RecordBatch, columns: &[Column]) -> Result<RecordBatch, DataError> {
    align_with(batch, columns, Extra::Refuse)
}

/// Rows that are aligned to their table, narrowed to some of its columns and of their fields, such as those that stand in files.
///
/// # Errors
/// As [`align`], but what is not among `columns` is left out.
pub fn narrow(batch: &RecordBatch, columns: &[Column]) -> Result<RecordBatch, DataError> {
    align_with(batch, columns, Extra::Drop)
}

pub(crate) fn align_with(batch: &RecordBatch, columns: &[Column], extra: Extra) -> Result<RecordBatch, DataError> {
    let schema = super::arrow_schema(columns)?;
    let rows = batch.num_rows();
    let arrays =
        align_fields(batch.schema_ref().fields(), batch.columns(), columns, None, &Place { within: "", rows, extra })?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(schema, arrays, &options).map_err(DataError::arrow("rows"))
}

/// Where in a row we are.
struct Place<'a> {
    within: &'a str,
    rows: usize,
    extra: Extra,
}

/// `present` tells which rows have a parent at all; NULLs elsewhere do not count.
fn align_fields(
    fields: &Fields,
    arrays: &[ArrayRef],
    columns: &[Column],
    present: Option<&NullBuffer>,
    place: &Place<'_>,
) -> Result<Vec<ArrayRef>, DataError> {
    if place.extra == Extra::Refuse
        && let Some(field) =
            fields.iter().find(|field| !columns.iter().any(|column| same_name(&column.name, field.name())))
    {
        let known = listed(columns.iter().map(|column| column.name.as_str()));
        return Err(DataError::ExtraColumn { column: join(place.within, field.name()), known });
    }
    let one = |column: &Column| {
        let path = join(place.within, &column.name);
        let exact = fields.iter().position(|field| *field.name() == column.name);
        let at = exact.or_else(|| fields.iter().position(|field| same_name(field.name(), &column.name)));
        match at.and_then(|at| arrays.get(at)) {
            Some(array) => aligned(array, column, present, &Place { within: &path, ..*place }),
            None if column.nullable => Ok(new_null_array(&arrow_type(&column.column_type)?, place.rows)),
            None => Err(DataError::MissingColumn { column: path }),
        }
    };
    columns.iter().map(one).collect()
}

/// One column; `path` is its name with those around it.
pub(crate) fn align_array(array: &ArrayRef, column: &Column, path: &str, extra: Extra) -> Result<ArrayRef, DataError> {
    aligned(array, column, None, &Place { within: path, rows: array.len(), extra })
}

fn aligned(
    array: &ArrayRef,
    column: &Column,
    present: Option<&NullBuffer>,
    place: &Place<'_>,
) -> Result<ArrayRef, DataError> {
    if !column.nullable {
        check_not_null(array, present, place.within)?;
    }
    let target = arrow_type(&column.column_type)?;
    match (&column.column_type, &target) {
        _ if *array.data_type() == DataType::Null => Ok(new_null_array(&target, array.len())),
        (ColumnType::Struct(columns), DataType::Struct(fields)) => align_struct(array, columns, fields, present, place),
        (ColumnType::Array(element), DataType::List(field)) => align_list(array, element, field, place),
        (ColumnType::Map(key, value), DataType::Map(field, _)) => align_map(array, [key, value], field, place),
        (ColumnType::Other(_), DataType::Struct(fields)) => align_variant(array, fields, present, place),
        // Files of a table whose writer left the flag for instants out of the schema: other readers take UTC there too.
        (ColumnType::Timestamp, _) if place.extra == Extra::Drop && is_wall_clock(array.data_type()) => {
            let wall = cast_strict(array, &arrow_type(&ColumnType::TimestampNtz)?, place.within)?;
            Ok(Arc::new(wall.as_primitive::<TimestampMicrosecondType>().clone().with_timezone(super::UTC)))
        }
        _ if is_lossless(array.data_type(), &target) => cast_strict(array, &target, place.within),
        _ => Err(mismatch(array, &target, place.within)),
    }
}

const fn is_wall_clock(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(_, None))
}

fn mismatch(array: &ArrayRef, to: &DataType, path: &str) -> DataError {
    DataError::TypeMismatch { column: path.to_owned(), from: array.data_type().to_string(), to: to.to_string() }
}

/// # Errors
/// [`DataError::NotNull`] when a row that is present is NULL.
fn check_not_null(array: &ArrayRef, present: Option<&NullBuffer>, path: &str) -> Result<(), DataError> {
    let missing = |row: usize| array.is_null(row) && present.is_none_or(|present| present.is_valid(row));
    let all_null = *array.data_type() == DataType::Null && !array.is_empty();
    if array.null_count() == 0 && !all_null {
        return Ok(());
    }
    let mut rows = (0..array.len()).filter(|row| all_null || missing(*row));
    match rows.next() {
        None => Ok(()),
        Some(first_row) => Err(DataError::NotNull { column: path.to_owned(), count: rows.count() + 1, first_row }),
    }
}

fn align_struct(
    array: &ArrayRef,
    columns: &[Column],
    fields: &Fields,
    present: Option<&NullBuffer>,
    place: &Place<'_>,
) -> Result<ArrayRef, DataError> {
    let Some(from) = array.as_struct_opt() else {
        return Err(mismatch(array, &DataType::Struct(fields.clone()), place.within));
    };
    let inner = NullBuffer::union(from.nulls(), present);
    let within = Place { rows: from.len(), ..*place };
    let arrays = align_fields(from.fields(), from.columns(), columns, inner.as_ref(), &within)?;
    let made = if fields.is_empty() {
        Ok(StructArray::new_empty_fields(from.len(), from.nulls().cloned()))
    } else {
        StructArray::try_new(fields.clone(), arrays, from.nulls().cloned())
    };
    made.map(|array| Arc::new(array) as ArrayRef).map_err(DataError::arrow(format!("column {}", place.within)))
}

/// A variant: two byte strings, in either order.
fn align_variant(
    array: &ArrayRef,
    fields: &Fields,
    present: Option<&NullBuffer>,
    place: &Place<'_>,
) -> Result<ArrayRef, DataError> {
    if array.as_struct_opt().is_some_and(|from| crate::variant::is_shredded(from.fields())) {
        return Err(DataError::Feature { column: place.within.to_owned(), feature: "variantShredding" });
    }
    let parts: Vec<Column> =
        fields.iter().map(|field| Column::new(field.name(), ColumnType::Binary, field.is_nullable())).collect();
    align_struct(array, &parts, fields, present, place)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "Arrow's enum is not ours; other types are no lists")]
fn align_list(
    array: &ArrayRef,
    element: &Column,
    field: &Arc<Field>,
    place: &Place<'_>,
) -> Result<ArrayRef, DataError> {
    let target = DataType::List(Arc::clone(field));
    let list: ArrayRef = match array.data_type() {
        DataType::List(_) => Arc::clone(array),
        DataType::LargeList(inner) | DataType::FixedSizeList(inner, _) => {
            super::widen::strict(array, &DataType::List(Arc::clone(inner)))
                .map_err(DataError::arrow(format!("column {}", place.within)))?
        }
        _ => return Err(mismatch(array, &target, place.within)),
    };
    let list = list.as_list::<i32>();
    let values = align_array(list.values(), element, &join(place.within, "element"), place.extra)?;
    ListArray::try_new(Arc::clone(field), list.offsets().clone(), values, list.nulls().cloned())
        .map(|array| Arc::new(array) as ArrayRef)
        .map_err(DataError::arrow(format!("column {}", place.within)))
}

fn align_map(
    array: &ArrayRef,
    [key, value]: [&Column; 2],
    field: &Arc<Field>,
    place: &Place<'_>,
) -> Result<ArrayRef, DataError> {
    let target = DataType::Map(Arc::clone(field), false);
    let Some(map) = array.as_map_opt() else { return Err(mismatch(array, &target, place.within)) };
    let DataType::Struct(fields) = field.data_type() else { return Err(mismatch(array, &target, place.within)) };
    let keys = align_array(map.keys(), key, &join(place.within, "key"), place.extra)?;
    let values = align_array(map.values(), value, &join(place.within, "value"), place.extra)?;
    let wrong = || DataError::arrow(format!("column {}", place.within));
    let entries = StructArray::try_new(fields.clone(), vec![keys, values], None).map_err(wrong())?;
    MapArray::try_new(Arc::clone(field), map.offsets().clone(), entries, map.nulls().cloned(), false)
        .map(|array| Arc::new(array) as ArrayRef)
        .map_err(wrong())
}
