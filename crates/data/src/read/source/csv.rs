//! CSV with a header.

use crate::DataError;
use crate::eval::cast_to_column;
use crate::schema::{align, listed, same_name};
use arrow_array::RecordBatch;
use arrow_csv::ReaderBuilder;
use arrow_csv::reader::Format;
use arrow_schema::{DataType, Field, Schema};
use lakebed_transaction::{Column, ColumnType};
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::sync::Arc;

/// The header's names.
fn header(file: &mut File) -> Result<Vec<String>, DataError> {
    let wrong = || DataError::arrow("the header");
    let (schema, _) = Format::default().with_header(true).infer_schema(&mut *file, Some(0)).map_err(wrong())?;
    file.seek(SeekFrom::Start(0)).map_err(|source| DataError::Io { file: "the CSV file".to_owned(), source })?;
    Ok(schema.fields().iter().map(|field| field.name().trim_start_matches('\u{feff}').to_owned()).collect())
}

/// Every column as text.
pub(super) fn columns(mut file: File) -> Result<Vec<Column>, DataError> {
    Ok(header(&mut file)?.into_iter().map(|name| Column::new(name, ColumnType::String, true)).collect())
}

pub(super) fn batches(
    mut file: File,
    columns: &[Column],
) -> Result<impl Iterator<Item = Result<RecordBatch, DataError>> + Send + use<>, DataError> {
    let names = header(&mut file)?;
    let find = |name: &String| columns.iter().find(|column| same_name(&column.name, name)).cloned();
    let known = || listed(columns.iter().map(|column| column.name.as_str()));
    let found = names
        .iter()
        .map(|name| find(name).ok_or_else(|| DataError::ExtraColumn { column: name.clone(), known: known() }));
    let found = found.collect::<Result<Vec<Column>, DataError>>()?;
    let texts = names.iter().map(|name| Field::new(name, DataType::Utf8, true)).collect::<Vec<_>>();
    let reader = ReaderBuilder::new(Arc::new(Schema::new(texts))).with_header(true).with_batch_size(super::BATCH_ROWS);
    let reader = reader.build(file).map_err(DataError::arrow("the CSV file"))?;
    let columns = columns.to_vec();
    Ok(reader.map(move |batch| {
        let batch = batch.map_err(DataError::arrow("the CSV file"))?;
        let arrays = batch.columns().iter().zip(&found).map(|(array, column)| cast_to_column(array, column));
        let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
        let fields =
            found.iter().zip(&arrays).map(|(column, array)| Field::new(&column.name, array.data_type().clone(), true));
        let typed = RecordBatch::try_new(Arc::new(Schema::new(fields.collect::<Vec<_>>())), arrays);
        align(&typed.map_err(DataError::arrow("the CSV file"))?, &columns)
    }))
}
