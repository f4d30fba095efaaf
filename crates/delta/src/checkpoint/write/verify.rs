//! Reading back what was written, before anybody sees it.

use super::parsed::StatsForm;
use crate::action::Action;
use crate::checkpoint::read::read;
use crate::{DeltaError, Snapshot};
use bytes::Bytes;
use lakebed_commit::ObjectName;

/// What the objects of a checkpoint hold, counted, and whether it is the state that they were written from.
#[derive(Default)]
pub(super) struct Seen {
    files: u64,
    gone: usize,
    protocols: u32,
    metadata: u32,
    txns: usize,
    domains: usize,
    differs: bool,
}

impl Seen {
    /// Takes one object in.
    pub(super) fn read(
        &mut self,
        name: &ObjectName,
        bytes: &Bytes,
        snapshot: &Snapshot,
        stats: &StatsForm,
    ) -> Result<(), DeltaError> {
        read(name.as_str(), bytes, &mut |action| self.take(&action, snapshot, stats))
    }

    fn take(&mut self, action: &Action, snapshot: &Snapshot, stats: &StatsForm) {
        let same = match action {
            Action::Add(add) => {
                self.files += 1;
                snapshot.file(&add.key()).is_some_and(|live| {
                    live.path == add.path
                        && live.partition_values == add.partition_values
                        && (live.size, live.modification_time) == (add.size, add.modification_time)
                        && live.deletion_vector == add.deletion_vector
                        && live.tags == add.tags
                        && (live.base_row_id, live.default_row_commit_version)
                            == (add.base_row_id, add.default_row_commit_version)
                        && stats.kept(live, add)
                })
            }
            Action::Remove(_) => {
                self.gone += 1;
                true
            }
            Action::Protocol(protocol) => {
                self.protocols += 1;
                protocol == snapshot.protocol()
            }
            Action::Metadata(metadata) => {
                self.metadata += 1;
                metadata == snapshot.metadata()
            }
            Action::Txn(txn) => {
                self.txns += 1;
                snapshot.app_transactions().get(txn.app_id.as_str()) == Some(txn)
            }
            Action::Domain(domain) => {
                self.domains += 1;
                snapshot.domain_metadata().get(domain.domain.as_str()) == Some(domain)
            }
            Action::CheckpointMetadata(metadata) => {
                u64::try_from(metadata.version).is_ok_and(|version| version == snapshot.version().get())
            }
            Action::Sidecar(_) => true,
            Action::Cdc(_) | Action::CommitInfo(_) => false,
        };
        self.differs |= !same;
    }

    /// Refuses a checkpoint that is not the whole state.
    pub(super) fn complete(&self, name: &ObjectName, snapshot: &Snapshot, tombstones: usize) -> Result<(), DeltaError> {
        let complete = self.files == snapshot.num_files()
            && self.gone == tombstones
            && (self.protocols, self.metadata) == (1, 1)
            && self.txns == snapshot.app_transactions().len()
            && self.domains == snapshot.domain_metadata().len();
        if complete && !self.differs {
            return Ok(());
        }
        Err(DeltaError::Damaged {
            object: name.to_string(),
            problem: "what was written does not read back as the state of the version".into(),
            advice: "do not put it; the table stays readable without this checkpoint".into(),
        })
    }
}
