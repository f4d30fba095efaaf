//! Operations and what they must not do.

use crate::common::{data_file, head};
use bytes::Bytes;
use lakebed_commit::Format;
use lakebed_lance::manifest::{ManifestFile, decode, encode};
use lakebed_lance::proto::table::data_overlay_file::Coverage;
use lakebed_lance::proto::table::transaction::rewrite::RewriteGroup;
use lakebed_lance::proto::table::transaction::{
    CreateIndex, DataOverlay, DataOverlayGroup, Operation, UpdateMemWalState,
};
use lakebed_lance::proto::table::{
    CompactedSsTable, DataOverlayFile, IndexMetadata, MemWalIndexDetails, Transaction, Uuid,
};
use lakebed_lance::transaction::{
    self, CloneSource, MapChange, MapChanges, append, new_fragment, overwrite, shallow_clone, update_config,
};
use lakebed_lance::{Creation, LanceError, LanceFormat, Pending, Snapshot, index, schema};
use lakebed_naming::Version;
use lakebed_transaction::{Column, ColumnType};
use prost::Message as _;
use roaring::RoaringBitmap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Version 1 with one fragment of ten rows.
fn table(stable_row_ids: bool) -> Arc<Snapshot> {
    let fields = schema::new_fields(&[Column::new("id", ColumnType::Long, true)]).unwrap();
    let message = overwrite(head(0, 1), vec![new_fragment(data_file("a.lance", &[0]), 10)], fields, BTreeMap::new());
    let creation = Creation { stable_row_ids, ..Creation::default() };
    built(&mut Pending::create(message, creation).unwrap(), 1).unwrap()
}

fn built(pending: &mut Pending, at: u64) -> Result<Arc<Snapshot>, LanceError> {
    let rendered = LanceFormat::default().render(pending, Version::new(at), 1_000 * at)?;
    Snapshot::open("test", &rendered.entry).map(Arc::new)
}

/// The next version with this operation.
fn after(base: &Arc<Snapshot>, id: u8, operation: Operation) -> Result<Arc<Snapshot>, LanceError> {
    let read = base.version().get();
    let message = Transaction { operation: Some(operation), ..append(head(read, id), Vec::new()) };
    built(&mut Pending::new(Arc::clone(base), message, 1)?, read + 1)
}

fn with_entries(base: &Snapshot, indices: Vec<IndexMetadata>) -> ManifestFile {
    let unknown = Default::default();
    ManifestFile { manifest: base.manifest(), indices, transaction: None, unknown }
}

fn bitmap(rows: &[u32]) -> Bytes {
    let mut bytes = Vec::new();
    rows.iter().copied().collect::<RoaringBitmap>().serialize_into(&mut bytes).unwrap();
    bytes.into()
}

fn overlay(fragment: u64, field: i32, rows: &[u32]) -> Operation {
    let file = DataOverlayFile {
        data_file: Some(data_file("o.lance", &[field])),
        committed_version: 0,
        coverage: Some(Coverage::SharedOffsetBitmap(bitmap(rows))),
    };
    let group = DataOverlayGroup { fragment_id: fragment, overlays: vec![file] };
    Operation::DataOverlay(DataOverlay { groups: vec![group] })
}

#[test]
fn overlays_say_which_version_they_came_with_and_set_their_flag() {
    let second = after(&table(false), 2, overlay(0, 0, &[3])).unwrap();
    let third = after(&second, 3, overlay(0, 0, &[4])).unwrap();
    let versions: Vec<u64> = third.fragment(0).unwrap().overlays.iter().map(|file| file.committed_version).collect();
    assert_eq!(versions, [2, 3]);
    assert_eq!((third.manifest().reader_feature_flags, third.manifest().writer_feature_flags), (64, 64));
    for wrong in [overlay(9, 0, &[3]), overlay(0, 7, &[3])] {
        assert!(matches!(after(&second, 4, wrong), Err(LanceError::Invalid { .. })));
    }
    let mut damaged = overlay(0, 0, &[3]);
    if let Operation::DataOverlay(overlay) = &mut damaged {
        overlay.groups[0].overlays[0].coverage = Some(Coverage::SharedOffsetBitmap(Bytes::from_static(b"?")));
    }
    assert!(after(&second, 5, damaged).is_err());
}

#[test]
fn groups_of_one_rewrite_are_given_ids_one_after_the_other() {
    let more = (1..4).map(|at| new_fragment(data_file(&format!("{at}.lance"), &[0]), 10)).collect();
    let base = built(&mut Pending::new(table(false), append(head(1, 2), more), 1).unwrap(), 2).unwrap();
    let group = |at: usize, name: &str| RewriteGroup {
        old_fragments: base.fragments()[at..at + 2].to_vec(),
        new_fragments: vec![new_fragment(data_file(name, &[0]), 20)],
    };
    let message = transaction::rewrite(head(2, 3), vec![group(0, "x.lance"), group(2, "y.lance")]);
    let after = built(&mut Pending::new(Arc::clone(&base), message, 1).unwrap(), 3).unwrap();
    let found: Vec<_> = after.fragments().iter().map(|one| (one.id, one.files[0].path.as_str())).collect();
    assert_eq!(found, [(4, "x.lance"), (5, "y.lance")]);
    assert_eq!(after.manifest().max_fragment_id, Some(5));
}

#[test]
fn shards_keep_their_higher_generations_in_an_entry_that_is_made_where_there_is_none() {
    let shard =
        |id: u8, generation| CompactedSsTable { shard_id: Some(Uuid { uuid: vec![id; 16].into() }), generation };
    let take_in = |tables: &[CompactedSsTable]| {
        Operation::UpdateMemWalState(UpdateMemWalState { compacted_sstables: tables.to_vec() })
    };
    let second = after(&table(false), 2, take_in(&[shard(1, 5), shard(2, 1)])).unwrap();
    let third = after(&second, 3, take_in(&[shard(1, 4), shard(2, 2), shard(3, 9)])).unwrap();
    let [entry] = third.indices() else { panic!("one entry") };
    assert_eq!((entry.name.as_str(), entry.dataset_version), (index::MEM_WAL, 3));
    assert_ne!(entry.uuid, second.indices()[0].uuid, "the entry is a new one");
    let details = MemWalIndexDetails::decode(entry.index_details.as_ref().unwrap().value.as_slice()).unwrap();
    assert_eq!(details.compacted_sstables, [shard(1, 5), shard(2, 2), shard(3, 9)]);
}

#[test]
fn a_clone_keeps_the_number_and_points_at_its_source() {
    let source = after(&table(false), 2, Operation::Append(Default::default())).unwrap();
    let from = CloneSource { version: Version::new(2), path: "/tables/a.lance".to_owned(), branch: None };
    let message = shallow_clone(head(2, 7), from.clone(), Some("dev".to_owned()));
    let mut pending = Pending::clone_of(Arc::clone(&source), message.clone()).unwrap();
    assert!(built(&mut pending, 1).is_err(), "its number is 2");
    let clone = built(&mut pending, 2).unwrap();
    assert_eq!((clone.version(), clone.manifest().branch.as_deref()), (Version::new(2), Some("dev")));
    let [base] = clone.base_paths() else { panic!("one base path") };
    assert_eq!((base.id, base.is_dataset_root, base.path.as_str()), (0, true, "/tables/a.lance"));
    let file = &clone.fragment(0).unwrap().files[0];
    assert_eq!(clone.data_object(file).unwrap().as_str(), "/tables/a.lance/data/a.lance");
    assert_eq!(clone.manifest().reader_feature_flags, 16);
    // A clone of the clone keeps the first one's base and adds its own.
    let from = CloneSource { path: "/tables/b.lance".to_owned(), ..from };
    let message = shallow_clone(head(2, 8), from, None);
    let again = built(&mut Pending::clone_of(Arc::clone(&clone), message.clone()).unwrap(), 2).unwrap();
    let bases: Vec<_> = again.base_paths().iter().map(|base| (base.id, base.path.as_str())).collect();
    assert_eq!(bases, [(0, "/tables/a.lance"), (1, "/tables/b.lance")]);
    assert_eq!(again.fragment(0).unwrap().files[0].base_id, Some(0));
    // It only ever begins a table.
    let refused = built(&mut Pending::new(Arc::clone(&source), message, 1).unwrap(), 3).unwrap_err();
    assert!(refused.to_string().contains("empty place"), "{refused}");
}

#[test]
fn what_we_could_not_keep_up_is_not_begun() {
    let base = table(false);
    let covering =
        IndexMetadata { name: "c".to_owned(), fields: vec![0], covering_fields: vec![0], ..Default::default() };
    let create = CreateIndex { new_indices: vec![covering], removed_indices: Vec::new() };
    let refused = after(&base, 2, Operation::CreateIndex(create)).unwrap_err();
    assert!(matches!(refused, LanceError::Unsupported { .. }), "{refused}");
    let entries = BTreeMap::from([("lance.blob.managed".to_owned(), Some("true".to_owned()))]);
    let changes = MapChanges { schema_metadata: Some(MapChange { entries, replace: false }), ..Default::default() };
    let message = update_config(head(1, 3), changes);
    let refused = built(&mut Pending::new(base, message, 1).unwrap(), 2).unwrap_err();
    assert!(matches!(refused, LanceError::Unsupported { .. }), "{refused}");
}

#[test]
fn unknown_fields_of_index_entries_outlive_a_commit() {
    let base = table(false);
    let entry = |id: u8| IndexMetadata {
        uuid: Some(Uuid { uuid: vec![id; 16].into() }),
        fields: vec![0],
        name: format!("on_{id}"),
        ..Default::default()
    };
    let mut file = with_entries(&base, vec![entry(1), entry(2)]);
    // Field 900 as a varint.
    file.unknown.indices.insert(vec![2; 16].into(), Bytes::from_static(&[0xa0, 0x38, 0x05]));
    let opened = Arc::new(Snapshot::open("test", &encode(&mut file.clone()).unwrap()).unwrap());
    assert_eq!(opened.unknown_fields(), &file.unknown);
    let next = after(&opened, 2, Operation::Append(Default::default())).unwrap();
    assert_eq!(next.unknown_fields(), &file.unknown);
    assert_eq!(next.indices(), opened.indices());
    let create = CreateIndex { new_indices: Vec::new(), removed_indices: vec![entry(2)] };
    let dropped = after(&opened, 3, Operation::CreateIndex(create)).unwrap();
    assert!(dropped.unknown_fields().is_empty());
}

#[test]
fn a_message_that_says_more_than_we_know_is_told_from_one_that_does_not() {
    let plain = transaction::Transaction::new(append(head(1, 2), vec![new_fragment(data_file("b.lance", &[0]), 3)]));
    assert!(!plain.holds_unknown_fields());
    let mut more = plain.encoded().to_vec();
    more.extend([0xa0, 0x38, 0x05]);
    let more = transaction::Transaction::decode("test", &Bytes::from(more)).unwrap();
    assert!(more.holds_unknown_fields());
    assert_eq!(more.message(), plain.message());
}

#[test]
fn the_positions_of_sections_lead_to_them() {
    let base = table(true);
    let rendered_twice: Vec<Bytes> = (0..2).map(|_| encode(&mut with_entries(&base, Vec::new())).unwrap()).collect();
    assert_eq!(rendered_twice[0], rendered_twice[1]);
    let file = decode("test", &rendered_twice[0]).unwrap();
    assert_eq!((file.manifest.index_section, file.manifest.transaction_section), (None, None));
}
