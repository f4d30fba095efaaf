//! What of a schema rows cannot be read of here, although its table opens.

use crate::schema::{DataType, StructField, StructType};
use lakebed_transaction::ColumnType;
use serde_json::Value;

/// The key under which a field's earlier types stand.
const TYPE_CHANGES: &str = "delta.typeChanges";

/// Types that no reader of ours decodes, by how their names begin, with the features that bring them.
const BY_TYPE: &[(&str, &str)] =
    &[("geometry", "geospatial"), ("geography", "geospatial"), ("timestamp_nanos", "timestampNanos")];

/// Types beyond the model's own that are decoded all the same: a column of nulls, and a pair of bytes.
const DECODED: &[&str] = &["void", "variant"];

impl StructType {
    /// The first thing in the schema because of which rows cannot be read, as the feature's name and what needs it.
    #[must_use]
    pub fn undecodable(&self) -> Option<(&'static str, String)> {
        let unknown_type = self.primitive_types().into_iter().find_map(|text| {
            let known = !matches!(DataType::Primitive(text.to_owned()).column_type(), ColumnType::Other(_));
            (!known && !DECODED.contains(&text)).then(|| (feature_of(text), format!("the type {text}")))
        });
        unknown_type.or_else(|| self.all_fields().into_iter().find_map(unknown_change))
    }
}

fn feature_of(type_text: &str) -> &'static str {
    let found = BY_TYPE.iter().find(|(prefix, _)| type_text.starts_with(prefix));
    found.map_or("a type that is not decoded here", |(_, feature)| feature)
}

/// A change of type of which older files could not be read.
fn unknown_change(field: &StructField) -> Option<(&'static str, String)> {
    let changes = field.metadata.get(TYPE_CHANGES)?.as_array()?;
    let side = |change: &Value, key: &str| change.get(key).and_then(Value::as_str).map(str::to_owned);
    changes.iter().find_map(|change| {
        let (from, to) = (side(change, "fromType").unwrap_or_default(), side(change, "toType").unwrap_or_default());
        let column_type = |text: &str| DataType::Primitive(text.to_owned()).column_type();
        let what = || format!("the change of {} from {from} to {to}", field.name);
        (!widens(&column_type(&from), &column_type(&to))).then(|| ("typeWidening", what()))
    })
}

/// Whether a column may go from one type to the other without losing a value.
///
/// (Delta protocol, "Type Widening". It asks for ten digits before the point where integers become decimals; Spark also wrote
/// narrower ones that hold every value.)
fn widens(from: &ColumnType, to: &ColumnType) -> bool {
    use ColumnType::{Byte, Date, Decimal, Double, Float, Integer, Long, Short, TimestampNtz};
    let holds = |digits: i16, precision: u8, scale: u8| i16::from(precision) - i16::from(scale) >= digits;
    match (from, to) {
        (Byte, Short | Integer | Long | Double)
        | (Short, Integer | Long | Double)
        | (Integer, Long | Double)
        | (Float, Double)
        | (Date, TimestampNtz) => true,
        (Byte, Decimal { precision, scale }) => holds(3, *precision, *scale),
        (Short, Decimal { precision, scale }) => holds(5, *precision, *scale),
        (Integer, Decimal { precision, scale }) => holds(10, *precision, *scale),
        (Long, Decimal { precision, scale }) => holds(19, *precision, *scale),
        (Decimal { precision: p, scale: s }, Decimal { precision, scale }) => {
            scale >= s && holds(i16::from(*p) - i16::from(*s), *precision, *scale)
        }
        (one, other) => one == other,
    }
}

#[cfg(test)]
mod tests {
    use crate::schema::StructType;

    fn of(data_type: &str, metadata: &str) -> Option<(&'static str, String)> {
        let field = format!(r#"{{"name":"c","type":{data_type},"nullable":true,"metadata":{metadata}}}"#);
        StructType::parse(&format!(r#"{{"type":"struct","fields":[{field}]}}"#)).unwrap().undecodable()
    }

    fn changed(from: &str, to: &str) -> bool {
        let change = format!(r#"{{"delta.typeChanges":[{{"fromType":"{from}","toType":"{to}","tableVersion":1}}]}}"#);
        let found = of(&format!("\"{to}\""), &change);
        assert!(found.as_ref().is_none_or(|(feature, _)| *feature == "typeWidening"), "{found:?}");
        found.is_none()
    }

    #[test]
    fn every_change_of_the_protocol_is_known_and_no_other() {
        for (from, to) in [
            ("byte", "short"),
            ("byte", "long"),
            ("short", "integer"),
            ("integer", "long"),
            ("float", "double"),
            ("integer", "double"),
            ("date", "timestamp_ntz"),
            ("decimal(10,2)", "decimal(12,4)"),
            ("decimal(10,2)", "decimal(11,2)"),
            ("byte", "decimal(4,1)"),
            ("integer", "decimal(12,2)"),
            ("long", "decimal(20,0)"),
        ] {
            assert!(changed(from, to), "{from} to {to}");
        }
        for (from, to) in [
            ("long", "integer"),
            ("long", "double"),
            ("integer", "decimal(11,2)"),
            ("long", "decimal(19,1)"),
            ("decimal(10,2)", "decimal(11,4)"),
            ("timestamp", "timestamp_ntz"),
            ("string", "binary"),
        ] {
            assert!(!changed(from, to), "{from} to {to}");
        }
    }

    #[test]
    fn types_that_are_not_decoded_are_named_with_their_feature() {
        assert_eq!(of("\"void\"", "{}"), None);
        assert_eq!(of("\"variant\"", "{}"), None);
        let geometry = of("\"geometry(OGC:CRS84)\"", "{}").unwrap();
        assert_eq!((geometry.0, geometry.1.as_str()), ("geospatial", "the type geometry(OGC:CRS84)"));
        let nested = of(r#"{"type":"array","elementType":"interval second","containsNull":true}"#, "{}").unwrap();
        assert!(nested.1.contains("interval second"));
    }
}
