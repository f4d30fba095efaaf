//! Restoring a table to an old version.

use crate::create::fresh_id;
use crate::load::list_all;
use crate::snapshot::{DeltaVersion, Snapshot};
use crate::{CommitOptions, Report, Table, TableError, VersionSpec};
use lakebed_delta::{Transaction, Vouched};
use lakebed_ops::{Restored, restore};
use lakebed_transaction::{Outcome, TransactionId, Verdict};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Up to so many objects are looked for one by one; a listing of the table answers for more.
const LOOKS_MAX: usize = 64;
/// So many missing objects are named; the others are counted.
const NAMED_MAX: usize = 10;

impl Table {
    /// Commits a new version that equals an old one. Nothing is committed where the newest version equals it already.
    ///
    /// # Errors
    /// The version is not there, files of it are gone (they are named, and nothing is written), or the store cannot be asked.
    pub async fn restore(&mut self, to: VersionSpec, commit: &CommitOptions) -> Result<Report, TableError> {
        if let Snapshot::Lance(_) = self.snapshot {
            return self.restore_lance(to, commit).await;
        }
        let mut plannings = 0;
        loop {
            plannings += 1;
            let held = self.delta_to_restore()?;
            let Snapshot::Delta(old) = self.at(to).await? else { return Err(not_delta()) };
            let now_ms = i64::try_from(self.place.clock.now_ms()).unwrap_or(i64::MAX);
            let restored = restore(&held.snapshot, &old.snapshot, now_ms)?;
            if restored.actions.is_empty() {
                let outcome = Outcome::Nothing { version: held.snapshot.version() };
                return Ok(Report::of(outcome, TransactionId::new(fresh_id().to_string())));
            }
            self.refuse_missing(&restored, &old).await?;
            let counts = counts(&restored);
            let mut report = self.commit_delta(&held, transaction(restored, to, &old), commit).await?;
            report.metrics = counts;
            report.plannings = plannings;
            let lost =
                matches!(&report.outcome, Outcome::Conflict(conflict) if conflict.why.verdict == Verdict::Retryable);
            if !lost || plannings >= commit.plannings_max {
                return Ok(report);
            }
            self.refresh().await?;
        }
    }

    fn delta_to_restore(&self) -> Result<DeltaVersion, TableError> {
        match &self.snapshot {
            Snapshot::Delta(held) => Ok(held.clone()),
            Snapshot::Lance(_) => Err(not_delta()),
        }
    }

    /// A version whose files a vacuum removed cannot come back.
    async fn refuse_missing(&self, restored: &Restored, old: &DeltaVersion) -> Result<(), TableError> {
        let missing = self.missing(&restored.objects).await?;
        if missing.is_empty() {
            return Ok(());
        }
        let named = missing.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join(", ");
        let more = missing.len().saturating_sub(NAMED_MAX);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        Err(TableError::Unavailable {
            root: self.place.store.root().to_owned(),
            problem: format!(
                "version {} cannot be restored, for files of it are gone: {named}{more}; nothing was written",
                old.snapshot.version()
            ),
            advice: "restore a version that is younger than what a vacuum removed, or bring the files back".to_owned(),
        })
    }

    async fn missing(&self, objects: &BTreeSet<String>) -> Result<Vec<String>, TableError> {
        let store = self.store();
        let mut missing = Vec::new();
        if objects.len() <= LOOKS_MAX {
            for name in objects {
                if store.head(name).await?.is_none() {
                    missing.push(name.clone());
                }
            }
            return Ok(missing);
        }
        let there: BTreeSet<String> = list_all(&**store, "", None).await?.into_iter().map(|entry| entry.name).collect();
        Ok(objects.difference(&there).cloned().collect())
    }
}

fn not_delta() -> TableError {
    TableError::Invalid {
        problem: "the table became another while it was restored".to_owned(),
        advice: "open it again".to_owned(),
    }
}

fn transaction(restored: Restored, to: VersionSpec, old: &DeltaVersion) -> Transaction {
    let id = TransactionId::new(fresh_id().to_string());
    let mut transaction = Transaction::new(id, "RESTORE", restored.actions);
    let (version, timestamp) = match to {
        VersionSpec::Newest | VersionSpec::Number(_) => (json!(old.snapshot.version().get()), Value::Null),
        VersionSpec::AtMs(ms) | VersionSpec::UpToMs(ms) => {
            (Value::Null, json!(lakebed_sql::print_timestamp(ms.saturating_mul(1_000))))
        }
    };
    transaction.parameters = Map::from_iter([("version".to_owned(), version), ("timestamp".to_owned(), timestamp)]);
    transaction.metrics = restored.metrics;
    transaction.reads.whole_table = true;
    // The rows stood in the table before, under the metadata that comes back with them; as in Spark, the files that come and go
    // are the record of what changed.
    transaction.vouched = Vouched { values: true, changes: true };
    transaction
}

fn counts(restored: &Restored) -> BTreeMap<String, u64> {
    let name = |name: &str| match name {
        "numRestoredFiles" => Some("files_restored".to_owned()),
        "numRemovedFiles" => Some("files_removed".to_owned()),
        _ => None,
    };
    restored.metrics.iter().filter_map(|(key, number)| Some((name(key)?, number.parse().ok()?))).collect()
}
