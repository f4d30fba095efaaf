//! JSON, one object per line.

use super::growing::{Growing, Refusal};
use super::{BATCH_ROWS, batch_of};
use crate::DataError;
use crate::schema::columns_of;
use arrow_array::RecordBatch;
use arrow_json::reader::infer_json_schema;
use lakebed_transaction::Column;
use std::io::{BufRead, Read};

/// Lines that are looked at to find columns.
const LOOKED_AT: usize = 1_000;

pub(super) fn columns(input: impl BufRead) -> Result<Vec<Column>, DataError> {
    let (schema, _) = infer_json_schema(input, Some(LOOKED_AT)).map_err(DataError::arrow("the JSON lines"))?;
    super::refuse_twins(schema.fields(), "")?;
    columns_of(&schema)
}

pub(super) fn batches(name: &str, input: Box<dyn BufRead + Send>, columns: &[Column]) -> Result<Lines, DataError> {
    let (rows, columns) = (Growing::rows_of(columns)?, columns.to_vec());
    Ok(Lines { name: name.to_owned(), input, columns, rows, line: Vec::new(), lines: 0, row: 0, done: false })
}

/// The rows of a file, batch by batch.
pub(super) struct Lines {
    name: String,
    input: Box<dyn BufRead + Send>,
    columns: Vec<Column>,
    rows: Growing,
    line: Vec<u8>,
    lines: u64,
    row: u64,
    done: bool,
}

impl Iterator for Lines {
    type Item = Result<RecordBatch, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let batch = self.batch();
        self.done |= !matches!(batch, Ok(Some(_)));
        batch.transpose()
    }
}

impl Lines {
    fn batch(&mut self) -> Result<Option<RecordBatch>, DataError> {
        let mut bytes = 0;
        while self.rows.rows() < BATCH_ROWS && bytes < super::BATCH_BYTES && self.read_line()? {
            bytes += self.line.len();
            let blank = self.line.trim_ascii().is_empty();
            if !blank {
                self.row += 1;
                self.push().map_err(|refusal| {
                    let place = format!("row {} (line {})", self.row, self.lines);
                    refusal.at(&self.name, &place)
                })?;
            }
        }
        if self.rows.rows() == 0 { Ok(None) } else { batch_of(&mut self.rows, &self.columns).map(Some) }
    }

    /// Whether there is another line.
    fn read_line(&mut self) -> Result<bool, DataError> {
        self.line.clear();
        let read = (&mut self.input).take(super::ROW_BYTES).read_until(b'\n', &mut self.line);
        let read = read.map_err(|source| DataError::Io { file: self.name.clone(), source })?;
        self.lines += 1;
        if u64::try_from(read).is_ok_and(|read| read >= super::ROW_BYTES) {
            let reason = format!("line {} is longer than {} bytes", self.lines, super::ROW_BYTES);
            return Err(DataError::BadSource { file: self.name.clone(), reason });
        }
        Ok(read > 0)
    }

    fn push(&mut self) -> Result<(), Refusal> {
        let refused = |reason: String| Refusal::Value { path: String::new(), reason };
        let text = std::str::from_utf8(&self.line).map_err(|error| refused(error.to_string()))?;
        let text = text.trim_ascii();
        if !text.starts_with('{') {
            let shown: String = text.chars().take(40).collect();
            return Err(refused(format!("it is no JSON object: {shown}")));
        }
        self.rows.push_json(text)
    }
}
