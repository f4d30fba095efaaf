//! Files that a scan writes.

use super::json::{text, write_cell, write_json_row};
use crate::DataError;
use crate::schema::{arrow_schema, scalar_at};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use lakebed_transaction::Column;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::fmt;
use std::io::Write;

/// The form of a file, by the ending of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputKind {
    /// `.csv`: a header, commas, quotes where needed; NULL is an empty cell (a blank line where there is one column), the
    /// empty text `""`, nested values are JSON.
    Csv,
    /// `.jsonl`: one JSON object per line.
    JsonLines,
    /// `.parquet`.
    Parquet,
}

impl OutputKind {
    /// The form that a name's ending says.
    ///
    /// # Errors
    /// [`DataError::UnknownKind`] for another ending.
    pub fn of_path(path: &str) -> Result<Self, DataError> {
        let lower = path.to_ascii_lowercase();
        if lower.ends_with(".csv") {
            Ok(Self::Csv)
        } else if lower.ends_with(".jsonl") || lower.ends_with(".ndjson") {
            Ok(Self::JsonLines)
        } else if lower.ends_with(".parquet") {
            Ok(Self::Parquet)
        } else {
            Err(DataError::UnknownKind { file: path.to_owned() })
        }
    }
}

/// Writes rows in one of the forms.
pub struct Output<W: Write + Send> {
    file: String,
    form: Form<W>,
}

enum Form<W: Write + Send> {
    Csv(W),
    JsonLines(W),
    Parquet(Box<ArrowWriter<W>>),
}

impl<W: Write + Send> fmt::Debug for Output<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output").field("file", &self.file).finish_non_exhaustive()
    }
}

impl<W: Write + Send> Output<W> {
    /// Begins a file; `file` names it in messages. CSV gets its header at once.
    ///
    /// # Errors
    /// The header cannot be written, or a type is not one that rows can have.
    pub fn new(kind: OutputKind, file: &str, mut writer: W, columns: &[Column]) -> Result<Self, DataError> {
        let form = match kind {
            OutputKind::Csv => {
                let names: Vec<String> = columns.iter().map(|column| quoted(&column.name)).collect();
                let header = writer.write_all(format!("{}\n", names.join(",")).as_bytes());
                header.map_err(|source| DataError::Io { file: file.to_owned(), source })?;
                Form::Csv(writer)
            }
            OutputKind::JsonLines => Form::JsonLines(writer),
            OutputKind::Parquet => {
                let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
                let made = ArrowWriter::try_new(writer, arrow_schema(columns)?, Some(properties));
                Form::Parquet(Box::new(made.map_err(DataError::parquet(file))?))
            }
        };
        Ok(Self { file: file.to_owned(), form })
    }

    /// Writes rows that have the columns given at the beginning.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<(), DataError> {
        let mut lines = String::new();
        let writer = match &mut self.form {
            Form::Parquet(writer) => return writer.write(batch).map_err(DataError::parquet(&self.file)),
            Form::JsonLines(writer) => {
                for row in 0..batch.num_rows() {
                    write_json_row(batch, row, &mut lines)?;
                    lines.push('\n');
                }
                writer
            }
            Form::Csv(writer) => {
                for row in 0..batch.num_rows() {
                    write_csv_row(batch, row, &mut lines)?;
                }
                writer
            }
        };
        writer.write_all(lines.as_bytes()).map_err(|source| DataError::Io { file: self.file.clone(), source })
    }

    /// Completes the file and gives the writer back.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(self) -> Result<W, DataError> {
        let mut writer = match self.form {
            Form::Csv(writer) | Form::JsonLines(writer) => writer,
            Form::Parquet(writer) => writer.into_inner().map_err(DataError::parquet(&self.file))?,
        };
        writer.flush().map_err(|source| DataError::Io { file: self.file, source })?;
        Ok(writer)
    }
}

fn write_csv_row(batch: &RecordBatch, row: usize, out: &mut String) -> Result<(), DataError> {
    for (at, (field, array)) in batch.schema_ref().fields().iter().zip(batch.columns()).enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push_str(&cell(field.name(), array, row)?);
    }
    out.push('\n');
    Ok(())
}

fn cell(name: &str, array: &ArrayRef, row: usize) -> Result<String, DataError> {
    if array.is_null(row) || *array.data_type() == DataType::Null {
        return Ok(String::new());
    }
    let is_text = matches!(array.data_type(), DataType::Utf8 | DataType::Binary);
    if let Some(scalar) = scalar_at(array, row).filter(|_| *array.data_type() != DataType::Float32) {
        let value = text(&scalar);
        // An empty text or binary is quoted, so that it can be told from NULL.
        return Ok(if is_text && value.is_empty() { "\"\"".to_owned() } else { quoted(&value) });
    }
    let mut json = String::new();
    write_cell(name, array, row, &mut json)?;
    Ok(quoted(json.trim_matches('"')))
}

fn quoted(value: &str) -> String {
    let needs = value.contains(['"', ',', '\n', '\r']) || value.starts_with(' ') || value.ends_with(' ');
    if needs { format!("\"{}\"", value.replace('"', "\"\"")) } else { value.to_owned() }
}
