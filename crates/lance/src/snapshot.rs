//! One version of a table.

use crate::build::Built;
use crate::fragments::Fragments;
use crate::manifest::{ManifestFile, Opened, UnknownFields, open};
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
#[derive(Clone, Debug)]
pub struct Snapshot {
    header: Manifest,
    fragments: Fragments,
    indices: Vec<IndexMetadata>,
    unknown: UnknownFields,
    transaction: Option<Transaction>,
}

impl PartialEq for Snapshot {
    fn eq(&self, other: &Self) -> bool {
        self.header == other.header
            && self.fragments() == other.fragments()
            && self.indices == other.indices
            && self.unknown == other.unknown
            && self.transaction == other.transaction
    }
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
        match open(object, bytes, bytes.len() as u64)? {
            Opened::Done(file, encoded) => Self::checked(object, *file, encoded),
            Opened::Needs(_) => Err(LanceError::Damaged {
                object: object.to_owned(),
                problem: "a section lies before the first byte".to_owned(),
                advice: "open an earlier version or restore the object".to_owned(),
            }),
        }
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
        match open(object, tail, object_bytes)? {
            Opened::Done(file, encoded) => Self::checked(object, *file, encoded).map(Ok),
            Opened::Needs(range) => Ok(Err(range)),
        }
    }

    /// The version of a manifest file that was taken apart.
    ///
    /// An inline transaction that cannot be decoded is passed over here: the version can be read all the same.
    ///
    /// # Errors
    /// The table needs a reader that has more features, or two fragments have one id.
    pub fn from_file(object: &str, file: ManifestFile) -> Result<Self, LanceError> {
        Self::checked(object, file, None)
    }

    /// [`Snapshot::from_file`], with the fields that stand for the fragments in the manifest, where they are at hand.
    fn checked(object: &str, file: ManifestFile, encoded: Option<Bytes>) -> Result<Self, LanceError> {
        let ManifestFile { manifest: mut header, indices, transaction, unknown } = file;
        flags::check_readable(object, &header)?;
        let mut fragments = Fragments::new(std::mem::take(&mut header.fragments));
        if let Some(twice) = id_given_twice(&fragments) {
            return Err(LanceError::Damaged {
                object: object.to_owned(),
                problem: format!("two fragments have the id {twice}"),
                advice: "open an earlier version".to_owned(),
            });
        }
        if let Some(encoded) = encoded {
            fragments = fragments.with_encoded(encoded);
        }
        let transaction = transaction.as_ref().and_then(|bytes| Transaction::decode(object, bytes).ok());
        Ok(Self { header, fragments, indices, unknown, transaction })
    }

    /// The version that was just built and stands in `entry`; `encoded` are the fields there that stand for its fragments.
    ///
    /// # Errors
    /// The table needs a reader that has more features.
    pub(crate) fn built(built: Built, transaction: Option<Transaction>, encoded: Bytes) -> Result<Self, LanceError> {
        let Built { header, fragments, indices, unknown } = built;
        flags::check_readable(&format!("version {}", header.version), &header)?;
        Ok(Self { header, fragments: fragments.with_encoded(encoded), indices, unknown, transaction })
    }

    /// The number.
    #[must_use]
    pub const fn version(&self) -> Version {
        Version::new(self.header.version)
    }

    /// The manifest as it stands in the file, put together: this copies every fragment.
    #[must_use]
    pub fn manifest(&self) -> Manifest {
        Manifest { fragments: self.fragments().to_vec(), ..self.header.clone() }
    }

    /// The manifest without its fragments.
    #[must_use]
    pub const fn header(&self) -> &Manifest {
        &self.header
    }

    /// Fields that the schemas do not list.
    #[must_use]
    pub const fn unknown_fields(&self) -> &UnknownFields {
        &self.unknown
    }

    /// The fields, flattened depth first.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.header.fields
    }

    /// The id of the next new field: above those of the schema and of every data file, where dropped columns still stand.
    ///
    /// # Errors
    /// The ids are used up.
    pub fn next_field_id(&self) -> Result<i32, LanceError> {
        let files = self.fragments().iter().flat_map(|fragment| &fragment.files);
        let known =
            self.fields().iter().map(|field| field.id).chain(files.flat_map(|file| file.fields.iter().copied()));
        let greatest = known.max().unwrap_or(-1).max(self.header.max_allocated_field_id.unwrap_or(-1));
        greatest.checked_add(1).ok_or_else(|| LanceError::Invalid {
            problem: "the table's field ids are used up".to_owned(),
            advice: "copy the table into a new one".to_owned(),
        })
    }

    /// The version as it is with other fields, for who writes rows along with a change of the schema.
    #[must_use]
    pub fn with_fields(&self, fields: Vec<Field>) -> Self {
        Self { header: Manifest { fields, ..self.header.clone() }, ..self.clone() }
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
        self.fragments.all()
    }

    /// The fragments in the form that versions share.
    pub(crate) const fn shared_fragments(&self) -> &Fragments {
        &self.fragments
    }

    /// The fragment with this id.
    #[must_use]
    pub fn fragment(&self, id: u64) -> Option<&DataFragment> {
        self.fragments.get(id)
    }

    /// The indices, in order.
    #[must_use]
    pub fn indices(&self) -> &[IndexMetadata] {
        &self.indices
    }

    /// The table's configuration.
    #[must_use]
    pub const fn config(&self) -> &BTreeMap<String, String> {
        &self.header.config
    }

    /// Metadata of the table.
    #[must_use]
    pub const fn table_metadata(&self) -> &BTreeMap<String, String> {
        &self.header.table_metadata
    }

    /// Metadata of the schema.
    #[must_use]
    pub const fn schema_metadata(&self) -> &BTreeMap<String, Bytes> {
        &self.header.schema_metadata
    }

    /// Other places where files of the table may lie.
    #[must_use]
    pub fn base_paths(&self) -> &[BasePath] {
        &self.header.base_paths
    }

    /// When the version was committed, in milliseconds since 1970 by the writer's clock; `None` where it does not say.
    #[must_use]
    pub fn timestamp_ms(&self) -> Option<i64> {
        let at = self.header.timestamp.as_ref()?;
        at.seconds.checked_mul(1000)?.checked_add(i64::from(at.nanos) / 1_000_000)
    }

    /// Whether rows keep their ids when they move.
    #[must_use]
    pub const fn has_stable_row_ids(&self) -> bool {
        flags::has_stable_row_ids(&self.header)
    }

    /// The row id that the next new row gets.
    #[must_use]
    pub const fn next_row_id(&self) -> u64 {
        self.header.next_row_id
    }

    /// The transaction that made this version, where it stands inline.
    #[must_use]
    pub const fn transaction(&self) -> Option<&Transaction> {
        self.transaction.as_ref()
    }

    /// The file of the transaction that made this version; `None` where the manifest names none.
    #[must_use]
    pub fn transaction_file(&self) -> Option<ObjectName> {
        let name = &self.header.transaction_file;
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

/// An id that two fragments have.
fn id_given_twice(fragments: &Fragments) -> Option<u64> {
    if fragments.traits().ascending {
        return None;
    }
    let mut ids: Vec<u64> = fragments.all().iter().map(|fragment| fragment.id).collect();
    ids.sort_unstable();
    ids.windows(2).find(|pair| pair.first() == pair.last()).and_then(|pair| pair.first().copied())
}
