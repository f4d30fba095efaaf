//! Columns of a table and Arrow's types.

mod align;
mod array;
mod relabel;
mod widen;

pub(crate) use align::{Extra, align_array, align_with};
pub use align::{align, narrow};
pub use array::{constant, scalar_at};
pub(crate) use array::{from_scalars, literal, repeat};
pub(crate) use relabel::relabel;
pub(crate) use widen::{cast_strict, is_lossless, strict};

use crate::DataError;
use crate::variant::VARIANT;
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use lakebed_transaction::{Column, ColumnType};
use std::sync::Arc;

/// The zone of instants in Arrow's types.
pub(crate) const UTC: &str = "UTC";

/// The Arrow schema of a table's columns: instants as microseconds in UTC, wall-clock times as microseconds without a zone,
/// decimals in 128 bits, lists with a field `element`, maps with `key_value`, `key` and `value` (the names of Parquet's
/// logical types). Of types beyond the model's own, `void` is the type of nulls and `variant` a struct of the two byte strings
/// `metadata` and `value`.
///
/// # Errors
/// [`DataError::UnsupportedType`] for any other [`ColumnType::Other`].
///
/// ```
/// use lakebed_transaction::{Column, ColumnType};
///
/// let schema = lakebed_data::arrow_schema(&[Column::new("id", ColumnType::Long, false)])?;
/// assert_eq!(schema.field(0).data_type(), &arrow_schema::DataType::Int64);
/// # Ok::<(), lakebed_data::DataError>(())
/// ```
pub fn arrow_schema(columns: &[Column]) -> Result<SchemaRef, DataError> {
    Ok(Arc::new(Schema::new(fields(columns, "")?)))
}

/// The Arrow type of a column type.
///
/// # Errors
/// [`DataError::UnsupportedType`] for [`ColumnType::Other`], here or within.
pub fn arrow_type(column_type: &ColumnType) -> Result<DataType, DataError> {
    type_at(column_type, "")
}

fn fields(columns: &[Column], within: &str) -> Result<Fields, DataError> {
    columns.iter().map(|column| field(column, within)).collect()
}

fn field(column: &Column, within: &str) -> Result<Field, DataError> {
    let path = join(within, &column.name);
    Ok(Field::new(&column.name, type_at(&column.column_type, &path)?, column.nullable))
}

pub(crate) fn join(within: &str, name: &str) -> String {
    if within.is_empty() { name.to_owned() } else { format!("{within}.{name}") }
}

fn type_at(column_type: &ColumnType, path: &str) -> Result<DataType, DataError> {
    let named = |name: &str, column: &Column| -> Result<Field, DataError> {
        Ok(Field::new(name, type_at(&column.column_type, &join(path, name))?, column.nullable))
    };
    Ok(match column_type {
        ColumnType::Boolean => DataType::Boolean,
        ColumnType::Byte => DataType::Int8,
        ColumnType::Short => DataType::Int16,
        ColumnType::Integer => DataType::Int32,
        ColumnType::Long => DataType::Int64,
        ColumnType::Float => DataType::Float32,
        ColumnType::Double => DataType::Float64,
        ColumnType::Decimal { precision, scale } => {
            let valid = (1..=38).contains(precision) && scale <= precision;
            let refused = || unsupported(path, &format!("decimal({precision},{scale})"));
            DataType::Decimal128(*precision, valid.then(|| i8::try_from(*scale).ok()).flatten().ok_or_else(refused)?)
        }
        ColumnType::Date => DataType::Date32,
        ColumnType::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
        ColumnType::TimestampNtz => DataType::Timestamp(TimeUnit::Microsecond, None),
        ColumnType::String => DataType::Utf8,
        ColumnType::Binary => DataType::Binary,
        ColumnType::Array(element) => DataType::List(Arc::new(named("element", element)?)),
        ColumnType::Map(key, value) => {
            let key = named("key", key)?.with_nullable(false);
            let entries = Fields::from(vec![key, named("value", value)?]);
            DataType::Map(Arc::new(Field::new("key_value", DataType::Struct(entries), false)), false)
        }
        ColumnType::Struct(columns) => DataType::Struct(fields(columns, path)?),
        // No file has such a column: it is NULL in every row.
        ColumnType::Other(name) if name == "void" => DataType::Null,
        ColumnType::Other(name) if name == VARIANT => DataType::Struct(crate::variant::fields()),
        ColumnType::Other(name) => return Err(unsupported(path, name)),
    })
}

fn unsupported(path: &str, type_name: &str) -> DataError {
    let column = if path.is_empty() { "(unnamed)" } else { path };
    DataError::UnsupportedType { column: column.to_owned(), type_name: type_name.to_owned() }
}

/// The columns of an Arrow schema, such as that of a file that a table is created like.
///
/// Unsigned integers become the next wider signed type, unsigned 64-bit ones `decimal(20,0)`; dictionaries and views their
/// plain types.
///
/// # Errors
/// [`DataError::UnsupportedType`] for a type that tables do not have (times of day, intervals, unions, …).
pub fn columns_of(schema: &Schema) -> Result<Vec<Column>, DataError> {
    columns_within(schema.fields(), "", 0)
}

/// How deep types may nest, against a crafted file.
const DEPTH_MAX: usize = 100;

fn columns_within(fields: &Fields, within: &str, depth: usize) -> Result<Vec<Column>, DataError> {
    fields.iter().map(|field| column_of(field, within, depth)).collect()
}

fn column_of(field: &Field, within: &str, depth: usize) -> Result<Column, DataError> {
    let path = join(within, field.name());
    Ok(Column::new(field.name(), column_type_of(field.data_type(), &path, depth)?, field.is_nullable()))
}

#[expect(clippy::wildcard_enum_match_arm, reason = "Arrow's enum is not ours; what is not listed is refused")]
fn column_type_of(data_type: &DataType, path: &str, depth: usize) -> Result<ColumnType, DataError> {
    if depth > DEPTH_MAX {
        return Err(unsupported(path, "a type nested too deeply"));
    }
    Ok(match data_type {
        DataType::Boolean => ColumnType::Boolean,
        DataType::Int8 => ColumnType::Byte,
        DataType::Int16 | DataType::UInt8 => ColumnType::Short,
        DataType::Int32 | DataType::UInt16 => ColumnType::Integer,
        DataType::Int64 | DataType::UInt32 => ColumnType::Long,
        DataType::UInt64 => ColumnType::Decimal { precision: 20, scale: 0 },
        DataType::Float16 | DataType::Float32 => ColumnType::Float,
        DataType::Float64 => ColumnType::Double,
        DataType::Decimal32(p, s)
        | DataType::Decimal64(p, s)
        | DataType::Decimal128(p, s)
        | DataType::Decimal256(p, s)
            if *p <= 38 =>
        {
            let scale = u8::try_from(*s).map_err(|_| unsupported(path, &data_type.to_string()))?;
            ColumnType::Decimal { precision: *p, scale }
        }
        DataType::Date32 | DataType::Date64 => ColumnType::Date,
        DataType::Timestamp(_, Some(_)) => ColumnType::Timestamp,
        DataType::Timestamp(_, None) => ColumnType::TimestampNtz,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => ColumnType::String,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            ColumnType::Binary
        }
        DataType::List(element) | DataType::LargeList(element) | DataType::FixedSizeList(element, _) => {
            let column_type = column_type_of(element.data_type(), &join(path, "element"), depth + 1)?;
            ColumnType::Array(Box::new(Column::new("element", column_type, element.is_nullable())))
        }
        DataType::Map(entries, _) => match columns_of_entries(entries, path, depth)? {
            [key, value] => ColumnType::Map(Box::new(key), Box::new(value)),
        },
        DataType::Struct(fields) => ColumnType::Struct(columns_within(fields, path, depth + 1)?),
        DataType::Dictionary(_, values) => column_type_of(values, path, depth + 1)?,
        other => return Err(unsupported(path, &other.to_string())),
    })
}

fn columns_of_entries(entries: &Field, path: &str, depth: usize) -> Result<[Column; 2], DataError> {
    let DataType::Struct(fields) = entries.data_type() else { return Err(unsupported(path, "a map without entries")) };
    let [key, value] = fields.as_ref() else { return Err(unsupported(path, "a map without key and value")) };
    let column = |name: &str, field: &Field| -> Result<Column, DataError> {
        let column_type = column_type_of(field.data_type(), &join(path, name), depth + 1)?;
        Ok(Column::new(name, column_type, field.is_nullable()))
    };
    Ok([column("key", key)?, column("value", value)?])
}

/// The position of a column by its name without regard to case; an exact match wins.
pub(crate) fn position(schema: &Schema, name: &str) -> Option<usize> {
    let exact = schema.fields().iter().position(|field| field.name() == name);
    exact.or_else(|| schema.fields().iter().position(|field| same_name(field.name(), name)))
}

/// Whether two column names are the same without regard to case.
pub(crate) fn same_name(a: &str, b: &str) -> bool {
    a == b || a.eq_ignore_ascii_case(b) || a.to_lowercase() == b.to_lowercase()
}

/// Names for a message, at most thirty of them.
pub(crate) fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.get(..30) {
        None => names.join(", "),
        Some(first) => format!("{}, … ({} in all)", first.join(", "), names.len()),
    }
}
