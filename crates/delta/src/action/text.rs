//! Maps of text and tolerant readers of single fields.

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// A map from text to text or null, in the order of the log.
///
/// Partition values, tags, table properties and format options are such maps. Values that other writers left as
/// booleans or numbers are taken by their JSON text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextMap(Vec<(Arc<str>, Option<Arc<str>>)>);

impl TextMap {
    /// An empty map.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The value under a key; `None` where the key is absent or its value is null.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.find(key).flatten()
    }

    /// The entry under a key: `None` where the key is absent, `Some(None)` where its value is null.
    #[must_use]
    pub fn find(&self, key: &str) -> Option<Option<&str>> {
        self.0.iter().find(|(name, _)| &**name == key).map(|(_, value)| value.as_deref())
    }

    /// Sets a key, in place where it is there already, at the end otherwise.
    pub fn set(&mut self, key: &str, value: Option<&str>) {
        let value = value.map(Arc::from);
        if let Some(entry) = self.0.iter_mut().find(|(name, _)| &**name == key) {
            entry.1 = value;
        } else {
            self.0.push((Arc::from(key), value));
        }
    }

    /// Removes a key; whether it was there.
    pub fn remove(&mut self, key: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|(name, _)| &**name != key);
        self.0.len() < before
    }

    /// The entries, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.0.iter().map(|(key, value)| (&**key, value.as_deref()))
    }

    /// How many entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn push(&mut self, key: Arc<str>, value: Option<Arc<str>>) {
        self.0.push((key, value));
    }
}

impl<'a> FromIterator<(&'a str, Option<&'a str>)> for TextMap {
    fn from_iter<I: IntoIterator<Item = (&'a str, Option<&'a str>)>>(entries: I) -> Self {
        Self(entries.into_iter().map(|(key, value)| (Arc::from(key), value.map(Arc::from))).collect())
    }
}

impl Serialize for TextMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(&**key, &value.as_deref())?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for TextMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = TextMap;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of text")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TextMap, A::Error> {
                let mut entries = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, Value>()? {
                    let text = match value {
                        Value::Null => None,
                        Value::String(text) => Some(Arc::from(text)),
                        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                            Some(Arc::from(other.to_string()))
                        }
                    };
                    entries.push((Arc::from(key), text));
                }
                Ok(TextMap(entries))
            }
        }

        deserializer.deserialize_map(Entries)
    }
}

/// `null` as the default, like a missing field.
pub(super) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(d: D) -> Result<T, D::Error> {
    Option::<T>::deserialize(d).map(Option::unwrap_or_default)
}

/// A flag that is true unless the log says otherwise.
pub(super) fn or_true<'de, D: Deserializer<'de>>(d: D) -> Result<bool, D::Error> {
    Option::<bool>::deserialize(d).map(|flag| flag.unwrap_or(true))
}

/// The default of [`or_true`] where the field is missing.
pub(super) const fn yes() -> bool {
    true
}

/// Text that is shared between versions of a table.
pub(super) fn shared<'de, D: Deserializer<'de>>(d: D) -> Result<Arc<str>, D::Error> {
    String::deserialize(d).map(Arc::from)
}

pub(super) fn shared_option<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Arc<str>>, D::Error> {
    Option::<String>::deserialize(d).map(|text| text.map(Arc::from))
}

#[expect(clippy::ref_option, reason = "serde hands over the field by reference")]
pub(super) fn write_shared_option<S: Serializer>(text: &Option<Arc<str>>, s: S) -> Result<S::Ok, S::Error> {
    text.as_deref().serialize(s)
}

pub(super) fn write_shared<S: Serializer>(text: &Arc<str>, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(text)
}
