//! What the columns of a Delta table are called in its files.

use lakebed_data::{FileColumn, FileKey, FileNames, FileType};
use lakebed_delta::schema::{ColumnMapping, DataType, StructField, StructType};
use std::sync::Arc;

/// The names in files; `None` where they are the table's own.
pub(crate) fn file_names(schema: &StructType, mapping: ColumnMapping) -> Option<Arc<FileNames>> {
    let by = match mapping {
        ColumnMapping::None => return None,
        ColumnMapping::Name => FileKey::Name,
        ColumnMapping::Id => FileKey::FieldId,
    };
    Some(Arc::new(FileNames { columns: columns(schema, mapping), by }))
}

fn columns(schema: &StructType, mapping: ColumnMapping) -> Vec<FileColumn> {
    let column = |field: &StructField| FileColumn {
        name: field.name.clone(),
        name_in_file: field.physical_name(mapping).to_owned(),
        field_id: field.column_id().filter(|_| mapping == ColumnMapping::Id),
        inner: inner(&field.data_type, mapping),
    };
    schema.fields.iter().map(column).collect()
}

fn inner(data_type: &DataType, mapping: ColumnMapping) -> FileType {
    match data_type {
        DataType::Primitive(_) => FileType::Plain,
        DataType::Struct(schema) => FileType::Struct(columns(schema, mapping)),
        DataType::Array { element, .. } => FileType::List(Box::new(inner(element, mapping))),
        DataType::Map { key, value, .. } => {
            FileType::Map(Box::new(inner(key, mapping)), Box::new(inner(value, mapping)))
        }
    }
}

/// The names with one column more, which files may have under its own name.
pub(crate) fn with_column(
    names: Option<&Arc<FileNames>>,
    table_columns: &[String],
    (name, name_in_file): (&str, &str),
) -> Arc<FileNames> {
    let plain = |name: &str, name_in_file: &str| FileColumn {
        name: name.to_owned(),
        name_in_file: name_in_file.to_owned(),
        field_id: None,
        inner: FileType::Plain,
    };
    let mut names = names.map_or_else(
        || FileNames { columns: table_columns.iter().map(|own| plain(own, own)).collect(), by: FileKey::Name },
        |names| FileNames::clone(names),
    );
    names.columns.push(plain(name, name_in_file));
    Arc::new(names)
}
