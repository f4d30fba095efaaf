//! Local files with rows.

use crate::error::CliError;
use arrow_array::RecordBatch;
use lakebed_data::{DataError, TextTypes, open_source, source_columns};
use lakebed_table::{Batches, TableError};
use lakebed_transaction::Column;

/// The rows of local files and of standard input, one after the other. They can be read again, because a statement that
/// lost is planned again; so standard input is kept.
pub(crate) struct Input {
    files: Vec<Part>,
    columns: Vec<Column>,
}

enum Part {
    File(String),
    Kept(Vec<RecordBatch>),
}

impl Input {
    pub(crate) fn new(files: Vec<String>, columns: Vec<Column>) -> Result<Self, CliError> {
        if files.iter().filter(|file| *file == "-").count() > 1 {
            return Err(CliError::usage("standard input can be read only once", "name - once"));
        }
        let part = |file: String| {
            if file == "-" {
                Ok(Part::Kept(open_source(&file, &columns)?.collect::<Result<_, DataError>>()?))
            } else {
                Ok(Part::File(file))
            }
        };
        let files = files.into_iter().map(part).collect::<Result<_, CliError>>()?;
        Ok(Self { files, columns })
    }

    /// All rows, from the beginning.
    pub(crate) fn batches(&self) -> Result<Batches, TableError> {
        let mut parts: Vec<Batches> = Vec::new();
        for part in &self.files {
            parts.push(match part {
                Part::File(file) => Box::new(open_source(file, &self.columns)?),
                Part::Kept(batches) => Box::new(batches.clone().into_iter().map(Ok)),
            });
        }
        Ok(Box::new(parts.into_iter().flatten()))
    }
}

/// The columns of all files together, in the order in which they occur. A file of texts says little of types, so its columns have
/// those of the table where that has them.
pub(crate) fn columns_of(files: &[String], known: &[Column]) -> Result<Vec<Column>, CliError> {
    let mut columns: Vec<Column> = Vec::new();
    for file in files {
        if file == "-" {
            return Err(CliError::usage(
                "the columns of standard input cannot be known before its rows",
                "put the rows into a file",
            ));
        }
        let texts = file.to_ascii_lowercase().ends_with(".csv");
        for mut column in source_columns(file, TextTypes::Guessed)? {
            let same = |other: &&Column| other.name.eq_ignore_ascii_case(&column.name);
            if let Some(known) = known.iter().find(same).filter(|_| texts) {
                column.column_type = known.column_type.clone();
            }
            match columns.iter().find(same) {
                None => columns.push(column),
                Some(other) if other.column_type == column.column_type => {}
                Some(other) => {
                    return Err(CliError::usage(
                        format!("the files have two types for column {}", other.name),
                        "write them one after the other",
                    ));
                }
            }
        }
    }
    Ok(columns)
}
