//! Versions that share their fragments with the versions before them hold what their bytes say.

use crate::common::{data_file, head};
use bytes::Bytes;
use lakebed_commit::Format;
use lakebed_lance::manifest::{decode, encode};
use lakebed_lance::proto::table::{DataFragment, Transaction};
use lakebed_lance::transaction::{
    MapChange, MapChanges, append, delete, new_fragment, overwrite, restore, update_config,
};
use lakebed_lance::{Creation, LanceFormat, Pending, Snapshot, schema};
use lakebed_naming::Version;
use lakebed_transaction::{Column, ColumnType};
use std::collections::BTreeMap;
use std::sync::Arc;

fn fragment(name: &str) -> DataFragment {
    new_fragment(data_file(name, &[0]), 3)
}

fn table(stable_row_ids: bool) -> Arc<Snapshot> {
    let columns = [Column::new("id", ColumnType::Long, true)];
    let fields = schema::new_fields(&columns).unwrap();
    let message = overwrite(head(0, 1), vec![fragment("first.lance")], fields, BTreeMap::new());
    let mut pending = Pending::create(message, Creation { stable_row_ids, ..Creation::default() }).unwrap();
    let format = LanceFormat::default();
    let rendered = format.render(&mut pending, format.first_version(), 1).unwrap();
    Arc::clone(pending.built(&rendered.entry).unwrap())
}

/// The entry of a transaction on a version, and the version in it as it was built.
fn step(base: &Arc<Snapshot>, message: Transaction) -> (Bytes, Arc<Snapshot>) {
    let mut pending = Pending::new(Arc::clone(base), message, 7).unwrap();
    if base.version().get() > 3 {
        pending = pending.with_restored(table(base.has_stable_row_ids()));
    }
    let at = base.version().next().unwrap();
    let rendered = LanceFormat::default().render(&mut pending, at, 5).unwrap();
    let built = Arc::clone(pending.built(&rendered.entry).unwrap());
    (rendered.entry, built)
}

/// Renders on the version as it was built and on the same version read from its bytes, which shares with nobody.
fn both_ways(base: &Arc<Snapshot>, bytes: &Bytes, message: &Transaction) -> (Bytes, Arc<Snapshot>) {
    let file = decode("test", bytes).unwrap();
    let alone = Arc::new(Snapshot::from_file("test", file).unwrap());
    assert_eq!(*alone, **base);
    let (entry, built) = step(base, message.clone());
    let (again, built_alone) = step(&alone, message.clone());
    assert_eq!(entry, again);
    assert_eq!(built, built_alone);
    (entry, built)
}

#[test]
fn a_long_chain_of_commits_reads_as_its_bytes_say() {
    for stable in [false, true] {
        let mut base = table(stable);
        let (mut bytes, built) = step(&base, append(head(1, 2), vec![fragment("second.lance")]));
        base = built;
        for at in 0..700_u64 {
            let read = base.version().get();
            let id = u8::try_from(at % 200).unwrap();
            let message = match at % 67 {
                13 => delete(head(read, id), Vec::new(), vec![base.fragments().last().unwrap().id], String::new()),
                29 => {
                    let entries = [("key".to_owned(), Some(at.to_string()))].into();
                    let config = Some(MapChange { entries, replace: false });
                    update_config(head(read, id), MapChanges { config, ..MapChanges::default() })
                }
                // An id that was reserved earlier, below others that were given since.
                41 => {
                    let free = (0..).find(|id| *id > 0 && base.fragment(*id).is_none()).unwrap();
                    append(head(read, id), vec![DataFragment { id: free, ..fragment("reserved.lance") }])
                }
                53 if at < 200 => restore(head(read, id), Version::new(1)),
                _ => append(head(read, id), vec![fragment(&format!("{at}.lance")), fragment(&format!("{at}-b.lance"))]),
            };
            // Both ways only now and then: a version that is compared becomes one piece.
            (bytes, base) =
                if at % 100 == 99 || at % 67 == 42 { both_ways(&base, &bytes, &message) } else { step(&base, message) };
        }
        let read = Snapshot::open("test", &bytes).unwrap();
        assert!(read.fragments().len() > 600, "{}", read.fragments().len());
        for fragment in read.fragments() {
            assert_eq!(base.fragment(fragment.id), Some(fragment));
        }
        assert_eq!(base.fragment(1_000_000), None);
        assert_eq!(read, *base);
        assert_eq!(read.fragments(), decode("test", &bytes).unwrap().manifest.fragments);
    }
}

#[test]
fn what_is_not_known_inside_a_fragment_outlives_appends() {
    let base = table(false);
    let mut file = decode("test", &step(&base, append(head(1, 2), vec![fragment("b.lance")])).0).unwrap();
    // A second data file of fragment 1 (field 2 of a fragment): its path `x`, its field 0, and field 900, which nobody knows, with
    // two bytes.
    let nested = [0x12, 11, 0x0a, 1, b'x', 0x12, 1, 0, 0xa2, 0x38, 2, b'h', b'i'];
    file.unknown.fragments.insert(1, Bytes::copy_from_slice(&nested));
    let bytes = encode(&mut file).unwrap();
    let mut newest = Arc::new(Snapshot::open("test", &bytes).unwrap());
    assert_eq!(newest.fragment(1).unwrap().files.len(), 2);
    for at in 3..6_u8 {
        let (entry, built) = step(&newest, append(head(newest.version().get(), at), vec![fragment("c.lance")]));
        assert!(entry.windows(nested.len()).any(|bytes| bytes == nested), "the bytes are kept");
        assert_eq!(Snapshot::open("test", &entry).unwrap(), *built);
        newest = built;
    }
}
