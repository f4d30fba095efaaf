//! What the auditor knows of a Lance table: which rows are live, from what each transaction meant.

use crate::family::{Seen, digest_of};
use crate::store::Store;
use lakebed_commit::ObjectName;
use lakebed_lance::{Snapshot, deletion};
use lakebed_naming::Version;
use std::collections::{BTreeMap, BTreeSet};

/// What a transaction meant to do, and what it looked at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Intent {
    /// Data files that come.
    pub(crate) adds: Vec<String>,
    /// Rows that go, by data file.
    pub(crate) rows: BTreeMap<String, BTreeSet<u64>>,
    /// Everything else goes.
    pub(crate) whole: bool,
    /// A key, the value that was read, and the value that is set.
    pub(crate) config: Option<(String, Option<String>, String)>,
}

/// The table after the newest entry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    /// Data files with their rows and those of them that are deleted.
    files: BTreeMap<String, (u64, BTreeSet<u64>)>,
    config: BTreeMap<String, String>,
    /// Fragment ids that were ever given out, with their data files.
    ids: BTreeMap<u64, String>,
    last_ms: Option<i64>,
}

/// Rows in every fragment.
const ROWS: u64 = 5;

/// The fragments of a version, as far as a reader tells them apart.
pub(crate) fn state(snapshot: &Snapshot) -> Vec<(u64, String, Option<String>)> {
    snapshot
        .fragments()
        .iter()
        .map(|fragment| {
            let path = fragment.files.first().map(|file| file.path.clone()).unwrap_or_default();
            let deleted = snapshot.deletion_object(fragment).ok().flatten().map(|name| name.to_string());
            (fragment.id, path, deleted)
        })
        .collect()
}

/// The objects that a version names.
pub(crate) fn names(snapshot: &Snapshot) -> Vec<ObjectName> {
    let mut names: Vec<ObjectName> = snapshot.transaction_file().into_iter().collect();
    for fragment in snapshot.fragments() {
        names.extend(fragment.files.iter().filter_map(|file| snapshot.data_object(file).ok()));
        names.extend(snapshot.deletion_object(fragment).ok().flatten());
    }
    names
}

impl Model {
    /// Applies what a transaction meant, and holds the entry against it.
    pub(crate) fn follow(
        &mut self,
        at: Version,
        snapshot: &Snapshot,
        intent: &Intent,
        store: &Store,
    ) -> Result<Seen, String> {
        if snapshot.version() != at {
            return Err(format!("it says that it is version {}", snapshot.version()));
        }
        self.apply(intent)?;
        let names = names(snapshot);
        if let Some(missing) = names.iter().find(|name| !store.contains(name)) {
            return Err(format!("it names {missing}, which is not there"));
        }
        let found = rows(snapshot, store)?;
        if found != self.files {
            return Err(format!("it holds {found:?} where {:?} was due", self.files));
        }
        if *snapshot.config() != self.config {
            return Err(format!("it leaves the configuration {:?} where {:?} was due", snapshot.config(), self.config));
        }
        self.check_ids(snapshot)?;
        if self.last_ms.is_some_and(|last| snapshot.timestamp_ms().is_none_or(|now| now <= last)) {
            return Err("its timestamp does not lie above its predecessor's".to_owned());
        }
        self.last_ms = snapshot.timestamp_ms();
        Ok(Seen { names, digest: digest_of(&(state(snapshot), snapshot.config())) })
    }

    fn apply(&mut self, intent: &Intent) -> Result<(), String> {
        if intent.whole {
            self.files.clear();
        }
        for (path, rows) in &intent.rows {
            let Some((count, deleted)) = self.files.get_mut(path) else {
                return Err(format!("it takes rows out of {path}, which is not in the table"));
            };
            if let Some(row) = rows.iter().find(|row| deleted.contains(row)) {
                return Err(format!("it takes row {row} out of {path} a second time"));
            }
            deleted.extend(rows);
            if deleted.len() as u64 == *count {
                self.files.remove(path);
            }
        }
        for path in &intent.adds {
            if self.files.insert(path.clone(), (ROWS, BTreeSet::new())).is_some() {
                return Err(format!("it adds {path} a second time"));
            }
        }
        if let Some((key, read, value)) = &intent.config {
            let before = self.config.insert(key.clone(), value.clone());
            if before != *read {
                return Err(format!("it set {key} having read {read:?}, and {before:?} stood there"));
            }
        }
        Ok(())
    }

    /// A fragment's id is given out once.
    fn check_ids(&mut self, snapshot: &Snapshot) -> Result<(), String> {
        for fragment in snapshot.fragments() {
            let path = fragment.files.first().map(|file| file.path.clone()).unwrap_or_default();
            let known = self.ids.entry(fragment.id).or_insert_with(|| path.clone());
            if *known != path {
                return Err(format!("fragment {} was {known} and is {path}", fragment.id));
            }
        }
        Ok(())
    }
}

/// The rows of a version by data file, its deletion files read.
fn rows(snapshot: &Snapshot, store: &Store) -> Result<BTreeMap<String, (u64, BTreeSet<u64>)>, String> {
    let mut found = BTreeMap::new();
    for fragment in snapshot.fragments() {
        let path = fragment.files.first().map(|file| file.path.clone()).unwrap_or_default();
        let name = snapshot.deletion_object(fragment).map_err(|error| error.to_string())?;
        let mut deleted = BTreeSet::new();
        if let (Some(name), Some(file)) = (name, &fragment.deletion_file) {
            let bytes = store.get(&name).ok_or_else(|| format!("{name} is not there"))?;
            let kind = deletion::kind_of(name.as_str(), file).map_err(|error| error.to_string())?;
            let rows = deletion::decode(name.as_str(), kind, bytes, Some(fragment.physical_rows));
            deleted = rows.map_err(|error| error.to_string())?.iter().collect();
            if deleted.len() as u64 != file.num_deleted_rows {
                return Err(format!(
                    "{name} lists {} rows and the manifest says {}",
                    deleted.len(),
                    file.num_deleted_rows
                ));
            }
        }
        if found.insert(path.clone(), (fragment.physical_rows, deleted)).is_some() {
            return Err(format!("{path} is there twice"));
        }
    }
    Ok(found)
}
