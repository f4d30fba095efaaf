//! How the columns of a table are called in its files, and rows brought back to the table's own names.

use crate::DataError;
use crate::schema::same_name;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, MapArray, RecordBatch, RecordBatchOptions, StructArray};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema};
use std::sync::Arc;

/// Under this key Arrow keeps the field id of a Parquet column.
const FIELD_ID: &str = "PARQUET:field_id";

/// Names of columns in files, where they are not the table's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileNames {
    /// The columns that files may have.
    pub columns: Vec<FileColumn>,
    /// What tells a column of a file from the others.
    pub by: FileKey,
}

/// What tells a column of a file from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKey {
    /// Its name.
    Name,
    /// Its Parquet field id; its name only where the table gives the column no id. A file without any field id is refused:
    /// nothing in it could be told apart.
    FieldId,
}

/// One column, or one field of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileColumn {
    /// The table's name.
    pub name: String,
    /// The name in files.
    pub name_in_file: String,
    /// The field id in files; `None` where it goes by its name in any case.
    pub field_id: Option<i32>,
    /// What it holds.
    pub inner: FileType,
}

/// What a column of a file holds, as far as names go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileType {
    /// Nothing that has a name.
    Plain,
    /// The fields of a struct.
    Struct(Vec<FileColumn>),
    /// The elements of a list.
    List(Box<FileType>),
    /// Keys and values of a map.
    Map(Box<FileType>, Box<FileType>),
}

impl FileNames {
    /// The column that a field of the file is; `None` for one that the table does not have.
    fn column<'a>(&self, columns: &'a [FileColumn], field: &Field) -> Option<&'a FileColumn> {
        if let (FileKey::FieldId, Some(id)) = (self.by, field_id(field)) {
            return columns.iter().find(|column| column.field_id == Some(id));
        }
        let by_name = || columns.iter().filter(|column| self.by == FileKey::Name || column.field_id.is_none());
        let exact = by_name().find(|column| column.name_in_file == *field.name());
        exact.or_else(|| by_name().find(|column| same_name(&column.name_in_file, field.name())))
    }

    /// The table's name of a top-level field of the file.
    pub(super) fn table_name(&self, field: &Field) -> Option<&str> {
        self.column(&self.columns, field).map(|column| column.name.as_str())
    }

    /// # Errors
    /// Columns are told apart by field ids and the file has none.
    pub(super) fn check(&self, file: &str, schema: &Schema) -> Result<(), DataError> {
        let lacks_ids = schema.fields().iter().all(|field| field_id(field).is_none());
        if self.by == FileKey::FieldId && lacks_ids && !schema.fields().is_empty() {
            return Err(DataError::NoFieldIds { file: file.to_owned() });
        }
        Ok(())
    }

    /// The rows under the table's names; what the table does not have is left out.
    pub(super) fn relabel(&self, batch: &RecordBatch) -> Result<RecordBatch, DataError> {
        let (fields, arrays) = self.relabel_all(&self.columns, batch.schema_ref().fields(), batch.columns())?;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options).map_err(failed)
    }

    fn relabel_all(
        &self,
        columns: &[FileColumn],
        fields: &Fields,
        arrays: &[ArrayRef],
    ) -> Result<(Fields, Vec<ArrayRef>), DataError> {
        let mut out = (Vec::new(), Vec::new());
        for (field, array) in fields.iter().zip(arrays) {
            let Some(column) = self.column(columns, field) else { continue };
            let array = self.relabel_one(&column.inner, array)?;
            out.0.push(renamed(field, &column.name, &array));
            out.1.push(array);
        }
        Ok((Fields::from(out.0), out.1))
    }

    fn relabel_one(&self, inner: &FileType, array: &ArrayRef) -> Result<ArrayRef, DataError> {
        match (inner, array.data_type()) {
            (FileType::Struct(columns), DataType::Struct(_)) => {
                let from = array.as_struct();
                let (fields, arrays) = self.relabel_all(columns, from.fields(), from.columns())?;
                if fields.is_empty() {
                    return Ok(Arc::new(StructArray::new_empty_fields(from.len(), from.nulls().cloned())));
                }
                Ok(Arc::new(StructArray::try_new(fields, arrays, from.nulls().cloned()).map_err(failed)?))
            }
            (FileType::List(element), DataType::List(field)) => {
                let list = array.as_list::<i32>();
                let values = self.relabel_one(element, list.values())?;
                let field = renamed(field, field.name(), &values);
                let made = ListArray::try_new(field, list.offsets().clone(), values, list.nulls().cloned());
                Ok(Arc::new(made.map_err(failed)?))
            }
            (FileType::Map(key, value), DataType::Map(field, sorted)) => {
                self.relabel_map(array.as_map(), [key, value], field, *sorted)
            }
            _ => Ok(Arc::clone(array)),
        }
    }

    fn relabel_map(
        &self,
        map: &MapArray,
        [key, value]: [&FileType; 2],
        field: &FieldRef,
        sorted: bool,
    ) -> Result<ArrayRef, DataError> {
        let keys = self.relabel_one(key, map.keys())?;
        let values = self.relabel_one(value, map.values())?;
        let DataType::Struct(entry) = field.data_type() else { return Ok(Arc::new(map.clone())) };
        let [key_field, value_field] = entry.as_ref() else { return Ok(Arc::new(map.clone())) };
        let entry = Fields::from(vec![
            renamed(key_field, key_field.name(), &keys),
            renamed(value_field, value_field.name(), &values),
        ]);
        let entries = StructArray::try_new(entry, vec![keys, values], None).map_err(failed)?;
        let entries: ArrayRef = Arc::new(entries);
        let field = renamed(field, field.name(), &entries);
        let made =
            MapArray::try_new(field, map.offsets().clone(), entries.as_struct().clone(), map.nulls().cloned(), sorted);
        Ok(Arc::new(made.map_err(failed)?))
    }
}

fn renamed(field: &Field, name: &str, array: &ArrayRef) -> FieldRef {
    Arc::new(Field::new(name, array.data_type().clone(), field.is_nullable()))
}

fn field_id(field: &Field) -> Option<i32> {
    field.metadata().get(FIELD_ID)?.parse().ok()
}

fn failed(source: ArrowError) -> DataError {
    DataError::arrow("rows under the table's names")(source)
}
