//! New index entries that follow what landed.

use crate::common::{conformance, head, read};
use lakebed_commit::{Fetched, Format, Judged, Rebased};
use lakebed_lance::manifest::decode;
use lakebed_lance::proto::table::fragment_reuse_index_details::{
    Content, FragmentDigest, Group, InlineContent, Version,
};
use lakebed_lance::proto::table::transaction::{CreateIndex, Operation, UpdateMemWalState};
use lakebed_lance::proto::table::{
    CompactedSsTable, FragmentReuseIndexDetails, IndexMetadata, MemWalIndexDetails, Transaction as Message, Uuid,
};
use lakebed_lance::transaction::{Transaction, append};
use lakebed_lance::{LanceFormat, Landed, Pending, Snapshot, index};
use lakebed_transaction::Verdict;
use prost::Message as _;
use roaring::RoaringBitmap;
use std::path::Path;
use std::sync::Arc;

fn entry(id: u8, name: &str, field: i32, fragments: &[u32]) -> IndexMetadata {
    let mut entry = IndexMetadata {
        uuid: Some(Uuid { uuid: vec![id; 16].into() }),
        fields: vec![field],
        name: name.to_owned(),
        ..IndexMetadata::default()
    };
    index::set_coverage(&mut entry, fragments.iter().copied().collect());
    entry
}

fn create(new_indices: Vec<IndexMetadata>) -> Message {
    let create = CreateIndex { new_indices, removed_indices: Vec::new() };
    Message { operation: Some(Operation::CreateIndex(create)), ..append(head(4, 9), Vec::new()) }
}

/// The new entries of ours after they followed landed, which made version 5 out of the data's version 4.
fn followed(folder: &Path, ours: Message, landed: Message, indices: Vec<IndexMetadata>) -> Vec<IndexMetadata> {
    let mut file = decode("base", &read(&folder.join("base.manifest"))).unwrap();
    let base = Arc::new(Snapshot::from_file("base", file.clone()).unwrap());
    file.manifest.version = 5;
    file.indices = indices;
    let after = Arc::new(Snapshot::from_file("after", file).unwrap());
    let landed = Landed::new(after, Some(Transaction::new(landed)));
    let mut pending = Pending::new(base, ours, 1).unwrap();
    let format = LanceFormat::default();
    let Judged::Verdict(judgement) = format.judge(&pending, &landed, &Fetched::default()).unwrap() else { panic!() };
    assert_eq!(judgement.verdict, Verdict::Rebase, "{judgement:?}");
    assert_eq!(format.rebase(&mut pending, &landed, &Fetched::default()).unwrap(), Rebased::Done);
    let Some(Operation::CreateIndex(create)) = &pending.message().operation else { panic!() };
    create.new_indices.clone()
}

fn update_of_s_in_fragment_0(folder: &Path) -> Message {
    let bytes = read(&folder.join("landed/update-rc-f0-fm-s.txn"));
    Transaction::decode("update", &bytes).unwrap().message().clone()
}

fn covered(entry: &IndexMetadata) -> Vec<u32> {
    index::coverage(entry).map(|fragments: RoaringBitmap| fragments.iter().collect()).unwrap()
}

#[test]
fn rewritten_fragments_leave_the_coverage_of_their_column() {
    let Some(folder) = conformance("lance-conflicts") else { return };
    let ours = create(vec![entry(1, "on_s", 1, &[0, 1]), entry(2, "on_id", 0, &[0, 1])]);
    let after = followed(&folder, ours, update_of_s_in_fragment_0(&folder), Vec::new());
    assert_eq!(after.iter().map(covered).collect::<Vec<_>>(), [vec![1], vec![0, 1]]);
}

#[test]
fn fragments_that_were_compacted_into_a_rewritten_one_leave_too() {
    let Some(folder) = conformance("lance-conflicts") else { return };
    let digest = |id| FragmentDigest { id, physical_rows: 10, num_deleted_rows: 0 };
    let group = |old: &[u64], new: &[u64]| Group {
        old_fragments: old.iter().copied().map(digest).collect(),
        new_fragments: new.iter().copied().map(digest).collect(),
        ..Group::default()
    };
    let version = Version { dataset_version: 3, groups: vec![group(&[20, 21], &[0]), group(&[30, 31], &[20])] };
    let content = InlineContent { legacy_versions: vec![version], transitions: Vec::new() };
    let details = FragmentReuseIndexDetails { content: Some(Content::Inline(content)) };
    let reuse = IndexMetadata {
        index_details: Some(prost_types::Any { type_url: String::new(), value: details.encode_to_vec() }),
        ..entry(3, index::FRAGMENT_REUSE, 0, &[])
    };
    let ours = create(vec![entry(1, "on_s", 1, &[0, 1, 20, 21, 30, 31, 40])]);
    let after = followed(&folder, ours, update_of_s_in_fragment_0(&folder), vec![reuse]);
    assert_eq!(covered(&after[0]), [1, 40]);
}

#[test]
fn each_shard_keeps_its_higher_generation() {
    let Some(folder) = conformance("lance-conflicts") else { return };
    let table =
        |id: u8, generation| CompactedSsTable { shard_id: Some(Uuid { uuid: vec![id; 16].into() }), generation };
    let details = MemWalIndexDetails { compacted_sstables: vec![table(1, 5), table(2, 5)], ..Default::default() };
    let memwal = IndexMetadata {
        fields: Vec::new(),
        index_details: Some(prost_types::Any { type_url: String::new(), value: details.encode_to_vec() }),
        ..entry(1, index::MEM_WAL, 0, &[])
    };
    let state = UpdateMemWalState { compacted_sstables: vec![table(1, 7), table(2, 3), table(3, 1)] };
    let landed = Message { operation: Some(Operation::UpdateMemWalState(state)), ..append(head(4, 8), Vec::new()) };
    let after = followed(&folder, create(vec![memwal]), landed, Vec::new());
    let value = &after[0].index_details.as_ref().unwrap().value;
    let found = MemWalIndexDetails::decode(value.as_slice()).unwrap().compacted_sstables;
    assert_eq!(found, [table(1, 7), table(2, 5), table(3, 1)]);
}
