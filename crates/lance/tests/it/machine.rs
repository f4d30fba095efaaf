//! Writers that race, each driven by the commit machine over one folder of objects.

use crate::common::{conformance, data_file, files, head, read};
use bytes::Bytes;
use lakebed_commit::{
    Answer, Budget, Commit, CommitError, Fetched, Format as _, Freshness, Listed, ObjectName, Parsed, Request, Step,
};
use lakebed_conflict::lance::LANCE;
use lakebed_lance::proto::table::DataFragment;
use lakebed_lance::transaction::{append, delete, new_fragment, overwrite};
use lakebed_lance::{Creation, LanceFormat, Pending, Snapshot, VersionCache, deletion, schema};
use lakebed_naming::Version;
use lakebed_naming::lance::{DeletionFileName, DeletionKind, Scheme, manifest_path};
use lakebed_transaction::{Column, ColumnType, Outcome, RowSet};
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Default)]
struct Store {
    format: LanceFormat,
    objects: BTreeMap<ObjectName, Bytes>,
    requests: Vec<&'static str>,
}

impl Store {
    fn perform(&mut self, request: Request) -> Answer {
        let (name, answer) = match request {
            Request::Get(name) => ("get", self.objects.get(&name).cloned().map_or(Answer::Absent, Answer::Bytes)),
            Request::Put(name, bytes) => {
                self.objects.insert(name, bytes);
                ("put", Answer::Stored)
            }
            Request::Create(name, _) if self.objects.contains_key(&name) => ("create", Answer::Exists),
            Request::Create(name, bytes) => {
                self.objects.insert(name, bytes);
                ("create", Answer::Created)
            }
            Request::List { prefix, after, limit } => {
                let below = format!("{prefix}/");
                let names = self.objects.iter().filter(|(name, _)| name.as_str().starts_with(&below));
                let names = names.filter(|(name, _)| after.as_ref().is_none_or(|after| *name > after)).take(limit);
                let listed = names.map(|(name, bytes)| Listed {
                    name: name.clone(),
                    size_bytes: bytes.len() as u64,
                    modified_ms: 0,
                });
                ("list", Answer::Names(listed.collect()))
            }
            Request::Delete(name) => {
                self.objects.remove(&name);
                ("delete", Answer::Deleted)
            }
            Request::Wait { .. } => ("wait", Answer::Elapsed),
            Request::GetRange(..) => panic!("nobody asks for ranges"),
        };
        self.requests.push(name);
        answer
    }

    fn run(&mut self, pending: Pending) -> Outcome {
        self.attempt(pending).unwrap()
    }

    /// Runs the commit to its end, then removes what it left behind.
    fn attempt(&mut self, pending: Pending) -> Result<Outcome, CommitError> {
        let base = pending.follows();
        let freshness = Freshness { until_ms: 100_000, for_ms: 100_000 };
        let mut commit = Commit::new(self.format.clone(), pending, base, freshness, Budget::default());
        let mut step = commit.start(1000);
        let outcome = loop {
            match step {
                Step::Ask(requests) => {
                    let answers = requests.into_iter().map(|request| self.perform(request)).collect();
                    step = commit.answer(answers, 1000);
                }
                Step::Done(outcome) => break outcome,
            }
        };
        if let (Ok(Outcome::Committed { .. }), Some(entry)) = (&outcome, commit.offered()) {
            let built = commit.pending().built(entry).unwrap();
            assert_eq!(**built, Snapshot::open("ours", entry).unwrap(), "what was built is what a reader finds");
        }
        for name in commit.leftovers(&outcome) {
            self.objects.remove(&name);
        }
        outcome
    }

    fn newest(&self) -> Arc<Snapshot> {
        let newest = self.objects.iter().find(|(name, _)| name.as_str().starts_with("_versions/")).unwrap();
        Arc::new(Snapshot::open("newest", newest.1).unwrap())
    }

    /// The rows of fragment 0 that are gone, from the object that the newest version names.
    fn deleted(&self) -> RowSet {
        let newest = self.newest();
        let fragment = newest.fragment(0).unwrap();
        let Some(object) = newest.deletion_object(fragment).unwrap() else { return RowSet::new() };
        let bytes = self.objects.get(&object).unwrap_or_else(|| panic!("{object} is gone"));
        deletion::decode("test", deletion::kind_of("test", &fragment.deletion_file.unwrap()).unwrap(), bytes, None)
            .unwrap()
    }

    /// A delete of one row of fragment 0, planned on a version.
    fn delete(&mut self, base: &Arc<Snapshot>, id: u8, row: u64) -> Pending {
        let version = base.version();
        let rows: RowSet = [row].into_iter().collect();
        let name =
            DeletionFileName { fragment: 0, read_version: version, id: u64::from(id), kind: DeletionKind::Arrow };
        self.objects.insert(ObjectName::new(name.path()), deletion::encode(name.kind, &rows).unwrap());
        let fragment = base.fragment(0).unwrap().clone();
        assert!(fragment.deletion_file.is_none());
        let updated = DataFragment { deletion_file: Some(deletion::entry(&name, 1)), ..fragment };
        let message = delete(head(version.get(), id), vec![updated], Vec::new(), String::new());
        Pending::new(Arc::clone(base), message, u64::from(id)).unwrap().with_affected_rows(BTreeMap::from([(0, rows)]))
    }
}

fn table() -> Store {
    let mut store = Store::default();
    let fields = schema::new_fields(&[Column::new("id", ColumnType::Long, true)]).unwrap();
    let message = overwrite(head(0, 1), vec![new_fragment(data_file("a.lance", &[0]), 100)], fields, BTreeMap::new());
    let outcome = store.run(Pending::create(message, Creation::default()).unwrap());
    assert_eq!(outcome, Outcome::Committed { version: Version::new(1), attempts: 1 });
    store.requests.clear();
    store
}

#[test]
fn an_append_that_nobody_disturbs_costs_two_requests() {
    let mut store = table();
    let message = append(head(1, 2), vec![new_fragment(data_file("b.lance", &[0]), 3)]);
    let pending = Pending::new(store.newest(), message, 1).unwrap();
    assert_eq!(store.run(pending), Outcome::Committed { version: Version::new(2), attempts: 1 });
    assert_eq!(store.requests, ["put", "create"]);
}

#[test]
fn stale_deletes_and_appends_all_stand() {
    let mut store = table();
    let base = store.newest();
    let deletes: Vec<Pending> = (10..16).map(|id| store.delete(&base, id, u64::from(id))).collect();
    for (at, pending) in deletes.into_iter().enumerate() {
        let outcome = store.run(pending);
        assert!(matches!(outcome, Outcome::Committed { .. }), "{outcome:?}");
        let id = 50 + u8::try_from(at).unwrap();
        let message = append(head(1, id), vec![new_fragment(data_file(&format!("{id}.lance"), &[0]), 3)]);
        let outcome = store.run(Pending::new(Arc::clone(&base), message, 1).unwrap());
        assert!(matches!(outcome, Outcome::Committed { .. }), "{outcome:?}");
    }
    assert_eq!(store.deleted().iter().collect::<Vec<_>>(), [10, 11, 12, 13, 14, 15]);
    let newest = store.newest();
    assert_eq!(newest.version(), Version::new(13));
    assert_eq!(newest.counts().unwrap().live(), 100 - 6 + 6 * 3);
    assert_eq!(newest.fragments().iter().map(|fragment| fragment.id).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 6]);
    if let Some(name) = newest.transaction_file() {
        assert!(store.objects.contains_key(&name), "{name}");
    }
}

#[test]
fn the_second_delete_of_a_row_is_a_conflict() {
    let mut store = table();
    let base = store.newest();
    let (first, second) = (store.delete(&base, 10, 7), store.delete(&base, 11, 7));
    assert!(matches!(store.run(first), Outcome::Committed { .. }));
    let Outcome::Conflict(conflict) = store.run(second) else { panic!("both take row 7") };
    let text = conflict.to_string();
    assert!(text.contains("our Delete cannot follow the Delete of version 2"), "{text}");
    assert!(text.contains("fragment 0, 1 row(s): 7"), "{text}");
    assert_eq!(store.newest().version(), Version::new(2));
}

#[test]
fn a_table_is_created_once() {
    let mut store = table();
    let message = overwrite(head(0, 9), Vec::new(), Vec::new(), BTreeMap::new());
    let outcome = store.run(Pending::create(message, Creation::default()).unwrap());
    let Outcome::Conflict(conflict) = outcome else { panic!("{outcome:?}") };
    assert_eq!(conflict.why.reason.unwrap().check, "table-exists");
}

/// The objects of a table that pylance wrote.
fn load(set: &str) -> Option<Store> {
    let table = conformance("lance")?.join(set).join("table.lance");
    let mut store = Store::default();
    for folder in ["_versions", "_transactions", "_deletions"] {
        for path in files(&table.join(folder)) {
            let name = format!("{folder}/{}", path.file_name().unwrap().to_str().unwrap());
            store.objects.insert(ObjectName::new(name), read(&path));
        }
    }
    Some(store)
}

#[test]
fn old_names_are_kept_and_listed_before_they_are_used() {
    let Some(mut store) = load("v1_naming") else { return };
    let open = |version: u64, store: &Store| {
        let name = ObjectName::new(format!("_versions/{version}.manifest"));
        Arc::new(Snapshot::open("test", &store.objects[&name]).unwrap())
    };
    let append_to = |base: Arc<Snapshot>, id: u8| {
        let message = append(head(base.version().get(), id), vec![new_fragment(data_file("x.lance", &[0, 1]), 2)]);
        Pending::new(base, message, 1).unwrap()
    };
    let base = open(3, &store);
    store.format = LanceFormat::new(Scheme::V1, &LANCE);
    let outcome = store.run(append_to(Arc::clone(&base), 2));
    assert_eq!(outcome, Outcome::Committed { version: Version::new(4), attempts: 1 });
    assert_eq!(store.requests, ["list", "put", "create"]);
    assert_eq!(open(4, &store).counts().unwrap().live(), 16);
    // A migration renames the manifests; ours must not put an old name beside the new ones.
    for version in 1..=4 {
        let old = ObjectName::new(format!("_versions/{version}.manifest"));
        let bytes = store.objects.remove(&old).unwrap();
        store.objects.insert(ObjectName::new(manifest_path(Scheme::V2, Version::new(version))), bytes);
    }
    let before = store.objects.len();
    assert!(store.attempt(append_to(base, 3)).is_err());
    assert_eq!(store.objects.len(), before, "nothing was left");
}

/// Keeps the last version it was given.
#[derive(Debug, Default)]
struct Last(std::sync::Mutex<Option<(Version, Bytes, Arc<Snapshot>)>>);

impl VersionCache for Last {
    fn get(&self, at: Version, entry: &Bytes) -> Option<Arc<Snapshot>> {
        let last = self.0.lock().unwrap();
        last.as_ref()
            .filter(|(version, bytes, _)| (*version, bytes) == (at, entry))
            .map(|(_, _, kept)| Arc::clone(kept))
    }

    fn put(&self, at: Version, entry: &Bytes, snapshot: &Arc<Snapshot>) {
        *self.0.lock().unwrap() = Some((at, entry.clone(), Arc::clone(snapshot)));
    }
}

#[test]
fn what_one_writer_built_its_neighbour_need_not_decode() {
    let store = table();
    let base = store.newest();
    let format = LanceFormat::default().with_cache(Arc::new(Last::default()));
    let message = append(head(1, 2), vec![new_fragment(data_file("b.lance", &[0]), 3)]);
    let mut pending = Pending::new(Arc::clone(&base), message.clone(), 1).unwrap();
    let entry = format.render(&mut pending, Version::new(2), 5_000).unwrap().entry;
    let built = Arc::clone(pending.built(&entry).unwrap());
    let Parsed::Done(landed) = format.parse(Version::new(2), &entry, &Fetched::default()).unwrap() else {
        panic!("its transaction is inline")
    };
    assert!(Arc::ptr_eq(landed.snapshot(), &built), "taken from the cache");
    // Another entry of the same number is not the one that was built.
    let mut other = Pending::new(base, message, 1).unwrap();
    let different = LanceFormat::default().render(&mut other, Version::new(2), 9_000).unwrap().entry;
    let Parsed::Done(landed) = format.parse(Version::new(2), &different, &Fetched::default()).unwrap() else {
        panic!("its transaction is inline")
    };
    assert_ne!(landed.snapshot().timestamp_ms(), built.timestamp_ms());
}
