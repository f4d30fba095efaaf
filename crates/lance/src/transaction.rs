//! Transactions: what a writer wants done.
//!
//! A transaction is one protobuf message. It stands, without length or magic, in a file `_transactions/<read version>-<uuid>.txn`,
//! and, if it is not too large, once more inside the manifest. Its uuid stays the same over all attempts of one commit.

use crate::LanceError;
use crate::keys::InsertedKeys;
use crate::proto::file::Field;
use crate::proto::table::transaction::rewrite::RewriteGroup;
use crate::proto::table::transaction::update_config::FieldMetadataUpdate;
use crate::proto::table::transaction::{
    Append, Clone as CloneOperation, Delete, Merge, Operation, Overwrite, Project, ReserveFragments, Restore, Rewrite,
    Update, UpdateConfig, UpdateMap, UpdateMapEntry, UpdateMode,
};
use crate::proto::table::{DataFile, DataFragment, Transaction as Message};
use bytes::Bytes;
use lakebed_naming::lance::TransactionFileName;
use lakebed_naming::{Uuid, Version};
use lakebed_transaction::{Kind, LanceKind, TransactionId};
use prost::Message as _;
use std::collections::BTreeMap;

/// A transaction with the bytes that it is persisted as.
#[derive(Clone, Debug, PartialEq)]
pub struct Transaction {
    message: Message,
    encoded: Bytes,
}

impl Transaction {
    /// The transaction in the bytes of a transaction file, or in the part of a manifest that holds one.
    ///
    /// # Errors
    /// The bytes are no such message.
    pub fn decode(object: &str, bytes: &Bytes) -> Result<Self, LanceError> {
        let message = Message::decode(bytes.clone()).map_err(|error| LanceError::Damaged {
            object: object.to_owned(),
            problem: format!("the transaction message cannot be decoded ({error})"),
            advice: "read it again; if it stays so, open an earlier version".to_owned(),
        })?;
        Ok(Self { message, encoded: bytes.clone() })
    }

    /// The transaction as this message.
    #[must_use]
    pub fn new(message: Message) -> Self {
        let encoded = Bytes::from(message.encode_to_vec());
        Self { message, encoded }
    }

    /// The message.
    #[must_use]
    pub const fn message(&self) -> &Message {
        &self.message
    }

    /// The message as persisted, byte for byte.
    #[must_use]
    pub const fn encoded(&self) -> &Bytes {
        &self.encoded
    }

    /// Whether the bytes hold more than the schemas list, so that the message does not say all that its writer meant.
    #[must_use]
    pub fn holds_unknown_fields(&self) -> bool {
        // Encoders may order fields as they like, but leave none out and write none twice.
        self.message.encoded_len() != self.encoded.len()
    }

    /// What it does.
    #[must_use]
    pub const fn operation(&self) -> Option<&Operation> {
        self.message.operation.as_ref()
    }

    /// What kind of thing it does.
    #[must_use]
    pub const fn kind(&self) -> LanceKind {
        kind_of(self.message.operation.as_ref())
    }

    /// The id that it keeps over all attempts.
    #[must_use]
    pub fn id(&self) -> TransactionId {
        TransactionId::new(self.message.uuid.clone())
    }

    /// The version that it was built on.
    #[must_use]
    pub const fn read_version(&self) -> Version {
        Version::new(self.message.read_version)
    }
}

/// The kind of an operation. An operation that the schemas do not list decodes as none and is unknown.
#[must_use]
pub const fn kind_of(operation: Option<&Operation>) -> LanceKind {
    let Some(operation) = operation else { return LanceKind::Unknown };
    match operation {
        Operation::Append(_) => LanceKind::Append,
        Operation::Delete(_) => LanceKind::Delete,
        Operation::Overwrite(_) => LanceKind::Overwrite,
        Operation::CreateIndex(_) => LanceKind::CreateIndex,
        Operation::Rewrite(_) => LanceKind::Rewrite,
        Operation::Merge(_) => LanceKind::Merge,
        Operation::Restore(_) => LanceKind::Restore,
        Operation::ReserveFragments(_) => LanceKind::ReserveFragments,
        Operation::Update(_) => LanceKind::Update,
        Operation::Project(_) => LanceKind::Project,
        Operation::UpdateConfig(_) => LanceKind::UpdateConfig,
        Operation::DataReplacement(_) => LanceKind::DataReplacement,
        Operation::UpdateMemWalState(_) => LanceKind::UpdateMemWalState,
        Operation::Clone(_) => LanceKind::Clone,
        Operation::UpdateBases(_) => LanceKind::UpdateBases,
        Operation::DataOverlay(_) => LanceKind::DataOverlay,
    }
}

/// The operation in the words of its family.
#[must_use]
pub fn describe(kind: LanceKind) -> String {
    kind.name().to_owned()
}

/// The name of a transaction's file.
///
/// # Errors
/// The id is no UUID, so it cannot stand in a name.
pub fn file_name(message: &Message) -> Result<TransactionFileName, LanceError> {
    let id = Uuid::parse(&message.uuid).ok_or_else(|| LanceError::Invalid {
        problem: "its id is not a hyphenated UUID".to_owned(),
        advice: "give each commit a fresh UUID of version 4".to_owned(),
    })?;
    Ok(TransactionFileName { read_version: Version::new(message.read_version), id })
}

/// What every transaction has beside its operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The version that was read; `None` for a table that does not exist yet.
    pub read_version: Option<Version>,
    /// Fresh for each commit.
    pub id: Uuid,
    /// Free texts, kept with the transaction.
    pub properties: BTreeMap<String, String>,
}

impl Head {
    fn with(self, operation: Operation) -> Message {
        Message {
            read_version: self.read_version.map_or(0, Version::get),
            uuid: self.id.to_string(),
            tag: String::new(),
            transaction_properties: self.properties,
            operation: Some(operation),
        }
    }
}

/// New fragments beside the existing ones. Their ids are given at commit.
#[must_use]
pub fn append(head: Head, fragments: Vec<DataFragment>) -> Message {
    head.with(Operation::Append(Append { fragments }))
}

/// Rows deleted: `updated` are fragments with their new deletion files, `removed` fragments that go as a whole.
#[must_use]
pub fn delete(head: Head, updated: Vec<DataFragment>, removed: Vec<u64>, predicate: String) -> Message {
    head.with(Operation::Delete(Delete { updated_fragments: updated, deleted_fragment_ids: removed, predicate }))
}

/// All fragments replaced, and the schema with them; creates the table when nothing was read. Metadata of the old schema goes,
/// unless it is put into the message's `schema_metadata`.
#[must_use]
pub fn overwrite(
    head: Head,
    fragments: Vec<DataFragment>,
    schema: Vec<Field>,
    config_upserts: BTreeMap<String, String>,
) -> Message {
    head.with(Operation::Overwrite(Overwrite {
        fragments,
        schema,
        schema_metadata: BTreeMap::new(),
        config_upsert_values: config_upserts,
        initial_bases: Vec::new(),
    }))
}

/// An overwrite with metadata of its schema.
#[must_use]
pub fn with_schema_metadata(mut message: Message, metadata: BTreeMap<String, Bytes>) -> Message {
    if let Some(Operation::Overwrite(overwrite)) = &mut message.operation {
        overwrite.schema_metadata = metadata;
    }
    message
}

/// Rows changed: `updated` are fragments with their new deletion files, `removed` fragments that go as a whole, and `new` ones hold
/// the rows in the place of those that went, and rows that are new. `fields_changed` are the ids of the fields at the top whose
/// values changed in rows that stay.
#[must_use]
pub fn update(
    head: Head,
    updated: Vec<DataFragment>,
    removed: Vec<u64>,
    new: Vec<DataFragment>,
    fields_changed: Vec<u32>,
) -> Message {
    head.with(Operation::Update(Update {
        removed_fragment_ids: removed,
        updated_fragments: updated,
        new_fragments: new,
        fields_for_preserving_frag_bitmap: fields_changed,
        update_mode: UpdateMode::RewriteRows as i32,
        ..Update::default()
    }))
}

/// An Update with the keys of the rows that it inserts.
#[must_use]
pub fn with_inserted_keys(mut message: Message, keys: Option<InsertedKeys>) -> Message {
    if let Some(Operation::Update(update)) = &mut message.operation {
        update.inserted_rows = keys.map(InsertedKeys::filter);
    }
    message
}

/// Fragments replaced by others with the same live rows, group by group.
#[must_use]
pub fn rewrite(head: Head, groups: Vec<RewriteGroup>) -> Message {
    head.with(Operation::Rewrite(Rewrite { groups, ..Rewrite::default() }))
}

/// So many fragment ids set aside for fragments that are put in later.
#[must_use]
pub fn reserve_fragments(head: Head, num_fragments: u32) -> Message {
    head.with(Operation::ReserveFragments(ReserveFragments { num_fragments }))
}

/// Columns added or rewritten: the complete list of fragments as they are then, and the schema. No field that stays becomes less
/// nullable.
#[must_use]
pub fn merge(head: Head, fragments: Vec<DataFragment>, schema: Vec<Field>) -> Message {
    head.with(Operation::Merge(Merge { fragments, schema, preserves_nullability: true, ..Merge::default() }))
}

/// Columns dropped or renamed. No field that stays becomes less nullable.
#[must_use]
pub fn project(head: Head, schema: Vec<Field>) -> Message {
    head.with(Operation::Project(Project { schema, preserves_nullability: true }))
}

/// An earlier version made current again.
#[must_use]
pub fn restore(head: Head, version: Version) -> Message {
    head.with(Operation::Restore(Restore { version: version.get() }))
}

/// Where a clone comes from, and what it is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloneSource {
    /// The version that is cloned; the clone keeps its number.
    pub version: Version,
    /// The root of the table that holds it.
    pub path: String,
    /// Its branch; `None` for the table's own line of versions.
    pub branch: Option<String>,
}

/// A version of a table made the first of a new one, whose files stay where they are; `branch` is the name of the branch that
/// the new one is.
#[must_use]
pub fn shallow_clone(head: Head, source: CloneSource, branch: Option<String>) -> Message {
    head.with(Operation::Clone(CloneOperation {
        is_shallow: true,
        ref_name: source.branch,
        ref_version: source.version.get(),
        ref_path: source.path,
        branch_name: branch,
    }))
}

/// Changes to one map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapChange {
    /// Keys with their new values; `None` removes the key.
    pub entries: BTreeMap<String, Option<String>>,
    /// Keys that are not named go as well.
    pub replace: bool,
}

impl MapChange {
    fn into_message(self) -> UpdateMap {
        let update_entries = self.entries.into_iter().map(|(key, value)| UpdateMapEntry { key, value }).collect();
        UpdateMap { update_entries, replace: self.replace }
    }
}

/// Changes to the maps of a table; an absent map is not touched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapChanges {
    /// The table's configuration.
    pub config: Option<MapChange>,
    /// Metadata of the table.
    pub table_metadata: Option<MapChange>,
    /// Metadata of the schema.
    pub schema_metadata: Option<MapChange>,
    /// Metadata of fields, by field id.
    pub field_metadata: BTreeMap<i32, MapChange>,
}

/// Changes to the maps of a table.
#[must_use]
pub fn update_config(head: Head, changes: MapChanges) -> Message {
    head.with(Operation::UpdateConfig(UpdateConfig {
        config_updates: changes.config.map(MapChange::into_message),
        table_metadata_updates: changes.table_metadata.map(MapChange::into_message),
        schema_metadata_updates: changes.schema_metadata.map(MapChange::into_message),
        field_metadata_updates: changes
            .field_metadata
            .into_iter()
            .map(|(field, change)| (field, change.into_message()))
            .collect(),
        ..UpdateConfig::default()
    }))
}

/// A new fragment of one data file. Its id is given at commit.
#[must_use]
pub fn new_fragment(file: DataFile, physical_rows: u64) -> DataFragment {
    DataFragment { files: vec![file], physical_rows, ..DataFragment::default() }
}

/// The maps that an UpdateConfig changes, its older form translated: there, schema and field metadata replace the maps.
#[must_use]
pub fn map_updates(update: &UpdateConfig) -> UpdateConfig {
    let mut out = UpdateConfig {
        config_updates: update.config_updates.clone(),
        table_metadata_updates: update.table_metadata_updates.clone(),
        schema_metadata_updates: update.schema_metadata_updates.clone(),
        field_metadata_updates: update.field_metadata_updates.clone(),
        ..UpdateConfig::default()
    };
    if !update.upsert_values.is_empty() || !update.delete_keys.is_empty() {
        let entries = out.config_updates.get_or_insert_default();
        entries.update_entries.extend(upserts(&update.upsert_values));
        entries
            .update_entries
            .extend(update.delete_keys.iter().map(|key| UpdateMapEntry { key: key.clone(), value: None }));
    }
    if !update.schema_metadata.is_empty() {
        out.schema_metadata_updates =
            Some(UpdateMap { update_entries: upserts(&update.schema_metadata).collect(), replace: true });
    }
    for (field, FieldMetadataUpdate { metadata }) in &update.field_metadata {
        if let Ok(field) = i32::try_from(*field) {
            let change = UpdateMap { update_entries: upserts(metadata).collect(), replace: true };
            out.field_metadata_updates.insert(field, change);
        }
    }
    out
}

fn upserts(map: &BTreeMap<String, String>) -> impl Iterator<Item = UpdateMapEntry> + '_ {
    map.iter().map(|(key, value)| UpdateMapEntry { key: key.clone(), value: Some(value.clone()) })
}
