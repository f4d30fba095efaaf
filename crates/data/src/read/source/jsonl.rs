//! JSON, one object per line.

use crate::DataError;
use crate::eval::cast_to_column;
use crate::schema::{align, arrow_schema, columns_of, listed, same_name};
use arrow_array::RecordBatch;
use arrow_json::ReaderBuilder;
use arrow_json::reader::infer_json_schema;
use arrow_schema::{Field, Schema};
use lakebed_transaction::{Column, ColumnType};
use std::io::{BufRead, Cursor, Read};
use std::sync::Arc;

/// Lines that are looked at to find columns.
const LOOKED_AT: usize = 1_000;

/// A first line longer than this is no row.
const LINE_BYTES: u64 = 64 << 20;

pub(super) fn columns(input: impl BufRead) -> Result<Vec<Column>, DataError> {
    let (schema, _) = infer_json_schema(input, Some(LOOKED_AT)).map_err(DataError::arrow("the JSON lines"))?;
    columns_of(&schema)
}

pub(super) fn batches(
    name: &str,
    mut input: Box<dyn BufRead + Send>,
    columns: &[Column],
) -> Result<impl Iterator<Item = Result<RecordBatch, DataError>> + Send + use<>, DataError> {
    let mut first = Vec::new();
    let read = (&mut input).take(LINE_BYTES).read_until(b'\n', &mut first);
    read.map_err(|source| DataError::Io { file: name.to_owned(), source })?;
    let wire = wire_columns(name, &first, columns)?;
    let reader = ReaderBuilder::new(arrow_schema(&wire)?)
        .with_batch_size(super::BATCH_ROWS)
        .with_strict_mode(true)
        .with_coerce_primitive(true);
    let reader = reader.build(Cursor::new(first).chain(input)).map_err(DataError::arrow("the JSON lines"))?;
    let (name, columns) = (name.to_owned(), columns.to_vec());
    let known = listed(columns.iter().map(|column| column.name.as_str()));
    Ok(reader.map(move |batch| {
        let batch = batch.map_err(|error| DataError::BadSource {
            file: name.clone(),
            reason: format!("{error} (the columns are {known})"),
        })?;
        align(&typed(&batch, &columns)?, &columns)
    }))
}

/// The columns as the JSON decoder is to read them: named as the first line spells them; times, decimals and binaries as
/// text; nothing refused for NULL yet, so that the message about it is ours.
fn wire_columns(name: &str, first: &[u8], columns: &[Column]) -> Result<Vec<Column>, DataError> {
    let object: serde_json::Map<String, serde_json::Value> = if first.trim_ascii().is_empty() {
        serde_json::Map::new()
    } else {
        serde_json::from_slice(first).map_err(|error| DataError::BadSource {
            file: name.to_owned(),
            reason: format!("line 1 is no JSON object: {error}"),
        })?
    };
    if let Some(extra) = object.keys().find(|key| !columns.iter().any(|column| same_name(&column.name, key))) {
        let known = listed(columns.iter().map(|column| column.name.as_str()));
        return Err(DataError::ExtraColumn { column: extra.clone(), known });
    }
    let spelled =
        |column: &Column| object.keys().find(|key| same_name(key, &column.name)).unwrap_or(&column.name).clone();
    Ok(columns.iter().map(|column| Column::new(spelled(column), as_text(&column.column_type), true)).collect())
}

/// The type with texts where JSON has texts. Within lists, maps and structs the decoder's own forms hold.
fn as_text(column_type: &ColumnType) -> ColumnType {
    match column_type {
        ColumnType::Date
        | ColumnType::Timestamp
        | ColumnType::TimestampNtz
        | ColumnType::Binary
        | ColumnType::Float
        | ColumnType::Double
        | ColumnType::Decimal { .. } => ColumnType::String,
        ColumnType::Boolean
        | ColumnType::Byte
        | ColumnType::Short
        | ColumnType::Integer
        | ColumnType::Long
        | ColumnType::String
        | ColumnType::Array(_)
        | ColumnType::Map(_, _)
        | ColumnType::Struct(_)
        | ColumnType::Other(_) => column_type.clone(),
    }
}

fn typed(batch: &RecordBatch, columns: &[Column]) -> Result<RecordBatch, DataError> {
    let arrays = batch.columns().iter().zip(columns).map(|(array, column)| {
        let is_text = as_text(&column.column_type) == ColumnType::String;
        if is_text { cast_to_column(array, column) } else { Ok(Arc::clone(array)) }
    });
    let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
    let fields =
        columns.iter().zip(&arrays).map(|(column, array)| Field::new(&column.name, array.data_type().clone(), true));
    RecordBatch::try_new(Arc::new(Schema::new(fields.collect::<Vec<_>>())), arrays)
        .map_err(DataError::arrow("the JSON lines"))
}
