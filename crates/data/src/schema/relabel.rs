//! Rows under the names that their columns have in a file.

use crate::DataError;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, RecordBatch, RecordBatchOptions, StructArray};
use arrow_schema::{ArrowError, DataType, Field, SchemaRef};
use std::sync::Arc;

/// The same rows with the fields of another schema, which has the same types in the same order and differs in names and notes.
pub(crate) fn relabel(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, DataError> {
    let wrong = || DataError::arrow("rows under the names of a file");
    let arrays = batch.columns().iter().zip(schema.fields()).map(|(array, field)| relabel_array(array, field));
    let arrays = arrays.collect::<Result<Vec<_>, _>>().map_err(wrong())?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options).map_err(wrong())
}

fn relabel_array(array: &ArrayRef, field: &Field) -> Result<ArrayRef, ArrowError> {
    match (array.data_type(), field.data_type()) {
        (DataType::Struct(_), DataType::Struct(fields)) if !fields.is_empty() => {
            let from = array.as_struct();
            let children = from.columns().iter().zip(fields).map(|(child, field)| relabel_array(child, field));
            let children = children.collect::<Result<Vec<_>, _>>()?;
            Ok(Arc::new(StructArray::try_new(fields.clone(), children, from.nulls().cloned())?))
        }
        (DataType::List(_), DataType::List(element)) => {
            let from = array.as_list::<i32>();
            let values = relabel_array(from.values(), element)?;
            let made = ListArray::try_new(Arc::clone(element), from.offsets().clone(), values, from.nulls().cloned());
            Ok(Arc::new(made?))
        }
        (DataType::Map(_, _), DataType::Map(entry, sorted)) => {
            let from = array.as_map();
            let entries: ArrayRef = Arc::new(from.entries().clone());
            let entries = relabel_array(&entries, entry)?;
            let (offsets, nulls) = (from.offsets().clone(), from.nulls().cloned());
            let made = MapArray::try_new(Arc::clone(entry), offsets, entries.as_struct().clone(), nulls, *sorted);
            Ok(Arc::new(made?))
        }
        _ => Ok(Arc::clone(array)),
    }
}
