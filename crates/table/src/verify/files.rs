//! Files that versions name, against what stands in the store.

use super::Verified;
use super::log::Seen;
use crate::snapshot::DeltaVersion;
use crate::{Table, TableError};
use lakebed_delta::action::Add;
use lakebed_delta::deletion_vector::{VectorPlace, decode, decode_framed, place};
use lakebed_naming::delta::DataPath;
use lakebed_storage::Listed;
use std::collections::{BTreeMap, HashMap, HashSet};

/// The objects below the table's root, with their sizes.
pub(super) struct Storage<'a>(HashMap<&'a str, u64>);

impl<'a> Storage<'a> {
    pub(super) fn of(listed: &'a [Listed]) -> Self {
        Self(listed.iter().map(|entry| (entry.name.as_str(), entry.size_bytes)).collect())
    }

    pub(super) fn size_bytes(&self, object: &str) -> Option<u64> {
        self.0.get(object).copied()
    }
}

/// Every object that a version names: data files with their sizes, vectors as far as they reach.
pub(super) async fn check(
    table: &Table,
    held: &DeltaVersion,
    seen: &Seen,
    storage: &Storage<'_>,
    verified: &mut Verified,
) -> Result<(), TableError> {
    let mut live: HashSet<String> = HashSet::new();
    for add in held.snapshot.files() {
        live.extend(object(add));
        live.extend(vector_object(add));
    }
    // The oldest moment at which a file was taken out that still stands: what went before it, a vacuum may have removed.
    let stands = |(name, _): &(&String, &Option<i64>)| storage.size_bytes(name).is_some() && !live.contains(*name);
    let oldest_kept = seen.removed.iter().filter(stands).filter_map(|(_, at_ms)| *at_ms).min();
    let mut gone: BTreeMap<u64, u64> = BTreeMap::new();
    for (name, named) in &seen.named {
        verified.objects_checked += 1;
        match storage.size_bytes(name) {
            Some(size) if named.size_bytes == Some(size) || named.size_bytes.is_none() && size >= named.reach_bytes => {
            }
            Some(size) => {
                let (kind, wanted) = match named.size_bytes {
                    Some(wanted) => ("size", format!("the log says {wanted}")),
                    None => ("vector", format!("a vector in it reaches to byte {}", named.reach_bytes)),
                };
                verified.wrong(
                    kind,
                    name,
                    Some(named.version),
                    format!("it has {size} bytes, and {wanted}"),
                    "bring back a copy of the file, or restore a version that does not name it",
                );
            }
            None => {
                let at_ms = seen.removed.get(name).copied().flatten();
                let vacuumed = at_ms.is_some_and(|at_ms| oldest_kept.is_none_or(|kept| at_ms <= kept));
                if !live.contains(name) && vacuumed {
                    *gone.entry(named.version.get()).or_default() += 1;
                    continue;
                }
                let who = if live.contains(name) { "the newest version" } else { "an old version that is kept" };
                verified.wrong(
                    "missing",
                    name,
                    Some(named.version),
                    format!("it is not there, and {who} names it"),
                    "bring back a copy of the file, or restore a version that does not name it (lakebed restore)",
                );
            }
        }
    }
    if let (Some((first, _)), Some((last, _))) = (gone.first_key_value(), gone.last_key_value()) {
        let count: u64 = gone.values().sum();
        verified.notes.push(format!(
            "{count} objects that came with versions {first} to {last} and were taken out since are gone, as after a vacuum: \
             versions that name them cannot be read"
        ));
    }
    if seen.outside > 0 {
        verified.notes.push(format!("{} files lie outside of the table's folder and were not looked at", seen.outside));
    }
    vectors(table, held, storage, verified).await
}

/// The vectors of the newest version, decoded.
async fn vectors(
    table: &Table,
    held: &DeltaVersion,
    storage: &Storage<'_>,
    verified: &mut Verified,
) -> Result<(), TableError> {
    for add in held.snapshot.files() {
        let Some(vector) = &add.deletion_vector else { continue };
        let rows = match place(vector) {
            Ok(VectorPlace::Inline(bytes)) => decode(vector, &bytes),
            Ok(VectorPlace::Object { object, range }) => {
                if storage.size_bytes(&object).is_none_or(|size| size < range.end) {
                    continue;
                }
                match table.store().get_range(&object, range).await? {
                    Some(bytes) => decode_framed(vector, &bytes),
                    None => continue,
                }
            }
            Ok(VectorPlace::Elsewhere { .. }) => continue,
            Err(error) => Err(error),
        };
        let problem = match (rows, add.num_records()) {
            (Err(error), _) => error.to_string(),
            (Ok(rows), Some(records)) if rows.iter().any(|row| row >= records) => {
                format!("it deletes rows beyond the {records} that the file has")
            }
            (Ok(_), _) => continue,
        };
        let version = Some(held.snapshot.version());
        verified.wrong(
            "vector",
            &add.path,
            version,
            problem,
            "restore an earlier version, or bring back the vector's file",
        );
    }
    Ok(())
}

/// The object of a data file below the table's root.
pub(super) fn object(add: &Add) -> Option<String> {
    match DataPath::decode(&add.path) {
        Ok(DataPath::Relative(name)) => Some(name),
        Ok(DataPath::Absolute(_)) | Err(_) => None,
    }
}

fn vector_object(add: &Add) -> Option<String> {
    match place(add.deletion_vector.as_ref()?) {
        Ok(VectorPlace::Object { object, .. }) => Some(object),
        Ok(VectorPlace::Inline(_) | VectorPlace::Elsewhere { .. }) | Err(_) => None,
    }
}

/// Objects that no version names. Hidden ones are others' business.
pub(super) fn strays(seen: &Seen, storage: &Storage<'_>, listed: &[Listed], verified: &mut Verified) {
    let hidden =
        |name: &str| name.split('/').any(|part| part.starts_with(['_', '.'])) && !name.starts_with("_change_data/");
    let unnamed = listed.iter().filter(|entry| !seen.named.contains_key(&entry.name) && !hidden(&entry.name));
    verified.strays = unnamed.map(|entry| (entry.name.clone(), storage.size_bytes(&entry.name).unwrap_or(0))).collect();
    verified.strays.sort();
}
