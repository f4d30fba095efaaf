//! Actions applied one after another: the newest word about each thing wins.

use super::entry::Entry;
use super::file_set::{FileSet, Layer};
use super::state::{Core, Snapshot};
use crate::DeltaError;
use crate::action::{Action, DomainMetadata, LeanInfo, Metadata, Protocol, Txn};
use crate::checkpoint::Piece;
use lakebed_naming::Version;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The state after some actions.
#[derive(Default)]
pub(super) struct Replay {
    protocol: Option<Protocol>,
    metadata: Option<Metadata>,
    txns: BTreeMap<Arc<str>, Txn>,
    domains: BTreeMap<Arc<str>, DomainMetadata>,
    layer: Layer,
    info: Option<LeanInfo>,
}

impl Replay {
    /// Makes room for so many more files.
    pub(super) fn reserve(&mut self, files: usize) {
        self.layer.reserve(files);
    }

    pub(super) fn apply(&mut self, piece: Piece) {
        let action = match piece {
            Piece::File(entry) => return self.layer.set(entry),
            // With two of them in one commit, the first counts.
            Piece::Info(info) => {
                self.info.get_or_insert(*info);
                return;
            }
            Piece::Other(action) => *action,
            Piece::Ahead(files) => return self.layer.reserve(files),
        };
        match action {
            Action::Add(add) => self.layer.set(Entry::live(add)),
            Action::Remove(remove) => self.layer.set(Entry::gone(remove)),
            Action::Metadata(metadata) => self.metadata = Some(metadata),
            Action::Protocol(protocol) => self.protocol = Some(protocol),
            Action::Txn(txn) => {
                self.txns.insert(Arc::from(txn.app_id.as_str()), txn);
            }
            Action::Domain(domain) => {
                self.domains.insert(Arc::from(domain.domain.as_str()), domain);
            }
            Action::CommitInfo(info) => {
                self.info.get_or_insert_with(|| info.into());
            }
            Action::Cdc(_) | Action::CheckpointMetadata(_) | Action::Sidecar(_) => {}
        }
    }

    /// The snapshot of these actions alone. `stamp_ms` is the version's own timestamp where its provenance is gone.
    pub(super) fn finish(mut self, version: Version, stamp_ms: Option<i64>) -> Result<Snapshot, DeltaError> {
        let missing = |what: &str| {
            DeltaError::damaged("_delta_log", format!("no {what} action stands anywhere up to version {version}"))
        };
        let protocol = self.protocol.take().ok_or_else(|| missing("protocol"))?;
        protocol.check_readable()?;
        let metadata = self.metadata.take().ok_or_else(|| missing("metaData"))?;
        self.domains.retain(|_, domain| !domain.removed);
        let mut core = Core::new(version, protocol, metadata, (self.txns, self.domains), self.info.as_ref())?;
        if self.info.is_none() && core.metadata.in_commit_timestamps() {
            core.in_commit_timestamp_ms = stamp_ms;
            core.committed_ms = stamp_ms;
        }
        Ok(Snapshot::new(core, FileSet::default().with(self.layer), self.info))
    }

    /// The snapshot of these actions on top of an earlier one.
    pub(super) fn finish_on(self, base: &Snapshot, version: Version) -> Result<Snapshot, DeltaError> {
        let mut core = Core::clone(base.core());
        core.version = version;
        if let Some(protocol) = self.protocol {
            protocol.check_readable()?;
            core.set_protocol(protocol)?;
        }
        if let Some(metadata) = self.metadata {
            core.set_metadata(metadata)?;
        }
        if !self.txns.is_empty() {
            Arc::make_mut(&mut core.txns).extend(self.txns);
        }
        if !self.domains.is_empty() {
            let domains = Arc::make_mut(&mut core.domains);
            domains.extend(self.domains);
            domains.retain(|_, domain| !domain.removed);
        }
        core.set_times(self.info.as_ref());
        Ok(Snapshot::new(core, base.file_set().with(self.layer), self.info))
    }
}
