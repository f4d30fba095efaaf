//! Local files with rows to write: Parquet, CSV, JSON lines.

mod ahead;
mod csv;
mod entries;
mod growing;
mod guess;
mod jsonl;
mod records;
mod text;

use super::guard::guarded;
use super::metadata::prepared;
use crate::DataError;
use crate::schema::{align, columns_of, join};
use ahead::Ahead;
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Fields};
use growing::Growing;
use lakebed_transaction::Column;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaDataReader;
use std::collections::HashMap;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::sync::Arc;

/// Rows in a batch.
const BATCH_ROWS: usize = 8_192;

/// A batch of texts is closed once it has taken this much of its file.
const BATCH_BYTES: usize = 32 << 20;

/// The longest row of texts. With a batch before it, it stays within the 31 bits of Arrow's offsets.
const ROW_BYTES: u64 = 512 << 20;

/// Batches of a local file, aligned to the columns of the table. A thread reads a few of them ahead, once the first was asked for.
/// Taking one blocks until it was read; call it where that is allowed.
pub struct Source {
    file: String,
    batches: Box<dyn Iterator<Item = Result<RecordBatch, DataError>> + Send>,
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("file", &self.file).finish_non_exhaustive()
    }
}

impl Iterator for Source {
    type Item = Result<RecordBatch, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.batches.next().map(|batch| batch.map_err(|error| error.in_file(&self.file)))
    }
}

enum Kind {
    Parquet,
    Csv,
    JsonLines,
    Standard,
}

fn kind(path: &str) -> Result<Kind, DataError> {
    let ends = |ending: &str| path.len() >= ending.len() && path.to_ascii_lowercase().ends_with(ending);
    if path == "-" {
        Ok(Kind::Standard)
    } else if ends(".parquet") {
        Ok(Kind::Parquet)
    } else if ends(".csv") {
        Ok(Kind::Csv)
    } else if ends(".jsonl") || ends(".ndjson") {
        Ok(Kind::JsonLines)
    } else {
        Err(DataError::UnknownKind { file: path.to_owned() })
    }
}

/// Opens rows to be written to a table of these columns: `.parquet`, `.csv` (with a header; an empty cell is NULL, `""`
/// the empty text), `.jsonl`, or `-` for JSON lines on standard input. Texts and JSON's numbers are read as the types of
/// the table, and refused where that would change them.
///
/// # Errors
/// The file cannot be opened, is of another kind, or names a column twice, or one that the table does not have.
pub fn open_source(path: &str, columns: &[Column]) -> Result<Source, DataError> {
    let batches: Box<dyn Iterator<Item = Result<RecordBatch, DataError>> + Send> = match kind(path)? {
        Kind::Parquet => Box::new(Ahead::new(path, parquet(path, columns)?)),
        Kind::Csv => {
            let rows = csv::batches(path, open(path)?, columns).map_err(|error| error.in_file(path))?;
            Box::new(Ahead::new(path, rows))
        }
        Kind::JsonLines => {
            let input: Box<dyn BufRead + Send> = Box::new(BufReader::new(open(path)?));
            let rows = jsonl::batches(path, input, columns).map_err(|error| error.in_file(path))?;
            Box::new(Ahead::new(path, rows))
        }
        Kind::Standard => {
            let input: Box<dyn BufRead + Send> = Box::new(BufReader::new(std::io::stdin()));
            Box::new(jsonl::batches("standard input", input, columns)?)
        }
    };
    Ok(Source { file: path.to_owned(), batches })
}

fn open(path: &str) -> Result<File, DataError> {
    File::open(path).map_err(|source| DataError::Io { file: path.to_owned(), source })
}

fn builder(path: &str) -> Result<ParquetRecordBatchReaderBuilder<File>, DataError> {
    let file = open(path)?;
    let metadata = guarded(path, || ParquetMetaDataReader::new().parse_and_finish(&file))?;
    let metadata = guarded(path, || prepared(Arc::new(metadata)))?;
    Ok(ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata))
}

fn parquet(
    path: &str,
    columns: &[Column],
) -> Result<impl Iterator<Item = Result<RecordBatch, DataError>> + Send + use<>, DataError> {
    let builder = builder(path)?;
    refuse_twins(builder.schema().fields(), "").map_err(|error| error.in_file(path))?;
    let mut reader = builder.with_batch_size(BATCH_ROWS).build().map_err(DataError::parquet(path))?;
    let (columns, path) = (columns.to_vec(), path.to_owned());
    let mut done = false;
    Ok(std::iter::from_fn(move || {
        if done {
            return None;
        }
        let batch = guarded(&path, || reader.next().transpose().map_err(ParquetError::from)).transpose()?;
        done = batch.is_err();
        Some(batch.and_then(|batch| align(&batch, &columns)))
    }))
}

/// Columns that a table could not tell apart.
fn refuse_twins(fields: &Fields, within: &str) -> Result<(), DataError> {
    let mut seen: HashMap<String, &str> = HashMap::new();
    for field in fields {
        let column = join(within, field.name());
        if let Some(first) = seen.insert(field.name().to_lowercase(), field.name()) {
            return Err(DataError::TwinColumn { first: join(within, first), column });
        }
        if let DataType::Struct(fields) = field.data_type() {
            refuse_twins(fields, &column)?;
        }
    }
    Ok(())
}

/// The rows that have grown, as a batch of those of the table's columns that they name.
fn batch_of(rows: &mut Growing, columns: &[Column]) -> Result<RecordBatch, DataError> {
    let given = rows.take_given();
    let rows = RecordBatch::from(rows.take()?.as_struct());
    let places: Vec<usize> = (0..columns.len()).filter(|at| given.get(*at) == Some(&true)).collect();
    let named: Vec<Column> = places.iter().filter_map(|at| columns.get(*at)).cloned().collect();
    align(&rows.project(&places).map_err(DataError::arrow("rows"))?, &named)
}

/// What the columns of a file become that has only texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextTypes {
    /// What the values of the first ten thousand rows all are: truth values, integers, numbers, dates, timestamps, else texts.
    #[default]
    Guessed,
    /// Texts.
    Text,
}

/// The columns of a local file, for a table made like it or widened by it. CSV has only texts, and `texts` says what becomes of
/// them; of JSON lines the first thousand are looked at.
///
/// # Errors
/// As [`open_source`]; and standard input, which can be read only once.
pub fn source_columns(path: &str, texts: TextTypes) -> Result<Vec<Column>, DataError> {
    match kind(path)? {
        Kind::Parquet => {
            let builder = builder(path)?;
            let found = refuse_twins(builder.schema().fields(), "").and_then(|()| columns_of(builder.schema()));
            found.map_err(|error| error.in_file(path))
        }
        Kind::Csv => csv::columns(path, open(path)?, texts).map_err(|error| error.in_file(path)),
        Kind::JsonLines => jsonl::columns(BufReader::new(open(path)?)).map_err(|error| error.in_file(path)),
        Kind::Standard => Err(DataError::UnknownKind { file: path.to_owned() }),
    }
}
