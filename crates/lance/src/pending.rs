//! Our transaction, on the version that it currently follows.

use crate::facts::{Ours, ours_facts};
use crate::precise::{Reads, Rows};
use crate::proto::table::transaction::Operation;
use crate::proto::table::{DataFragment, DeletionFile, Transaction as Message};
use crate::reuse::MovedRows;
use crate::transaction::{Transaction, file_name, kind_of};
use crate::{LanceError, Snapshot};
use bytes::Bytes;
use lakebed_conflict::lance::LanceFacts;
use lakebed_naming::Version;
use lakebed_transaction::{LanceKind, RowSet, TransactionId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The data format of a new table where nobody asks for another.
const DATA_FORMAT: &str = "2.2";

/// What a new table is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Creation {
    /// The version of the data format, as in `2.2`.
    pub data_format: String,
    /// Whether rows keep their ids when they move.
    pub stable_row_ids: bool,
    /// Metadata of the table.
    pub table_metadata: BTreeMap<String, String>,
    /// Metadata of the schema.
    pub schema_metadata: BTreeMap<String, Bytes>,
}

impl Default for Creation {
    fn default() -> Self {
        Self {
            data_format: DATA_FORMAT.to_owned(),
            stable_row_ids: false,
            table_metadata: BTreeMap::new(),
            schema_metadata: BTreeMap::new(),
        }
    }
}

/// A fragment of ours whose deletion file changed under us.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Marked {
    /// The last landed version that changed it.
    pub(crate) by: Version,
    /// What that version did.
    pub(crate) landed: String,
    /// The deletion file that ours writes instead, once it is known.
    pub(crate) merged: Option<Merged>,
}

/// The rows deleted by the newest version and by ours together.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Merged {
    /// The newest version, whose deletion file was merged.
    pub(crate) on: Version,
    /// The entry for the fragment.
    pub(crate) entry: DeletionFile,
    /// The file.
    pub(crate) bytes: Bytes,
    /// The name of the file.
    pub(crate) name: lakebed_commit::ObjectName,
}

/// Our transaction, on the version that it currently follows.
#[derive(Clone, Debug)]
pub struct Pending {
    pub(crate) message: Message,
    pub(crate) id: TransactionId,
    pub(crate) base: Option<Arc<Snapshot>>,
    pub(crate) creation: Creation,
    pub(crate) restored: Option<Arc<Snapshot>>,
    pub(crate) cloned: Option<Arc<Snapshot>>,
    pub(crate) affected: Option<BTreeMap<u64, RowSet>>,
    pub(crate) moved: Option<Arc<MovedRows>>,
    pub(crate) read_fragments: BTreeMap<u64, DataFragment>,
    pub(crate) facts: LanceFacts,
    /// What it looked at, for policies that judge rows.
    pub(crate) reads: Reads,
    /// Its rows and where they stand by now, for policies that judge rows.
    pub(crate) rows: Rows,
    pub(crate) marked: BTreeMap<u64, Marked>,
    pub(crate) rendered: Vec<Bytes>,
    /// The last entry that was made of it, and the version that stands in it.
    pub(crate) built: Option<(Bytes, Arc<Snapshot>)>,
    random: u64,
}

impl Pending {
    /// A transaction on the version that it read. `random` are 64 random bits, from which the ids of deletion files that a
    /// rebase writes are made.
    ///
    /// # Errors
    /// The transaction was built on another version than `base`, its id is no UUID, or its operation is not known.
    pub fn new(base: Arc<Snapshot>, message: Message, random: u64) -> Result<Self, LanceError> {
        if message.read_version != base.version().get() {
            return Err(LanceError::Invalid {
                problem: format!("it was built on version {}, not on {}", message.read_version, base.version()),
                advice: "load the version that it was built on".to_owned(),
            });
        }
        Self::build(Some(base), Creation::default(), message, random)
    }

    /// A transaction that creates a table: an Overwrite that read nothing.
    ///
    /// # Errors
    /// It is no Overwrite, or read a version, or its id is no UUID.
    pub fn create(message: Message, creation: Creation) -> Result<Self, LanceError> {
        if message.read_version != 0 || kind_of(message.operation.as_ref()) != LanceKind::Overwrite {
            return Err(LanceError::Invalid {
                problem: "a table is created by an Overwrite that read nothing".to_owned(),
                advice: "build an Overwrite with read version 0".to_owned(),
            });
        }
        Self::build(None, creation, message, 0)
    }

    /// A transaction that makes a version of another table the first of a new one, whose files stay where they are.
    ///
    /// # Errors
    /// It is no Clone of that version, or its id is no UUID.
    pub fn clone_of(source: Arc<Snapshot>, message: Message) -> Result<Self, LanceError> {
        let version = source.version().get();
        let fits = matches!(&message.operation, Some(Operation::Clone(clone)) if clone.ref_version == version);
        if !fits {
            return Err(LanceError::Invalid {
                problem: format!("it is no Clone of version {version}"),
                advice: "build a Clone of the version that was read".to_owned(),
            });
        }
        let mut pending = Self::build(None, Creation::default(), message, 0)?;
        pending.cloned = Some(source);
        Ok(pending)
    }

    fn build(
        base: Option<Arc<Snapshot>>,
        creation: Creation,
        message: Message,
        random: u64,
    ) -> Result<Self, LanceError> {
        file_name(&message)?;
        if message.operation.is_none() {
            return Err(LanceError::Unsupported {
                object: format!("transaction {}", message.uuid),
                feature: "its operation".to_owned(),
                advice: "commit it with a newer version".to_owned(),
            });
        }
        let id = TransactionId::new(message.uuid.clone());
        // What was given counts as written: whoever gives a transaction again, after a crash or an unknown answer, is told
        // where it landed.
        let rendered = vec![Transaction::new(message.clone()).encoded().clone()];
        let reads = Reads::of_message(&message);
        let mut pending = Self {
            message,
            id,
            base,
            creation,
            restored: None,
            cloned: None,
            affected: None,
            moved: None,
            read_fragments: BTreeMap::new(),
            facts: LanceFacts::default(),
            reads,
            rows: Rows::default(),
            marked: BTreeMap::new(),
            rendered,
            built: None,
            random,
        };
        pending.capture();
        Ok(pending)
    }

    /// The physical rows that a Delete or Update takes out of each fragment that it changes, by fragment id: with them two
    /// changes of one fragment can both stand where their rows differ.
    #[must_use]
    pub fn with_affected_rows(mut self, rows: BTreeMap<u64, RowSet>) -> Self {
        self.affected = Some(rows);
        self.capture();
        self
    }

    /// What it looked at, where that is known. Without this, a Delete and an Update may have looked at any row, and everything else
    /// at none.
    #[must_use]
    pub fn with_reads(mut self, reads: Reads) -> Self {
        self.reads = reads;
        self.capture();
        self
    }

    /// The rows that a Rewrite moves: the record of fragment reuse is to tell indices of them.
    #[must_use]
    pub fn with_moved_rows(mut self, moved: MovedRows) -> Self {
        self.moved = Some(Arc::new(moved));
        self.capture();
        self
    }

    /// The version that a Restore makes current.
    #[must_use]
    pub fn with_restored(mut self, restored: Arc<Snapshot>) -> Self {
        self.restored = Some(restored);
        self
    }

    /// The message as it stands now.
    #[must_use]
    pub const fn message(&self) -> &Message {
        &self.message
    }

    /// The version that it currently follows; `None` while it creates the table.
    #[must_use]
    pub fn follows(&self) -> Option<Version> {
        self.base.as_ref().map(|base| base.version())
    }

    /// What kind of thing it does.
    #[must_use]
    pub const fn kind(&self) -> LanceKind {
        kind_of(self.message.operation.as_ref())
    }

    /// What the rules look at.
    #[must_use]
    pub const fn facts(&self) -> &LanceFacts {
        &self.facts
    }

    /// The version in an entry, where that is the last one made of this transaction: what decoding the bytes would give,
    /// without the work.
    #[must_use]
    pub fn built(&self, entry: &Bytes) -> Option<&Arc<Snapshot>> {
        self.built.as_ref().filter(|(bytes, _)| bytes == entry).map(|(_, snapshot)| snapshot)
    }

    /// Takes down what is judged later: the fragments that it changes, as they are in the version that it was built on.
    pub(crate) fn capture(&mut self) {
        let ids = modified_fragments(self.message.operation.as_ref());
        self.read_fragments = match &self.base {
            Some(base) => ids.into_iter().filter_map(|id| Some((id, base.fragment(id)?.clone()))).collect(),
            None => BTreeMap::new(),
        };
        self.facts = ours_facts(&Ours {
            message: &self.message,
            base: self.base.as_deref(),
            read_fragments: &self.read_fragments,
            affected: self.affected.as_ref(),
            reads: &self.reads,
        });
        if let Some(rewrite) = &mut self.facts.rewrite {
            rewrite.extends_reuse_index = self.moved.is_some();
        }
    }

    /// The next random id.
    pub(crate) const fn next_id(&mut self) -> u64 {
        // SplitMix64 (Steele, Lea, Flood 2014): a walk of odd step through all 64-bit numbers, each scrambled.
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut id = self.random;
        id = (id ^ (id >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        id = (id ^ (id >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        id ^ (id >> 31)
    }
}

/// The fragments that an operation changes or removes.
pub(crate) fn modified_fragments(operation: Option<&Operation>) -> Vec<u64> {
    let ids = |fragments: &[DataFragment]| fragments.iter().map(|fragment| fragment.id).collect::<Vec<_>>();
    let Some(operation) = operation else { return Vec::new() };
    match operation {
        Operation::Delete(delete) => {
            let mut found = ids(&delete.updated_fragments);
            found.extend(&delete.deleted_fragment_ids);
            found
        }
        Operation::Update(update) => {
            let mut found = ids(&update.updated_fragments);
            found.extend(&update.removed_fragment_ids);
            found
        }
        Operation::Rewrite(rewrite) if rewrite.groups.is_empty() => ids(&rewrite.old_fragments),
        Operation::Rewrite(rewrite) => rewrite.groups.iter().flat_map(|group| ids(&group.old_fragments)).collect(),
        Operation::DataReplacement(replace) => replace.replacements.iter().map(|group| group.fragment_id).collect(),
        Operation::DataOverlay(overlay) => overlay.groups.iter().map(|group| group.fragment_id).collect(),
        Operation::Append(_)
        | Operation::Overwrite(_)
        | Operation::CreateIndex(_)
        | Operation::Merge(_)
        | Operation::Restore(_)
        | Operation::ReserveFragments(_)
        | Operation::Project(_)
        | Operation::UpdateConfig(_)
        | Operation::UpdateMemWalState(_)
        | Operation::Clone(_)
        | Operation::UpdateBases(_) => Vec::new(),
    }
}
