//! The table's schema: JSON text both ways, and the model's columns.
//!
//! Source: the protocol's schema serialization format. Field metadata is kept verbatim, numbers of any length included.

use crate::DeltaError;
use lakebed_transaction::{Column, ColumnType};
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
        let value: Value = serde_json::from_str(text).map_err(|error| bad(&error.to_string()))?;
        match data_type(&value)? {
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

/// Recursion is bounded: the JSON reader refuses text that nests deeper than 128 levels.
fn data_type(value: &Value) -> Result<DataType, DeltaError> {
    if let Value::String(text) = value {
        return Ok(DataType::Primitive(text.clone()));
    }
    let part = |key: &str| value.get(key).ok_or_else(|| bad(&format!("a type lacks {key}")));
    let flag = |key: &str| value.get(key).and_then(Value::as_bool).unwrap_or(true);
    match part("type")?.as_str() {
        Some("struct") => {
            let fields = part("fields")?.as_array().ok_or_else(|| bad("fields is no list"))?;
            Ok(DataType::Struct(StructType { fields: fields.iter().map(field).collect::<Result<_, _>>()? }))
        }
        Some("array") => Ok(DataType::Array {
            element: Box::new(data_type(part("elementType")?)?),
            contains_null: flag("containsNull"),
        }),
        Some("map") => Ok(DataType::Map {
            key: Box::new(data_type(part("keyType")?)?),
            value: Box::new(data_type(part("valueType")?)?),
            value_contains_null: flag("valueContainsNull"),
        }),
        Some(other) => Err(bad(&format!("the type {other} is not known as a nested type"))),
        None => Err(bad("a type is neither text nor an object with a type")),
    }
}

fn field(value: &Value) -> Result<StructField, DeltaError> {
    let name = value.get("name").and_then(Value::as_str).ok_or_else(|| bad("a field has no name"))?;
    let inner = value.get("type").ok_or_else(|| bad(&format!("the field {name} has no type")))?;
    Ok(StructField {
        name: name.to_owned(),
        data_type: data_type(inner)?,
        nullable: value.get("nullable").and_then(Value::as_bool).unwrap_or(true),
        metadata: value.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default(),
    })
}
