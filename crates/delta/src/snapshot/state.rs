//! A snapshot and the part of it that a transaction carries along.

use super::decode::commit_pieces;
use super::entry::Facts;
use super::file_set::FileSet;
use super::replay::Replay;
use crate::DeltaError;
use crate::action::{
    Add, CommitInfo, DomainMetadata, FileUse, InfoUse, LeanInfo, Metadata, Protocol, Remove, TextMap, Txn,
};
use crate::commit::{ROW_TRACKING_DOMAIN, metadata_state, row_id_mark};
use crate::protocol::CATALOG_FEATURES;
use crate::schema::{ColumnMapping, StructType};
use crate::upkeep::Retention;
use bytes::Bytes;
use lakebed_conflict::delta::{MetadataState, PartitionColumn};
use lakebed_naming::{Version, delta::commit_path};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Everything about a version but its files: cheap to copy, and all that a transaction needs to remember.
#[derive(Clone, Debug)]
pub struct Core {
    /// The version.
    pub version: Version,
    /// The protocol.
    pub protocol: Arc<Protocol>,
    /// The metadata.
    pub metadata: Arc<Metadata>,
    /// The schema in `metadata`, parsed.
    pub schema: Arc<StructType>,
    /// How logical column names map to physical ones.
    pub mapping: ColumnMapping,
    /// The last transaction of each application.
    pub txns: Arc<BTreeMap<Arc<str>, Txn>>,
    /// The live documents by domain.
    pub domains: Arc<BTreeMap<Arc<str>, DomainMetadata>>,
    /// The version's own timestamp, in milliseconds since 1970, where it has one.
    pub in_commit_timestamp_ms: Option<i64>,
    /// When its commit says that it was made, in milliseconds since 1970: its own timestamp, else its writer's clock.
    pub committed_ms: Option<i64>,
    /// `metadata` as the conflict rules compare it.
    pub metadata_state: Arc<MetadataState>,
}

impl Core {
    pub(super) fn new(
        version: Version,
        protocol: Protocol,
        metadata: Metadata,
        (txns, domains): (BTreeMap<Arc<str>, Txn>, BTreeMap<Arc<str>, DomainMetadata>),
        info: Option<&LeanInfo>,
    ) -> Result<Self, DeltaError> {
        let mut core = Self {
            version,
            protocol: Arc::new(protocol),
            metadata: Arc::new(Metadata::default()),
            schema: Arc::new(StructType::default()),
            mapping: ColumnMapping::None,
            txns: Arc::new(txns),
            domains: Arc::new(domains),
            in_commit_timestamp_ms: None,
            committed_ms: None,
            metadata_state: Arc::new(MetadataState::default()),
        };
        core.set_metadata(metadata)?;
        core.set_times(info);
        Ok(core)
    }

    pub(crate) fn set_metadata(&mut self, metadata: Metadata) -> Result<(), DeltaError> {
        if !metadata.format.provider.is_empty() && !metadata.format.provider.eq_ignore_ascii_case("parquet") {
            return Err(DeltaError::unsupported(format!("data files of format {}", metadata.format.provider)));
        }
        if metadata.schema_string != self.metadata.schema_string {
            self.schema = Arc::new(StructType::parse(&metadata.schema_string)?);
        }
        self.metadata_state = Arc::new(metadata_state(&metadata, Some(&self.schema)));
        self.metadata = Arc::new(metadata);
        self.set_mapping()
    }

    /// Takes another protocol, which may give effect to a property that stood there before.
    pub(crate) fn set_protocol(&mut self, protocol: Protocol) -> Result<(), DeltaError> {
        self.protocol = Arc::new(protocol);
        self.set_mapping()
    }

    /// Without the feature the property has no effect.
    fn set_mapping(&mut self) -> Result<(), DeltaError> {
        self.mapping = if self.protocol.supports("columnMapping") {
            ColumnMapping::parse(self.metadata.configuration.get("delta.columnMapping.mode"))?
        } else {
            ColumnMapping::None
        };
        Ok(())
    }

    pub(crate) fn set_timestamp(&mut self, info: Option<&CommitInfo>) {
        self.set_times_of(info.map(|info| (info.in_commit_timestamp_ms(), info.number("timestamp"))));
    }

    pub(super) fn set_times(&mut self, info: Option<&LeanInfo>) {
        self.set_times_of(info.map(|info| (info.in_commit_timestamp_ms, info.timestamp_ms)));
    }

    /// By what provenance says of the version's own timestamp and of its writer's clock.
    fn set_times_of(&mut self, times: Option<(Option<i64>, Option<i64>)>) {
        let (own, clock) = times.unwrap_or_default();
        self.in_commit_timestamp_ms = own.filter(|_| self.metadata.in_commit_timestamps());
        self.committed_ms = self.in_commit_timestamp_ms.or(clock);
    }

    /// Forgets the application transactions that `delta.setTransactionRetentionDuration` lets go at `now_ms`: those that were
    /// written before, and those that do not say when.
    fn forget_transactions(&mut self, now_ms: i64) {
        let Some(retention_ms) = Retention::of(&self.metadata.configuration).transactions_ms else { return };
        let cutoff = now_ms.saturating_sub(retention_ms);
        let lives = |txn: &Txn| txn.last_updated.is_some_and(|updated| updated > cutoff);
        if !self.txns.values().all(lives) {
            Arc::make_mut(&mut self.txns).retain(|_, txn| lives(txn));
        }
    }

    /// The partition columns as the conflict rules want them.
    #[must_use]
    pub fn partition_columns(&self) -> Vec<PartitionColumn> {
        let column = |name: &String| {
            let field = self.schema.field(name);
            PartitionColumn {
                name: Arc::from(name.as_str()),
                physical_name: Arc::from(field.map_or(name.as_str(), |field| field.physical_name(self.mapping))),
                column_type: field
                    .map_or(lakebed_transaction::ColumnType::String, |field| field.data_type.column_type()),
            }
        };
        self.metadata.partition_columns.iter().map(column).collect()
    }

    /// The row-id high-water mark; `None` where no id was ever given out.
    #[must_use]
    pub fn row_id_high_water_mark(&self) -> Option<i64> {
        row_id_mark(&self.domains.get(ROW_TRACKING_DOMAIN)?.configuration)
    }
}

impl Default for Metadata {
    /// A table without columns and without an id.
    fn default() -> Self {
        Self {
            id: String::new(),
            name: None,
            description: None,
            format: crate::action::Format::default(),
            schema_string: String::new(),
            partition_columns: Vec::new(),
            configuration: TextMap::new(),
            created_time: None,
        }
    }
}

/// One version of a table. Copies are cheap, and versions made by [`Snapshot::advance`] share what did not change.
#[derive(Clone, Debug)]
pub struct Snapshot {
    core: Arc<Core>,
    files: FileSet,
    info: Option<Arc<LeanInfo>>,
}

impl Snapshot {
    pub(super) fn new(core: Core, files: FileSet, info: Option<LeanInfo>) -> Self {
        Self { core: Arc::new(core), files, info: info.map(Arc::new) }
    }

    pub(super) const fn file_set(&self) -> &FileSet {
        &self.files
    }

    /// The next version: this one with the commit in `bytes` applied.
    ///
    /// # Errors
    /// `version` is not the one after this, the commit cannot be read, or it asks for a reader that this is not.
    pub fn advance(&self, version: Version, bytes: &[u8]) -> Result<Self, DeltaError> {
        self.advance_with(version, bytes, FileUse::Keep)
    }

    pub(super) fn advance_with(&self, version: Version, bytes: &[u8], files: FileUse) -> Result<Self, DeltaError> {
        if self.version().next() != Some(version) {
            return Err(DeltaError::invalid(
                format!("version {version} does not follow version {}", self.version()),
                "apply every commit in order",
            ));
        }
        let mut replay = Replay::default();
        let bytes = Bytes::copy_from_slice(bytes);
        let pieces = commit_pieces(&commit_path(version), &bytes, InfoUse::Keep, files)?;
        pieces.into_iter().for_each(|piece| replay.apply(piece));
        replay.finish_on(self, version)
    }

    /// Refuses a table that a catalog manages unless the catalog was `asked`: only it knows which version is the newest.
    ///
    /// A handle on an older version may come upon this, too: tables are given to a catalog while others hold them.
    ///
    /// # Errors
    /// [`DeltaError::Unsupported`] with the feature.
    pub fn check_catalog(&self, asked: bool) -> Result<(), DeltaError> {
        let managed = CATALOG_FEATURES.iter().find(|feature| self.protocol().supports(feature));
        match managed.filter(|_| !asked) {
            Some(feature) => Err(DeltaError::Unsupported {
                object: "the table, which is managed by a catalog,".into(),
                feature: (*feature).to_owned(),
                advice: "ask its catalog for the newest version and the commits that are not published yet, and open it with \
                         them as the log tail"
                    .into(),
            }),
            None => Ok(()),
        }
    }

    /// The version as a checkpoint written at `now_ms` (milliseconds since 1970) holds it: without the application transactions
    /// that `delta.setTransactionRetentionDuration` lets go by then. What stands in the log still is known all the same, for a batch
    /// that is given again is to be recognised as long as possible.
    #[must_use]
    pub fn retained(mut self, now_ms: i64) -> Self {
        if Retention::of(self.properties()).transactions_ms.is_some() {
            Arc::make_mut(&mut self.core).forget_transactions(now_ms);
        }
        self
    }

    /// The version.
    #[must_use]
    pub fn version(&self) -> Version {
        self.core.version
    }

    /// Everything but the files, for a transaction to remember.
    #[must_use]
    pub const fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// What readers and writers must support.
    #[must_use]
    pub fn protocol(&self) -> &Protocol {
        &self.core.protocol
    }

    /// Schema text, partitioning and properties.
    #[must_use]
    pub fn metadata(&self) -> &Metadata {
        &self.core.metadata
    }

    /// The schema.
    #[must_use]
    pub fn schema(&self) -> &StructType {
        &self.core.schema
    }

    /// How logical column names map to physical ones.
    #[must_use]
    pub fn column_mapping(&self) -> ColumnMapping {
        self.core.mapping
    }

    /// The partition columns by logical name.
    #[must_use]
    pub fn partition_columns(&self) -> &[String] {
        &self.core.metadata.partition_columns
    }

    /// The table properties.
    #[must_use]
    pub fn properties(&self) -> &TextMap {
        &self.core.metadata.configuration
    }

    /// The table's id.
    #[must_use]
    pub fn table_id(&self) -> &str {
        &self.core.metadata.id
    }

    /// The live files, in the order of the log. `dataChange` is what the log holds, which in checkpoints means nothing.
    pub fn files(&self) -> impl Iterator<Item = &Arc<Add>> {
        self.files.files()
    }

    /// The live file of the key that [`Add::key`] or [`Remove::key`] gives.
    #[must_use]
    pub fn file(&self, key: &str) -> Option<&Arc<Add>> {
        self.files.live(key)
    }

    /// How many live files were made into actions so far; the others are as the log has them.
    #[must_use]
    pub fn num_files_made(&self) -> usize {
        self.files.told().filter(|file| file.is_made()).count()
    }

    /// How many live files.
    #[must_use]
    pub const fn num_files(&self) -> u64 {
        self.files.num_files
    }

    /// Their size together, in bytes, as the log says.
    #[must_use]
    pub const fn size_bytes(&self) -> u64 {
        self.files.size_bytes
    }

    /// Rows that a scan returns; `None` where a file's statistics do not say how many it has.
    ///
    /// Walks all files.
    #[must_use]
    pub fn num_rows(&self) -> Option<u64> {
        let live = |facts: Facts| facts.num_records?.checked_sub(facts.deleted_rows);
        self.files.told().try_fold(0_u64, |sum, file| sum.checked_add(live(file.facts())?))
    }

    /// Rows that deletion vectors delete. Walks all files.
    #[must_use]
    pub fn num_deleted_rows(&self) -> u64 {
        self.files.told().fold(0, |sum, file| sum.saturating_add(file.facts().deleted_rows))
    }

    /// The files that were taken out and that the log still remembers, expired or not.
    pub fn tombstones(&self) -> impl Iterator<Item = &Arc<Remove>> {
        self.files.tombstones()
    }

    /// The last transaction of each application.
    #[must_use]
    pub fn app_transactions(&self) -> &BTreeMap<Arc<str>, Txn> {
        &self.core.txns
    }

    /// The live documents by domain.
    #[must_use]
    pub fn domain_metadata(&self) -> &BTreeMap<Arc<str>, DomainMetadata> {
        &self.core.domains
    }

    /// Who made this very version; `None` where its commit has no such action or is gone.
    #[must_use]
    pub fn commit_info(&self) -> Option<&CommitInfo> {
        self.info.as_deref().map(LeanInfo::all)
    }

    /// The version's own timestamp in milliseconds since 1970, on tables with in-commit timestamps.
    #[must_use]
    pub fn in_commit_timestamp_ms(&self) -> Option<i64> {
        self.core.in_commit_timestamp_ms
    }

    /// The version's timestamp in milliseconds since 1970: its own, else the time of its commit file, which the caller knows.
    ///
    /// Time travel goes by what the *newest* version says: where that has in-commit timestamps switched off again, the times
    /// of the commit files count for every version.
    #[must_use]
    pub fn timestamp_ms(&self, commit_modified_ms: i64) -> i64 {
        self.core.in_commit_timestamp_ms.unwrap_or(commit_modified_ms)
    }
}
