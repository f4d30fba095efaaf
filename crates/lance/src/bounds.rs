//! What a transaction of this program says of the values in its new fragments.
//!
//! A Lance manifest holds no statistics. So that a later transaction can tell without reading them that it looked for no row of these
//! fragments, the bounds of their first columns stand in a property of the transaction: by data file, then by field id, the smallest
//! value, the greatest, and how many are NULL.

use crate::Snapshot;
use crate::proto::table::{DataFragment, Transaction as Message};
use lakebed_transaction::{ColumnBounds, Scalar};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The transaction property.
const PROPERTY: &str = "lakebed.bounds";

/// Bounds of the columns of one data file, by field id.
pub type FileBounds = Vec<(i32, ColumnBounds)>;

/// Bounds by the path of the data file.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Bounds(BTreeMap<String, FileBounds>);

/// The message, with what is known of the values in its new data files.
#[must_use]
pub fn with_bounds(mut message: Message, files: &BTreeMap<String, FileBounds>) -> Message {
    let column = |(field, bounds): &(i32, ColumnBounds)| {
        let ends = json!([end(bounds.min.as_ref()), end(bounds.max.as_ref()), bounds.null_count]);
        let is_known = ends.as_array().is_some_and(|ends| ends.iter().any(|end| !end.is_null()));
        is_known.then(|| (field.to_string(), ends))
    };
    let told: Map<String, Value> = files
        .iter()
        .map(|(path, columns)| (path.clone(), Value::Object(columns.iter().filter_map(column).collect())))
        .collect();
    if !told.is_empty() {
        message.transaction_properties.insert(PROPERTY.to_owned(), Value::Object(told).to_string());
    }
    message
}

/// What a message says; a text that is not understood says nothing.
pub(crate) fn of(message: &Message) -> Bounds {
    let told = message.transaction_properties.get(PROPERTY).and_then(|text| serde_json::from_str(text).ok());
    let Some(Value::Object(files)) = told else { return Bounds::default() };
    let column = |(field, ends): (String, Value)| {
        let Value::Array(ends) = ends else { return None };
        let [min, max, nulls] = ends.as_slice() else { return None };
        let bounds = ColumnBounds { min: scalar(min), max: scalar(max), null_count: nulls.as_u64() };
        Some((field.parse().ok()?, bounds))
    };
    let columns = |told: Value| match told {
        Value::Object(columns) => columns.into_iter().filter_map(column).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Vec::new(),
    };
    Bounds(files.into_iter().map(|(path, told)| (path, columns(told))).collect())
}

impl Bounds {
    /// What is known of a new fragment, by the names of its columns.
    pub(crate) fn of_fragment(&self, fragment: &DataFragment, version: &Snapshot) -> Vec<(Arc<str>, ColumnBounds)> {
        let [file] = fragment.files.as_slice() else { return Vec::new() };
        let Some(known) = self.0.get(&file.path) else { return Vec::new() };
        let named = |(field, bounds): &(i32, ColumnBounds)| {
            let held = version.fields().iter().find(|held| held.id == *field && held.parent_id < 0)?;
            Some((Arc::from(held.name.as_str()), bounds.clone()))
        };
        known.iter().filter_map(named).collect()
    }
}

/// A value as JSON: integers and texts as such, other kinds under their name; what has no form here is not known.
fn end(value: Option<&Scalar>) -> Value {
    match value {
        Some(Scalar::Int(value)) => json!(value),
        Some(Scalar::String(text)) => json!(&**text),
        Some(Scalar::Boolean(value)) => json!(value),
        Some(Scalar::Date(days)) => json!({ "date": days }),
        Some(Scalar::Timestamp(micros)) => json!({ "timestamp": micros }),
        Some(Scalar::TimestampNtz(micros)) => json!({ "timestamp_ntz": micros }),
        Some(Scalar::Null | Scalar::Float(_) | Scalar::Decimal { .. } | Scalar::Binary(_)) | None => Value::Null,
    }
}

fn scalar(value: &Value) -> Option<Scalar> {
    match value {
        Value::Number(number) => number.as_i64().map(Scalar::Int),
        Value::String(text) => Some(Scalar::String(Arc::from(text.as_str()))),
        Value::Bool(value) => Some(Scalar::Boolean(*value)),
        Value::Object(kinds) => {
            let (kind, number) = kinds.iter().next()?;
            match kind.as_str() {
                "date" => number.as_i64().and_then(|days| i32::try_from(days).ok()).map(Scalar::Date),
                "timestamp" => number.as_i64().map(Scalar::Timestamp),
                "timestamp_ntz" => number.as_i64().map(Scalar::TimestampNtz),
                _ => None,
            }
        }
        Value::Null | Value::Array(_) => None,
    }
}
