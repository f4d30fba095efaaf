//! Rows on standard output, in JSON or as a table, and in files.

use crate::error::CliError;
use crate::output;
use arrow_array::RecordBatch;
use lakebed_data::write_json_row;
use serde_json::Value;
use std::io::{self, BufWriter, Write};

/// One array of objects on standard output, written as the batches come in; nothing is written before the first batch is
/// there, so that a request that cannot be answered leaves standard output empty.
pub(crate) struct JsonArray {
    rows: u64,
    text: String,
}

impl JsonArray {
    pub(crate) const fn new() -> Self {
        Self { rows: 0, text: String::new() }
    }

    pub(crate) fn push(&mut self, batch: &RecordBatch) -> Result<(), CliError> {
        for row in 0..batch.num_rows() {
            self.text.push(if self.rows == 0 { '[' } else { ',' });
            write_json_row(batch, row, &mut self.text)?;
            self.rows += 1;
        }
        Ok(())
    }

    /// Objects that each hold a row under `row`, behind what stands in `head`: the fields of a JSON object, without braces.
    pub(crate) fn push_within(&mut self, head: &str, batch: &RecordBatch) -> Result<(), CliError> {
        for row in 0..batch.num_rows() {
            self.text.push(if self.rows == 0 { '[' } else { ',' });
            self.text.push('{');
            self.text.push_str(head);
            self.text.push_str(",\"row\":");
            write_json_row(batch, row, &mut self.text)?;
            self.text.push('}');
            self.rows += 1;
        }
        Ok(())
    }

    /// Writes the document, which is held back until here: an error in the last file must not leave half of one behind.
    pub(crate) fn finish(mut self) -> Result<(), CliError> {
        self.text.push_str(if self.rows == 0 { "[]\n" } else { "]\n" });
        let mut out = BufWriter::new(io::stdout().lock());
        out.write_all(self.text.as_bytes()).and_then(|()| out.flush()).map_err(CliError::Output)
    }
}

/// The rows as a table of texts.
pub(crate) fn table(columns: &[String], batches: &[RecordBatch]) -> Result<String, CliError> {
    let mut rows = Vec::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let mut json = String::new();
            write_json_row(batch, row, &mut json)?;
            let object: Value = serde_json::from_str(&json)
                .map_err(|error| CliError::failed(format!("a row cannot be shown: {error}"), "use --json"))?;
            rows.push(columns.iter().map(|name| cell(object.get(name))).collect());
        }
    }
    Ok(output::grid(columns, rows))
}

fn cell(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "NULL".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}
