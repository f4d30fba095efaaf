//! The next manifest while it is being made.

use super::{Built, Inputs, WRITER, fragments, lineage};
use crate::fragments::Fragments;
use crate::manifest::UnknownFields;
use crate::proto::table::manifest::{DataStorageFormat, WriterVersion};
use crate::proto::table::transaction::Operation;
use crate::proto::table::{DataFragment, IndexMetadata, Manifest};
use crate::{LanceError, Snapshot, flags};
use prost_types::Timestamp;
use std::collections::BTreeSet;

/// The name of the format of data files.
const FILE_FORMAT: &str = "lance";

/// Metadata of the schema that turns on large values in objects of their own.
const MANAGED_BLOBS_KEY: &str = "lance.blob.managed";

/// The next manifest while it is being made: at first what carries over from the version before.
pub(super) struct Draft {
    /// Its fragments are missing while they are shared.
    pub(super) manifest: Manifest,
    /// The fragments, as long as none of the version before changes.
    shared: Option<Fragments>,
    pub(super) indices: Vec<IndexMetadata>,
    pub(super) unknown: UnknownFields,
    pub(super) stable_row_ids: bool,
    /// The version before exists.
    pub(super) extends: bool,
}

impl Draft {
    pub(super) fn after(inputs: &Inputs<'_>) -> Result<Self, LanceError> {
        let mut draft = match inputs.base.or(inputs.cloned) {
            Some(base) => {
                flags::check_writable(base.header())?;
                check_dictionaries(base.header())?;
                let shared = leaves_fragments(inputs, base).then(|| base.shared_fragments().clone());
                Self {
                    manifest: if shared.is_some() { base.header().clone() } else { base.manifest() },
                    shared,
                    indices: base.indices().to_vec(),
                    unknown: base.unknown_fields().clone(),
                    stable_row_ids: base.has_stable_row_ids(),
                    extends: true,
                }
            }
            None => Self::new(inputs),
        };
        let manifest = &mut draft.manifest;
        manifest.version = inputs.at.get();
        manifest.version_aux_data = 0;
        manifest.tag.clone_from(&inputs.transaction.tag);
        manifest.transaction_file = inputs.transaction_file.to_owned();
        manifest.timestamp = Some(timestamp(inputs.now_ms)?);
        manifest.writer_version = Some(WriterVersion {
            library: WRITER.0.to_owned(),
            version: WRITER.1.to_owned(),
            prerelease: None,
            build_metadata: None,
        });
        Ok(draft)
    }

    fn new(inputs: &Inputs<'_>) -> Self {
        let creation = inputs.creation;
        let bits = if creation.stable_row_ids { flags::STABLE_ROW_IDS } else { 0 };
        let manifest = Manifest {
            data_format: Some(DataStorageFormat {
                file_format: FILE_FORMAT.to_owned(),
                version: creation.data_format.clone(),
            }),
            table_metadata: creation.table_metadata.clone(),
            schema_metadata: creation.schema_metadata.clone(),
            reader_feature_flags: bits,
            writer_feature_flags: bits,
            ..Manifest::default()
        };
        Self {
            manifest,
            shared: None,
            indices: Vec::new(),
            unknown: UnknownFields::default(),
            stable_row_ids: creation.stable_row_ids,
            extends: false,
        }
    }

    /// The ids of the fields in the schema.
    pub(super) fn field_ids(&self) -> BTreeSet<i32> {
        self.manifest.fields.iter().map(|field| field.id).collect()
    }

    /// The ids of the fragments.
    pub(super) fn fragment_ids(&self) -> BTreeSet<u64> {
        self.manifest.fragments.iter().map(|fragment| fragment.id).collect()
    }

    /// The fragment with this id.
    pub(super) fn fragment_mut(&mut self, id: u64) -> Option<&mut DataFragment> {
        let fragments = &mut self.manifest.fragments;
        // Old writers left fragments in any order, so that a search by halves may miss one that is there.
        match fragments.binary_search_by_key(&id, |fragment| fragment.id) {
            Ok(at) => fragments.get_mut(at),
            Err(_) => fragments.iter_mut().find(|fragment| fragment.id == id),
        }
    }

    /// Gives new fragments their ids, and row ids where the table has stable ones; does not put them in yet.
    pub(super) fn prepare_new(&mut self, new: &[DataFragment], fresh: bool) -> Result<Vec<DataFragment>, LanceError> {
        let mut new = new.to_vec();
        fragments::check_new(&self.manifest, &new)?;
        fragments::assign_ids(&mut self.manifest, &mut new, fresh)?;
        if self.stable_row_ids {
            lineage::complete(&mut self.manifest, &mut new)?;
        }
        Ok(new)
    }

    /// Puts new fragments behind the others.
    pub(super) fn put_in(&mut self, new: Vec<DataFragment>) {
        match self.shared.take() {
            Some(shared) if shared.can_be_followed_by(&new) => self.shared = Some(shared.followed_by(new)),
            Some(shared) => {
                self.manifest.fragments = shared.all().to_vec();
                self.manifest.fragments.extend(new);
            }
            None => self.manifest.fragments.extend(new),
        }
    }

    /// Brings the fragments in order, sets what is derived from them, and closes the draft.
    pub(super) fn finish(mut self) -> Result<Built, LanceError> {
        check_blobs(&self.manifest)?;
        let fragments = match self.shared.take() {
            Some(shared) => shared,
            None => self.put_in_order()?,
        };
        fragments::raise_max_id(&mut self.manifest, &fragments)?;
        flags::recompute(&mut self.manifest, fragments.traits())?;
        let kept: BTreeSet<_> =
            self.indices.iter().filter_map(|entry| entry.uuid.as_ref()).map(|id| &id.uuid).collect();
        self.unknown.indices.retain(|id, _| kept.contains(id));
        Ok(Built { header: self.manifest, fragments, indices: self.indices, unknown: self.unknown })
    }

    /// Takes the fragments out, in order and without what is left over of others.
    fn put_in_order(&mut self) -> Result<Fragments, LanceError> {
        let manifest = &mut self.manifest;
        for fragment in &mut manifest.fragments {
            fragments::drop_dead_files(fragment);
        }
        manifest.fragments.sort_by_key(|fragment| fragment.id);
        fragments::check(manifest)?;
        if !self.unknown.fragments.is_empty() {
            let ids = self.fragment_ids();
            self.unknown.fragments.retain(|id, _| ids.contains(id));
        }
        Ok(Fragments::new(std::mem::take(&mut self.manifest.fragments)))
    }
}

/// Whether the operation needs no more of the fragments before than that they stay.
fn leaves_fragments(inputs: &Inputs<'_>, base: &Snapshot) -> bool {
    let Some(operation) = inputs.transaction.operation.as_ref().filter(|_| inputs.base.is_some()) else { return false };
    // Old writers did not keep the greatest id, so it is looked for; and rows that moved are looked up where they were.
    let looks_at_none = base.header().max_fragment_id.is_some();
    match operation {
        Operation::Append(append) => {
            looks_at_none && append.fragments.iter().all(|fragment| fragment.row_id_sequence.is_none())
        }
        Operation::UpdateConfig(_) | Operation::CreateIndex(_) | Operation::UpdateBases(_) => {
            base.shared_fragments().can_be_followed_by(&[])
        }
        Operation::Delete(_)
        | Operation::Overwrite(_)
        | Operation::Rewrite(_)
        | Operation::Merge(_)
        | Operation::Restore(_)
        | Operation::ReserveFragments(_)
        | Operation::Update(_)
        | Operation::Project(_)
        | Operation::UpdateMemWalState(_)
        | Operation::Clone(_)
        | Operation::DataReplacement(_)
        | Operation::DataOverlay(_) => false,
    }
}

/// Dictionaries of the first data format stand in the manifest file itself, before the messages; they cannot be moved. Fields of later
/// formats say only that there is one.
fn check_dictionaries(manifest: &Manifest) -> Result<(), LanceError> {
    if manifest.fields.iter().any(|field| field.dictionary.is_some_and(|dictionary| dictionary.length > 0)) {
        return Err(LanceError::Unsupported {
            object: format!("version {} of the table", manifest.version),
            feature: "dictionaries of the first data format".to_owned(),
            advice: "write the table anew in a later data format".to_owned(),
        });
    }
    Ok(())
}

/// A table whose large values stand in objects of its own needs writers that keep those; nobody becomes one by a commit of ours.
fn check_blobs(manifest: &Manifest) -> Result<(), LanceError> {
    let managed = manifest.schema_metadata.get(MANAGED_BLOBS_KEY).is_some_and(|value| value.as_ref() == b"true");
    if managed && manifest.writer_feature_flags & flags::MANAGED_BLOBS == 0 {
        return Err(LanceError::Unsupported {
            object: "the next version".to_owned(),
            feature: format!("large values in objects of their own ({MANAGED_BLOBS_KEY})"),
            advice: "commit it with a client that has it".to_owned(),
        });
    }
    Ok(())
}

fn timestamp(now_ms: u64) -> Result<Timestamp, LanceError> {
    let seconds = i64::try_from(now_ms / 1000).map_err(|_| LanceError::Invalid {
        problem: "the clock is beyond any year that a manifest can name".to_owned(),
        advice: "set the clock".to_owned(),
    })?;
    let millis = u32::try_from(now_ms % 1000).unwrap_or_default();
    let nanos = i32::try_from(millis.saturating_mul(1_000_000)).unwrap_or_default();
    Ok(Timestamp { seconds, nanos })
}
