//! One version of a table.

use crate::manifest::{ManifestFile, TailRead, UnknownFields, decode, decode_tail};
use crate::proto::file::Field;
use crate::proto::table::{BasePath, DataFile, DataFragment, IndexMetadata, Manifest};
use crate::transaction::Transaction;
use crate::{LanceError, deletion, flags, schema};
use bytes::Bytes;
use lakebed_commit::ObjectName;
use lakebed_naming::Version;
use lakebed_transaction::Column;
use std::collections::BTreeMap;

/// The folder of data files, below the table's root or a base path that is a table's root.
const DATA_FOLDER: &str = "data";

/// The folder of transaction files.
const TRANSACTIONS_FOLDER: &str = "_transactions";

/// One version, decoded and checked for features that this version does not have.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    file: ManifestFile,
    transaction: Option<Transaction>,
}

/// How many rows a version has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Rows in data files.
    pub physical: u64,
    /// Rows of those that are deleted.
    pub deleted: u64,
}

impl Counts {
    /// Rows that a scan returns.
    #[must_use]
    pub const fn live(self) -> u64 {
        self.physical.saturating_sub(self.deleted)
    }
}

impl Snapshot {
    /// The version in the bytes of its manifest file; `object` is the file's name, for messages.
    ///
    /// # Errors
    /// The bytes are no manifest file, or the table needs a reader that has more features.
    pub fn open(object: &str, bytes: &Bytes) -> Result<Self, LanceError> {
        Self::from_file(object, decode(object, bytes)?)
    }

    /// The version of which only the last bytes of the manifest file are at hand. `Err` of the inner result: these bytes are
    /// needed too.
    ///
    /// # Errors
    /// As [`Snapshot::open`].
    pub fn open_tail(
        object: &str,
        tail: &Bytes,
        object_bytes: u64,
    ) -> Result<Result<Self, std::ops::Range<u64>>, LanceError> {
        match decode_tail(object, tail, object_bytes)? {
            TailRead::Done(file) => Self::from_file(object, *file).map(Ok),
            TailRead::Needs(range) => Ok(Err(range)),
        }
    }

    /// The version of a manifest file that was taken apart.
    ///
    /// An inline transaction that cannot be decoded is passed over here: the version can be read all the same.
    ///
    /// # Errors
    /// The table needs a reader that has more features, or two fragments have one id.
    pub fn from_file(object: &str, file: ManifestFile) -> Result<Self, LanceError> {
        flags::check_readable(object, &file.manifest)?;
        let mut ids: Vec<u64> = file.manifest.fragments.iter().map(|fragment| fragment.id).collect();
        ids.sort_unstable();
        if let Some(twice) = ids.windows(2).find(|pair| pair.first() == pair.last()) {
            return Err(LanceError::Damaged {
                object: object.to_owned(),
                problem: format!("two fragments have the id {}", twice.first().copied().unwrap_or_default()),
                advice: "open an earlier version".to_owned(),
            });
        }
        let transaction = file.transaction.as_ref().and_then(|bytes| Transaction::decode(object, bytes).ok());
        Ok(Self { file, transaction })
    }

    /// The number.
    #[must_use]
    pub const fn version(&self) -> Version {
        Version::new(self.file.manifest.version)
    }

    /// The manifest as it stands in the file.
    #[must_use]
    pub const fn manifest(&self) -> &Manifest {
        &self.file.manifest
    }

    /// Fields that the schemas do not list.
    #[must_use]
    pub const fn unknown_fields(&self) -> &UnknownFields {
        &self.file.unknown
    }

    /// The fields, flattened depth first.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.file.manifest.fields
    }

    /// The schema as columns.
    ///
    /// # Errors
    /// The flattened fields make no tree.
    pub fn columns(&self) -> Result<Vec<Column>, LanceError> {
        schema::columns(&format!("version {}", self.version()), self.fields())
    }

    /// The fragments, in the order of a scan.
    #[must_use]
    pub fn fragments(&self) -> &[DataFragment] {
        &self.file.manifest.fragments
    }

    /// The fragment with this id.
    #[must_use]
    pub fn fragment(&self, id: u64) -> Option<&DataFragment> {
        let fragments = self.fragments();
        match fragments.binary_search_by_key(&id, |fragment| fragment.id) {
            Ok(at) => fragments.get(at),
            // Old writers left fragments in any order.
            Err(_) if fragments.is_sorted_by_key(|fragment| fragment.id) => None,
            Err(_) => fragments.iter().find(|fragment| fragment.id == id),
        }
    }

    /// The indices, in order.
    #[must_use]
    pub fn indices(&self) -> &[IndexMetadata] {
        &self.file.indices
    }

    /// The table's configuration.
    #[must_use]
    pub const fn config(&self) -> &BTreeMap<String, String> {
        &self.file.manifest.config
    }

    /// Metadata of the table.
    #[must_use]
    pub const fn table_metadata(&self) -> &BTreeMap<String, String> {
        &self.file.manifest.table_metadata
    }

    /// Metadata of the schema.
    #[must_use]
    pub const fn schema_metadata(&self) -> &BTreeMap<String, Bytes> {
        &self.file.manifest.schema_metadata
    }

    /// Other places where files of the table may lie.
    #[must_use]
    pub fn base_paths(&self) -> &[BasePath] {
        &self.file.manifest.base_paths
    }

    /// When the version was committed, in milliseconds since 1970 by the writer's clock; `None` where it does not say.
    #[must_use]
    pub fn timestamp_ms(&self) -> Option<i64> {
        let at = self.file.manifest.timestamp.as_ref()?;
        at.seconds.checked_mul(1000)?.checked_add(i64::from(at.nanos) / 1_000_000)
    }

    /// Whether rows keep their ids when they move.
    #[must_use]
    pub const fn has_stable_row_ids(&self) -> bool {
        flags::has_stable_row_ids(&self.file.manifest)
    }

    /// The row id that the next new row gets.
    #[must_use]
    pub const fn next_row_id(&self) -> u64 {
        self.file.manifest.next_row_id
    }

    /// The transaction that made this version, where it stands inline.
    #[must_use]
    pub const fn transaction(&self) -> Option<&Transaction> {
        self.transaction.as_ref()
    }

    /// The file of the transaction that made this version; `None` where the manifest names none.
    #[must_use]
    pub fn transaction_file(&self) -> Option<ObjectName> {
        let name = &self.file.manifest.transaction_file;
        (!name.is_empty()).then(|| ObjectName::new(format!("{TRANSACTIONS_FOLDER}/{name}")))
    }

    /// How many rows there are; `None` where the writer of some fragment did not say.
    #[must_use]
    pub fn counts(&self) -> Option<Counts> {
        let mut counts = Counts { physical: 0, deleted: 0 };
        for fragment in self.fragments() {
            if fragment.physical_rows == 0 && !fragment.files.is_empty() {
                return None;
            }
            counts.physical = counts.physical.checked_add(fragment.physical_rows)?;
            if let Some(file) = &fragment.deletion_file {
                if file.num_deleted_rows == 0 {
                    return None;
                }
                counts.deleted = counts.deleted.checked_add(file.num_deleted_rows)?;
            }
        }
        Some(counts)
    }

    /// The object that lists the fragment's deleted rows; `None` where no row is deleted.
    ///
    /// # Errors
    /// The form of the file is not known, or it lies under a base path that the manifest does not list.
    pub fn deletion_object(&self, fragment: &DataFragment) -> Result<Option<ObjectName>, LanceError> {
        let Some(file) = &fragment.deletion_file else { return Ok(None) };
        let object = format!("version {}", self.version());
        let name = deletion::name_of(&object, fragment.id, file)?.path();
        match file.base_id {
            None => Ok(Some(ObjectName::new(name))),
            Some(base) => Ok(Some(ObjectName::new(format!("{}/{name}", self.base(base)?.path.trim_end_matches('/'))))),
        }
    }

    /// The object of a data file.
    ///
    /// # Errors
    /// It lies under a base path that the manifest does not list.
    pub fn data_object(&self, file: &DataFile) -> Result<ObjectName, LanceError> {
        let Some(base) = file.base_id else {
            return Ok(ObjectName::new(format!("{DATA_FOLDER}/{}", file.path)));
        };
        let base = self.base(base)?;
        let root = base.path.trim_end_matches('/');
        Ok(ObjectName::new(if base.is_dataset_root {
            format!("{root}/{DATA_FOLDER}/{}", file.path)
        } else {
            format!("{root}/{}", file.path)
        }))
    }

    fn base(&self, id: u32) -> Result<&BasePath, LanceError> {
        self.base_paths().iter().find(|base| base.id == id).ok_or_else(|| LanceError::Damaged {
            object: format!("version {}", self.version()),
            problem: format!("a file lies under base path {id}, which is not listed"),
            advice: "open an earlier version".to_owned(),
        })
    }
}
