//! Two writers, one fragment: the format driven by hand.

use crate::common::{conformance, data_file, head, manifests, read};
use bytes::Bytes;
use lakebed_commit::{Fetched, Finished, Format, Judged, Need, ObjectName, Parsed};
use lakebed_lance::proto::table::transaction::Operation;
use lakebed_lance::proto::table::{DataFragment, DeletionFile};
use lakebed_lance::transaction::{append, delete, new_fragment, overwrite};
use lakebed_lance::{Creation, LanceFormat, Landed, Pending, Snapshot, deletion, schema};
use lakebed_naming::Version;
use lakebed_naming::lance::{DeletionFileName, DeletionKind};
use lakebed_transaction::{Column, ColumnType, Evidence, RowSet, UnitId, Verdict};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Objects by name, and the newest version.
struct Table {
    objects: HashMap<ObjectName, Bytes>,
    newest: Arc<Snapshot>,
}

const FORMAT: fn() -> LanceFormat = LanceFormat::default;

impl Table {
    /// One fragment of ten rows.
    fn new() -> Self {
        let fields = schema::new_fields(&[Column::new("id", ColumnType::Long, true)]).unwrap();
        let fragment = new_fragment(data_file("a.lance", &[0]), 10);
        let mut pending =
            Pending::create(overwrite(head(0, 1), vec![fragment], fields, BTreeMap::new()), Creation::default())
                .unwrap();
        let rendered = FORMAT().render(&mut pending, Version::new(1), 1000).unwrap();
        let newest = Arc::new(Snapshot::open("test", &rendered.entry).unwrap());
        Self { objects: HashMap::new(), newest }
    }

    /// A delete of these rows of fragment 0 (besides those that are gone), built on the newest version.
    fn delete(&mut self, id: u8, rows: &[u64]) -> Pending {
        let version = self.newest.version();
        let affected: RowSet = rows.iter().copied().collect();
        let fragment = self.newest.fragment(0).unwrap().clone();
        let name =
            DeletionFileName { fragment: 0, read_version: version, id: u64::from(id), kind: DeletionKind::Arrow };
        let all = self.deleted().union(&affected);
        self.objects.insert(ObjectName::new(name.path()), deletion::encode(name.kind, &all).unwrap());
        let updated = DataFragment { deletion_file: Some(deletion::entry(&name, all.len())), ..fragment };
        let message = delete(head(version.get(), id), vec![updated], Vec::new(), "id < 3".to_owned());
        Pending::new(Arc::clone(&self.newest), message, u64::from(id))
            .unwrap()
            .with_affected_rows(BTreeMap::from([(0, affected)]))
    }

    /// The rows of fragment 0 that are gone.
    fn deleted(&self) -> RowSet {
        let fragment = self.newest.fragment(0).unwrap();
        match self.newest.deletion_object(fragment).unwrap() {
            None => RowSet::new(),
            Some(object) => {
                let kind = deletion::kind_of("test", &fragment.deletion_file.unwrap()).unwrap();
                deletion::decode("test", kind, &self.objects[&object], Some(10)).unwrap()
            }
        }
    }

    /// Commits it as the next version.
    fn commit(&mut self, pending: &mut Pending) -> Landed {
        let at = self.newest.version().next().unwrap();
        let rendered = FORMAT().render(pending, at, 1000).unwrap();
        self.objects.extend(rendered.side);
        let Parsed::Done(landed) = FORMAT().parse(at, &rendered.entry, &Fetched::default()).unwrap() else {
            panic!("the transaction is inline")
        };
        assert!(FORMAT().is_ours(pending, &landed));
        self.newest = Arc::clone(landed.snapshot());
        landed
    }

    /// Runs the end of a window, reading and writing what it asks for.
    fn finish(&mut self, pending: &mut Pending) -> Finished {
        let mut fetched = Fetched::default();
        for _ in 0..10 {
            let Finished::Needs(needs) = FORMAT().finish(pending, &fetched).unwrap() else {
                return FORMAT().finish(pending, &fetched).unwrap();
            };
            for need in needs {
                match need {
                    Need::Read(name) => {
                        let bytes = self.objects.get(&name).cloned();
                        fetched.insert(name, bytes);
                    }
                    Need::Write(name, bytes) => {
                        assert!(self.objects.insert(name.clone(), bytes).is_none(), "a name of its own");
                        fetched.mark_written(name);
                    }
                }
            }
        }
        panic!("it never has enough");
    }
}

fn follow(pending: &mut Pending, landed: &Landed) {
    let Judged::Verdict(judgement) = FORMAT().judge(pending, landed, &Fetched::default()).unwrap() else {
        panic!("no object is needed")
    };
    assert!(judgement.verdict.accepts(), "{judgement:?}");
    assert_eq!(FORMAT().rebase(pending, landed, &Fetched::default()).unwrap(), lakebed_commit::Rebased::Done);
}

#[test]
fn deletes_of_different_rows_of_one_fragment_both_stand() {
    let mut table = Table::new();
    let mut first = table.delete(2, &[1, 2]);
    let mut second = table.delete(3, &[5]);
    let landed = table.commit(&mut first);
    assert!(!FORMAT().is_ours(&second, &landed));
    let stale = second.message().clone();
    follow(&mut second, &landed);
    assert_eq!(table.finish(&mut second), Finished::Ready);
    table.commit(&mut second);
    assert_eq!(table.deleted().iter().collect::<Vec<_>>(), [1, 2, 5]);
    let entry = table.newest.fragment(0).unwrap().deletion_file.unwrap();
    assert_eq!(
        (entry.file_type, entry.read_version, entry.num_deleted_rows),
        (1, 2, 3),
        "a bitmap, named after version 2"
    );
    assert_eq!((stale.read_version, second.message().read_version), (1, 2));
    assert_eq!(stale.uuid, second.message().uuid);
    let name = table.newest.transaction_file().unwrap();
    assert!(name.as_str().starts_with("_transactions/2-"), "{name}");
}

/// The set `deletes_both` holds a race that pylance itself settled: versions 5 and 6 were both built on version 4.
#[test]
fn a_race_that_pylance_settled_ends_the_same_way() {
    let Some(lance) = conformance("lance") else { return };
    let table = lance.join("deletes_both/table.lance");
    let manifests = manifests(&table);
    let bytes = |version: u64| read(&manifests[&Version::new(version)].1);
    let open = |version: u64| Arc::new(Snapshot::open("test", &bytes(version)).unwrap());
    let rows = |name: &str, kind: DeletionKind| {
        deletion::decode(name, kind, &read(&table.join("_deletions").join(name)), Some(6000)).unwrap()
    };
    let (base, settled) = (open(4), open(6));
    // What ours was before the rebase: its first deletion file was left behind.
    let lost = DeletionFileName {
        fragment: 0,
        read_version: Version::new(4),
        id: 1_437_686_554_068_953_358,
        kind: DeletionKind::Arrow,
    };
    let wanted = rows(&lost.file_name(), DeletionKind::Arrow);
    let before = base.fragment(0).unwrap().deletion_file.unwrap();
    let before = deletion::name_of("test", 0, &before).unwrap();
    let affected = wanted.difference(&rows(&before.file_name(), before.kind));
    let mut message = settled.transaction().unwrap().message().clone();
    let Some(Operation::Delete(delete)) = &mut message.operation else { panic!("a delete") };
    delete.updated_fragments[0].deletion_file = Some(deletion::entry(&lost, wanted.len()));
    message.read_version = 4;
    let mut ours =
        Pending::new(Arc::clone(&base), message, 1).unwrap().with_affected_rows(BTreeMap::from([(0, affected)]));
    let Parsed::Done(landed) = FORMAT().parse(Version::new(5), &bytes(5), &Fetched::default()).unwrap() else {
        panic!("the transaction is inline")
    };
    follow(&mut ours, &landed);
    let mut fetched = Fetched::default();
    let Finished::Needs(needs) = FORMAT().finish(&mut ours, &fetched).unwrap() else { panic!("it reads") };
    let [Need::Read(name)] = needs.as_slice() else { panic!("one deletion file") };
    fetched.insert(name.clone(), Some(read(&table.join(name.as_str()))));
    let Finished::Needs(needs) = FORMAT().finish(&mut ours, &fetched).unwrap() else { panic!("it writes") };
    let [Need::Write(name, merged)] = needs.as_slice() else { panic!("one deletion file") };
    assert!(name.as_str().starts_with("_deletions/0-5-"), "{name}");
    assert_eq!(merged, &read(&table.join("_deletions/0-5-3892290500531446649.bin")));
    fetched.mark_written(name.clone());
    assert_eq!(FORMAT().finish(&mut ours, &fetched).unwrap(), Finished::Ready);
    let rendered = FORMAT().render(&mut ours, Version::new(6), 1000).unwrap();
    let after = Snapshot::open("test", &rendered.entry).unwrap();
    // The random id of the deletion file and the time are each committer's own.
    let plain = |snapshot: &Snapshot| {
        let mut manifest = snapshot.manifest();
        manifest.timestamp = None;
        manifest.fragments[0].deletion_file.as_mut().unwrap().id = 0;
        manifest
    };
    assert_eq!(plain(&after), plain(&settled));
    assert_eq!(after.transaction().unwrap().read_version(), Version::new(5));
}

#[test]
fn a_chain_of_rebases_keeps_every_row() {
    let mut table = Table::new();
    let mut late = table.delete(9, &[0]);
    for (id, row) in [(2, 1), (3, 2), (4, 3)] {
        let mut other = table.delete(id, &[row]);
        let landed = table.commit(&mut other);
        follow(&mut late, &landed);
        assert_eq!(table.finish(&mut late), Finished::Ready);
    }
    table.commit(&mut late);
    assert_eq!(table.deleted().iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
}

#[test]
fn deletes_of_the_same_row_conflict() {
    let mut table = Table::new();
    let mut first = table.delete(2, &[1, 2, 7]);
    let mut second = table.delete(3, &[0, 2, 7]);
    let landed = table.commit(&mut first);
    follow(&mut second, &landed);
    let Finished::Conflict { with, landed, why } = table.finish(&mut second) else { panic!("they share rows") };
    assert_eq!((with, landed.as_str(), why.verdict), (Version::new(2), "Delete", Verdict::Retryable));
    let Some(Evidence::Rows(UnitId::Fragment(0), rows)) = why.evidence else { panic!("rows of fragment 0") };
    assert_eq!(rows.iter().collect::<Vec<_>>(), [2, 7]);
}

#[test]
fn a_fragment_of_which_no_row_is_left_goes() {
    let mut table = Table::new();
    let mut first = table.delete(2, &[0, 1, 2, 3, 4]);
    let mut second = table.delete(3, &[5, 6, 7, 8, 9]);
    let landed = table.commit(&mut first);
    follow(&mut second, &landed);
    assert_eq!(table.finish(&mut second), Finished::Ready);
    table.commit(&mut second);
    assert!(table.newest.fragments().is_empty());
    assert_eq!(table.newest.manifest().max_fragment_id, Some(0), "the id is not given again");
}

#[test]
fn a_delete_without_rows_is_not_rebased_over_its_fragment() {
    let mut table = Table::new();
    let mut first = table.delete(2, &[1]);
    let second = table.delete(3, &[5]);
    let second = Pending::new(Arc::clone(&table.newest), second.message().clone(), 1).unwrap();
    let landed = table.commit(&mut first);
    let Judged::Verdict(judgement) = FORMAT().judge(&second, &landed, &Fetched::default()).unwrap() else {
        panic!("no object is needed")
    };
    assert_eq!(judgement.verdict, Verdict::Retryable);
}

#[test]
fn a_delete_follows_an_append_and_names_the_newest_version() {
    let mut table = Table::new();
    let mut late = table.delete(9, &[0]);
    let mut other = Pending::new(
        Arc::clone(&table.newest),
        append(head(1, 4), vec![new_fragment(data_file("b.lance", &[0]), 3)]),
        1,
    )
    .unwrap();
    let landed = table.commit(&mut other);
    let written: Option<DeletionFile> = late.facts().footprint.updated_units.as_slice().first().map(|_| {
        let fragment = table.newest.fragment(0).unwrap();
        assert!(fragment.deletion_file.is_none());
        deletion::entry(
            &DeletionFileName { fragment: 0, read_version: Version::new(1), id: 9, kind: DeletionKind::Arrow },
            1,
        )
    });
    follow(&mut late, &landed);
    assert_eq!(table.finish(&mut late), Finished::Ready);
    table.commit(&mut late);
    assert_eq!(late.message().read_version, 2, "raised although nothing had to be merged");
    assert_eq!(table.newest.fragment(0).unwrap().deletion_file, written, "the deletion file keeps its name");
    assert_eq!(table.newest.counts().unwrap().live(), 12);
}

#[test]
fn a_gap_in_the_window_is_an_error() {
    let mut table = Table::new();
    let mut late = table.delete(9, &[0]);
    let mut other = table.delete(2, &[1]);
    table.commit(&mut other);
    let mut other = table.delete(3, &[2]);
    let landed = table.commit(&mut other);
    assert!(FORMAT().rebase(&mut late, &landed, &Fetched::default()).is_err(), "version 2 was not taken in");
}

#[test]
fn an_earlier_attempt_that_landed_is_still_ours() {
    let mut table = Table::new();
    let mut late = table.delete(9, &[0]);
    let lost = FORMAT().render(&mut late, Version::new(2), 1000).unwrap();
    let mut other = table.delete(2, &[1]);
    let landed = table.commit(&mut other);
    follow(&mut late, &landed);
    assert_eq!(table.finish(&mut late), Finished::Ready);
    let Ok(Parsed::Done(first_try)) = FORMAT().parse(Version::new(2), &lost.entry, &Fetched::default()) else {
        panic!("it parses")
    };
    assert!(FORMAT().is_ours(&late, &first_try), "the message was persisted before the read version was raised");
    let mut same_id = table.delete(9, &[8]);
    let landed = table.commit(&mut same_id);
    assert!(!FORMAT().is_ours(&late, &landed), "the id alone proves nothing");
}

#[test]
fn a_table_is_not_created_twice() {
    let mut table = Table::new();
    let fields = schema::new_fields(&[Column::new("id", ColumnType::Long, true)]).unwrap();
    let second =
        Pending::create(overwrite(head(0, 7), Vec::new(), fields, BTreeMap::new()), Creation::default()).unwrap();
    let mut other = table.delete(2, &[1]);
    let landed = table.commit(&mut other);
    let Judged::Verdict(judgement) = FORMAT().judge(&second, &landed, &Fetched::default()).unwrap() else {
        panic!("no object is needed")
    };
    assert_eq!(judgement.verdict, Verdict::Incompatible);
    assert_eq!(judgement.reason.unwrap().check, "table-exists");
}

#[test]
fn a_transaction_in_its_own_file_is_asked_for() {
    let mut table = Table::new();
    let mut other = table.delete(2, &[1]);
    let landed = table.commit(&mut other);
    let mut file = lakebed_lance::manifest::ManifestFile {
        manifest: landed.snapshot().manifest(),
        indices: Vec::new(),
        transaction: None,
        unknown: Default::default(),
    };
    let bytes = lakebed_lance::manifest::encode(&mut file).unwrap();
    let at = Version::new(2);
    let Parsed::Needs(names) = FORMAT().parse(at, &bytes, &Fetched::default()).unwrap() else { panic!("not inline") };
    let [name] = names.as_slice() else { panic!("one file") };
    let mut fetched = Fetched::default();
    fetched.insert(name.clone(), Some(table.objects[name].clone()));
    let Parsed::Done(again) = FORMAT().parse(at, &bytes, &fetched).unwrap() else { panic!("all there") };
    assert_eq!(again.transaction(), landed.transaction());
    fetched.insert(name.clone(), None);
    let Parsed::Done(lost) = FORMAT().parse(at, &bytes, &fetched).unwrap() else { panic!("known to be gone") };
    assert_eq!(lost.kind(), lakebed_transaction::LanceKind::Unknown);
}
