//! Provenance of a commit.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Who did what: a free-form JSON object whose fields keep their order.
///
/// Readers accept any type in any field; the accessors answer `None` where a field is absent or of another type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CommitInfo(pub Map<String, Value>);

impl CommitInfo {
    /// A field as text.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.as_str()
    }

    /// A field as a whole number.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<i64> {
        self.0.get(key)?.as_i64()
    }

    /// A field as a flag.
    #[must_use]
    pub fn flag(&self, key: &str) -> Option<bool> {
        self.0.get(key)?.as_bool()
    }

    /// One of the tags.
    #[must_use]
    pub fn tag(&self, key: &str) -> Option<&str> {
        self.0.get("tags")?.get(key)?.as_str()
    }

    /// A note that this program left, such as `policy` or `attempts`: under its own key, in older commits among the tags.
    #[must_use]
    pub fn own_note(&self, key: &str) -> Option<String> {
        let own = self.0.get("lakebed").and_then(|notes| notes.get(key));
        match own {
            Some(Value::String(text)) => Some(text.clone()),
            Some(Value::Number(number)) => Some(number.to_string()),
            Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => {
                self.tag(&format!("lakebed.{key}")).map(str::to_owned)
            }
        }
    }

    /// The operation's name.
    #[must_use]
    pub fn operation(&self) -> Option<&str> {
        self.text("operation")
    }

    /// The id of the transaction.
    #[must_use]
    pub fn transaction_id(&self) -> Option<&str> {
        self.text("txnId")
    }

    /// The in-commit timestamp, in milliseconds since 1970.
    #[must_use]
    pub fn in_commit_timestamp_ms(&self) -> Option<i64> {
        self.number("inCommitTimestamp")
    }

    /// One of the operation's parameters; a value that is not text is taken by its JSON text.
    #[must_use]
    pub fn parameter(&self, key: &str) -> Option<String> {
        match self.0.get("operationParameters")?.get(key)? {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => Some(other.to_string()),
        }
    }
}
