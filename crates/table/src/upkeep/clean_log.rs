//! Removing what of the log is expired.

use super::checkpoint;
use crate::load::delta::{delta_error, load};
use crate::load::{list_all, read_all};
use crate::{Table, TableError};
use lakebed_commit::ObjectName;
use lakebed_delta::{LogCleanup, LogObject, Snapshot, sidecars_of};
use lakebed_naming::Version;
use lakebed_naming::delta::LOG_FOLDER;
use lakebed_storage::Store;
use std::collections::BTreeSet;

/// Objects removed by one request, where a store removes several at once.
const REMOVED_AT_ONCE: usize = 1_000;

/// What a cleanup of the log removed, or would remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRemoval {
    /// The oldest version that can be read now; `None` where nothing was expired.
    pub first_kept: Option<Version>,
    /// The objects, relative to the table's root, in the order in which they go.
    pub objects: Vec<String>,
}

/// Whether a cleanup removes what it found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Run {
    Remove,
    Dry,
}

impl Table {
    /// Removes the entries of the log, and the checkpoints, that are older than `delta.logRetentionDuration`, up to a
    /// checkpoint from which everything younger stays readable (Delta). With `dry_run` it only says which.
    ///
    /// # Errors
    /// The table has no such log (Lance), its log is a catalog's, or the store cannot be asked.
    pub async fn clean_log(&self, dry_run: bool) -> Result<LogRemoval, TableError> {
        let held = self.delta_for_upkeep("log to clean", "a vacuum removes its old versions")?;
        let run = if dry_run { Run::Dry } else { Run::Remove };
        clean(&**self.store(), &held.snapshot, self.now_ms(), run).await
    }
}

pub(super) async fn clean(
    store: &dyn Store,
    newest: &Snapshot,
    now_ms: i64,
    run: Run,
) -> Result<LogRemoval, TableError> {
    let nothing = LogRemoval { first_kept: None, objects: Vec::new() };
    let objects: Vec<LogObject> = list_all(store, LOG_FOLDER, None)
        .await?
        .into_iter()
        .map(|entry| LogObject { name: entry.name, size_bytes: entry.size_bytes, modified_ms: entry.modified_ms })
        .collect();
    let plan = LogCleanup::plan(&objects, newest, now_ms).map_err(|source| delta_error(store, source))?;
    let Some(plan) = plan else { return Ok(nothing) };
    let sidecars = unnamed_sidecars(store, &plan).await?;
    let doomed: Vec<String> = plan.expired.iter().chain(&sidecars).map(ToString::to_string).collect();
    if run == Run::Remove {
        if let Some(version) = plan.classic_at {
            let Some(at) = load(store, Some(version), None).await? else { return Ok(nothing) };
            checkpoint::write_classic(store, &at.snapshot, now_ms).await?;
        }
        for some in doomed.chunks(REMOVED_AT_ONCE) {
            store.delete_all(some).await?;
        }
    }
    Ok(LogRemoval { first_kept: Some(plan.first_kept), objects: doomed })
}

/// Sidecars that no checkpoint which stays names. Where one of those cannot be read, all sidecars stay.
async fn unnamed_sidecars(store: &dyn Store, plan: &LogCleanup) -> Result<Vec<ObjectName>, TableError> {
    if plan.sidecars(&BTreeSet::new()).is_empty() {
        return Ok(Vec::new());
    }
    let mut named = BTreeSet::new();
    for (name, bytes) in read_all(store, plan.may_name_sidecars.clone()).await? {
        match bytes.map(|bytes| sidecars_of(name.as_str(), &bytes)) {
            Some(Ok(names)) => named.extend(names),
            Some(Err(_)) | None => return Ok(Vec::new()),
        }
    }
    Ok(plan.sidecars(&named))
}
