//! Memtable shards: UpdateMemWalState, and the part of an Update that takes shards in.

use super::Inputs;
use super::draft::Draft;
use crate::proto::table::{CompactedSsTable, IndexMetadata, MemWalIndexDetails, Uuid};
use crate::{LanceError, index};
use prost::Message as _;
use prost_types::Any;

/// The type of the entry's details.
const DETAILS: &str = "/lance.table.MemWalIndexDetails";

/// The entry that records how far each shard was taken in is replaced by a new one: of each shard the higher generation stays,
/// and shards that it does not list come behind.
pub(super) fn take_in(draft: &mut Draft, tables: &[CompactedSsTable], inputs: &Inputs<'_>) -> Result<(), LanceError> {
    if tables.is_empty() {
        return Ok(());
    }
    let found = draft.indices.iter().position(|entry| entry.name == index::MEM_WAL);
    let mut entry = match found {
        Some(at) => draft.indices.remove(at),
        None => IndexMetadata { name: index::MEM_WAL.to_owned(), index_version: Some(0), ..IndexMetadata::default() },
    };
    let mut details = details_of(&entry, draft.manifest.version)?;
    raise(&mut details.compacted_sstables, tables);
    entry.index_details = Some(Any { type_url: DETAILS.to_owned(), value: details.encode_to_vec() });
    entry.uuid = Some(fresh_id(inputs));
    entry.dataset_version = draft.manifest.version;
    entry.created_at = Some(inputs.now_ms);
    draft.indices.push(entry);
    Ok(())
}

fn details_of(entry: &IndexMetadata, version: u64) -> Result<MemWalIndexDetails, LanceError> {
    let bytes = entry.index_details.as_ref().map_or(&[][..], |details| details.value.as_slice());
    MemWalIndexDetails::decode(bytes).map_err(|error| LanceError::Damaged {
        object: format!("the state of memtable shards before version {version}"),
        problem: format!("its details cannot be decoded ({error})"),
        advice: "commit with the client that wrote it".to_owned(),
    })
}

/// Takes over the generations that are higher, and those of shards that are not listed.
pub(crate) fn raise(known: &mut Vec<CompactedSsTable>, tables: &[CompactedSsTable]) {
    for table in tables {
        match known.iter_mut().find(|entry| entry.shard_id == table.shard_id) {
            Some(entry) => entry.generation = entry.generation.max(table.generation),
            None => known.push(table.clone()),
        }
    }
}

/// An id for the entry that this transaction makes in this version: the same for who builds the version again, and no other
/// transaction's, since ids of transactions are unique.
fn fresh_id(inputs: &Inputs<'_>) -> Uuid {
    let mut bytes = lakebed_naming::Uuid::parse(&inputs.transaction.uuid).map_or([0; 16], |id| *id.as_bytes());
    for (byte, part) in bytes.iter_mut().rev().zip(inputs.at.get().to_le_bytes()) {
        *byte ^= part;
    }
    Uuid { uuid: bytes::Bytes::copy_from_slice(lakebed_naming::Uuid::from_random(bytes).as_bytes()) }
}
