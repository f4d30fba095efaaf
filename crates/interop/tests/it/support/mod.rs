//! What the tests share: the clients' scripts, seeded choices, and tables of both formats.

pub(crate) mod delta;
pub(crate) mod lance;
mod python;
mod random;
pub(crate) mod rows;
mod seeds;
mod worker;

pub(crate) use python::{Python, Running};
pub(crate) use random::Random;
pub(crate) use seeds::{ALWAYS, VARIABLE, seeds};
pub(crate) use worker::Worker;

use lakebed_storage::{Durability, StoreOptions};
use lakebed_table::{CommitOptions, OpenOptions, Report, Table};
use lakebed_transaction::Outcome;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Properties or configuration.
pub(crate) type Texts = BTreeMap<String, String>;

/// Options by which a handle shares nothing with its neighbours, as if it lived in a process of its own. Files are not
/// synced: no test cuts the power.
pub(crate) fn alone() -> OpenOptions {
    let store = StoreOptions::new().durability(Durability::None);
    OpenOptions { store, isolated: true, ..OpenOptions::default() }
}

/// A table, opened anew at its newest version.
pub(crate) async fn open(path: &Path) -> Table {
    Table::open(path.to_str().unwrap(), &alone()).await.unwrap()
}

/// How the tests commit.
pub(crate) fn plainly() -> CommitOptions {
    CommitOptions::default()
}

/// The version that a commit made.
#[track_caller]
pub(crate) fn committed(report: &Report) -> u64 {
    match &report.outcome {
        Outcome::Committed { version, .. } => version.get(),
        other @ (Outcome::Nothing { .. }
        | Outcome::Conflict(_)
        | Outcome::Exhausted { .. }
        | Outcome::Unknown { .. }) => {
            panic!("not committed: {other:?}")
        }
    }
}

/// A JSON object of texts.
#[track_caller]
pub(crate) fn texts(value: &Value) -> Texts {
    let object = value.as_object().unwrap_or_else(|| panic!("no object: {value}"));
    object.iter().map(|(key, value)| (key.clone(), value.as_str().unwrap().to_owned())).collect()
}

/// A JSON list.
#[track_caller]
pub(crate) fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("no list: {value}"))
}

/// A JSON list of integers.
#[track_caller]
pub(crate) fn integers(value: &Value) -> Vec<i64> {
    list(value).iter().map(|one| one.as_i64().unwrap()).collect()
}

/// Versions as arguments of a script.
pub(crate) fn arguments(versions: impl IntoIterator<Item = u64>) -> Vec<String> {
    versions.into_iter().map(|version| version.to_string()).collect()
}

/// Copies a folder with everything in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Names of the files in a folder that end so; none where there is no folder.
pub(crate) fn names(folder: &Path, ending: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(ending));
    names.sort();
    names
}
