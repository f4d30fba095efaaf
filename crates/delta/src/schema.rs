//! The table's schema: JSON text both ways, and the model's columns.
//!
//! Source: the protocol's schema serialization format. Field metadata is kept verbatim, numbers of any length included.

use crate::DeltaError;
use lakebed_transaction::{Column, ColumnType};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

/// A record of named fields: the schema itself, or a nested one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StructType {
    /// The fields, in order.
    pub fields: Vec<StructField>,
}

/// One field.
#[derive(Clone, Debug, PartialEq)]
pub struct StructField {
    /// The logical name.
    pub name: String,
    /// The type.
    pub data_type: DataType,
    /// Whether NULL may stand in it.
    pub nullable: bool,
    /// Metadata, verbatim.
    pub metadata: Map<String, Value>,
}

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub enum DataType {
    /// A primitive type, by the text that the log holds.
    Primitive(String),
    /// Named fields.
    Struct(StructType),
    /// A list.
    Array {
        /// The type of its elements.
        element: Box<DataType>,
        /// Whether elements may be NULL.
        contains_null: bool,
    },
    /// A map.
    Map {
        /// The type of its keys.
        key: Box<DataType>,
        /// The type of its values.
        value: Box<DataType>,
        /// Whether values may be NULL.
        value_contains_null: bool,
    },
}

/// How logical names map to the names in data files, statistics and partition values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnMapping {
    /// They are the same.
    None,
    /// By physical name.
    Name,
    /// By field id; physical names still stand in statistics and partition values.
    Id,
}

impl ColumnMapping {
    /// The mode that the property `delta.columnMapping.mode` names.
    ///
    /// # Errors
    /// A mode that is not known.
    pub fn parse(text: Option<&str>) -> Result<Self, DeltaError> {
        match text.map(str::to_ascii_lowercase).as_deref() {
            None | Some("none") => Ok(Self::None),
            Some("name") => Ok(Self::Name),
            Some("id") => Ok(Self::Id),
            Some(other) => Err(DeltaError::unsupported(format!("column mapping mode {other}"))),
        }
    }
}

/// Types that may stand within each other.
const DEPTH_MAX: usize = 128;

/// The key under which a field's id stands.
const COLUMN_ID: &str = "delta.columnMapping.id";

/// The key under which a field's physical name stands.
const PHYSICAL_NAME: &str = "delta.columnMapping.physicalName";

impl StructType {
    /// Reads a schema; empty text is a schema without columns.
    ///
    /// # Errors
    /// Text that is no schema.
    pub fn parse(text: &str) -> Result<Self, DeltaError> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        match data_type(text, DEPTH_MAX)? {
            DataType::Struct(schema) => Ok(schema),
            DataType::Primitive(_) | DataType::Array { .. } | DataType::Map { .. } => {
                Err(bad("the outermost type is no struct"))
            }
        }
    }

    /// The schema as JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        self.value().to_string()
    }

    fn value(&self) -> Value {
        let fields: Vec<Value> = self
            .fields
            .iter()
            .map(|field| {
                json!({"name": field.name, "type": field.data_type.value(), "nullable": field.nullable, "metadata": field.metadata})
            })
            .collect();
        json!({"type": "struct", "fields": fields})
    }

    /// The field of this logical name, without regard to case.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&StructField> {
        self.fields
            .iter()
            .find(|field| field.name == name)
            .or_else(|| self.fields.iter().find(|field| field.name.to_lowercase() == name.to_lowercase()))
    }

    /// The columns in the model's terms.
    #[must_use]
    pub fn columns(&self) -> Vec<Column> {
        self.fields.iter().map(StructField::column).collect()
    }

    /// The schema of these columns, without field metadata.
    #[must_use]
    pub fn from_columns(columns: &[Column]) -> Self {
        let fields = columns
            .iter()
            .map(|column| StructField {
                name: column.name.clone(),
                data_type: DataType::from_column_type(&column.column_type),
                nullable: column.nullable,
                metadata: Map::new(),
            })
            .collect();
        Self { fields }
    }

    /// Every field, nested ones included, outermost first.
    #[must_use]
    pub fn all_fields(&self) -> Vec<&StructField> {
        self.walk().0
    }

    /// Goes over the metadata of every field, nested ones included. Recursion is bounded by the depth that is read.
    pub(crate) fn each_metadata(&mut self, change: &mut dyn FnMut(&mut Map<String, Value>)) {
        for field in &mut self.fields {
            change(&mut field.metadata);
            field.data_type.each_metadata(change);
        }
    }

    /// Every primitive type that stands anywhere in the schema, by the text that the log holds.
    #[must_use]
    pub fn primitive_types(&self) -> Vec<&str> {
        self.walk().1
    }

    fn walk(&self) -> (Vec<&StructField>, Vec<&str>) {
        let (mut fields, mut primitives): (Vec<&StructField>, Vec<&str>) = (self.fields.iter().collect(), Vec::new());
        let mut stack: Vec<&DataType> = self.fields.iter().map(|field| &field.data_type).collect();
        while let Some(inner) = stack.pop() {
            match inner {
                DataType::Primitive(text) => primitives.push(text),
                DataType::Struct(schema) => {
                    fields.extend(&schema.fields);
                    stack.extend(schema.fields.iter().map(|field| &field.data_type));
                }
                DataType::Array { element, .. } => stack.push(element),
                DataType::Map { key, value, .. } => stack.extend([&**key, &**value]),
            }
        }
        (fields, primitives)
    }
}

impl StructField {
    /// The field in the model's terms.
    #[must_use]
    pub fn column(&self) -> Column {
        Column::new(self.name.clone(), self.data_type.column_type(), self.nullable)
    }

    /// The field id that tells the column apart in data files, where the table maps columns.
    #[must_use]
    pub fn column_id(&self) -> Option<i32> {
        i32::try_from(self.metadata.get(COLUMN_ID)?.as_i64()?).ok()
    }

    /// The name in data files, statistics and partition values.
    #[must_use]
    pub fn physical_name(&self, mapping: ColumnMapping) -> &str {
        match mapping {
            ColumnMapping::None => &self.name,
            ColumnMapping::Name | ColumnMapping::Id => {
                self.metadata.get(PHYSICAL_NAME).and_then(Value::as_str).unwrap_or(&self.name)
            }
        }
    }
}

impl DataType {
    /// The type in the model's terms.
    #[must_use]
    pub fn column_type(&self) -> ColumnType {
        match self {
            Self::Primitive(text) => primitive(text),
            Self::Struct(schema) => ColumnType::Struct(schema.columns()),
            Self::Array { element, contains_null } => {
                ColumnType::Array(Box::new(Column::new("element", element.column_type(), *contains_null)))
            }
            Self::Map { key, value, value_contains_null } => ColumnType::Map(
                Box::new(Column::new("key", key.column_type(), false)),
                Box::new(Column::new("value", value.column_type(), *value_contains_null)),
            ),
        }
    }

    fn each_metadata(&mut self, change: &mut dyn FnMut(&mut Map<String, Value>)) {
        match self {
            Self::Primitive(_) => {}
            Self::Struct(schema) => schema.each_metadata(change),
            Self::Array { element, .. } => element.each_metadata(change),
            Self::Map { key, value, .. } => {
                key.each_metadata(change);
                value.each_metadata(change);
            }
        }
    }

    /// Delta's type of a type of the model.
    #[must_use]
    pub fn from_column_type(column_type: &ColumnType) -> Self {
        let plain = |text: &str| Self::Primitive(text.to_owned());
        match column_type {
            ColumnType::Boolean => plain("boolean"),
            ColumnType::Byte => plain("byte"),
            ColumnType::Short => plain("short"),
            ColumnType::Integer => plain("integer"),
            ColumnType::Long => plain("long"),
            ColumnType::Float => plain("float"),
            ColumnType::Double => plain("double"),
            ColumnType::Decimal { precision, scale } => Self::Primitive(format!("decimal({precision},{scale})")),
            ColumnType::Date => plain("date"),
            ColumnType::Timestamp => plain("timestamp"),
            ColumnType::TimestampNtz => plain("timestamp_ntz"),
            ColumnType::String => plain("string"),
            ColumnType::Binary => plain("binary"),
            ColumnType::Array(element) => Self::Array {
                element: Box::new(Self::from_column_type(&element.column_type)),
                contains_null: element.nullable,
            },
            ColumnType::Map(key, value) => Self::Map {
                key: Box::new(Self::from_column_type(&key.column_type)),
                value: Box::new(Self::from_column_type(&value.column_type)),
                value_contains_null: value.nullable,
            },
            ColumnType::Struct(columns) => Self::Struct(StructType::from_columns(columns)),
            ColumnType::Other(text) => plain(text),
        }
    }

    fn value(&self) -> Value {
        match self {
            Self::Primitive(text) => Value::String(text.clone()),
            Self::Struct(schema) => schema.value(),
            Self::Array { element, contains_null } => {
                json!({"type": "array", "elementType": element.value(), "containsNull": contains_null})
            }
            Self::Map { key, value, value_contains_null } => json!({
                "type": "map", "keyType": key.value(), "valueType": value.value(), "valueContainsNull": value_contains_null
            }),
        }
    }

    /// The type as the log stores it: the bare name of a primitive type, JSON otherwise.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Primitive(text) => text.clone(),
            Self::Struct(_) | Self::Array { .. } | Self::Map { .. } => self.value().to_string(),
        }
    }
}

fn primitive(text: &str) -> ColumnType {
    match text {
        "boolean" => ColumnType::Boolean,
        "byte" => ColumnType::Byte,
        "short" => ColumnType::Short,
        "integer" => ColumnType::Integer,
        "long" => ColumnType::Long,
        "float" => ColumnType::Float,
        "double" => ColumnType::Double,
        "date" => ColumnType::Date,
        "timestamp" => ColumnType::Timestamp,
        "timestamp_ntz" => ColumnType::TimestampNtz,
        "string" => ColumnType::String,
        "binary" => ColumnType::Binary,
        other => decimal(other).unwrap_or_else(|| ColumnType::Other(other.to_owned())),
    }
}

fn decimal(text: &str) -> Option<ColumnType> {
    if text == "decimal" {
        return Some(ColumnType::Decimal { precision: 10, scale: 0 });
    }
    let (precision, scale) = text.strip_prefix("decimal(")?.strip_suffix(')')?.split_once(',')?;
    let (precision, scale): (u8, u8) = (precision.trim().parse().ok()?, scale.trim().parse().ok()?);
    (1..=38).contains(&precision).then_some(())?;
    (scale <= precision).then_some(ColumnType::Decimal { precision, scale })
}

fn bad(problem: &str) -> DeltaError {
    DeltaError::damaged("the schemaString of metaData", problem)
}

/// A type as an object.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Nested<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow)]
    fields: Option<Vec<Field<'a>>>,
    #[serde(borrow)]
    element_type: Option<&'a RawValue>,
    contains_null: Option<bool>,
    #[serde(borrow)]
    key_type: Option<&'a RawValue>,
    #[serde(borrow)]
    value_type: Option<&'a RawValue>,
    value_contains_null: Option<bool>,
}

/// A field as it stands in the text.
#[derive(Deserialize)]
struct Field<'a> {
    name: String,
    #[serde(rename = "type", borrow)]
    kind: &'a RawValue,
    nullable: Option<bool>,
    metadata: Option<Map<String, Value>>,
}

/// Types within each other are read one at a time, so that neither the depth that the JSON reader allows nor the stack is used up
/// by them; their number is bounded.
fn data_type(text: &str, depth: usize) -> Result<DataType, DeltaError> {
    let said = |error: &serde_json::Error| bad(&error.to_string());
    if text.trim_start().starts_with('"') {
        return serde_json::from_str(text).map(DataType::Primitive).map_err(|error| said(&error));
    }
    let within = depth.checked_sub(1).ok_or_else(|| bad(&format!("its types nest deeper than {DEPTH_MAX} levels")))?;
    let nested: Nested<'_> = serde_json::from_str(text).map_err(|error| said(&error))?;
    let inner = |part: Option<&RawValue>, key: &str| {
        let part = part.ok_or_else(|| bad(&format!("a type lacks {key}")))?;
        data_type(part.get(), within).map(Box::new)
    };
    match nested.kind.as_str() {
        "struct" => {
            let fields = nested.fields.ok_or_else(|| bad("a type lacks fields"))?;
            let fields = fields.into_iter().map(|field| field.read(within)).collect::<Result<_, _>>()?;
            Ok(DataType::Struct(StructType { fields }))
        }
        "array" => Ok(DataType::Array {
            element: inner(nested.element_type, "elementType")?,
            contains_null: nested.contains_null.unwrap_or(true),
        }),
        "map" => Ok(DataType::Map {
            key: inner(nested.key_type, "keyType")?,
            value: inner(nested.value_type, "valueType")?,
            value_contains_null: nested.value_contains_null.unwrap_or(true),
        }),
        other => Err(bad(&format!("the type {other} is not known as a nested type"))),
    }
}

impl Field<'_> {
    fn read(self, depth: usize) -> Result<StructField, DeltaError> {
        Ok(StructField {
            name: self.name,
            data_type: data_type(self.kind.get(), depth)?,
            nullable: self.nullable.unwrap_or(true),
            metadata: self.metadata.unwrap_or_default(),
        })
    }
}
