//! Names for versions of a Lance table, and further lines of versions beside its own.
//!
//! Both kinds of files lie below the root of the table, also when the handle is on a branch.

mod branches;
mod tags;

pub use branches::Branch;
pub(crate) use branches::at_branch;
pub use tags::Tag;

use crate::load::list_all;
use crate::snapshot::{LanceVersion, Snapshot};
use crate::{Table, TableError};
use bytes::Bytes;
use lakebed_naming::NameError;
use lakebed_naming::lance::BranchName;
use lakebed_storage::{Create, Store};
use serde::Serialize;
use std::sync::Arc;

impl Table {
    /// The branch that this handle is on; `None` on the table's own line of versions.
    #[must_use]
    pub fn branch_name(&self) -> Option<&str> {
        self.place.branch.as_ref().map(|(name, _)| name.as_str())
    }

    /// The store of the table that this handle, or its branch, belongs to.
    pub(crate) fn root_store(&self) -> &Arc<dyn Store> {
        self.place.branch.as_ref().map_or(&self.place.store, |(_, root)| root)
    }

    fn lance_for_refs(&self) -> Result<&LanceVersion, TableError> {
        match &self.snapshot {
            Snapshot::Lance(held) => Ok(held),
            Snapshot::Delta(_) => Err(TableError::Invalid {
                problem: "a Delta table has neither tags nor branches".to_owned(),
                advice: "name a version by its number or its time".to_owned(),
            }),
        }
    }
}

/// The name of a branch as Lance writes it: the table's own line of versions is absent or `main`.
fn branch_of(name: Option<&str>) -> Result<Option<BranchName>, TableError> {
    name.filter(|name| *name != "main").map(BranchName::new).transpose().map_err(bad_name)
}

fn bad_name(error: NameError) -> TableError {
    TableError::Invalid { problem: error.to_string(), advice: "choose another name".to_owned() }
}

/// The files below a folder, with what they hold.
async fn files(store: &dyn Store, folder: &str) -> Result<Vec<(String, Bytes)>, TableError> {
    let mut found = Vec::new();
    for listed in list_all(store, folder, None).await? {
        let Some(file) = listed.name.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')) else { continue };
        // Removed since it was listed: no longer there.
        if let Some(bytes) = store.get(&listed.name).await? {
            found.push((file.to_owned(), bytes));
        }
    }
    Ok(found)
}

/// What a file of a tag or a branch holds, as Lance lays it out.
fn document(value: &impl Serialize) -> Result<Bytes, TableError> {
    serde_json::to_vec_pretty(value).map(Bytes::from).map_err(|error| TableError::Invalid {
        problem: format!("it cannot be written as JSON ({error})"),
        advice: "leave the metadata out".to_owned(),
    })
}

fn damaged(store: &dyn Store, name: &str, error: &serde_json::Error) -> TableError {
    TableError::Unavailable {
        root: store.root().to_owned(),
        problem: format!("{name} cannot be read ({error})"),
        advice: "remove it, and name the version anew".to_owned(),
    }
}

/// Puts the file where there is none; whether it did.
async fn put_new(store: &dyn Store, name: &str, bytes: Bytes) -> Result<bool, TableError> {
    loop {
        match store.create(name, bytes.clone()).await? {
            Create::Created => return Ok(true),
            Create::Exists | Create::Unknown(_) => {
                return match store.get(name).await? {
                    // An earlier request of ours whose answer was lost.
                    Some(found) => Ok(found == bytes),
                    None => Err(TableError::Unavailable {
                        root: store.root().to_owned(),
                        problem: format!("it is not known whether {name} was written"),
                        advice: "list what is there, and try again".to_owned(),
                    }),
                };
            }
            Create::NotNow { after_ms } => {
                tokio::time::sleep(std::time::Duration::from_millis(after_ms.max(100))).await
            }
        }
    }
}
