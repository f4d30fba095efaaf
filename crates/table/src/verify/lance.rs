//! A Lance table: each version that is listed can be read, and what it names stands.

use super::Verified;
use super::files::Storage;
use crate::lance_cleanup::{Named, named_beside};
use crate::load;
use crate::snapshot::LanceVersion;
use crate::{Table, TableError};
use lakebed_commit::ObjectName;
use lakebed_lance::proto::table::data_fragment::RowIdSequence;
use lakebed_lance::row_ids::RowIds;
use lakebed_naming::Version;
use lakebed_ops::OpsError;
use lakebed_ops::lance::deleted_rows;
use lakebed_storage::Listed;
use lakebed_transaction::RowSet;
use std::collections::{BTreeMap, BTreeSet};

pub(super) async fn check(
    table: &Table,
    held: &LanceVersion,
    storage: &Storage<'_>,
    listed: &[Listed],
    verified: &mut Verified,
    step: &mut impl FnMut(Version),
) -> Result<(), TableError> {
    let names = load::lance::versions(listed);
    verified.versions = names.first().zip(names.last()).map(|(first, last)| (first.version, last.version));
    let (mut ids, mut named, mut checked) = (BTreeMap::new(), Named::default(), BTreeSet::new());
    let mut before: Option<(Version, i64)> = None;
    for name in &names {
        step(name.version);
        let loaded = match load::lance::load_version(&**table.store(), held.scheme, name.version).await {
            Ok(loaded) => loaded,
            Err(TableError::Store(error)) => return Err(TableError::Store(error)),
            Err(error) => {
                let remedy = "bring back a copy of the manifest, or remove the version with a cleanup";
                verified.wrong(
                    "version",
                    &format!("_versions/{}", name.version),
                    Some(name.version),
                    error.to_string(),
                    remedy,
                );
                continue;
            }
        };
        objects(&loaded, storage, &mut named, verified);
        for (object, size) in sized(&loaded.snapshot) {
            if let Some(found) = storage.size_bytes(&object).filter(|found| *found != size) {
                let problem = format!("it has {found} bytes, and the manifest says {size}");
                verified.wrong("size", &object, Some(name.version), problem, "bring back a copy of the file");
            }
        }
        deletions(table, &loaded, &mut checked, verified).await?;
        let heads = load::lance::heads(&**table.store(), std::slice::from_ref(name)).await?;
        let Some(head) = heads.first() else { continue };
        if let Some(transaction) = &head.transaction
            && let Some(other) = ids.insert(transaction.id.as_str().to_owned(), name.version)
        {
            let problem = format!("versions {other} and {} carry the same transaction", name.version);
            verified.wrong(
                "id",
                transaction.id.as_str(),
                Some(name.version),
                problem,
                "look whether its rows are there twice",
            );
        }
        if let (Some(ms), Some((earlier, earlier_ms))) = (head.timestamp_ms, before)
            && ms < earlier_ms
        {
            let by = earlier_ms - ms;
            verified
                .notes
                .push(format!("version {} is {by} ms older than version {earlier}: clocks differ", name.version));
        }
        before = head.timestamp_ms.map(|ms| (name.version, ms)).or(before);
    }
    row_ids(table, held, verified).await?;
    strays(table, listed, named, verified).await
}

/// What a version names in its own table, as far as no earlier one does: it is there.
fn objects(version: &LanceVersion, storage: &Storage<'_>, named: &mut Named, verified: &mut Verified) {
    let mut own = Named::default();
    own.take_in_own(&version.snapshot);
    for object in own.objects().filter(|object| !named.holds(object)) {
        verified.objects_checked += 1;
        if storage.size_bytes(object).is_none() {
            let problem = "it is not there, and a version names it".to_owned();
            let remedy = "bring back a copy of the file, or restore a version that does not name it";
            verified.wrong("missing", object, Some(version.snapshot.version()), problem, remedy);
        }
    }
    named.extend(own);
}

/// Files of rows that neither a version names nor a branch nor a detached version. What lies in the folder of a data file is its own.
async fn strays(table: &Table, listed: &[Listed], mut named: Named, verified: &mut Verified) -> Result<(), TableError> {
    match named_beside(table, listed).await {
        Ok(beside) => named.extend(beside),
        Err(TableError::Store(error)) => return Err(TableError::Store(error)),
        Err(error) => {
            verified.notes.push(format!("what branches and detached versions name could not be read: {error}"));
        }
    }
    let data = |entry: &&Listed| entry.name.starts_with("data/") && !named.names(&entry.name);
    verified.strays = listed.iter().filter(data).map(|entry| (entry.name.clone(), entry.size_bytes)).collect();
    Ok(())
}

/// Deletion files: each can be read, and lists as many rows as the manifest says. Those that other versions name too are read once.
async fn deletions(
    table: &Table,
    held: &LanceVersion,
    checked: &mut BTreeSet<ObjectName>,
    verified: &mut Verified,
) -> Result<(), TableError> {
    let version = held.snapshot.version();
    for fragment in held.snapshot.fragments() {
        let Some(file) = fragment.deletion_file.filter(|file| file.base_id.is_none()) else { continue };
        let wrong = |source| load::lance::format_error(&**table.store(), source);
        let Some(name) = held.snapshot.deletion_object(fragment).map_err(wrong)? else { continue };
        let object = name.to_string();
        if !checked.insert(name) || verified.findings.iter().any(|finding| finding.object == object) {
            continue;
        }
        let problem = match deleted_rows(table.store(), &held.snapshot, fragment).await {
            Ok(rows) if file.num_deleted_rows == 0 || rows.len() == file.num_deleted_rows => continue,
            Ok(rows) => format!("it lists {} rows, and the manifest says {}", rows.len(), file.num_deleted_rows),
            Err(OpsError::Store(error)) => return Err(TableError::Store(error)),
            Err(error) => error.to_string(),
        };
        let remedy = "bring back a copy of the file, or restore a version that does not name it";
        verified.wrong("vector", &object, Some(version), problem, remedy);
    }
    Ok(())
}

/// Row ids of the newest version: no live row has that of another.
async fn row_ids(table: &Table, held: &LanceVersion, verified: &mut Verified) -> Result<(), TableError> {
    let mut seen = RowSet::new();
    for fragment in held.snapshot.fragments() {
        let Some(RowIdSequence::InlineRowIds(bytes)) = &fragment.row_id_sequence else { continue };
        let version = Some(held.snapshot.version());
        let object = format!("fragment {}", fragment.id);
        let Some(ids) = RowIds::decode(bytes) else {
            let problem = "its row ids cannot be read".to_owned();
            verified.wrong("id", &object, version, problem, "restore an earlier version");
            continue;
        };
        let Ok(gone) = deleted_rows(table.store(), &held.snapshot, fragment).await else { continue };
        let twice = ids.iter().zip(0..).filter(|(_, row)| !gone.contains(*row)).find(|(id, _)| !seen.insert(*id));
        if let Some((id, _)) = twice {
            let problem = format!("row id {id} stands in another fragment as well");
            verified.wrong("id", &object, version, problem, "restore an earlier version");
        }
    }
    Ok(())
}

/// Data files whose size the manifest tells.
fn sized(snapshot: &lakebed_lance::Snapshot) -> Vec<(String, u64)> {
    let files = snapshot.fragments().iter().flat_map(|fragment| &fragment.files);
    files
        .filter(|file| file.base_id.is_none() && file.file_size_bytes > 0)
        .map(|file| (format!("data/{}", file.path), file.file_size_bytes))
        .collect()
}
