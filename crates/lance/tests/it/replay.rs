//! The next manifest, byte for byte as pylance writes it.

use crate::common::{conformance, data_file, folders, head, manifests, read};
use bytes::Bytes;
use lakebed_commit::Format;
use lakebed_lance::build::{Inputs, next};
use lakebed_lance::manifest::{decode, encode};
use lakebed_lance::proto::table::data_fragment::RowIdSequence;
use lakebed_lance::proto::table::transaction::Operation;
use lakebed_lance::proto::table::{DataFragment, Manifest};
use lakebed_lance::row_ids::RowIds;
use lakebed_lance::transaction::{append, new_fragment, overwrite};
use lakebed_lance::{Creation, LanceFormat, Pending, Snapshot, schema};
use lakebed_naming::Version;
use lakebed_transaction::{Column, ColumnType, Kind, LanceKind};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Our manifest for the transaction in `landed`, on `base`, at the moment that `landed` says; `None` where ours refuses.
fn replay(
    base: Option<&Snapshot>,
    restored: Option<&Snapshot>,
    creation: &Creation,
    landed: &Snapshot,
) -> Result<Bytes, String> {
    let transaction = landed.transaction().unwrap();
    let mut message = transaction.message().clone();
    // pylance persists neither; the fields' fate is in the schema, the metadata of the schema only in the manifest.
    if let Some(Operation::Overwrite(overwrite)) = &mut message.operation {
        overwrite.schema_metadata = landed.schema_metadata().clone();
    }
    let inputs = Inputs {
        base,
        creation,
        restored,
        cloned: None,
        moved: None,
        transaction: &message,
        transaction_file: &landed.manifest().transaction_file,
        at: landed.version(),
        now_ms: 0,
    };
    let mut file = next(&inputs).map_err(|error| error.to_string())?;
    file.manifest.timestamp = landed.manifest().timestamp;
    file.transaction = Some(transaction.encoded().clone());
    let bytes = encode(&mut file).map_err(|error| error.to_string())?;
    assert_eq!(decode("ours", &bytes).unwrap(), file, "what was encoded is what a reader finds");
    Ok(bytes)
}

/// The manifest with row ids unfolded: pylance packs ids that it completes anew, ours adds a segment.
fn unfolded(snapshot: &Snapshot) -> (Manifest, Vec<Vec<u64>>) {
    let mut manifest = snapshot.manifest();
    let mut ids = Vec::new();
    for fragment in &mut manifest.fragments {
        if let Some(RowIdSequence::InlineRowIds(bytes)) = fragment.row_id_sequence.take() {
            ids.push(RowIds::decode(&bytes).unwrap().iter().collect());
        }
    }
    (manifest, ids)
}

/// Whether the commit gave ids to some rows of a fragment whose other rows had theirs.
fn completes_row_ids(landed: &Snapshot) -> bool {
    let Some(Operation::Update(update)) = landed.transaction().unwrap().operation() else { return false };
    update.new_fragments.iter().any(|fragment| match &fragment.row_id_sequence {
        Some(RowIdSequence::InlineRowIds(bytes)) => RowIds::decode(bytes).unwrap().len() < fragment.physical_rows,
        _ => false,
    })
}

#[test]
fn the_history_of_the_sets() {
    let Some(lance) = conformance("lance") else { return };
    let mut replayed = BTreeMap::new();
    let mut refused = Vec::new();
    for set in folders(&lance) {
        let mut history: BTreeMap<Version, Snapshot> = BTreeMap::new();
        for (version, (_, path)) in manifests(&set.join("table.lance")) {
            let bytes = read(&path);
            let landed = Snapshot::open("test", &bytes).unwrap();
            let kind = landed.transaction().unwrap().kind();
            let restored = match landed.transaction().unwrap().operation() {
                Some(Operation::Restore(restore)) => history.get(&Version::new(restore.version)),
                _ => None,
            };
            let creation = Creation { stable_row_ids: landed.has_stable_row_ids(), ..Creation::default() };
            let base = version.previous().and_then(|before| history.get(&before));
            match replay(base, restored, &creation, &landed) {
                Ok(ours) => {
                    let again = Snapshot::open("test", &ours).unwrap();
                    assert_eq!(unfolded(&again), unfolded(&landed), "{}", path.display());
                    // Clients write maps in any order, we in the order of keys.
                    if landed.config().len() < 2 && !completes_row_ids(&landed) {
                        assert_eq!(ours, bytes, "{}", path.display());
                    }
                    *replayed.entry(kind).or_insert(0) += 1;
                }
                Err(error) => refused.push((set.file_name().unwrap().to_owned(), kind, error)),
            }
            history.insert(version, landed);
        }
    }
    println!("replayed {replayed:?}");
    assert!(refused.is_empty(), "{refused:?}");
    for kind in [
        LanceKind::Append,
        LanceKind::Delete,
        LanceKind::Overwrite,
        LanceKind::UpdateConfig,
        LanceKind::ReserveFragments,
        LanceKind::Rewrite,
        LanceKind::Update,
        LanceKind::Merge,
        LanceKind::Project,
        LanceKind::Restore,
    ] {
        assert!(replayed.contains_key(&kind), "{kind} occurs");
    }
}

#[test]
fn the_commands_on_many_kinds_of_tables() {
    let Some(commands) = conformance("lance-commands") else { return };
    let mut replayed: BTreeMap<LanceKind, u32> = BTreeMap::new();
    let mut refused = Vec::new();
    let mut wrong = Vec::new();
    for winner in folders(&commands.join("landed")) {
        let name = winner.file_name().unwrap().to_str().unwrap();
        let (base, _) = name.split_once('.').unwrap();
        let mut history = manifests(&commands.join("bases").join(base));
        history.extend(manifests(&winner));
        let history: BTreeMap<Version, (Bytes, Snapshot)> = history
            .into_iter()
            .map(|(version, (_, path))| {
                let bytes = read(&path);
                let snapshot = Snapshot::open("test", &bytes).unwrap();
                (version, (bytes, snapshot))
            })
            .collect();
        for version in manifests(&winner).keys() {
            let Some((_, before)) = version.previous().and_then(|before| history.get(&before)) else { continue };
            let (bytes, landed) = &history[version];
            let Some(transaction) = landed.transaction() else { continue };
            if name == "btree.cmp_defer" && transaction.kind() == LanceKind::Rewrite {
                // Its entry in the fragment-reuse index was never in the transaction.
                continue;
            }
            let restored = match transaction.operation() {
                Some(Operation::Restore(restore)) => history.get(&Version::new(restore.version)),
                _ => None,
            };
            let restored = restored.map(|(_, snapshot)| snapshot);
            match replay(Some(before), restored, &Creation::default(), landed) {
                Ok(ours)
                    if ours == *bytes
                        || (completes_row_ids(landed)
                            && unfolded(&Snapshot::open("test", &ours).unwrap()) == unfolded(landed)) =>
                {
                    *replayed.entry(transaction.kind()).or_default() += 1
                }
                Ok(ours) => {
                    let again = Snapshot::open("test", &ours).unwrap();
                    wrong.push(format!(
                        "{name} {version} {}\n ours {:?} {:?}\n them {:?} {:?}",
                        transaction.kind().name(),
                        again.manifest(),
                        again.indices(),
                        landed.manifest(),
                        landed.indices()
                    ));
                }
                Err(error) => refused.push(format!("{name} {version} {}: {error}", transaction.kind().name())),
            }
        }
    }
    println!("replayed {replayed:?}");
    assert!(refused.is_empty(), "{} refused:\n{}", refused.len(), refused.join("\n"));
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn fixture(set: &str, version: u64) -> Option<Arc<Snapshot>> {
    let table = conformance("lance")?.join(set).join("table.lance");
    let (_, path) = &manifests(&table)[&Version::new(version)];
    Some(Arc::new(Snapshot::open("test", &read(path)).unwrap()))
}

fn fragment(path: &str, rows: u64) -> DataFragment {
    new_fragment(data_file(path, &[0, 1]), rows)
}

#[test]
fn an_append_goes_on_counting() {
    let Some(base) = fixture("v2_basic", 5) else { return };
    let message = append(head(5, 1), vec![fragment("a.lance", 3), fragment("b.lance", 4)]);
    let mut pending = Pending::new(Arc::clone(&base), message, 1).unwrap();
    let format = LanceFormat::default();
    assert!(format.render(&mut pending, Version::new(7), 1).is_err(), "6 comes after 5");
    let now = 1_900_000_000_123;
    let rendered = format.render(&mut pending, Version::new(6), now).unwrap();
    let after = Snapshot::open("test", &rendered.entry).unwrap();
    assert_eq!(after.fragments().iter().map(|fragment| fragment.id).collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!(after.manifest().max_fragment_id, Some(4));
    assert_eq!(after.counts().unwrap().live(), 14);
    assert_eq!(after.timestamp_ms(), Some(1_900_000_000_123));
    assert_eq!(after.config(), base.config());
    assert_eq!(after.manifest().writer_feature_flags, 8);
    let [(name, side)] = rendered.side.as_slice() else { panic!("one side file") };
    assert_eq!(Some(name), after.transaction_file().as_ref());
    assert_eq!(side, after.transaction().unwrap().encoded());
    assert_eq!(name.as_str(), format!("_transactions/5-{}.txn", format.transaction_id(&pending)));
}

#[test]
fn versions_never_look_older_than_those_before() {
    let Some(base) = fixture("v2_basic", 5) else { return };
    let before = base.timestamp_ms().unwrap();
    let mut pending = Pending::new(base, append(head(5, 1), vec![fragment("a.lance", 3)]), 1).unwrap();
    let rendered = LanceFormat::default().render(&mut pending, Version::new(6), 5).unwrap();
    let after = Snapshot::open("test", &rendered.entry).unwrap();
    assert!(after.timestamp_ms().unwrap() > before);
}

#[test]
fn a_new_table_starts_at_1() {
    let columns = [Column::new("id", ColumnType::Long, true), Column::new("s", ColumnType::String, true)];
    let message =
        overwrite(head(0, 9), vec![fragment("a.lance", 3)], schema::new_fields(&columns).unwrap(), BTreeMap::new());
    let creation = Creation { stable_row_ids: true, ..Creation::default() };
    let mut pending = Pending::create(message, creation).unwrap();
    let format = LanceFormat::default();
    let rendered = format.render(&mut pending, format.first_version(), 77).unwrap();
    let table = Snapshot::open("test", &rendered.entry).unwrap();
    assert_eq!(table.version(), Version::new(1));
    assert_eq!(table.columns().unwrap(), columns);
    assert_eq!((table.next_row_id(), table.manifest().max_fragment_id), (3, Some(0)));
    assert_eq!(table.manifest().reader_feature_flags, 2);
    assert_eq!(format.entry_name(Version::new(1)).as_str(), "_versions/18446744073709551614.manifest");
}

#[test]
fn a_table_that_never_had_a_fragment_has_no_greatest_id() {
    let message = overwrite(head(0, 9), Vec::new(), Vec::new(), BTreeMap::new());
    let mut pending = Pending::create(message, Creation::default()).unwrap();
    let rendered = LanceFormat::default().render(&mut pending, Version::new(1), 77).unwrap();
    let table = Snapshot::open("test", &rendered.entry).unwrap();
    assert_eq!(table.manifest().max_fragment_id, None);
    let mut pending = Pending::new(Arc::new(table), append(head(1, 3), vec![fragment("a.lance", 3)]), 1).unwrap();
    let rendered = LanceFormat::default().render(&mut pending, Version::new(2), 78).unwrap();
    let table = Snapshot::open("test", &rendered.entry).unwrap();
    assert_eq!(table.manifest().max_fragment_id, Some(0));
}

#[test]
fn tables_that_need_more_of_a_writer_are_not_written() {
    let Some(base) = fixture("v2_basic", 5) else { return };
    for bit in (0..64).map(|at| 1_u64 << at).filter(|bit| ![1, 2, 4, 8, 16, 64].contains(bit)) {
        let mut manifest = base.manifest();
        manifest.writer_feature_flags |= bit;
        let file = lakebed_lance::manifest::ManifestFile {
            manifest,
            indices: Vec::new(),
            transaction: None,
            unknown: Default::default(),
        };
        // Some bits need their reader's side, so the table does not open at all.
        let Ok(table) = Snapshot::from_file("test", file) else { continue };
        let message = append(head(5, 1), vec![fragment("a.lance", 3)]);
        let mut pending = Pending::new(Arc::new(table), message, 1).unwrap();
        let refused = LanceFormat::default().render(&mut pending, Version::new(6), 1).unwrap_err();
        assert!(refused.to_string().contains(&bit.to_string()), "{refused}");
    }
}

#[test]
fn unknown_fields_outlive_a_commit() {
    let Some(base) = fixture("v2_basic", 2) else { return };
    let mut file = lakebed_lance::manifest::ManifestFile {
        manifest: base.manifest(),
        indices: Vec::new(),
        transaction: None,
        unknown: Default::default(),
    };
    // Field 900 as a varint, and field 901 with two bytes.
    file.unknown.manifest = Bytes::from_static(&[0xa0, 0x38, 0x05]);
    file.unknown.fragments.insert(1, Bytes::from_static(&[0xaa, 0x38, 0x02, 0x68, 0x69]));
    let bytes = encode(&mut file.clone()).unwrap();
    let opened = Snapshot::open("test", &bytes).unwrap();
    assert_eq!(opened.unknown_fields(), &file.unknown);
    let message = append(head(2, 1), vec![fragment("a.lance", 3)]);
    let mut pending = Pending::new(Arc::new(opened), message, 1).unwrap();
    let rendered = LanceFormat::default().render(&mut pending, Version::new(3), 1).unwrap();
    assert_eq!(Snapshot::open("test", &rendered.entry).unwrap().unknown_fields(), &file.unknown);
}
