//! Lance's fields as columns, and columns as the fields of a new table.
//!
//! A schema is a flat list: every field with its id and its parent's id, parents first. Types are texts of Lance's own, such
//! as `int64`, `decimal:128:10:2` or `timestamp:us:UTC`.

use crate::LanceError;
use crate::proto::file::{Encoding, Field};
use lakebed_transaction::{Column, ColumnType};
use std::collections::HashMap;

/// The parent id of a field at the top.
pub const TOP_LEVEL: i32 = -1;

/// How deep fields may be nested; deeper ones are taken as damage.
const DEPTH_MAX: usize = 64;

/// The conventional name of a list's element.
const ITEM: &str = "item";

/// The conventional names of a map's pair, its key and its value.
const ENTRIES: (&str, &str, &str) = ("entries", "key", "value");

/// The fields as columns.
///
/// `large_string` and `large_binary` are read as STRING and BINARY (who writes data files goes by the fields); types that
/// the model does not compute with stay as they are spelled, in [`ColumnType::Other`].
///
/// # Errors
/// A field's parent does not stand before it, an id occurs twice, or fields are nested too deeply.
pub fn columns(object: &str, fields: &[Field]) -> Result<Vec<Column>, LanceError> {
    let tree = Tree::new(object, fields)?;
    tree.top.iter().map(|at| tree.column(*at, 0)).collect()
}

/// The fields by their places, with their children.
struct Tree<'a> {
    object: &'a str,
    fields: &'a [Field],
    children: Vec<Vec<usize>>,
    top: Vec<usize>,
}

impl<'a> Tree<'a> {
    fn new(object: &'a str, fields: &'a [Field]) -> Result<Self, LanceError> {
        let mut places: HashMap<i32, usize> = HashMap::with_capacity(fields.len());
        let mut children = vec![Vec::new(); fields.len()];
        let mut top = Vec::new();
        for (at, field) in fields.iter().enumerate() {
            if field.parent_id < 0 {
                top.push(at);
            } else {
                // Only fields that came earlier are found, so no field is its own ancestor.
                let siblings = places.get(&field.parent_id).and_then(|parent| children.get_mut(*parent));
                siblings.ok_or_else(|| damaged(object, &field.name, "its parent does not stand before it"))?.push(at);
            }
            if places.insert(field.id, at).is_some() {
                return Err(damaged(object, &field.name, "its id belongs to another field as well"));
            }
        }
        Ok(Self { object, fields, children, top })
    }

    fn column(&self, at: usize, depth: usize) -> Result<Column, LanceError> {
        let (Some(field), Some(children)) = (self.fields.get(at), self.children.get(at)) else {
            return Err(damaged(self.object, "?", "it is not in the schema"));
        };
        if depth > DEPTH_MAX {
            return Err(damaged(self.object, &field.name, "it is nested too deeply"));
        }
        let children = children.iter().map(|child| self.column(*child, depth + 1)).collect::<Result<Vec<_>, _>>()?;
        let column_type = match field.logical_type.as_str() {
            "struct" => ColumnType::Struct(children),
            "list" | "list.struct" | "large_list" | "large_list.struct" => match <[Column; 1]>::try_from(children) {
                Ok([element]) => ColumnType::Array(Box::new(element)),
                Err(_) => return Err(damaged(self.object, &field.name, "a list needs exactly one child")),
            },
            "map" => {
                map_type(children).ok_or_else(|| damaged(self.object, &field.name, "a map needs a key and a value"))?
            }
            text => scalar_type(text),
        };
        Ok(Column { name: field.name.clone(), column_type, nullable: field.nullable })
    }
}

fn map_type(children: Vec<Column>) -> Option<ColumnType> {
    let [entries] = <[Column; 1]>::try_from(children).ok()?;
    let ColumnType::Struct(pair) = entries.column_type else { return None };
    let [key, value] = <[Column; 2]>::try_from(pair).ok()?;
    Some(ColumnType::Map(Box::new(key), Box::new(value)))
}

fn scalar_type(text: &str) -> ColumnType {
    match text {
        "bool" => ColumnType::Boolean,
        "int8" => ColumnType::Byte,
        "int16" => ColumnType::Short,
        "int32" => ColumnType::Integer,
        "int64" => ColumnType::Long,
        "float" => ColumnType::Float,
        "double" => ColumnType::Double,
        "string" | "large_string" => ColumnType::String,
        "binary" | "large_binary" => ColumnType::Binary,
        "date32:day" => ColumnType::Date,
        "timestamp:us:-" => ColumnType::TimestampNtz,
        other if other.starts_with("timestamp:us:") => ColumnType::Timestamp,
        other => decimal_type(other).unwrap_or_else(|| ColumnType::Other(other.to_owned())),
    }
}

fn decimal_type(text: &str) -> Option<ColumnType> {
    let (precision, scale) = text.strip_prefix("decimal:128:")?.split_once(':')?;
    let (precision, scale) = (precision.parse().ok()?, scale.parse().ok()?);
    (1..=38).contains(&precision).then_some(())?;
    (scale <= precision).then_some(ColumnType::Decimal { precision, scale })
}

/// The fields of a new table with these columns: ids from 0 on, depth first, parents before children.
///
/// # Errors
/// A type that Lance cannot spell ([`ColumnType::Other`] must hold Lance's own spelling of a type without children), columns
/// nested too deeply, or two columns of one name side by side.
pub fn new_fields(columns: &[Column]) -> Result<Vec<Field>, LanceError> {
    let mut fields = Vec::new();
    push_all(&mut fields, columns, TOP_LEVEL, 0)?;
    Ok(fields)
}

/// New fields for a table that has others: ids from `first` on, below the field with the id `parent`.
///
/// # Errors
/// As [`new_fields`]; the ids are used up.
pub fn added_fields(columns: &[Column], first: i32, parent: i32) -> Result<Vec<Field>, LanceError> {
    let mut fields = new_fields(columns)?;
    for field in &mut fields {
        let used_up = || invalid(&field.name, "is one field too many", "copy the table into a new one");
        field.parent_id = match field.parent_id {
            TOP_LEVEL => parent,
            within => within.checked_add(first).ok_or_else(used_up)?,
        };
        field.id = field.id.checked_add(first).ok_or_else(used_up)?;
    }
    Ok(fields)
}

/// Gives a field without children another type.
pub fn retype(field: &mut Field, column_type: &ColumnType) {
    field.logical_type = logical_type(column_type);
    field.encoding = encoding(&field.logical_type) as i32;
}

fn push_all(fields: &mut Vec<Field>, columns: &[Column], parent: i32, depth: usize) -> Result<(), LanceError> {
    for (at, column) in columns.iter().enumerate() {
        if columns.iter().take(at).any(|other| other.name == column.name) {
            return Err(invalid(&column.name, "stands twice", "name every column once"));
        }
        push(fields, &column.name, column, parent, depth)?;
    }
    Ok(())
}

fn push(fields: &mut Vec<Field>, name: &str, column: &Column, parent: i32, depth: usize) -> Result<(), LanceError> {
    if depth > DEPTH_MAX {
        return Err(invalid(name, "is nested too deeply", "flatten the schema"));
    }
    let id = push_one(fields, name, &logical_type(&column.column_type), column.nullable, parent)?;
    match &column.column_type {
        ColumnType::Struct(children) => push_all(fields, children, id, depth + 1),
        ColumnType::Array(element) => push(fields, ITEM, element, id, depth + 1),
        ColumnType::Map(key, value) => {
            let (entries, key_name, value_name) = ENTRIES;
            let pair = push_one(fields, entries, "struct", false, id)?;
            let key = Column::new(key_name, key.column_type.clone(), false);
            push(fields, key_name, &key, pair, depth + 2)?;
            push(fields, value_name, value, pair, depth + 2)
        }
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
        | ColumnType::Other(_) => Ok(()),
    }
}

fn push_one(
    fields: &mut Vec<Field>,
    name: &str,
    logical_type: &str,
    nullable: bool,
    parent: i32,
) -> Result<i32, LanceError> {
    let id = i32::try_from(fields.len()).map_err(|_| invalid(name, "is one field too many", "use fewer columns"))?;
    fields.push(Field {
        name: name.to_owned(),
        id,
        parent_id: parent,
        logical_type: logical_type.to_owned(),
        nullable,
        encoding: encoding(logical_type) as i32,
        ..Field::default()
    });
    Ok(id)
}

/// How the first data format laid the type out; later ones go by the type, but writers still fill it in.
fn encoding(logical_type: &str) -> Encoding {
    match logical_type {
        "struct" => Encoding::None,
        "string" | "binary" | "large_string" | "large_binary" => Encoding::VarBinary,
        _ => Encoding::Plain,
    }
}

fn logical_type(column_type: &ColumnType) -> String {
    match column_type {
        ColumnType::Boolean => "bool".to_owned(),
        ColumnType::Byte => "int8".to_owned(),
        ColumnType::Short => "int16".to_owned(),
        ColumnType::Integer => "int32".to_owned(),
        ColumnType::Long => "int64".to_owned(),
        ColumnType::Float => "float".to_owned(),
        ColumnType::Double => "double".to_owned(),
        ColumnType::Decimal { precision, scale } => format!("decimal:128:{precision}:{scale}"),
        ColumnType::Date => "date32:day".to_owned(),
        ColumnType::Timestamp => "timestamp:us:UTC".to_owned(),
        ColumnType::TimestampNtz => "timestamp:us:-".to_owned(),
        ColumnType::String => "string".to_owned(),
        ColumnType::Binary => "binary".to_owned(),
        ColumnType::Array(element) => match element.column_type {
            ColumnType::Struct(_) => "list.struct".to_owned(),
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
            | ColumnType::Array(_)
            | ColumnType::Map(..)
            | ColumnType::Other(_) => "list".to_owned(),
        },
        ColumnType::Map(..) => "map".to_owned(),
        ColumnType::Struct(_) => "struct".to_owned(),
        ColumnType::Other(text) => text.clone(),
    }
}

fn damaged(object: &str, field: &str, problem: &str) -> LanceError {
    LanceError::Damaged {
        object: object.to_owned(),
        problem: format!("field {field} of the schema: {problem}"),
        advice: "open an earlier version".to_owned(),
    }
}

fn invalid(column: &str, problem: &str, advice: &str) -> LanceError {
    LanceError::Invalid { problem: format!("column {column} {problem}"), advice: advice.to_owned() }
}
