//! Columns of type void: NULL in every row, and in no file, as in Spark.

use lakebed_delta::schema::{DataType, StructField, StructType};

/// The name of the type in schemas.
const VOID: &str = "void";

/// The field without what is of type void, at any depth of structs; `None` where nothing is left of it.
///
/// Recursion is bounded by the depth that the reader of schemas allows.
pub(crate) fn stored(field: &StructField) -> Option<StructField> {
    let data_type = match &field.data_type {
        DataType::Primitive(name) if name == VOID => return None,
        DataType::Struct(schema) => {
            let fields: Vec<StructField> = schema.fields.iter().filter_map(stored).collect();
            if fields.is_empty() && !schema.fields.is_empty() {
                return None;
            }
            DataType::Struct(StructType { fields })
        }
        other @ (DataType::Primitive(_) | DataType::Array { .. } | DataType::Map { .. }) => other.clone(),
    };
    Some(StructField { data_type, ..field.clone() })
}

/// The first field that holds void in a way in which no file can tell its values: within a list or a map, or alone in a struct.
pub(crate) fn unstorable(field: &StructField) -> Option<String> {
    match &field.data_type {
        DataType::Primitive(_) => None,
        DataType::Struct(schema) => {
            let nested = schema.fields.iter().find_map(unstorable).map(|path| format!("{}.{path}", field.name));
            nested.or_else(|| stored(field).is_none().then(|| field.name.clone()))
        }
        DataType::Array { .. } | DataType::Map { .. } => holds_void(&field.data_type).then(|| field.name.clone()),
    }
}

fn holds_void(data_type: &DataType) -> bool {
    match data_type {
        DataType::Primitive(name) => name == VOID,
        DataType::Struct(schema) => schema.fields.iter().any(|field| holds_void(&field.data_type)),
        DataType::Array { element, .. } => holds_void(element),
        DataType::Map { key, value, .. } => holds_void(key) || holds_void(value),
    }
}
