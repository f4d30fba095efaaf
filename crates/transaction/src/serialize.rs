//! Serialised forms: what a conflict says, for programs.
//!
//! Names are the ones that messages use, in kebab case. A scalar is a JSON value where JSON has it exactly, else its text.

use crate::{
    Conflict, Evidence, Exhaustion, Held, Judgement, Outcome, Reason, Register, RowSet, Scalar, TransactionId, UnitId,
    Verdict,
};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// How many rows of a set are listed; its size is always given.
const ROWS_LISTED_MAX: usize = 100;

/// An object of these members.
macro_rules! object {
    ($serializer:expr, $($key:literal: $value:expr),+ $(,)?) => {{
        let mut map = $serializer.serialize_map(None)?;
        $(map.serialize_entry($key, $value)?;)+
        map.end()
    }};
}

impl Serialize for Verdict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Serialize for UnitId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Fragment(id) => serializer.serialize_u64(*id),
            Self::File { path, .. } => serializer.serialize_str(path),
        }
    }
}

impl Serialize for Scalar {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Boolean(value) => serializer.serialize_bool(*value),
            Self::Int(value) => serializer.serialize_i64(*value),
            Self::Float(value) if value.is_finite() => serializer.serialize_f64(*value),
            Self::String(text) => serializer.serialize_str(text),
            Self::Float(_)
            | Self::Decimal { .. }
            | Self::Date(_)
            | Self::Timestamp(_)
            | Self::TimestampNtz(_)
            | Self::Binary(_) => serializer.collect_str(self),
        }
    }
}

impl Serialize for RowSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let listed: Vec<u64> = self.iter().take(ROWS_LISTED_MAX).collect();
        object!(serializer, "count": &self.len(), "first": &listed)
    }
}

impl Serialize for Register {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (kind, name) = match self {
            Self::Schema => return object!(serializer, "register": "schema"),
            Self::Protocol => return object!(serializer, "register": "protocol"),
            Self::Property(name) => ("property", name),
            Self::Application(name) => ("application", name),
            Self::Domain(name) => ("domain", name),
            Self::Index(name) => ("index", name),
        };
        object!(serializer, "register": kind, "name": &**name)
    }
}

impl Serialize for Held {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Value(value) => object!(serializer, "value": value),
            Self::Between(low, high) => object!(serializer, "low": low, "high": high),
            Self::Unknown => serializer.serialize_unit(),
        }
    }
}

impl Serialize for Evidence {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Units(ids) => object!(serializer, "kind": "units", "units": ids),
            Self::Rows(unit, rows) => object!(serializer, "kind": "rows", "unit": unit, "rows": rows),
            Self::Register(register) => object!(serializer, "kind": "register", "in": register),
            Self::Fields(ids) => object!(serializer, "kind": "fields", "fields": ids),
            Self::Key { fields, hash } => object!(serializer, "kind": "key", "fields": fields, "hash": hash),
            Self::Column { unit, column, held } => {
                object!(serializer, "kind": "column", "unit": unit, "column": &**column, "held": held)
            }
            Self::Partition(values) => object!(serializer, "kind": "partition", "values": &ByName(values)),
            Self::Operations => object!(serializer, "kind": "operations"),
            Self::Text(text) => object!(serializer, "kind": "text", "text": text),
        }
    }
}

struct ByName<'a>(&'a [(std::sync::Arc<str>, Scalar)]);

impl Serialize for ByName<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (&**name, value)))
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        object!(
            serializer,
            "check": self.check,
            "sentence": self.sentence,
            "advice": self.advice,
            "error_class": &self.error_class,
        )
    }
}

impl Serialize for Judgement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        object!(serializer, "verdict": &self.verdict, "reason": &self.reason, "evidence": &self.evidence)
    }
}

impl Serialize for Conflict {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        object!(
            serializer,
            "with": &self.with.get(),
            "ours": &self.ours,
            "landed": &self.landed,
            "policy": &self.policy,
            "why": &self.why,
        )
    }
}

impl Serialize for TransactionId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl Serialize for Exhaustion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Attempts => "attempts",
            Self::Time => "time",
        })
    }
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Committed { version, attempts } => {
                object!(serializer, "outcome": "committed", "version": &version.get(), "attempts": attempts)
            }
            Self::Nothing { version } => object!(serializer, "outcome": "nothing", "version": &version.get()),
            Self::Conflict(conflict) => object!(serializer, "outcome": "conflict", "conflict": &**conflict),
            Self::Exhausted { what, attempts, newest } => object!(
                serializer,
                "outcome": "exhausted",
                "what": what,
                "attempts": attempts,
                "newest": &newest.get(),
            ),
            Self::Unknown { tried, attempts, last_answer } => object!(
                serializer,
                "outcome": "unknown",
                "tried": &tried.get(),
                "attempts": attempts,
                "last_answer": last_answer,
            ),
        }
    }
}
