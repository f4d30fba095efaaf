//! The versions of a table, newest first.

use crate::file_versions::changes_data;
use crate::load::delta::list_versions;
use crate::load::delta::log_listing;
use crate::load::{self, list_all};
use crate::snapshot::{DeltaVersion, Snapshot};
use crate::summary::HistoryEntry;
use crate::time_travel::{file_times, stamped_from};
use crate::{Table, TableError};
use lakebed_delta::action::{Action, CommitInfo, parse_actions};
use lakebed_lance::VersionHead;
use lakebed_naming::Version;
use lakebed_naming::delta::{LOG_FOLDER, LogListing, commit_path};
use lakebed_naming::lance::VERSIONS_FOLDER;
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
            Snapshot::Delta(held) => self.delta_history(held, limit).await,
            Snapshot::Lance(_) => self.lance_history(limit).await,
        }
    }

    async fn delta_history(&self, held: &DeltaVersion, limit: usize) -> Result<Vec<HistoryEntry>, TableError> {
        let listed = list_versions(&*self.place.store, None).await?;
        let times = file_times(&listed);
        let stamped = stamped_from(held.snapshot.metadata());
        let mut history = Vec::new();
        for (version, file_ms) in times.into_iter().rev().take(limit) {
            let actions = self.delta_actions(version).await?;
            let info =
                actions.iter().find_map(|action| if let Action::CommitInfo(info) = action { Some(info) } else { None });
            let own = info.filter(|_| stamped.is_some_and(|from| version >= from));
            let time_ms = own.and_then(CommitInfo::in_commit_timestamp_ms).unwrap_or(file_ms);
            history.push(delta_entry(version, time_ms, &actions, info));
        }
        Ok(history)
    }

    /// What the log offers (Delta).
    pub(crate) async fn log_names(&self) -> Result<LogListing, TableError> {
        Ok(log_listing(&list_all(&*self.place.store, LOG_FOLDER, None).await?))
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
        let mut names = load::lance::versions(&listed);
        names.reverse();
        names.truncate(limit);
        let heads = load::lance::heads(&*self.place.store, &names).await?;
        Ok(heads.iter().map(lance_entry).collect())
    }
}

fn delta_entry(version: Version, time_ms: i64, actions: &[Action], info: Option<&CommitInfo>) -> HistoryEntry {
    let data_change = changes_data(actions);
    let metrics = info.and_then(|info| info.0.get("operationMetrics")).and_then(|metrics| metrics.as_object());
    let parameters = info.and_then(|info| info.0.get("operationParameters")).and_then(|told| told.as_object());
    HistoryEntry {
        version,
        timestamp_ms: Some(time_ms),
        operation: info.and_then(CommitInfo::operation).map(str::to_owned),
        read_version: info.and_then(|info| info.number("readVersion")).and_then(|v| u64::try_from(v).ok()),
        transaction_id: info.and_then(CommitInfo::transaction_id).map(str::to_owned),
        data_change,
        attempts: info.and_then(|info| info.own_note("attempts")).and_then(|text| text.parse().ok()),
        lost_plannings: info
            .and_then(|info| info.own_note("lost_plannings"))
            .and_then(|text| text.parse().ok())
            .unwrap_or(0),
        policy: info.and_then(|info| info.own_note("policy")),
        parameters: parameters
            .into_iter()
            .flat_map(serde_json::Map::keys)
            .filter_map(|key| Some((key.clone(), info?.parameter(key)?)))
            .collect(),
        metrics: metrics
            .into_iter()
            .flatten()
            .map(|(key, value)| (key.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
            .collect(),
    }
}

fn lance_entry(head: &VersionHead) -> HistoryEntry {
    let transaction = head.transaction.as_ref();
    let kind = transaction.map(|transaction| transaction.kind);
    let property = |key: &str| transaction.and_then(|transaction| transaction.properties.get(key));
    HistoryEntry {
        version: head.version,
        timestamp_ms: head.timestamp_ms,
        operation: kind.map(|kind| kind.to_string()),
        read_version: transaction.map(|transaction| transaction.read_version.get()),
        transaction_id: transaction.map(|transaction| transaction.id.as_str().to_owned()),
        data_change: kind.is_none_or(changes_rows),
        attempts: property("lakebed.attempts").and_then(|text| text.parse().ok()),
        lost_plannings: 0,
        policy: property(POLICY_KEY).cloned(),
        parameters: BTreeMap::new(),
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
