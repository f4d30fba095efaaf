//! Columns that grow value by value, from JSON or from texts.

use super::entries::Entries;
use super::text;
use crate::DataError;
use crate::schema::{arrow_type, join, listed, same_name};
use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, ListArray, MapArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Fields};
use lakebed_transaction::{Column, ColumnType, Scalar};
use serde_json::value::RawValue;
use std::fmt;
use std::sync::Arc;

/// A column, or a value within one, and what it has so far.
#[derive(Debug)]
pub(super) struct Growing {
    name: String,
    path: String,
    /// The type with NULL allowed everywhere, so that the message about a NULL names its column.
    column_type: ColumnType,
    rows: usize,
    /// Whether any row of the batch at hand named it.
    given: bool,
    form: Form,
}

#[derive(Debug)]
enum Form {
    Texts(StringBuilder),
    Cells(Vec<Scalar>),
    List { element: Box<Growing>, ends: Vec<i32>, valid: Vec<bool> },
    Map { key: Box<Growing>, value: Box<Growing>, ends: Vec<i32>, valid: Vec<bool> },
    Struct { fields: Vec<Growing>, valid: Vec<bool> },
}

/// Why a value cannot be taken.
#[derive(Debug)]
pub(super) enum Refusal {
    /// A value, and what is wrong with it.
    Value { path: String, reason: String },
    /// A field that the table does not have.
    Extra { column: String, known: String },
}

impl Refusal {
    /// As an error of the file; `place` says where in it.
    pub(super) fn at(self, file: &str, place: &str) -> DataError {
        match self {
            Self::Value { path, reason } => {
                let column = if path.is_empty() { String::new() } else { format!("column {path}, ") };
                DataError::BadSource { file: file.to_owned(), reason: format!("{column}{place}: {reason}") }
            }
            Self::Extra { column, known } => DataError::ExtraColumn { column, known }.in_file(file),
        }
    }
}

impl Growing {
    /// Rows with these columns, as one struct.
    ///
    /// # Errors
    /// A type that rows cannot have.
    pub(super) fn rows_of(columns: &[Column]) -> Result<Self, DataError> {
        crate::schema::arrow_schema(columns)?;
        Ok(Self::new("", "", &ColumnType::Struct(columns.to_vec())))
    }

    fn new(name: &str, path: &str, column_type: &ColumnType) -> Self {
        let within = |column: &Column| Self::new(&column.name, &join(path, &column.name), &column.column_type);
        let part = |name: &str, column: &Column| Box::new(Self::new(name, &join(path, name), &column.column_type));
        let form = match column_type {
            ColumnType::Array(element) => {
                Form::List { element: part("element", element), ends: Vec::new(), valid: Vec::new() }
            }
            ColumnType::Map(key, value) => {
                Form::Map { key: part("key", key), value: part("value", value), ends: Vec::new(), valid: Vec::new() }
            }
            ColumnType::Struct(columns) => {
                Form::Struct { fields: columns.iter().map(within).collect(), valid: Vec::new() }
            }
            ColumnType::String => Form::Texts(StringBuilder::new()),
            ColumnType::Boolean
            | ColumnType::Byte
            | ColumnType::Short
            | ColumnType::Integer
            | ColumnType::Long
            | ColumnType::Float
            | ColumnType::Double
            | ColumnType::Decimal { .. }
            | ColumnType::Date
            | ColumnType::Timestamp
            | ColumnType::TimestampNtz
            | ColumnType::Binary
            | ColumnType::Other(_) => Form::Cells(Vec::new()),
        };
        Self {
            name: name.to_owned(),
            path: path.to_owned(),
            column_type: loose(column_type),
            rows: 0,
            given: false,
            form,
        }
    }

    /// How many values there are.
    pub(super) const fn rows(&self) -> usize {
        self.rows
    }

    /// The columns of rows.
    pub(super) fn fields_mut(&mut self) -> &mut [Self] {
        if let Form::Struct { fields, .. } = &mut self.form { fields } else { &mut [] }
    }

    /// Notes that the rows at hand name this column.
    pub(super) const fn mark_given(&mut self) {
        self.given = true;
    }

    /// Which columns the rows at hand name; what no row names is for whoever writes them to fill in. Begins anew.
    pub(super) fn take_given(&mut self) -> Vec<bool> {
        self.fields_mut().iter_mut().map(|field| std::mem::take(&mut field.given)).collect()
    }

    /// Completes a row whose columns were filled one by one.
    pub(super) fn complete_row(&mut self) {
        self.rows += 1;
        if let Form::Struct { fields, valid } = &mut self.form {
            valid.push(true);
            for field in fields.iter_mut().filter(|field| field.rows < self.rows) {
                field.push_null();
            }
        }
    }

    /// Appends NULL.
    pub(super) fn push_null(&mut self) {
        self.rows += 1;
        match &mut self.form {
            Form::Texts(builder) => builder.append_null(),
            Form::Cells(cells) => cells.push(Scalar::Null),
            Form::List { ends, valid, .. } | Form::Map { ends, valid, .. } => {
                ends.push(ends.last().copied().unwrap_or(0));
                valid.push(false);
            }
            Form::Struct { fields, valid } => {
                valid.push(false);
                fields.iter_mut().for_each(Self::push_null);
            }
        }
    }

    /// Appends what a text means; of nested types it is JSON.
    pub(super) fn push_text(&mut self, text: &str) -> Result<(), Refusal> {
        match &mut self.form {
            Form::Texts(builder) => builder.append_value(text),
            Form::Cells(cells) => match text::value(text, &self.column_type) {
                Ok(value) => cells.push(value),
                Err(reason) => return Err(self.refused(reason)),
            },
            Form::List { .. } | Form::Map { .. } | Form::Struct { .. } => {
                let raw: &RawValue = serde_json::from_str(text).map_err(|error| self.refused(error))?;
                return self.push_json(raw.get());
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// Appends a JSON value.
    pub(super) fn push_json(&mut self, json: &str) -> Result<(), Refusal> {
        if json == "null" {
            self.push_null();
            return Ok(());
        }
        match &self.form {
            Form::Texts(_) | Form::Cells(_) => self.push_leaf(json),
            Form::List { .. } => self.push_list(json),
            Form::Map { .. } => self.push_map(json),
            Form::Struct { .. } => self.push_object(json),
        }
    }

    fn push_leaf(&mut self, json: &str) -> Result<(), Refusal> {
        let is_text = self.column_type == ColumnType::String;
        let takes = match json.bytes().next() {
            Some(b'"') if !json.contains('\\') => {
                return self.push_text(json.get(1..json.len().saturating_sub(1)).unwrap_or_default());
            }
            Some(b'"') => {
                let text: String = serde_json::from_str(json).map_err(|error| self.refused(error))?;
                return self.push_text(&text);
            }
            Some(b't' | b'f') => is_text || self.column_type == ColumnType::Boolean,
            Some(b'-' | b'0'..=b'9') => is_text || takes_numbers(&self.column_type),
            Some(_) | None => false,
        };
        if takes { self.push_text(json) } else { Err(self.refused(text::refusal(json, &self.column_type))) }
    }

    fn push_list(&mut self, json: &str) -> Result<(), Refusal> {
        let elements: Vec<&RawValue> = serde_json::from_str(json).map_err(|error| self.refused(error))?;
        if let Form::List { element, ends, valid } = &mut self.form {
            elements.iter().try_for_each(|value| element.push_json(value.get()))?;
            ends.push(end(element)?);
            valid.push(true);
        }
        self.rows += 1;
        Ok(())
    }

    fn push_map(&mut self, json: &str) -> Result<(), Refusal> {
        let Entries(entries) = serde_json::from_str(json).map_err(|error| self.refused(error))?;
        let mut keys: Vec<&str> = entries.iter().map(|(key, _)| &**key).collect();
        keys.sort_unstable();
        if let Some([twice, _]) = keys.windows(2).find(|pair| matches!(pair, [a, b] if a == b)) {
            return Err(self.refused(format!("the key {twice} stands there twice")));
        }
        if let Form::Map { key, value, ends, valid } = &mut self.form {
            for (name, entry) in &entries {
                key.push_text(name)?;
                value.push_json(entry.get())?;
            }
            ends.push(end(key)?);
            valid.push(true);
        }
        self.rows += 1;
        Ok(())
    }

    fn push_object(&mut self, json: &str) -> Result<(), Refusal> {
        let Entries(entries) = serde_json::from_str(json).map_err(|error| self.refused(error))?;
        let (rows, path) = (self.rows, &self.path);
        if let Form::Struct { fields, .. } = &mut self.form {
            for (at, (name, value)) in entries.iter().enumerate() {
                let Some(at) = find(fields, name, at) else {
                    let known = listed(fields.iter().map(|field| field.name.as_str()));
                    return Err(Refusal::Extra { column: join(path, name), known });
                };
                let Some(field) = fields.get_mut(at) else { continue };
                if field.rows > rows {
                    return Err(field.refused("it stands there twice"));
                }
                field.given = true;
                field.push_json(value.get())?;
            }
        }
        self.complete_row();
        Ok(())
    }

    fn refused(&self, reason: impl fmt::Display) -> Refusal {
        Refusal::Value { path: self.path.clone(), reason: reason.to_string() }
    }

    /// What has grown, and begins anew.
    ///
    /// # Errors
    /// Arrow refuses the arrays.
    pub(super) fn take(&mut self) -> Result<ArrayRef, DataError> {
        let wrong = || DataError::arrow(format!("column {}", self.path));
        let target = arrow_type(&self.column_type)?;
        self.rows = 0;
        Ok(match (&mut self.form, target) {
            (Form::Texts(builder), _) => Arc::new(builder.finish()),
            (Form::Cells(cells), _) => crate::schema::from_scalars(&std::mem::take(cells), &self.column_type)?,
            (Form::List { element, ends, valid }, DataType::List(field)) => {
                let (offsets, nulls) = (offsets(ends), nulls(valid));
                Arc::new(ListArray::try_new(field, offsets, element.take()?, nulls).map_err(wrong())?)
            }
            (Form::Map { key, value, ends, valid }, DataType::Map(field, sorted)) => {
                let parts = entry_fields(&field).map_err(wrong())?;
                let entries = StructArray::try_new(parts, vec![key.take()?, value.take()?], None).map_err(wrong())?;
                let (offsets, nulls) = (offsets(ends), nulls(valid));
                Arc::new(MapArray::try_new(field, offsets, entries, nulls, sorted).map_err(wrong())?)
            }
            (Form::Struct { fields, valid }, DataType::Struct(parts)) => {
                let (rows, nulls) = (valid.len(), nulls(valid));
                let arrays = fields.iter_mut().map(Self::take).collect::<Result<Vec<_>, _>>()?;
                Arc::new(StructArray::try_new_with_length(parts, arrays, nulls, rows).map_err(wrong())?)
            }
            (Form::List { .. } | Form::Map { .. } | Form::Struct { .. }, other) => {
                return Err(wrong()(ArrowError::SchemaError(format!("{other} has another form"))));
            }
        })
    }
}

/// Objects keep the order of the columns more often than not, so that place is looked at first.
fn find(fields: &[Growing], name: &str, likely: usize) -> Option<usize> {
    if fields.get(likely).is_some_and(|field| field.name == name) {
        return Some(likely);
    }
    let exact = fields.iter().position(|field| field.name == name);
    exact.or_else(|| fields.iter().position(|field| same_name(&field.name, name)))
}

fn end(values: &Growing) -> Result<i32, Refusal> {
    i32::try_from(values.rows).map_err(|_| values.refused("too many values in too few rows"))
}

fn offsets(ends: &mut Vec<i32>) -> OffsetBuffer<i32> {
    let ends = std::mem::take(ends);
    OffsetBuffer::new(ScalarBuffer::from_iter(std::iter::once(0).chain(ends)))
}

fn nulls(valid: &mut Vec<bool>) -> Option<NullBuffer> {
    Some(NullBuffer::from(std::mem::take(valid))).filter(|nulls| nulls.null_count() > 0)
}

fn entry_fields(field: &Field) -> Result<Fields, ArrowError> {
    if let DataType::Struct(fields) = field.data_type() {
        return Ok(fields.clone());
    }
    Err(ArrowError::SchemaError(format!("map entries of type {}", field.data_type())))
}

const fn takes_numbers(column_type: &ColumnType) -> bool {
    match column_type {
        ColumnType::Byte
        | ColumnType::Short
        | ColumnType::Integer
        | ColumnType::Long
        | ColumnType::Float
        | ColumnType::Double
        | ColumnType::Decimal { .. } => true,
        ColumnType::Boolean
        | ColumnType::Date
        | ColumnType::Timestamp
        | ColumnType::TimestampNtz
        | ColumnType::String
        | ColumnType::Binary
        | ColumnType::Array(_)
        | ColumnType::Map(_, _)
        | ColumnType::Struct(_)
        | ColumnType::Other(_) => false,
    }
}

/// The type with NULL allowed everywhere but in the keys of maps.
fn loose(column_type: &ColumnType) -> ColumnType {
    let any = |column: &Column| Column::new(&column.name, loose(&column.column_type), true);
    match column_type {
        ColumnType::Array(element) => ColumnType::Array(Box::new(any(element))),
        ColumnType::Map(key, value) => ColumnType::Map(Box::new(any(key)), Box::new(any(value))),
        ColumnType::Struct(columns) => ColumnType::Struct(columns.iter().map(any).collect()),
        ColumnType::Boolean
        | ColumnType::Byte
        | ColumnType::Short
        | ColumnType::Integer
        | ColumnType::Long
        | ColumnType::Float
        | ColumnType::Double
        | ColumnType::Decimal { .. }
        | ColumnType::Date
        | ColumnType::Timestamp
        | ColumnType::TimestampNtz
        | ColumnType::String
        | ColumnType::Binary
        | ColumnType::Other(_) => column_type.clone(),
    }
}
