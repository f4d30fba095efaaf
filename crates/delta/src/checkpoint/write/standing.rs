//! A checkpoint that stands already.

use super::hint;
use crate::action::Action;
use crate::checkpoint::read::read;
use crate::{DeltaError, Snapshot};
use bytes::Bytes;
use lakebed_commit::ObjectName;

/// The hint to what stands under a checkpoint's name already, where that holds the version just as well. It is left alone then:
/// readers that have listed it go by its size, and may be reading it piece by piece.
///
/// `None`: it cannot be read, or says something else of the version.
#[must_use]
pub fn hint_to_standing(snapshot: &Snapshot, name: &ObjectName, bytes: &Bytes) -> Option<Bytes> {
    let mut standing = Standing::default();
    let read: Result<(), DeltaError> = read(name.as_str(), bytes, &mut |action| standing.take(&action, snapshot));
    read.ok()?;
    standing.is_whole(snapshot).then(|| hint(snapshot, standing.actions, bytes.len()))
}

/// What it holds. Which tombstones and application transactions are kept is its writer's choice.
#[derive(Default)]
struct Standing {
    actions: usize,
    files: u64,
    protocols: u32,
    metadata: u32,
    domains: usize,
    differs: bool,
}

impl Standing {
    fn take(&mut self, action: &Action, snapshot: &Snapshot) {
        self.actions += 1;
        let same = match action {
            Action::Add(add) => {
                self.files += 1;
                snapshot.file(&add.key()).is_some_and(|live| {
                    (live.size, live.num_records()) == (add.size, add.num_records())
                        && live.partition_values == add.partition_values
                        && live.base_row_id == add.base_row_id
                })
            }
            Action::Protocol(protocol) => {
                self.protocols += 1;
                protocol.state() == snapshot.protocol().state()
            }
            Action::Metadata(metadata) => {
                self.metadata += 1;
                metadata == snapshot.metadata()
            }
            Action::Domain(domain) => {
                self.domains += usize::from(!domain.removed);
                domain.removed || snapshot.domain_metadata().get(domain.domain.as_str()) == Some(domain)
            }
            Action::Txn(txn) => {
                snapshot.app_transactions().get(txn.app_id.as_str()).is_none_or(|known| known.version == txn.version)
            }
            Action::Remove(_) | Action::CheckpointMetadata(_) => true,
            // What stands in sidecars is not looked at.
            Action::Sidecar(_) | Action::Cdc(_) | Action::CommitInfo(_) => false,
        };
        self.differs |= !same;
    }

    fn is_whole(&self, snapshot: &Snapshot) -> bool {
        !self.differs
            && self.files == snapshot.num_files()
            && (self.protocols, self.metadata) == (1, 1)
            && self.domains == snapshot.domain_metadata().len()
    }
}
