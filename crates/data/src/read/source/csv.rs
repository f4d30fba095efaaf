//! CSV with a header. A field without quotes and without characters is NULL, `""` is the empty text; where there is one
//! column, a blank line is a row with NULL, and elsewhere it is nothing. Nested values are JSON.

use super::growing::{Growing, Refusal};
use super::guess::Guess;
use super::records::Records;
use super::{BATCH_ROWS, TextTypes, batch_of};
use crate::DataError;
use crate::schema::{listed, same_name};
use arrow_array::RecordBatch;
use lakebed_transaction::{Column, ColumnType};
use std::fs::File;
use std::io::BufReader;

/// Bytes that are read at once.
const BUFFER_BYTES: usize = 1 << 18;

/// Rows that are looked at to guess types.
const GUESSED_ROWS: usize = 10_000;

type FileRecords = Records<BufReader<File>>;

fn records(name: &str, file: File) -> FileRecords {
    Records::new(name, BufReader::with_capacity(BUFFER_BYTES, file))
}

/// The header's names.
fn header(records: &mut FileRecords) -> Result<Vec<String>, DataError> {
    if !records.read()? {
        return Err(records.refused("it is empty, without so much as a header"));
    }
    let mut names: Vec<String> = Vec::new();
    for (bytes, _) in records.fields() {
        let name = std::str::from_utf8(bytes).map_err(|_| records.refused("the header is not UTF-8"))?;
        if name.is_empty() {
            return Err(records.refused("the header has a column without a name"));
        }
        if let Some(first) = names.iter().find(|known| same_name(known, name)) {
            return Err(records.refused(&format!("the header names column {first} twice, the second time as {name}")));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

/// The columns, with what their first values are.
pub(super) fn columns(name: &str, file: File, texts: TextTypes) -> Result<Vec<Column>, DataError> {
    let mut records = records(name, file);
    let names = header(&mut records)?.into_iter();
    if texts == TextTypes::Text {
        return Ok(names.map(|name| Column::new(name, ColumnType::String, true)).collect());
    }
    let mut guesses: Vec<Guess> = names.map(Guess::new).collect();
    let mut rows = 0;
    while rows < GUESSED_ROWS && records.read()? {
        rows += 1;
        for ((bytes, quoted), guess) in records.fields().zip(&mut guesses) {
            // What is no UTF-8 is refused when the rows are read.
            guess.see(std::str::from_utf8(bytes).unwrap_or("?"), quoted);
        }
    }
    Ok(guesses.into_iter().map(Guess::column).collect())
}

pub(super) fn batches(name: &str, file: File, columns: &[Column]) -> Result<Rows, DataError> {
    let mut records = records(name, file);
    let names = header(&mut records)?;
    let known = || listed(columns.iter().map(|column| column.name.as_str()));
    let place = |name: &String| {
        let found = columns.iter().position(|column| column.name == *name);
        let found = found.or_else(|| columns.iter().position(|column| same_name(&column.name, name)));
        found.ok_or_else(|| DataError::ExtraColumn { column: name.clone(), known: known() })
    };
    let places = names.iter().map(place).collect::<Result<Vec<_>, _>>()?;
    Ok(Rows { records, places, rows: Growing::rows_of(columns)?, columns: columns.to_vec(), row: 0, done: false })
}

/// The rows of a file, batch by batch.
pub(super) struct Rows {
    records: FileRecords,
    /// The column of each field.
    places: Vec<usize>,
    rows: Growing,
    columns: Vec<Column>,
    row: u64,
    done: bool,
}

impl Iterator for Rows {
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

impl Rows {
    fn batch(&mut self) -> Result<Option<RecordBatch>, DataError> {
        let mut bytes = 0;
        while self.rows.rows() < BATCH_ROWS && bytes < super::BATCH_BYTES && self.records.read()? {
            bytes += self.records.size_bytes();
            if self.records.is_blank() && self.places.len() > 1 {
                continue;
            }
            self.row += 1;
            self.push().map_err(|refusal| {
                let place = format!("row {} (ends at line {})", self.row, self.records.line());
                refusal.at(self.records.name(), &place)
            })?;
        }
        if self.rows.rows() == 0 { Ok(None) } else { batch_of(&mut self.rows, &self.columns).map(Some) }
    }

    fn push(&mut self) -> Result<(), Refusal> {
        let refused = |reason: String| Refusal::Value { path: String::new(), reason };
        let (found, expected) = (self.records.fields().count(), self.places.len());
        if found != expected {
            return Err(refused(format!("it has {found} fields where the header has {expected}")));
        }
        for ((bytes, quoted), place) in self.records.fields().zip(&self.places) {
            let text = std::str::from_utf8(bytes).map_err(|error| refused(error.to_string()))?;
            if let Some(column) = self.rows.fields_mut().get_mut(*place) {
                column.mark_given();
                if text.is_empty() && !quoted {
                    column.push_null();
                } else {
                    column.push_text(text)?;
                }
            }
        }
        self.rows.complete_row();
        Ok(())
    }
}
