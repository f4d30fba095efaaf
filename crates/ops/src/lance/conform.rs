//! Rows between the types that statements compute with and those of a Lance table, which has more of them.

use super::table::LanceTable;
use crate::OpsError;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, RecordBatch, RecordBatchOptions, StructArray, new_null_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use lakebed_data::{DataError, align, arrow_type};
use lakebed_transaction::Column;
use std::sync::Arc;

/// Rows of a table, in the types of its columns. What has no such type stays as it is.
pub(crate) fn modelled(raw: &RecordBatch, columns: &[Column]) -> Result<RecordBatch, OpsError> {
    let mut fields = Vec::with_capacity(columns.len());
    let mut arrays = Vec::with_capacity(columns.len());
    for (array, column) in raw.columns().iter().zip(columns) {
        let array = match arrow_type(&column.column_type) {
            Ok(_) => aligned(array, &Column { nullable: true, ..column.clone() })?,
            Err(_) => Arc::clone(array),
        };
        fields.push(Field::new(&column.name, array.data_type().clone(), true));
        arrays.push(array);
    }
    batch(fields, arrays, raw.num_rows())
}

/// One column's values in its own type; NULL where none may stand is refused.
pub(crate) fn aligned(array: &ArrayRef, column: &Column) -> Result<ArrayRef, OpsError> {
    let field = Field::new(&column.name, array.data_type().clone(), true);
    let one = batch(vec![field], vec![Arc::clone(array)], array.len())?;
    Ok(Arc::clone(align(&one, std::slice::from_ref(column))?.column(0)))
}

/// Given rows as they are to lie in the table's files: every column of the table, absent ones NULL.
pub(crate) fn complete(given: &RecordBatch, table: &LanceTable) -> Result<RecordBatch, OpsError> {
    let known = || table.columns().iter().map(|column| column.name.as_str()).collect::<Vec<_>>().join(", ");
    if let Some(extra) = given.schema_ref().fields().iter().find(|field| table.position(field.name()).is_none()) {
        return Err(DataError::ExtraColumn { column: extra.name().clone(), known: known() }.into());
    }
    let mut arrays = Vec::with_capacity(table.columns().len());
    for (column, field) in table.columns().iter().zip(table.schema.fields()) {
        let at = given.schema_ref().fields().iter().position(|given| given.name().eq_ignore_ascii_case(&column.name));
        arrays.push(match at {
            Some(at) => conformed(given.column(at), column, field)?,
            None if column.nullable => new_null_array(field.data_type(), given.num_rows()),
            None => return Err(DataError::MissingColumn { column: column.name.clone() }.into()),
        });
    }
    let options = RecordBatchOptions::new().with_row_count(Some(given.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(&table.schema), arrays, &options)
        .map_err(OpsError::rows("rows to be written"))
}

/// Values of a column as they are to lie in the table's files.
pub(crate) fn conformed(array: &ArrayRef, column: &Column, field: &Field) -> Result<ArrayRef, OpsError> {
    if arrow_type(&column.column_type).is_err() && array.data_type() == field.data_type() {
        return Ok(Arc::clone(array));
    }
    let array = aligned(array, column)?;
    retyped(&array, field).map_err(|source| {
        DataError::Arrow { what: format!("column {} to be written as {}", column.name, field.data_type()), source }
            .into()
    })
}

/// The same values in another type that holds them; names within are those of the type.
pub(crate) fn retyped(array: &ArrayRef, field: &Field) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == field.data_type() {
        return Ok(Arc::clone(array));
    }
    match (array.data_type(), field.data_type()) {
        (DataType::Struct(_), DataType::Struct(fields)) if !fields.is_empty() => {
            let from = array.as_struct();
            let children = from.columns().iter().zip(fields).map(|(child, field)| retyped(child, field));
            let children = children.collect::<Result<Vec<_>, _>>()?;
            Ok(Arc::new(StructArray::try_new(fields.clone(), children, from.nulls().cloned())?))
        }
        (
            DataType::List(_),
            DataType::List(element) | DataType::LargeList(element) | DataType::FixedSizeList(element, _),
        ) => {
            let from = array.as_list::<i32>();
            let values = retyped(from.values(), element)?;
            let (offsets, nulls) = (from.offsets().clone(), from.nulls().cloned());
            let list: ArrayRef = Arc::new(ListArray::try_new(Arc::clone(element), offsets, values, nulls)?);
            strict(&list, field.data_type())
        }
        (DataType::Map(_, _), DataType::Map(entry, sorted)) => {
            let from = array.as_map();
            let entries: ArrayRef = Arc::new(from.entries().clone());
            let entries = retyped(&entries, entry)?;
            let (offsets, nulls) = (from.offsets().clone(), from.nulls().cloned());
            Ok(Arc::new(MapArray::try_new(Arc::clone(entry), offsets, entries.as_struct().clone(), nulls, *sorted)?))
        }
        _ => {
            let made = strict(array, field.data_type())?;
            let back = strict(&made, array.data_type())?;
            if back.to_data() == array.to_data() {
                return Ok(made);
            }
            Err(ArrowError::CastError("a value does not fit without loss".to_owned()))
        }
    }
}

fn strict(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == to {
        return Ok(Arc::clone(array));
    }
    cast_with_options(array, to, &CastOptions { safe: false, ..CastOptions::default() })
}

fn batch(fields: Vec<Field>, arrays: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch, OpsError> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
        .map_err(OpsError::rows("a batch"))
}
