//! Compacted logs.

use crate::load::delta::{delta_error, log_listing};
use crate::load::{list_all, read_all};
use crate::{Table, TableError};
use lakebed_commit::ObjectName;
use lakebed_delta::compact_log;
use lakebed_naming::Version;
use lakebed_naming::delta::{LOG_FOLDER, commit_path};
use std::collections::BTreeMap;

/// A compacted log that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogCompaction {
    /// The first commit that it stands for.
    pub first: Version,
    /// The last one.
    pub last: Version,
    /// The object, relative to the table's root.
    pub object: String,
}

impl Table {
    /// Writes one object that stands for the commits above the newest checkpoint, so that who opens the table reads that in
    /// their place (Delta). `None`: there are fewer than two.
    ///
    /// # Errors
    /// The table has no log (Lance), or the store cannot be asked.
    pub async fn compact_log(&self) -> Result<Option<LogCompaction>, TableError> {
        let held = self.delta_for_upkeep("log to compact", "there is nothing to do")?;
        let store = &**self.store();
        let listing = log_listing(&list_all(store, LOG_FOLDER, None).await?);
        let newest = held.snapshot.version();
        let below = listing.candidates(newest).next().map(|checkpoint| checkpoint.version);
        let versions: Vec<Version> = listing
            .commits()
            .map(|commit| commit.version)
            .filter(|version| *version <= newest && below.is_none_or(|below| *version > below))
            .collect();
        if versions.len() < 2 {
            return Ok(None);
        }
        let names = versions.iter().map(|version| ObjectName::new(commit_path(*version))).collect();
        let mut read: BTreeMap<_, _> = read_all(store, names).await?.into_iter().collect();
        let mut commits = Vec::with_capacity(versions.len());
        for version in versions {
            let name = ObjectName::new(commit_path(version));
            let bytes = read.remove(&name).flatten().ok_or_else(|| TableError::Unavailable {
                root: store.root().to_owned(),
                problem: format!("version {version} is not there any more ({name})"),
                advice: "a cleanup passed by; compact the log again".to_owned(),
            })?;
            commits.push((version, bytes));
        }
        let compacted = compact_log(&commits).map_err(|source| delta_error(store, source))?;
        store.put(compacted.name.as_str(), compacted.bytes).await?;
        Ok(Some(LogCompaction {
            first: compacted.range.first(),
            last: compacted.range.last(),
            object: compacted.name.to_string(),
        }))
    }
}
