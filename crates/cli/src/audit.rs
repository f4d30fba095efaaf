//! An audit of a table's log that does not go through the facade: it lists every version, reads each entry anew, and
//! compares the transaction ids in them with those that were acknowledged.

use crate::error::CliError;
use bytes::Bytes;
use lakebed_lance::Snapshot;
use lakebed_naming::delta::LOG_FOLDER;
use lakebed_naming::lance::{ManifestName, TransactionFileName, VERSIONS_FOLDER};
use lakebed_storage::Store;
use lakebed_table::TableFormat;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// Names in a page of a listing.
const PAGE: usize = 1_000;

/// A commit that was answered with *committed*.
#[derive(Clone, Debug)]
pub(crate) struct Acknowledged {
    pub(crate) transaction_id: String,
    pub(crate) version: u64,
}

/// What the audit found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    /// Versions in the log.
    pub(crate) versions: u64,
    /// Acknowledged commits that are not there, or not at the version that was answered.
    pub(crate) lost: u64,
    /// Transaction ids that stand in more than one entry.
    pub(crate) doubled: u64,
    /// Version numbers that are missing between the first and the newest.
    pub(crate) gaps: u64,
}

impl Findings {
    pub(crate) const fn sound(&self) -> bool {
        self.lost == 0 && self.doubled == 0 && self.gaps == 0
    }
}

/// Reads the whole log and compares.
pub(crate) async fn audit(
    store: &dyn Store,
    format: TableFormat,
    acknowledged: &[Acknowledged],
) -> Result<Findings, CliError> {
    let entries = entries(store, format).await?;
    let mut places: HashMap<String, Vec<u64>> = HashMap::new();
    for (version, name) in &entries {
        let Some(bytes) = store.get(name).await? else {
            return Err(CliError::failed(format!("{name} vanished during the audit"), "run it where nobody cleans up"));
        };
        for id in transaction_ids(format, name, &bytes)? {
            places.entry(id).or_default().push(*version);
        }
    }
    let lost = acknowledged
        .iter()
        .filter(|commit| places.get(&commit.transaction_id).is_none_or(|versions| !versions.contains(&commit.version)));
    let span = match (entries.first_key_value(), entries.last_key_value()) {
        (Some((first, _)), Some((last, _))) => last - first + 1,
        (_, _) => 0,
    };
    let versions = entries.len() as u64;
    Ok(Findings {
        versions,
        lost: lost.count() as u64,
        doubled: places.values().filter(|versions| versions.len() > 1).count() as u64,
        gaps: span - versions,
    })
}

/// The names of the log's entries by version.
async fn entries(store: &dyn Store, format: TableFormat) -> Result<BTreeMap<u64, String>, CliError> {
    let folder = match format {
        TableFormat::Delta => LOG_FOLDER,
        TableFormat::Lance => VERSIONS_FOLDER,
    };
    let names = list(store, folder).await?;
    let version = |name: &String| {
        let file = name.strip_prefix(folder)?.strip_prefix('/')?;
        match format {
            TableFormat::Delta => {
                let digits = file.strip_suffix(".json").filter(|digits| digits.len() == 20)?;
                digits.parse().ok()
            }
            TableFormat::Lance => match ManifestName::parse(file) {
                ManifestName::Version { version, .. } => Some(version.get()),
                ManifestName::Detached(_)
                | ManifestName::Staged { .. }
                | ManifestName::Hint
                | ManifestName::Temporary
                | ManifestName::Other => None,
            },
        }
    };
    Ok(names.into_iter().filter_map(|name| Some((version(&name)?, name))).collect())
}

/// Every name below a folder (empty: everything).
pub(crate) async fn list(store: &dyn Store, folder: &str) -> Result<Vec<String>, CliError> {
    let mut names: Vec<String> = Vec::new();
    loop {
        let page = store.list(folder, names.last().map(String::as_str), PAGE).await?;
        let full = page.len() == PAGE;
        names.extend(page.into_iter().map(|listed| listed.name));
        if !full {
            return Ok(names);
        }
    }
}

/// The ids of the transactions in an entry; there should be one.
fn transaction_ids(format: TableFormat, name: &str, bytes: &Bytes) -> Result<Vec<String>, CliError> {
    match format {
        TableFormat::Delta => delta_ids(name, bytes),
        TableFormat::Lance => {
            let snapshot = Snapshot::open(name, bytes)?;
            let inline = snapshot.transaction().map(|transaction| transaction.id().as_str().to_owned());
            let beside = || {
                let file = snapshot.transaction_file()?;
                let file = file.as_str().rsplit('/').next()?.to_owned();
                TransactionFileName::parse(&file).map(|name| name.id.to_string())
            };
            Ok(inline.or_else(beside).into_iter().collect())
        }
    }
}

fn delta_ids(name: &str, bytes: &Bytes) -> Result<Vec<String>, CliError> {
    let mut ids = Vec::new();
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let action: Value = serde_json::from_slice(line).map_err(|error| {
            CliError::failed(format!("{name} holds a line that is not JSON: {error}"), "look at the file")
        })?;
        ids.extend(action.pointer("/commitInfo/txnId").and_then(Value::as_str).map(str::to_owned));
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use super::{Acknowledged, Findings, audit};
    use lakebed_storage::{MemoryStore, Store};
    use lakebed_table::TableFormat;

    async fn log(entries: &[(u64, &str)]) -> MemoryStore {
        let store = MemoryStore::default();
        for (version, id) in entries {
            let entry = format!("{{\"commitInfo\":{{\"txnId\":\"{id}\"}}}}\n{{\"txn\":{{}}}}\n");
            store.put(&format!("_delta_log/{version:020}.json"), entry.into()).await.unwrap();
        }
        store.put("_delta_log/_last_checkpoint", "{}".into()).await.unwrap();
        store.put("_delta_log/00000000000000000001.checkpoint.parquet", "".into()).await.unwrap();
        store
    }

    fn said(id: &str, version: u64) -> Acknowledged {
        Acknowledged { transaction_id: id.to_owned(), version }
    }

    async fn check(entries: &[(u64, &str)], acknowledged: &[Acknowledged]) -> Findings {
        audit(&log(entries).await, TableFormat::Delta, acknowledged).await.unwrap()
    }

    #[tokio::test]
    async fn a_sound_log_is_sound() {
        let found = check(&[(0, "a"), (1, "b"), (2, "c")], &[said("b", 1), said("c", 2)]).await;
        assert_eq!(found, Findings { versions: 3, lost: 0, doubled: 0, gaps: 0 });
        assert!(found.sound());
    }

    #[tokio::test]
    async fn a_lost_commit_is_found() {
        let found = check(&[(0, "a"), (1, "x")], &[said("a", 0), said("b", 1)]).await;
        assert_eq!(found, Findings { versions: 2, lost: 1, doubled: 0, gaps: 0 });
        assert!(!found.sound());
    }

    #[tokio::test]
    async fn a_commit_at_another_version_than_was_answered_is_lost() {
        assert_eq!(check(&[(0, "a"), (1, "b")], &[said("b", 0)]).await.lost, 1);
    }

    #[tokio::test]
    async fn a_doubled_commit_and_a_gap_are_found() {
        let found = check(&[(0, "a"), (1, "b"), (3, "b")], &[said("b", 1)]).await;
        assert_eq!(found, Findings { versions: 3, lost: 0, doubled: 1, gaps: 1 });
        assert!(!found.sound());
    }
}
