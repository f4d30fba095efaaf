//! Every version of the tables that pylance wrote, against what pylance says about them.

use crate::common::{all_manifests, conformance, folders, manifests, read};
use lakebed_commit::{Fetched, Format, ObjectName, Parsed};
use lakebed_lance::deletion;
use lakebed_lance::manifest::{TailRead, decode, decode_tail, encode};
use lakebed_lance::proto::table::DataFragment;
use lakebed_lance::{LanceFormat, Snapshot, VersionHead};
use lakebed_naming::Version;
use lakebed_transaction::{Kind, LanceKind};
use serde_json::{Value, json};
use std::path::Path;

fn deletion_json(table: &Path, snapshot: &Snapshot, fragment: &DataFragment) -> Value {
    let Some(object) = snapshot.deletion_object(fragment).unwrap() else { return Value::Null };
    let entry = fragment.deletion_file.unwrap();
    let bytes = read(&table.join(object.as_str()));
    let kind = deletion::kind_of("test", &entry).unwrap();
    let rows = deletion::decode("test", kind, &bytes, Some(fragment.physical_rows)).unwrap();
    assert_eq!(rows.len(), entry.num_deleted_rows, "{object}");
    json!({
        "type": if entry.file_type == 0 { "array" } else { "bitmap" },
        "read_version": entry.read_version,
        "id": entry.id,
        "num_deleted_rows": rows.len(),
        "path": object.as_str(),
    })
}

fn fragment_json(table: &Path, snapshot: &Snapshot, fragment: &DataFragment) -> Value {
    let deletion_file = deletion_json(table, snapshot, fragment);
    let deleted = fragment.deletion_file.map_or(0, |file| file.num_deleted_rows);
    let files: Vec<Value> = fragment
        .files
        .iter()
        .map(|file| {
            assert!(table.join(snapshot.data_object(file).unwrap().as_str()).exists());
            json!({
                "path": file.path, "fields": file.fields, "column_indices": file.column_indices,
                "version": [file.file_major_version, file.file_minor_version],
                "size": file.file_size_bytes, "base_id": file.base_id,
            })
        })
        .collect();
    json!({
        "id": fragment.id, "physical_rows": fragment.physical_rows, "num_rows": fragment.physical_rows - deleted,
        "num_deletions": deleted, "data_files": files, "deletion_file": deletion_file,
    })
}

#[test]
fn every_version_says_what_pylance_says() {
    let Some(lance) = conformance("lance") else { return };
    let mut versions = 0;
    for set in folders(&lance) {
        let expected: Value = serde_json::from_slice(&read(&set.join("expected.json"))).unwrap();
        let table = set.join("table.lance");
        let manifests = manifests(&table);
        assert_eq!(manifests.len(), expected["versions"].as_array().unwrap().len());
        for version in expected["versions"].as_array().unwrap() {
            let number = Version::new(version["version"].as_u64().unwrap());
            let (scheme, path) = &manifests[&number];
            let format = LanceFormat::new(*scheme, &lakebed_conflict::lance::LANCE);
            let Ok(Parsed::Done(landed)) = format.parse(number, &read(path), &Fetched::default()) else {
                panic!("{} does not parse at once", path.display());
            };
            let snapshot = landed.snapshot();
            let counts = snapshot.counts().unwrap();
            assert_eq!(json!(counts.live()), version["num_rows"]);
            assert_eq!(json!(counts.deleted), version["total_deletions"]);
            assert_eq!(json!(snapshot.config()), version["config"]);
            let schema: Vec<Value> =
                snapshot.fields().iter().map(|field| json!([field.name, field.logical_type, field.nullable])).collect();
            assert_eq!(json!(schema), version["schema"]);
            let fragments: Vec<Value> =
                snapshot.fragments().iter().map(|fragment| fragment_json(&table, snapshot, fragment)).collect();
            assert_eq!(json!(fragments), version["fragments"], "{}", path.display());
            assert_eq!(json!(snapshot.indices().len()), json!(version["indices"].as_array().unwrap().len()));
            assert_eq!(json!(snapshot.has_stable_row_ids()), expected["has_stable_row_ids"]);
            let transaction = landed.transaction().unwrap();
            assert_eq!(json!(transaction.read_version().get()), version["read_version"]);
            assert_eq!(json!(transaction.id().as_str()), version["transaction_uuid"]);
            // pylance has no name for a reservation of fragment ids.
            let reserves = landed.kind() == LanceKind::ReserveFragments;
            let kind = if reserves { "BaseOperation" } else { landed.kind().name() };
            assert_eq!(json!(kind), version["operation"]);
            let file = table.join(snapshot.transaction_file().unwrap().as_str());
            assert_eq!(&read(&file), transaction.encoded(), "inline and file are the same message");
            versions += 1;
        }
    }
    assert_eq!(versions, 44);
}

#[test]
fn indices_are_read() {
    let Some(commands) = conformance("lance-commands") else { return };
    let table = commands.join("bases/btree");
    let (_, (_, path)) = manifests(&table).pop_last().unwrap();
    let snapshot = Snapshot::open("btree", &read(&path)).unwrap();
    let [index] = snapshot.indices() else { panic!("one index") };
    assert_eq!(index.fields, [0]);
    assert_eq!(lakebed_lance::index::details_type(index), "BTreeIndexDetails");
    let covered: Vec<u32> = lakebed_lance::index::coverage(index).unwrap().iter().collect();
    assert_eq!(covered, [0, 1], "the index covers two of three fragments");
}

#[test]
fn manifests_come_back_byte_for_byte() {
    let paths = all_manifests();
    let mut identical = 0;
    for path in &paths {
        let bytes = read(path);
        let file = decode("test", &bytes).unwrap();
        assert!(file.unknown.is_empty(), "pylance writes nothing that the schemas do not list");
        let again = encode(&mut file.clone()).unwrap();
        assert_eq!(decode("test", &again).unwrap(), file, "{}", path.display());
        // Clients write maps in any order, we in the order of keys.
        if file.manifest.config.len() < 2 {
            assert_eq!(again, bytes, "{}", path.display());
            identical += 1;
        }
    }
    assert!(paths.is_empty() || identical * 10 > paths.len() * 9, "{identical} of {}", paths.len());
}

#[test]
fn the_tail_is_enough_or_says_what_it_needs() {
    for path in all_manifests().into_iter().step_by(7) {
        let bytes = read(&path);
        let size = bytes.len() as u64;
        let whole = decode("test", &bytes).unwrap();
        for tail in [16, 17, 40, bytes.len() / 2, bytes.len()] {
            let mut at = bytes.len() - tail;
            let mut asked = 0;
            loop {
                match decode_tail("test", &bytes.slice(at..), size).unwrap() {
                    TailRead::Done(file) => {
                        assert_eq!(*file, whole);
                        break;
                    }
                    TailRead::Needs(range) => {
                        assert_eq!(range.end, size);
                        assert!(range.start < at as u64, "it asks for more than it has");
                        at = usize::try_from(range.start).unwrap();
                        asked += 1;
                        assert!(asked <= 2);
                    }
                }
            }
        }
    }
}

#[test]
fn detached_versions_are_not_in_the_history() {
    let Some(lance) = conformance("lance") else { return };
    let folder = lance.join("v2_basic/table.lance/_versions");
    let listed: Vec<_> = crate::common::files(&folder)
        .iter()
        .map(|path| lakebed_commit::Listed {
            name: ObjectName::new(format!("_versions/{}", path.file_name().unwrap().to_str().unwrap())),
            size_bytes: 0,
            modified_ms: 7,
        })
        .collect();
    let format = LanceFormat::default();
    let page = format.read_page(None, &listed, 1000).unwrap();
    let mut versions: Vec<u64> = page.entries.iter().map(|entry| entry.version.get()).collect();
    versions.sort_unstable();
    assert_eq!(versions, [1, 2, 3, 4, 5]);
    assert!(page.complete);
    let page = format.read_page(Some(Version::new(3)), &listed[..3], 3).unwrap();
    assert_eq!(page.entries.len(), 2, "newest first: 5, 4, then 3, where the page is known to be complete");
    assert!(page.complete);
    assert!(!format.read_page(None, &listed[..3], 3).unwrap().complete);
    let old = LanceFormat::new(lakebed_naming::lance::Scheme::V1, &lakebed_conflict::lance::LANCE);
    assert!(old.lists_first() && !format.lists_first());
    assert!(old.read_page(None, &listed, 1000).is_err(), "the names were migrated");
}

/// The head of a version says what the whole of it says.
#[test]
fn heads_agree_with_whole_versions() {
    let manifests = all_manifests();
    for path in &manifests {
        let bytes = read(path);
        let (head, whole) = (VersionHead::decode("test", &bytes).unwrap(), Snapshot::open("test", &bytes).unwrap());
        assert_eq!((head.version, head.timestamp_ms), (whole.version(), whole.timestamp_ms()), "{}", path.display());
        assert_eq!(head.transaction_file, whole.transaction_file());
        let (head, whole) = (head.transaction.unwrap(), whole.transaction().unwrap());
        assert_eq!((head.read_version, &head.id, head.kind), (whole.read_version(), &whole.id(), whole.kind()));
        assert_eq!(head.properties, whole.message().transaction_properties);
        assert!(VersionHead::decode("test", &bytes.slice(1..)).is_err());
    }
    assert!(manifests.is_empty() || manifests.len() > 100);
}
