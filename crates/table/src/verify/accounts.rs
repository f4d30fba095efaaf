//! Other accounts of a version than its log: checkpoints and checksum files.

use super::Verified;
use crate::load::delta::load_from;
use crate::{Table, TableError};
use lakebed_delta::Snapshot;
use lakebed_delta::action::Add;
use lakebed_naming::delta::{LogListing, LogName, log_path};
use lakebed_storage::Listed;
use serde_json::Value;
use std::sync::Arc;

/// Holds the checkpoints and the checksum file of a version against its state.
pub(super) async fn hold(
    table: &Table,
    listed: &[Listed],
    listing: &LogListing,
    state: &Snapshot,
    verified: &mut Verified,
) -> Result<(), TableError> {
    let version = state.version();
    // What a retention lets go may stand in the one account still and not in the other.
    let now_ms = i64::try_from(table.place.clock.now_ms()).unwrap_or(i64::MAX);
    let state = &state.clone().retained(now_ms);
    for checkpoint in listing.checkpoints().iter().filter(|checkpoint| checkpoint.version == version) {
        verified.checkpoints_checked += 1;
        let own: Vec<String> = checkpoint.files.iter().map(|file| log_path(&file.name)).collect();
        // Its own files and nothing else that a state could be made of.
        let wanted = |name: &str| own.iter().any(|file| file == name) || is_commit_of(name, version);
        let problem = match load_from(&**table.store(), listed, wanted, version).await {
            Ok(told) => difference(state, &told.retained(now_ms)),
            Err(TableError::Delta { source, .. }) => Some(source.to_string()),
            Err(other) => return Err(other),
        };
        if let Some(problem) = problem {
            let object = own.first().map_or("_delta_log", String::as_str).to_owned();
            let remedy = "remove it, and write a new one (lakebed checkpoint): the log has the state";
            verified.wrong("checkpoint", &object, Some(version), problem, remedy);
        }
    }
    if listing.has_checksum(version) {
        let name = LogName::Checksum(version).path().unwrap_or_default();
        if let Some(bytes) = table.store().get(&name).await? {
            verified.checksums_checked += 1;
            if let Some(problem) = checksum(state, &bytes) {
                verified.wrong("checksum", &name, Some(version), problem, "remove it: nobody needs it");
            }
        }
    }
    Ok(())
}

fn is_commit_of(name: &str, version: lakebed_naming::Version) -> bool {
    LogName::Commit(version).path().is_some_and(|own| own == name)
}

/// What a checksum file says otherwise; what it leaves out is no difference.
fn checksum(state: &Snapshot, bytes: &[u8]) -> Option<String> {
    let told: Value = match serde_json::from_slice(bytes) {
        Ok(told) => told,
        Err(error) => return Some(format!("it cannot be read: {error}")),
    };
    let vectors = state.files().filter(|add| add.deletion_vector.is_some()).count() as u64;
    let numbers = [
        ("numFiles", state.num_files()),
        ("tableSizeBytes", state.size_bytes()),
        ("numDeletedRecordsOpt", state.num_deleted_rows()),
        ("numDeletionVectorsOpt", vectors),
    ];
    for (key, own) in numbers {
        if let Some(other) = told.get(key).and_then(Value::as_u64).filter(|other| *other != own) {
            return Some(format!("it says that {key} is {other}, and the log makes it {own}"));
        }
    }
    let metadata = told.get("metadata").and_then(|metadata| metadata.get("id")).and_then(Value::as_str);
    metadata.filter(|id| *id != state.table_id()).map(|id| format!("it is of another table, {id}"))
}

/// Where two accounts of one version differ; `None` where they tell the same.
pub(super) fn difference(log: &Snapshot, told: &Snapshot) -> Option<String> {
    let same_version = log.version() == told.version();
    if !same_version {
        return Some(format!("it is version {}, not {}", told.version(), log.version()));
    }
    if log.protocol() != told.protocol() {
        return Some("it has another protocol".to_owned());
    }
    if log.metadata() != told.metadata() {
        return Some("it has other metadata".to_owned());
    }
    if log.app_transactions() != told.app_transactions() {
        return Some("it has other application transactions".to_owned());
    }
    let domains = |state: &Snapshot| -> Vec<(String, String)> {
        let own = state.domain_metadata().iter();
        own.map(|(name, domain)| (name.to_string(), domain.configuration.clone())).collect()
    };
    if domains(log) != domains(told) {
        return Some("it has other domain metadata".to_owned());
    }
    let missing = log.files().find(|add| !told.file(&add.key()).is_some_and(|other| same(add, other)));
    if let Some(add) = missing {
        return Some(format!("it does not have the file {} as the log has it", add.path));
    }
    let more = told.files().find(|add| log.file(&add.key()).is_none());
    more.map(|add| format!("it has the file {}, which the log took out", add.path))
}

/// Whether two entries mean one file; statistics and notes may be left out of a checkpoint.
fn same(one: &Arc<Add>, other: &Arc<Add>) -> bool {
    one.size == other.size
        && one.deletion_vector == other.deletion_vector
        && one.base_row_id == other.base_row_id
        && one.default_row_commit_version == other.default_row_commit_version
        && one.partition_values.len() == other.partition_values.len()
        && one.partition_values.iter().all(|(key, value)| other.partition_values.get(key) == value)
}

/// Row ids of the newest version: no two rows may have one.
pub(super) fn rows(state: &Snapshot, verified: &mut Verified) {
    let version = Some(state.version());
    let mut ranges: Vec<(i64, i64, &str)> = state
        .files()
        .filter_map(|add| {
            let rows = i64::try_from(add.num_records()?).ok()?;
            Some((add.base_row_id?, add.base_row_id?.saturating_add(rows), &*add.path))
        })
        .collect();
    ranges.sort_unstable();
    for pair in ranges.windows(2) {
        if let [(_, end, first), (start, _, second)] = pair
            && start < end
        {
            let problem = format!("its row ids begin at {start}, inside those of {first}");
            let remedy = "rewrite one of the files (delete its rows and append them again)";
            verified.wrong("rows", second, version, problem, remedy);
        }
    }
    let mark = state.core().row_id_high_water_mark();
    let highest = ranges.iter().map(|(_, end, _)| end - 1).max();
    if let (Some(mark), Some(highest)) = (mark, highest)
        && highest > mark
    {
        let problem = format!("the high-water mark is {mark}, and row id {highest} is given out");
        verified.wrong("rows", "delta.rowTracking", version, problem, "drop the feature and enable it again");
    }
    for add in state.files() {
        if add.num_records().is_some_and(|records| add.deleted_rows() > records) {
            let problem = format!("its vector deletes {} rows, and it has fewer", add.deleted_rows());
            verified.wrong("rows", &add.path, version, problem, "restore an earlier version");
        }
    }
}
