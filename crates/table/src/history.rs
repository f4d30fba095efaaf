//! The versions of a table, newest first, and which one stood at a time.

use crate::load::{self, list_all};
use crate::snapshot::{DeltaVersion, Snapshot};
use crate::summary::HistoryEntry;
use crate::table::lance_versions;
use crate::{Table, TableError};
use lakebed_delta::action::{Action, CommitInfo, parse_actions};
use lakebed_lance::transaction::Transaction;
use lakebed_naming::Version;
use lakebed_naming::delta::{LOG_FOLDER, commit_path};
use lakebed_naming::lance::VERSIONS_FOLDER;
use lakebed_storage::Listed;
use lakebed_transaction::LanceKind;
use std::collections::BTreeMap;

/// The transaction property and the commit tag under which the policy of a commit stands.
pub(crate) const POLICY_KEY: &str = "lakebed.policy";

impl Table {
    /// The versions, newest first, at most `limit` of them.
    ///
    /// # Errors
    /// The log cannot be listed, or one of the entries cannot be read.
    pub async fn history(&self, limit: Option<usize>) -> Result<Vec<HistoryEntry>, TableError> {
        let limit = limit.unwrap_or(usize::MAX);
        match &self.snapshot {
            Snapshot::Delta(_) => self.delta_history(limit).await,
            Snapshot::Lance(_) => self.lance_history(limit).await,
        }
    }

    async fn delta_history(&self, limit: usize) -> Result<Vec<HistoryEntry>, TableError> {
        let listed = list_all(&*self.place.store, LOG_FOLDER, None).await?;
        let times = monotone(&load::delta::commits(&listed));
        let mut history = Vec::new();
        for (version, file_ms) in times.into_iter().rev().take(limit) {
            let actions = self.delta_actions(version).await?;
            let info =
                actions.iter().find_map(|action| if let Action::CommitInfo(info) = action { Some(info) } else { None });
            history.push(delta_entry(version, file_ms, &actions, info));
        }
        Ok(history)
    }

    /// The actions of a commit.
    pub(crate) async fn delta_actions(&self, version: Version) -> Result<Vec<Action>, TableError> {
        let name = commit_path(version);
        let bytes = self.place.store.get(&name).await?.ok_or_else(|| self.gone(version, &name))?;
        parse_actions(&name, &bytes).map_err(|source| load::delta::delta_error(&*self.place.store, source))
    }

    fn gone(&self, version: Version, name: &str) -> TableError {
        TableError::Unavailable {
            root: self.place.store.root().to_owned(),
            problem: format!("version {version} is not there any more ({name})"),
            advice: "ask for a newer version; a cleanup removes old ones".to_owned(),
        }
    }

    async fn lance_history(&self, limit: usize) -> Result<Vec<HistoryEntry>, TableError> {
        let listed = list_all(&*self.place.store, VERSIONS_FOLDER, None).await?;
        let mut history = Vec::new();
        for (version, _) in lance_versions(&listed).into_iter().rev().take(limit) {
            let Snapshot::Lance(loaded) = self.load(version).await? else { continue };
            let transaction = load::lance::transaction(&*self.place.store, &loaded).await?;
            history.push(lance_entry(version, loaded.snapshot.timestamp_ms(), transaction.as_ref()));
        }
        Ok(history)
    }

    /// The newest version that is not younger than a time.
    pub(crate) async fn version_at(&self, at_ms: i64) -> Result<Version, TableError> {
        let times = match &self.snapshot {
            Snapshot::Delta(held) => self.delta_times(held, at_ms).await?,
            Snapshot::Lance(_) => self.lance_times(at_ms).await?,
        };
        let found = times.iter().rev().find(|(_, ms)| *ms <= at_ms);
        found.map(|(version, _)| *version).ok_or_else(|| TableError::Unavailable {
            root: self.place.store.root().to_owned(),
            problem: match times.first() {
                Some((oldest, ms)) => {
                    format!(
                        "no version is as old as that; the oldest is version {oldest} of {}",
                        lakebed_sql::print_timestamp(ms.saturating_mul(1_000))
                    )
                }
                None => "there is no version".to_owned(),
            },
            advice: "ask for a later time".to_owned(),
        })
    }

    /// The versions with the times that time travel uses, ascending in both.
    async fn delta_times(&self, newest: &DeltaVersion, at_ms: i64) -> Result<Vec<(Version, i64)>, TableError> {
        let listed: Vec<Listed> = list_all(&*self.place.store, LOG_FOLDER, None).await?;
        let mut times = monotone(&load::delta::commits(&listed));
        let metadata = newest.snapshot.metadata();
        if !metadata.in_commit_timestamps() {
            return Ok(times);
        }
        let number = |key: &str| metadata.configuration.get(key).and_then(|text| text.parse::<i64>().ok());
        let enabled_at = number("delta.inCommitTimestampEnablementVersion").and_then(|v| u64::try_from(v).ok());
        let enabled_ms = number("delta.inCommitTimestampEnablementTimestamp");
        let enabled_at = Version::new(enabled_at.unwrap_or_default());
        if enabled_ms.is_some_and(|enabled_ms| at_ms < enabled_ms) {
            times.retain(|(version, _)| *version < enabled_at);
            return Ok(times);
        }
        times.retain(|(version, _)| *version >= enabled_at);
        // In-commit timestamps grow from version to version, so halving finds the place with few reads.
        let (mut low, mut high) = (0, times.len());
        let mut stamped = BTreeMap::new();
        while low < high {
            let middle = usize::midpoint(low, high);
            let Some((version, _)) = times.get(middle).copied() else { break };
            let stamp = self.in_commit_timestamp(version).await?;
            stamped.insert(version, stamp);
            if stamp <= at_ms { low = middle + 1 } else { high = middle }
        }
        Ok(stamped.into_iter().collect())
    }

    async fn in_commit_timestamp(&self, version: Version) -> Result<i64, TableError> {
        let actions = self.delta_actions(version).await?;
        let stamp = actions.iter().find_map(|action| {
            if let Action::CommitInfo(info) = action { info.in_commit_timestamp_ms() } else { None }
        });
        stamp.ok_or_else(|| TableError::Unavailable {
            root: self.place.store.root().to_owned(),
            problem: format!("version {version} has no in-commit timestamp although the table promises one"),
            advice: "ask by version".to_owned(),
        })
    }

    async fn lance_times(&self, at_ms: i64) -> Result<Vec<(Version, i64)>, TableError> {
        let listed = list_all(&*self.place.store, VERSIONS_FOLDER, None).await?;
        let mut times = Vec::new();
        for (version, modified_ms) in lance_versions(&listed).into_iter().rev() {
            let Snapshot::Lance(loaded) = self.load(version).await? else { continue };
            let ms = loaded.snapshot.timestamp_ms().unwrap_or(modified_ms);
            times.push((version, ms));
            if ms <= at_ms {
                break;
            }
        }
        times.reverse();
        Ok(times)
    }
}

/// File times made strictly increasing, oldest first: a version that is not younger than the one before it counts as one
/// millisecond younger. (Delta protocol, time travel without in-commit timestamps.)
fn monotone(commits: &[(Version, i64)]) -> Vec<(Version, i64)> {
    let mut newest: Option<i64> = None;
    commits
        .iter()
        .map(|(version, ms)| {
            let ms = newest.map_or(*ms, |before| (*ms).max(before.saturating_add(1)));
            newest = Some(ms);
            (*version, ms)
        })
        .collect()
}

fn delta_entry(version: Version, file_ms: i64, actions: &[Action], info: Option<&CommitInfo>) -> HistoryEntry {
    let data_change = actions.iter().any(|action| match action {
        Action::Add(add) => add.data_change,
        Action::Remove(remove) => remove.data_change,
        Action::Cdc(_)
        | Action::Metadata(_)
        | Action::Protocol(_)
        | Action::Txn(_)
        | Action::Domain(_)
        | Action::CommitInfo(_)
        | Action::CheckpointMetadata(_)
        | Action::Sidecar(_) => false,
    });
    let metrics = info.and_then(|info| info.0.get("operationMetrics")).and_then(|metrics| metrics.as_object());
    HistoryEntry {
        version,
        timestamp_ms: Some(info.and_then(CommitInfo::in_commit_timestamp_ms).unwrap_or(file_ms)),
        operation: info.and_then(CommitInfo::operation).map(str::to_owned),
        read_version: info.and_then(|info| info.number("readVersion")).and_then(|v| u64::try_from(v).ok()),
        transaction_id: info.and_then(CommitInfo::transaction_id).map(str::to_owned),
        data_change,
        attempts: info.and_then(|info| info.own_note("attempts")).and_then(|text| text.parse().ok()),
        policy: info.and_then(|info| info.own_note("policy")),
        metrics: metrics
            .into_iter()
            .flatten()
            .map(|(key, value)| (key.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
            .collect(),
    }
}

fn lance_entry(version: Version, timestamp_ms: Option<i64>, transaction: Option<&Transaction>) -> HistoryEntry {
    let kind = transaction.map(Transaction::kind);
    let property = |key: &str| transaction.and_then(|t| t.message().transaction_properties.get(key));
    HistoryEntry {
        version,
        timestamp_ms,
        operation: kind.map(|kind| kind.to_string()),
        read_version: transaction.map(|transaction| transaction.read_version().get()),
        transaction_id: transaction.map(|transaction| transaction.id().as_str().to_owned()),
        data_change: kind.is_none_or(changes_rows),
        attempts: property("lakebed.attempts").and_then(|text| text.parse().ok()),
        policy: property(POLICY_KEY).cloned(),
        metrics: BTreeMap::new(),
    }
}

/// Whether an operation of this kind changes what a scan returns.
const fn changes_rows(kind: LanceKind) -> bool {
    match kind {
        LanceKind::Append
        | LanceKind::Delete
        | LanceKind::Update
        | LanceKind::Overwrite
        | LanceKind::DataReplacement
        | LanceKind::DataOverlay
        | LanceKind::Merge
        | LanceKind::Restore
        | LanceKind::Project
        | LanceKind::Unknown => true,
        LanceKind::CreateIndex
        | LanceKind::Rewrite
        | LanceKind::ReserveFragments
        | LanceKind::UpdateConfig
        | LanceKind::UpdateMemWalState
        | LanceKind::UpdateBases
        | LanceKind::Clone => false,
    }
}
