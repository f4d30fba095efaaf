//! A Lance table: each version that is listed can be read, and what it names stands.

use super::Verified;
use super::files::Storage;
use crate::lance_cleanup::named_objects;
use crate::load;
use crate::snapshot::LanceVersion;
use crate::{Table, TableError};
use lakebed_naming::Version;
use lakebed_storage::Listed;
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
    let (mut ids, mut named) = (BTreeMap::new(), BTreeSet::new());
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
        for object in named_objects(&loaded.snapshot) {
            if named.insert(object.clone()) {
                verified.objects_checked += 1;
                if storage.size_bytes(&object).is_none() {
                    let problem = "it is not there, and a version names it".to_owned();
                    let remedy = "bring back a copy of the file, or restore a version that does not name it";
                    verified.wrong("missing", &object, Some(name.version), problem, remedy);
                }
            }
        }
        for (object, size) in sized(&loaded.snapshot) {
            if let Some(found) = storage.size_bytes(&object).filter(|found| *found != size) {
                let problem = format!("it has {found} bytes, and the manifest says {size}");
                verified.wrong("size", &object, Some(name.version), problem, "bring back a copy of the file");
            }
        }
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
    let data = |entry: &&Listed| entry.name.starts_with("data/") && !named.contains(&entry.name);
    verified.strays = listed.iter().filter(data).map(|entry| (entry.name.clone(), entry.size_bytes)).collect();
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
