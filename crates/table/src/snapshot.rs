//! One version, loaded, whichever the format.

use crate::summary::{FileSummary, FragmentSummary, IndexSummary, ProtocolSummary, Summary, Tombstone};
use crate::{TableError, TableFormat};
use lakebed_naming::Version;
use lakebed_naming::lance::Scheme;
use lakebed_transaction::Scalar;
use std::sync::Arc;

/// One version of a table, loaded. Copies are cheap.
#[derive(Clone, Debug)]
pub enum Snapshot {
    /// Of a Delta table.
    Delta(DeltaVersion),
    /// Of a Lance table.
    Lance(LanceVersion),
}

/// A loaded Delta version.
#[derive(Clone, Debug)]
pub struct DeltaVersion {
    /// The replayed state.
    pub snapshot: Arc<lakebed_delta::Snapshot>,
    /// When the store says that the commit was written, above the time of the commit before; `None` where its file is gone.
    pub commit_modified_ms: Option<i64>,
    /// Whether that is its time although it has one of its own: newer versions do not have their own any more.
    pub by_file_time: bool,
}

/// A loaded Lance version.
#[derive(Clone, Debug)]
pub struct LanceVersion {
    /// The manifest.
    pub snapshot: Arc<lakebed_lance::Snapshot>,
    /// How the table names its manifests.
    pub scheme: Scheme,
    /// The manifests are being given names of another scheme, or that stopped half-way: nothing may be written.
    pub migrating: bool,
}

impl Snapshot {
    /// The version.
    #[must_use]
    pub fn version(&self) -> Version {
        match self {
            Self::Delta(delta) => delta.snapshot.version(),
            Self::Lance(lance) => lance.snapshot.version(),
        }
    }

    /// The format.
    #[must_use]
    pub const fn format(&self) -> TableFormat {
        match self {
            Self::Delta(_) => TableFormat::Delta,
            Self::Lance(_) => TableFormat::Lance,
        }
    }

    /// What can be said of it without touching a data file.
    ///
    /// # Errors
    /// A Lance schema holds a type that cannot be read.
    pub fn summary(&self) -> Result<Summary, TableError> {
        match self {
            Self::Delta(delta) => Ok(delta.summary()),
            Self::Lance(lance) => lance.summary(),
        }
    }

    /// The data files of a Delta version, in the order of their paths; none for Lance.
    #[must_use]
    pub fn files(&self) -> Vec<FileSummary> {
        let Self::Delta(delta) = self else { return Vec::new() };
        let columns = delta.snapshot.core().partition_columns();
        let mut files: Vec<_> = delta
            .snapshot
            .files()
            .map(|add| {
                let text = |name: &str| add.partition_values.get(name);
                FileSummary {
                    path: add.path.to_string(),
                    size_bytes: u64::try_from(add.size).unwrap_or_default(),
                    num_rows: add.live_rows(),
                    partition_values: columns
                        .iter()
                        .map(|c| (c.name.to_string(), text(&c.physical_name).map(str::to_owned)))
                        .collect(),
                    partition: columns
                        .iter()
                        .map(|c| {
                            let value = lakebed_delta::partition::parse(text(&c.physical_name), &c.column_type);
                            (c.name.to_string(), value.unwrap_or(Scalar::Null))
                        })
                        .collect(),
                    deleted_rows: add.deleted_rows(),
                }
            })
            .collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        files
    }

    /// The files that were taken out and are kept for old versions, in the order of their paths (Delta).
    #[must_use]
    pub fn tombstones(&self) -> Vec<Tombstone> {
        let Self::Delta(delta) = self else { return Vec::new() };
        let tombstone = |remove: &Arc<lakebed_delta::action::Remove>| Tombstone {
            path: remove.path.to_string(),
            size_bytes: remove.size.and_then(|size| u64::try_from(size).ok()),
            deleted_ms: remove.deletion_timestamp,
            data_change: remove.data_change,
        };
        let mut tombstones: Vec<_> = delta.snapshot.tombstones().map(tombstone).collect();
        tombstones.sort_by(|a, b| a.path.cmp(&b.path));
        tombstones
    }

    /// The fragments of a Lance version, in the order of the manifest; none for Delta.
    #[must_use]
    pub fn fragments(&self) -> Vec<FragmentSummary> {
        let Self::Lance(lance) = self else { return Vec::new() };
        let known = |rows: u64| if rows == 0 { None } else { Some(rows) };
        lance
            .snapshot
            .fragments()
            .iter()
            .map(|fragment| FragmentSummary {
                id: fragment.id,
                physical_rows: known(fragment.physical_rows),
                num_deleted: fragment.deletion_file.as_ref().map_or(Some(0), |file| known(file.num_deleted_rows)),
                files: fragment.files.iter().map(|file| file.path.clone()).collect(),
            })
            .collect()
    }

    /// The index entries of a Lance version; none for Delta.
    #[must_use]
    pub fn indices(&self) -> Vec<IndexSummary> {
        let Self::Lance(lance) = self else { return Vec::new() };
        lance
            .snapshot
            .indices()
            .iter()
            .map(|index| IndexSummary {
                name: index.name.clone(),
                uuid: index.uuid.as_ref().map_or_else(String::new, |uuid| hyphenated(&uuid.uuid)),
                fields: index.fields.clone(),
                fragment_ids: lakebed_lance::index::coverage(index).map(|bitmap| bitmap.iter().collect()),
                dataset_version: index.dataset_version,
            })
            .collect()
    }
}

fn hyphenated(bytes: &[u8]) -> String {
    <[u8; 16]>::try_from(bytes).map_or_else(
        |_| bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        |bytes| uuid::Uuid::from_bytes(bytes).to_string(),
    )
}

impl DeltaVersion {
    /// The time that time travel uses: the in-commit timestamp, else the file's.
    #[must_use]
    pub fn timestamp_ms(&self) -> Option<i64> {
        let own = self.snapshot.in_commit_timestamp_ms().filter(|_| !self.by_file_time);
        own.or(self.commit_modified_ms)
    }

    fn summary(&self) -> Summary {
        let snapshot = &self.snapshot;
        let protocol = snapshot.protocol();
        let text = |map: &lakebed_delta::action::TextMap| {
            map.iter().filter_map(|(key, value)| Some((key.to_owned(), value?.to_owned()))).collect()
        };
        Summary {
            format: TableFormat::Delta,
            version: snapshot.version(),
            timestamp_ms: self.timestamp_ms(),
            num_files: snapshot.num_files(),
            num_rows: snapshot.num_rows(),
            num_deleted_rows: Some(snapshot.num_deleted_rows()),
            size_bytes: Some(snapshot.size_bytes()),
            columns: snapshot.schema().columns(),
            schema: snapshot
                .schema()
                .fields
                .iter()
                .map(|field| (field.name.clone(), field.data_type.text(), field.nullable))
                .collect(),
            partition_columns: snapshot.partition_columns().to_vec(),
            properties: text(snapshot.properties()),
            table_id: Some(snapshot.table_id().to_owned()),
            protocol: ProtocolSummary::Delta {
                min_reader_version: u32::try_from(protocol.min_reader_version).unwrap_or_default(),
                min_writer_version: u32::try_from(protocol.min_writer_version).unwrap_or_default(),
                reader_features: protocol.reader_features.clone().unwrap_or_default(),
                writer_features: protocol.writer_features.clone().unwrap_or_default(),
            },
            app_transactions: snapshot
                .app_transactions()
                .iter()
                .map(|(id, txn)| (id.to_string(), txn.version))
                .collect(),
            domain_metadata: snapshot
                .domain_metadata()
                .iter()
                .map(|(name, domain)| (name.to_string(), domain.configuration.clone()))
                .collect(),
        }
    }
}

impl LanceVersion {
    fn summary(&self) -> Result<Summary, TableError> {
        let snapshot = &self.snapshot;
        let manifest = snapshot.header();
        let columns = snapshot
            .columns()
            .map_err(|source| TableError::Format { root: format!("version {}", snapshot.version()), source })?;
        let counts = snapshot.counts();
        let files = || snapshot.fragments().iter().flat_map(|fragment| &fragment.files);
        let sized = files().all(|file| file.file_size_bytes > 0);
        Ok(Summary {
            format: TableFormat::Lance,
            version: snapshot.version(),
            timestamp_ms: snapshot.timestamp_ms(),
            num_files: snapshot.fragments().len() as u64,
            num_rows: counts.map(|counts| counts.live()),
            num_deleted_rows: counts.map(|counts| counts.deleted),
            size_bytes: sized.then(|| files().map(|file| file.file_size_bytes).sum()),
            columns,
            schema: snapshot
                .fields()
                .iter()
                .filter(|field| field.parent_id == -1)
                .map(|field| (field.name.clone(), field.logical_type.clone(), field.nullable))
                .collect(),
            partition_columns: Vec::new(),
            properties: snapshot.config().clone(),
            table_id: None,
            protocol: ProtocolSummary::Lance {
                reader_flags: manifest.reader_feature_flags,
                writer_flags: manifest.writer_feature_flags,
            },
            app_transactions: lakebed_lance::application::last_of_each(snapshot),
            domain_metadata: std::collections::BTreeMap::new(),
        })
    }
}
