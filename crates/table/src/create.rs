//! Creating a table.

use crate::clock::Clock;
use crate::commit::Givers;
use crate::delta_rows::first_version;
use crate::history::POLICY_KEY;
use crate::shared::Shared;
use crate::snapshot::{DeltaVersion, LanceVersion, Snapshot};
use crate::table::{by_store, by_url, sharing};
use crate::{CommitOptions, Metrics, OpenOptions, Report, Table, TableError, TableFormat, policy};
use lakebed_delta::DeltaFormat;
use lakebed_lance::transaction::{Head, Transaction, overwrite};
use lakebed_lance::{Creation, LanceFormat};
use lakebed_naming::lance::{BranchName, Scheme, manifest_path};
use lakebed_naming::{Uuid, Version};
use lakebed_ops::{LanceFiles, TableDefinition, delta_definition};
use lakebed_storage::Store;
use lakebed_transaction::{Column, Outcome, TransactionId};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a new table is to be.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NewTable {
    /// Its format.
    pub format: TableFormat,
    /// Its columns.
    pub columns: Vec<Column>,
    /// Names of the columns that it is partitioned by (Delta).
    pub partition_columns: Vec<String>,
    /// Table properties (Delta) or configuration (Lance).
    pub properties: BTreeMap<String, String>,
}

impl NewTable {
    /// An unpartitioned table without properties.
    #[must_use]
    pub const fn new(format: TableFormat, columns: Vec<Column>) -> Self {
        Self { format, columns, partition_columns: Vec::new(), properties: BTreeMap::new() }
    }

    /// With partition columns.
    #[must_use]
    pub fn with_partition_columns(mut self, names: Vec<String>) -> Self {
        self.partition_columns = names;
        self
    }

    /// With properties.
    #[must_use]
    pub fn with_properties(mut self, properties: BTreeMap<String, String>) -> Self {
        self.properties = properties;
        self
    }
}

impl Table {
    /// Creates a table at a local path or URL: version 0 of a Delta table, version 1 of a Lance table. The handle is there
    /// exactly when the outcome is `Committed`; a table that is there already is a conflict.
    ///
    /// # Errors
    /// The store cannot be asked, or the definition cannot be used.
    pub async fn create(
        url: &str,
        options: &OpenOptions,
        definition: &NewTable,
        commit: &CommitOptions,
    ) -> Result<(Option<Self>, Report), TableError> {
        let store = options.open_store(url)?;
        let shared = sharing(&by_url(&*store, options), options);
        Place::new(store, shared, options).create(definition, commit).await
    }

    /// Creates a table in a store of the caller's.
    ///
    /// # Errors
    /// As [`Table::create`].
    pub async fn create_store(
        store: Arc<dyn Store>,
        options: &OpenOptions,
        definition: &NewTable,
        commit: &CommitOptions,
    ) -> Result<(Option<Self>, Report), TableError> {
        let shared = sharing(&by_store(&store), options);
        let store = options.seen(store)?;
        Place::new(store, shared, options).create(definition, commit).await
    }
}

/// The place of a table: its store, what its handles share, and a clock.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) clock: Clock,
    /// The branch of a Lance table that this is, and the store of that table; `None` for a table itself.
    pub(crate) branch: Option<(BranchName, Arc<dyn Store>)>,
    /// What the catalog said of a table that it manages.
    pub(crate) tail: Option<lakebed_delta::LogTail>,
    /// Who reads and writes Lance data files, where somebody does.
    pub(crate) lance_files: Option<Arc<dyn LanceFiles>>,
    /// Who is told of commits.
    pub(crate) metrics: Option<Arc<dyn Metrics>>,
}

impl Place {
    /// The place of a table itself.
    pub(crate) fn new(store: Arc<dyn Store>, shared: Arc<Shared>, options: &OpenOptions) -> Self {
        let (lance_files, metrics) = (options.lance_files.clone(), options.metrics.clone());
        Self { store, shared, clock: Clock::default(), branch: None, tail: None, lance_files, metrics }
    }

    async fn create(
        self,
        definition: &NewTable,
        commit: &CommitOptions,
    ) -> Result<(Option<Table>, Report), TableError> {
        policy::check(definition.format, &definition.properties)?;
        refuse_other_format(&*self.store, definition.format).await?;
        match definition.format {
            TableFormat::Delta => self.create_delta(definition, commit).await,
            TableFormat::Lance => self.create_lance(definition, commit).await,
        }
    }

    async fn create_delta(
        self,
        definition: &NewTable,
        options: &CommitOptions,
    ) -> Result<(Option<Table>, Report), TableError> {
        let now_ms = self.clock.now_ms();
        let wanted = TableDefinition {
            columns: definition.columns.clone(),
            partition_columns: definition.partition_columns.clone(),
            properties: definition.properties.clone(),
        };
        let ms = i64::try_from(now_ms).unwrap_or(i64::MAX);
        let actions = delta_definition(&wanted, &fresh_id().to_string(), ms)?;
        let id = TransactionId::new(fresh_id().to_string());
        let mut transaction = lakebed_delta::Transaction::new(id.clone(), "CREATE TABLE", actions);
        transaction.parameters = create_parameters(definition);
        let root = self.store.root().to_owned();
        let pending = lakebed_delta::Pending::create(transaction)
            .map_err(|source| TableError::Delta { root: root.clone(), source })?;
        let format = DeltaFormat::judged_by(policy::delta(options.policy.as_deref(), None)?);
        let ended = self.run(format, pending, None, Givers::One, options).await?;
        let report = Report::of(ended.outcome.clone(), id);
        let (Outcome::Committed { version, .. }, Some(entry)) = (&ended.outcome, &ended.entry) else {
            return Ok((None, report));
        };
        let snapshot = first_version(&root, *version, entry)?;
        let snapshot = DeltaVersion { snapshot: Arc::new(snapshot), commit_modified_ms: Some(ms), by_file_time: false };
        Ok((Some(self.table(Snapshot::Delta(snapshot), now_ms)), report))
    }

    async fn create_lance(
        self,
        definition: &NewTable,
        options: &CommitOptions,
    ) -> Result<(Option<Table>, Report), TableError> {
        let judged_by = policy::lance(options.policy.as_deref(), None)?;
        if !definition.partition_columns.is_empty() {
            return Err(TableError::Invalid {
                problem: "Lance tables have no partition columns".to_owned(),
                advice: "leave them out, or create a Delta table".to_owned(),
            });
        }
        let root = self.store.root().to_owned();
        let wrong = |source| TableError::Format { root: root.clone(), source };
        let fields = lakebed_lance::schema::new_fields(&definition.columns).map_err(wrong)?;
        let policy = (POLICY_KEY.to_owned(), judged_by.label());
        let head = Head { read_version: None, id: fresh_id(), properties: [policy].into() };
        let message = overwrite(head, Vec::new(), fields, definition.properties.clone());
        let id = Transaction::new(message.clone()).id();
        let pending = lakebed_lance::Pending::create(message, Creation::default()).map_err(wrong)?;
        let now_ms = self.clock.now_ms();
        let ended = self.run(LanceFormat::default(), pending, None, Givers::One, options).await?;
        let report = Report::of(ended.outcome.clone(), id);
        let (Outcome::Committed { .. }, Some(entry)) = (&ended.outcome, &ended.entry) else {
            return Ok((None, report));
        };
        self.yield_to_delta().await?;
        let snapshot = lakebed_lance::Snapshot::open("version 1", entry).map_err(wrong)?;
        let snapshot = LanceVersion { snapshot: Arc::new(snapshot), scheme: Scheme::V2, migrating: false };
        Ok((Some(self.table(Snapshot::Lance(snapshot), now_ms)), report))
    }

    /// Two creators of different formats may both have found the place empty. The Lance table gives way: its only version,
    /// which has no rows, is taken back.
    async fn yield_to_delta(&self) -> Result<(), TableError> {
        let Err(exists) = refuse_other_format(&*self.store, TableFormat::Lance).await else {
            return Ok(());
        };
        self.store.delete(&manifest_path(Scheme::V2, Version::new(1))).await?;
        Err(exists)
    }

    fn table(self, snapshot: Snapshot, asked_ms: u64) -> Table {
        Table { place: Arc::new(self), snapshot, asked_ms }
    }
}

/// A table of the other format in the same place would make both unreadable to somebody.
async fn refuse_other_format(store: &dyn Store, format: TableFormat) -> Result<(), TableError> {
    let (folder, other) = match format {
        TableFormat::Delta => (lakebed_naming::lance::VERSIONS_FOLDER, TableFormat::Lance),
        TableFormat::Lance => (lakebed_naming::delta::LOG_FOLDER, TableFormat::Delta),
    };
    if store.list(folder, None, 1).await?.is_empty() {
        return Ok(());
    }
    Err(TableError::Exists { root: store.root().to_owned(), format: other.name() })
}

fn create_parameters(definition: &NewTable) -> serde_json::Map<String, Value> {
    let text = |value: Value| Value::String(value.to_string());
    let mut parameters = serde_json::Map::new();
    parameters.insert("isManaged".to_owned(), Value::String("false".to_owned()));
    parameters.insert("description".to_owned(), Value::Null);
    parameters.insert("partitionBy".to_owned(), text(serde_json::json!(definition.partition_columns)));
    parameters.insert("properties".to_owned(), text(serde_json::json!(definition.properties)));
    parameters
}

/// A fresh id for a transaction or a table.
#[expect(clippy::disallowed_methods, reason = "the facade is where ids are drawn")]
pub(crate) fn fresh_id() -> Uuid {
    Uuid::from_random(*uuid::Uuid::new_v4().as_bytes())
}
