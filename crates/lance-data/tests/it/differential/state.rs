//! What a version must hold.

use super::predicate::Predicate;
use super::statement::{Assignment, Matched};
use crate::support::{Rows, rows};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The maps of a version, by their names.
pub(crate) const MAPS: [&str; 3] = ["config", "metadata", "schema_metadata"];

/// Texts by key.
pub(crate) type Texts = BTreeMap<String, String>;

/// What the values of an added column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fill {
    /// A multiple of `id`.
    Times(i64),
    /// `s` again.
    Copy,
    /// NULL, of the type `bigint` or `string`.
    NoNumber,
    NoText,
}

impl Fill {
    /// Whether the column holds texts; else it holds integers.
    pub(crate) const fn is_text(self) -> bool {
        matches!(self, Self::Copy | Self::NoText)
    }

    fn of(self, id: i64, row: &Value) -> Value {
        match self {
            Self::Times(by) => json!(id * by),
            Self::Copy => row["s"].clone(),
            Self::NoNumber | Self::NoText => Value::Null,
        }
    }
}

/// Rows, columns, maps and index names of a version.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct State {
    pub(crate) rows: Rows,
    /// The columns beside `id`, `s` and `w`, and whether they hold texts.
    pub(crate) added: BTreeMap<String, bool>,
    pub(crate) maps: BTreeMap<&'static str, Texts>,
    /// The column of each index.
    pub(crate) indices: BTreeMap<String, String>,
}

/// What predicates and assignments look at.
fn base(row: &Value) -> (Option<String>, Option<i32>) {
    (row["s"].as_str().map(str::to_owned), row["w"].as_i64().map(|w| i32::try_from(w).unwrap()))
}

impl State {
    /// The rows without the added columns.
    pub(crate) fn base(&self) -> rows::Rows {
        self.rows.iter().map(|(id, row)| (*id, base(row))).collect()
    }

    pub(crate) fn meets(&self, predicate: &Predicate) -> Vec<i64> {
        self.rows.iter().filter(|(id, row)| predicate.holds(**id, &base(row))).map(|(id, _)| *id).collect()
    }

    pub(crate) fn delete(&mut self, predicate: &Predicate) {
        self.rows.retain(|id, row| !predicate.holds(*id, &base(row)));
    }

    pub(crate) fn update(&mut self, assignment: &Assignment, predicate: &Predicate) {
        for id in self.meets(predicate) {
            let row = self.rows.get_mut(&id).unwrap();
            let mut values = base(row);
            assignment.apply(&mut values);
            row["s"] = json!(values.0);
            row["w"] = json!(values.1);
        }
    }

    pub(crate) fn merge(&mut self, source: &Rows, matched: Matched, insert: bool, gone: Option<&Predicate>) {
        if let Some(gone) = gone {
            self.rows.retain(|id, row| source.contains_key(id) || !gone.holds(*id, &base(row)));
        }
        for (id, row) in source {
            match (self.rows.contains_key(id), matched) {
                (true, Matched::Update) => drop(self.rows.insert(*id, row.clone())),
                (true, Matched::Delete) => drop(self.rows.remove(id)),
                (true, Matched::Ignore) => {}
                (false, _) if insert => drop(self.rows.insert(*id, row.clone())),
                (false, _) => {}
            }
        }
    }

    pub(crate) fn add(&mut self, name: &str, fill: Fill) {
        self.added.insert(name.to_owned(), fill.is_text());
        for (id, row) in &mut self.rows {
            let value = fill.of(*id, row);
            row[name] = value;
        }
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.added.remove(name);
        self.indices.retain(|_, column| column != name);
        self.rows.values_mut().for_each(|row| drop(row.as_object_mut().unwrap().remove(name)));
    }

    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        let text = self.added.remove(from).unwrap();
        self.added.insert(to.to_owned(), text);
        self.indices.values_mut().filter(|column| *column == from).for_each(|column| to.clone_into(column));
        for row in self.rows.values_mut() {
            let value = row.as_object_mut().unwrap().remove(from).unwrap();
            row[to] = value;
        }
    }

    pub(crate) fn set(&mut self, map: &'static str, key: &str, value: Option<&String>) {
        let map = self.maps.entry(map).or_default();
        match value {
            Some(value) => drop(map.insert(key.to_owned(), value.clone())),
            None => drop(map.remove(key)),
        }
    }
}
