//! Giving the manifests of a Lance table names that sort newest first.

use crate::load::lance::{Name, Newest, check_contents, format_error, load_found, manifests, newest};
use crate::load::list_all;
use crate::snapshot::Snapshot;
use crate::{Table, TableError};
use bytes::Bytes;
use lakebed_commit::FormatError;
use lakebed_naming::Version;
use lakebed_naming::lance::{MIGRATION_FILE, Scheme, VERSIONS_FOLDER, manifest_path};
use lakebed_storage::{Create, Store};

/// How often names of the old scheme may appear anew behind the migration's back.
const ROUNDS_MAX: usize = 100;

/// What the mark says to who finds it.
const MARK: &[u8] =
    br#"{"migration":"names of manifests, from V1 to V2","next":"resume it: lakebed migrate-naming TABLE"}"#;

impl Table {
    /// Gives the manifests of a Lance table V2 names; the number of manifests that got one. Nothing is done where all have them.
    ///
    /// A mark stands in the folder while this goes on. Every manifest is first copied to its new name, and only when all are
    /// there do the old names go, so that at every moment each version stands under one name at least, and under two with one
    /// content at most: whoever stops half-way leaves a table that can be read, and that this call goes on with. Writers of
    /// this program refuse while the mark or both kinds of names are there; other clients must not write meanwhile.
    ///
    /// # Errors
    /// The table is no Lance table, a version has two contents, or the store cannot be asked.
    pub async fn migrate_naming(&mut self) -> Result<u64, TableError> {
        if let Snapshot::Delta(_) = self.snapshot {
            return Err(TableError::Invalid {
                problem: "a Delta table has one way of naming its commits".to_owned(),
                advice: "there is nothing to do".to_owned(),
            });
        }
        let store = &**self.store();
        let moved = migrate(store).await?;
        let found = newest(store).await?.ok_or_else(|| self.vanished())?;
        self.snapshot = Snapshot::Lance(load_found(store, found).await?);
        self.place.shared.forget();
        Ok(moved)
    }
}

async fn migrate(store: &dyn Store) -> Result<u64, TableError> {
    let mark = format!("{VERSIONS_FOLDER}/{MIGRATION_FILE}");
    let mut moved = 0;
    for round in 0..ROUNDS_MAX {
        let listed = list_all(store, VERSIONS_FOLDER, None).await?;
        let marked = listed.iter().any(|entry| entry.name == mark);
        let names = manifests(&listed);
        let old: Vec<Name> = names.iter().filter(|name| name.scheme == Scheme::V1).copied().collect();
        if old.is_empty() {
            if marked || round > 0 {
                store.delete(&mark).await?;
            }
            return Ok(moved);
        }
        check_contents(store, &names).await?;
        if !marked {
            store.put(&mark, Bytes::from_static(MARK)).await?;
        }
        for name in &old {
            copy(store, name.version).await?;
        }
        for name in &old {
            remove(store, name.version).await?;
            moved += 1;
        }
    }
    Err(TableError::Unavailable {
        root: store.root().to_owned(),
        problem: "somebody goes on committing under the old names".to_owned(),
        advice: "stop all writers, then resume migrate-naming".to_owned(),
    })
}

/// Copies a manifest to its new name, or finds the same bytes there.
async fn copy(store: &dyn Store, version: Version) -> Result<(), TableError> {
    let (old, new) = (manifest_path(Scheme::V1, version), manifest_path(Scheme::V2, version));
    let Some(bytes) = store.get(&old).await? else { return Ok(()) };
    loop {
        match store.create(&new, bytes.clone()).await? {
            Create::Created => return Ok(()),
            Create::Exists | Create::Unknown(_) => match store.get(&new).await? {
                Some(found) if found == bytes => return Ok(()),
                Some(_) => return Err(two_contents(store, old, &new)),
                None => {
                    return Err(TableError::Unavailable {
                        root: store.root().to_owned(),
                        problem: format!("it is not known whether {new} was written"),
                        advice: "resume migrate-naming".to_owned(),
                    });
                }
            },
            Create::NotNow { after_ms } => {
                tokio::time::sleep(std::time::Duration::from_millis(after_ms.max(100))).await
            }
        }
    }
}

/// Removes the old name of a manifest that stands under its new one.
async fn remove(store: &dyn Store, version: Version) -> Result<(), TableError> {
    let (old, new) = (manifest_path(Scheme::V1, version), manifest_path(Scheme::V2, version));
    // Read once more: what goes must be what stays.
    match (store.get(&old).await?, store.get(&new).await?) {
        (Some(bytes), Some(copied)) if bytes == copied => Ok(store.delete(&old).await?),
        (Some(_), _) => Err(two_contents(store, old, &new)),
        (None, _) => Ok(()),
    }
}

fn two_contents(store: &dyn Store, old: String, new: &str) -> TableError {
    let advice = "stop all writers, find out which of the two its readers used, and move the other away".to_owned();
    let problem = format!("{new} does not hold the same");
    format_error(store, FormatError::Damaged { object: old, problem, advice })
}

/// Refuses to write to a table whose manifests are being renamed.
pub(crate) fn refuse_writing(store: &dyn Store, migrating: bool) -> Result<(), TableError> {
    if !migrating {
        return Ok(());
    }
    Err(TableError::Unavailable {
        root: store.root().to_owned(),
        problem: "its manifests are being given names of another scheme, or that stopped half-way".to_owned(),
        advice: "resume migrate-naming (lakebed migrate-naming TABLE), then open the table again".to_owned(),
    })
}

/// The newest version of the table and whether a migration is under way, for who has the table open.
pub(crate) fn is_other(found: &Newest, held: &crate::LanceVersion) -> bool {
    found.version > held.snapshot.version() || found.scheme != held.scheme || found.migrating != held.migrating
}
