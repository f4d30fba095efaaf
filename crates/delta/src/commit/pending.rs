//! Our transaction.

use super::precise::Rows;
use super::row_tracking::RowIds;
use super::vectors::{Merging, RowChange};
use super::{facts, validate};
use crate::action::{Action, Metadata, Protocol};
use crate::schema::StructType;
use crate::{Core, DeltaError, Snapshot};
use lakebed_conflict::delta::{DeltaFacts, operation_changes_data};
use lakebed_transaction::{KeyProbe, ReadPredicate, TransactionId, UnitId};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a transaction looked at, captured when it was built.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reads {
    /// Predicates under which rows were looked for, split by `lakebed_conflict::delta::split_read`.
    pub predicates: Vec<ReadPredicate>,
    /// Files that were read, by their paths as the log spells them.
    pub files: Vec<Arc<str>>,
    /// The whole table was read.
    pub whole_table: bool,
    /// Keys that were looked up.
    pub keys: Vec<KeyProbe>,
    /// Applications whose last transaction was looked up.
    pub app_ids: BTreeSet<Arc<str>>,
}

/// A transaction as its caller describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Transaction {
    /// Its id, a UUID, the same for all attempts.
    pub id: TransactionId,
    /// The operation's name, such as `WRITE`.
    pub operation: String,
    /// The operation's parameters, as JSON values: text for text, and for lists and maps the text of their JSON.
    pub parameters: Map<String, Value>,
    /// The operation's metrics: numbers as text.
    pub metrics: Vec<(String, String)>,
    /// What it looked at.
    pub reads: Reads,
    /// What it does. No `commitInfo`: that is made for each attempt.
    pub actions: Vec<Action>,
    /// Notes for `commitInfo.tags`.
    pub tags: Vec<(String, String)>,
    /// The user's own text.
    pub user_metadata: Option<String>,
    /// Whether the operation as such changes data; [`Transaction::new`] goes by the name.
    pub changes_data: bool,
    /// A bulk commit, which may not meet any landed commit (RESTORE, CLONE, CONVERT).
    pub large: bool,
    /// An empty commit may be dropped.
    pub skip_if_empty: bool,
    /// What the caller answers for.
    pub vouched: Vouched,
    /// The rows that ours deletes by deletion vectors, so that a rebase can merge them with landed ones.
    pub row_changes: Vec<RowChange>,
    /// What its planner knows of the rows that it takes out; `None`: nothing beyond what the actions show.
    pub taking: Option<Taking>,
    /// How often the statement was planned before and lost; each counts as an attempt in the history.
    pub lost_plannings: u32,
}

/// What the planner of a transaction knows of the rows that it takes out, for policies that judge rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Taking {
    /// It takes out every row that its predicates and keys met, and no other.
    pub all_met: bool,
    /// No row of a file that goes lives on in one that comes.
    pub copies_nothing: bool,
    /// An overwrite's: it takes out whatever stands there when it commits, by whole files, without having looked at the rows. The
    /// same read stands among the predicates.
    pub scope: Option<ReadPredicate>,
}

/// What a commit cannot show by its actions, and its caller answers for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vouched {
    /// The rows of the added files meet the table's constraints; generated, default and identity values were filled in.
    pub values: bool,
    /// Which rows changed can be told from the added and removed files and the change files: no file that comes in holds
    /// rows of one that goes out unless change files say what became of them.
    pub changes: bool,
}

impl Transaction {
    /// A transaction that read nothing.
    #[must_use]
    pub fn new(id: TransactionId, operation: &str, actions: Vec<Action>) -> Self {
        Self {
            id,
            operation: operation.to_owned(),
            parameters: Map::new(),
            metrics: Vec::new(),
            reads: Reads::default(),
            actions,
            tags: Vec::new(),
            user_metadata: None,
            changes_data: operation_changes_data(operation),
            large: matches!(operation, "RESTORE" | "CLONE" | "CONVERT"),
            skip_if_empty: false,
            vouched: Vouched::default(),
            row_changes: Vec::new(),
            taking: None,
            lost_plannings: 0,
        }
    }

    /// The `metaData` action, where there is one.
    #[must_use]
    pub fn metadata(&self) -> Option<&Metadata> {
        self.actions
            .iter()
            .find_map(|action| if let Action::Metadata(metadata) = action { Some(metadata) } else { None })
    }

    /// The `protocol` action, where there is one.
    #[must_use]
    pub fn protocol(&self) -> Option<&Protocol> {
        self.actions
            .iter()
            .find_map(|action| if let Action::Protocol(protocol) = action { Some(protocol) } else { None })
    }

    /// What the rules see of it on the table that it read; without one, on an unpartitioned table of which nothing is known.
    #[must_use]
    pub fn facts(&self, core: Option<&Core>) -> DeltaFacts {
        facts::ours(core, self)
    }

    pub(super) fn read_units(&self) -> impl Iterator<Item = UnitId> + '_ {
        self.reads.files.iter().map(|path| UnitId::file(path))
    }
}

/// Our transaction on the state that it currently follows.
#[derive(Clone, Debug)]
pub struct Pending {
    pub(super) transaction: Transaction,
    /// The version that was read, for `readVersion`; never changed by a rebase.
    pub(super) read_version: Option<lakebed_naming::Version>,
    /// The state that ours follows; `None` while the table does not exist.
    pub(super) core: Option<Core>,
    pub(super) facts: DeltaFacts,
    /// How many entries were rendered so far; it stands in the entry, for whoever reads the history.
    pub(super) attempts: u32,
    /// The highest timestamp in the log so far, in milliseconds since 1970.
    pub(super) floor_ms: Option<i64>,
    /// The in-commit timestamp that was written last; a later attempt never goes below it.
    pub(super) stamped_ms: Option<i64>,
    /// The numbering of rows that ours continues, on tables with row tracking.
    pub(super) row_ids: RowIds,
    /// Deletion vectors of ours on their way onto what landed.
    pub(super) merging: Merging,
    /// The rows of ours and where they stand by now, for policies that judge rows.
    pub(super) rows: Rows,
    /// Whether ours was checked as it stands; a rebase takes that back.
    pub(super) checked: bool,
}

impl Pending {
    /// A transaction built on a snapshot's core.
    ///
    /// # Errors
    /// The transaction cannot be written on this table: see [`Pending::check`].
    pub fn on(core: &Core, transaction: Transaction) -> Result<Self, DeltaError> {
        let facts = facts::ours(Some(core), &transaction);
        let mut pending = Self {
            transaction,
            read_version: Some(core.version),
            core: Some(core.clone()),
            facts,
            attempts: 0,
            floor_ms: core.committed_ms,
            stamped_ms: None,
            row_ids: RowIds { mark: core.row_id_high_water_mark(), rebased: false },
            merging: Merging::default(),
            rows: Rows::default(),
            checked: false,
        };
        pending.check_once()?;
        Ok(pending)
    }

    /// A transaction that creates the table as version 0.
    ///
    /// # Errors
    /// The transaction lacks its protocol or metadata, or cannot be written: see [`Pending::check`].
    pub fn create(transaction: Transaction) -> Result<Self, DeltaError> {
        let facts = facts::ours(None, &transaction);
        let mut pending = Self {
            transaction,
            read_version: None,
            core: None,
            facts,
            attempts: 0,
            floor_ms: None,
            stamped_ms: None,
            row_ids: RowIds::default(),
            merging: Merging::default(),
            rows: Rows::default(),
            checked: false,
        };
        pending.check_once()?;
        Ok(pending)
    }

    /// The version that ours read, with its files, for policies that judge rows: without it, nothing is known of them.
    #[must_use]
    pub fn with_table(mut self, table: Arc<Snapshot>) -> Self {
        self.rows = Rows::read_from(table);
        self
    }

    /// Whether ours can be written on the state that it follows: a protocol that we can write, the rules of the features
    /// that are in force, and the rules of a valid commit. Asked before every attempt.
    ///
    /// # Errors
    /// [`DeltaError::Unsupported`] by feature name, or [`DeltaError::Invalid`] with what is wrong.
    pub fn check(&self) -> Result<(), DeltaError> {
        validate::check(self)
    }

    /// As [`Pending::check`], unless ours was found sound as it stands.
    pub(super) fn check_once(&mut self) -> Result<(), DeltaError> {
        if !self.checked {
            self.check()?;
            self.checked = true;
        }
        Ok(())
    }

    /// What the caller described.
    #[must_use]
    pub const fn transaction(&self) -> &Transaction {
        &self.transaction
    }

    /// The state that ours follows now; `None` while the table does not exist.
    #[must_use]
    pub const fn core(&self) -> Option<&Core> {
        self.core.as_ref()
    }

    /// What the rules see of ours.
    #[must_use]
    pub const fn facts(&self) -> &DeltaFacts {
        &self.facts
    }

    /// The metadata in force when ours is written.
    pub(super) fn own_metadata(&self) -> Option<&Metadata> {
        self.transaction.metadata().or_else(|| self.core.as_ref().map(|core| &*core.metadata))
    }

    /// The schema of the metadata in force when ours is written.
    pub(super) fn own_schema(&self) -> Result<Cow<'_, StructType>, DeltaError> {
        match (self.transaction.metadata(), &self.core) {
            (None, Some(core)) => Ok(Cow::Borrowed(&core.schema)),
            (Some(metadata), _) => StructType::parse(&metadata.schema_string).map(Cow::Owned),
            (None, None) => Ok(Cow::Owned(StructType::default())),
        }
    }

    /// The protocol in force when ours is written.
    pub(super) fn own_protocol(&self) -> Option<&Protocol> {
        self.transaction.protocol().or_else(|| self.core.as_ref().map(|core| &*core.protocol))
    }

    /// Whether ours is the commit that switches in-commit timestamps on in an existing table.
    pub(super) fn enables_timestamps(&self) -> bool {
        let before = self.core.as_ref().is_some_and(|core| core.metadata.in_commit_timestamps());
        let after = self.transaction.metadata().is_some_and(Metadata::in_commit_timestamps);
        self.core.is_some() && !before && after
    }
}
