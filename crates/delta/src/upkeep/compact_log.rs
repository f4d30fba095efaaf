//! Compacted logs: one object that stands for a run of commits.

use crate::DeltaError;
use crate::action::{Action, InfoUse, each_action, write_action};
use bytes::Bytes;
use lakebed_commit::ObjectName;
use lakebed_naming::delta::{LogName, commit_path, log_path};
use lakebed_naming::{Version, VersionRange};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A compacted log, ready to be put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompactedLog {
    /// The commits that it stands for.
    pub range: VersionRange,
    /// Its name.
    pub name: ObjectName,
    /// Its bytes.
    pub bytes: Bytes,
}

/// The newest word of each kind, as the commits one after another leave it.
#[derive(Default)]
struct Reconciled {
    protocol: Option<Action>,
    metadata: Option<Action>,
    txns: BTreeMap<String, Action>,
    domains: BTreeMap<String, Action>,
    files: BTreeMap<Arc<str>, Action>,
}

impl Reconciled {
    fn take(&mut self, action: Action) {
        match &action {
            Action::Protocol(_) => self.protocol = Some(action),
            Action::Metadata(_) => self.metadata = Some(action),
            Action::Txn(txn) => {
                self.txns.insert(txn.app_id.clone(), action);
            }
            // A document that goes must go on in the compacted log too: what it hides may stand below.
            Action::Domain(domain) => {
                self.domains.insert(domain.domain.clone(), action);
            }
            Action::Add(add) => {
                self.files.insert(add.key(), action);
            }
            Action::Remove(remove) => {
                self.files.insert(remove.key(), action);
            }
            Action::Cdc(_) | Action::CommitInfo(_) | Action::CheckpointMetadata(_) | Action::Sidecar(_) => {}
        }
    }

    fn write(self) -> Result<Vec<u8>, DeltaError> {
        let mut out = Vec::new();
        let table = self.protocol.into_iter().chain(self.metadata);
        let named = self.txns.into_values().chain(self.domains.into_values());
        // Removes first: read from top to bottom, a file whose deletion vector changed ends up live.
        let (removes, adds): (Vec<_>, Vec<_>) =
            self.files.into_values().partition(|action| matches!(action, Action::Remove(_)));
        for action in table.chain(named).chain(removes).chain(adds) {
            write_action(&action, &mut out)?;
        }
        Ok(out)
    }
}

/// Reconciles a run of commits into one object that replay may take in their place. Tombstones stay, whatever their age.
///
/// `commits` are the bytes of each commit of the range, ascending.
///
/// # Errors
/// The commits do not follow each other, there are fewer than two of them, or one cannot be read.
pub fn compact_log(commits: &[(Version, Bytes)]) -> Result<CompactedLog, DeltaError> {
    let bounds = commits.first().zip(commits.last()).filter(|_| commits.len() > 1);
    let contiguous = commits.windows(2).all(|pair| matches!(pair, [(a, _), (b, _)] if a.next() == Some(*b)));
    let range = bounds.filter(|_| contiguous).and_then(|((first, _), (last, _))| VersionRange::new(*first, *last));
    let range = range.ok_or_else(|| {
        DeltaError::invalid("a compacted log stands for two or more commits in a row", "give them in order, each once")
    })?;
    let mut reconciled = Reconciled::default();
    for (version, bytes) in commits {
        each_action(&commit_path(*version), bytes, InfoUse::Skip, |action| reconciled.take(action))?;
    }
    let file = LogName::Compacted(range).file_name().unwrap_or_default();
    Ok(CompactedLog { range, name: ObjectName::new(log_path(&file)), bytes: Bytes::from(reconciled.write()?) })
}
