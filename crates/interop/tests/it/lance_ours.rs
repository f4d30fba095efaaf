//! What this program commits to Lance tables, read by pylance.

use crate::support::lance::{Model, Written, create, fragment_ids, same_version, tended, write};
use crate::support::{Python, Random, Texts, arguments, committed, list, names, open, plainly, texts};
use lakebed_lance::transaction::{Head, Transaction, append, overwrite};
use lakebed_naming::{Uuid, Version};
use lakebed_table::{Prepared, Report, Snapshot, Table, VersionSpec};
use lakebed_transaction::{Outcome, RowSet};
use std::collections::BTreeMap;
use std::path::Path;

/// Commits of the series, the creation included.
const COMMITS: usize = 50;

/// One kind of commit.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Append,
    /// An append that was prepared on an older version.
    AppendPrepared,
    DeleteRows,
    /// So many rows of one fragment that a bitmap is written at once.
    DeleteMany,
    DeleteFragment,
    DeleteAgain,
    Overwrite,
    Set,
    Remove,
}

use Kind::{Append, AppendPrepared, DeleteAgain, DeleteFragment, DeleteMany, DeleteRows, Overwrite, Remove, Set};

/// How often each kind stands among twenty.
const PATTERN: &[Kind] = &[
    Append,
    Append,
    Append,
    Append,
    AppendPrepared,
    AppendPrepared,
    DeleteRows,
    DeleteRows,
    DeleteRows,
    DeleteRows,
    DeleteRows,
    DeleteRows,
    DeleteFragment,
    DeleteFragment,
    DeleteAgain,
    Overwrite,
    Set,
    Set,
    Set,
    Remove,
];

/// A series of commits, and what it should leave behind.
struct Series {
    table: Table,
    random: Random,
    model: Model,
    /// Data files that are not committed yet.
    written: Vec<Written>,
    /// A file of many rows among them.
    large: Written,
    /// What every version should hold, from version 1 on, with the id of its transaction where it is known.
    states: Vec<(Model, Option<String>)>,
}

impl Series {
    async fn begin(python: &Python, path: &Path, seed: u64) -> Self {
        let config = Texts::from([("interop.owner".to_owned(), "lakebed".to_owned())]);
        let table = create(path, config.clone()).await;
        let written = write(python, path, 60, 8, 0).await;
        let large = write(python, path, 1, 6_000, 100_000).await.remove(0);
        let model = Model { config, ..Model::default() };
        let states = vec![(model.clone(), None)];
        Self { table, random: Random::new(seed), model, written, large, states }
    }

    fn take(&mut self, count: usize) -> Vec<Written> {
        self.written.drain(..count).collect()
    }

    fn head(&mut self, read: Version) -> Head {
        Head { read_version: Some(read), id: Uuid::from_random(self.random.bytes()), properties: BTreeMap::new() }
    }

    async fn statement(&mut self, kind: Kind) -> (Report, Model) {
        let mut model = self.model.clone();
        let report = match kind {
            Append => {
                let count = 1 + usize::try_from(self.random.below(2)).unwrap();
                let mut files = self.take(count);
                if !model.files.contains_key(&self.large.path) && self.random.below(3) == 0 {
                    files.push(self.large.clone());
                }
                files.iter().for_each(|file| model.add(file));
                let fragments = files.into_iter().map(|file| file.fragment).collect();
                self.table.append_fragments(fragments, &plainly()).await.unwrap()
            }
            AppendPrepared => {
                let file = self.take(1).remove(0);
                model.add(&file);
                let newest = self.table.version().get();
                // A version after the last overwrite, which an append may not cross.
                let read = self.states.iter().rposition(|(state, _)| state.files.is_empty()).unwrap_or_default() as u64;
                let head = self.head(Version::new(newest.saturating_sub(2).max(read + 1)));
                let message = Transaction::new(append(head, vec![file.fragment]));
                let prepared = Prepared::LanceTransaction(message.encoded().clone());
                self.table.commit_prepared(prepared, &plainly()).await.unwrap()
            }
            DeleteRows | DeleteMany | DeleteFragment | DeleteAgain => self.delete(kind, &mut model).await,
            Overwrite => self.overwrite(&mut model).await,
            Set | Remove => self.set(kind, &mut model).await,
        };
        (report, model)
    }

    async fn delete(&mut self, kind: Kind, model: &mut Model) -> Report {
        let ids = fragment_ids(self.table.snapshot());
        let paths: Vec<String> = model.files.keys().cloned().collect();
        let mut rows = BTreeMap::new();
        match kind {
            DeleteRows => {
                for path in self.random.some(&paths, 2) {
                    let positions: Vec<u64> = model.live(&path).into_iter().map(|(position, _)| position).collect();
                    let gone = self.random.some(&positions, 2);
                    model.delete(&path, gone.iter().copied());
                    rows.insert(ids[&path], gone.into_iter().collect::<RowSet>());
                }
            }
            DeleteFragment => {
                for path in self.random.some(&paths, 1) {
                    let (physical, _) = model.files.remove(&path).unwrap();
                    rows.insert(ids[&path], (0..physical.len() as u64).collect());
                }
            }
            DeleteMany => {
                let path = self.large.path.clone();
                model.delete(&path, 0..5_500);
                rows.insert(ids[&path], (0..5_500).collect());
            }
            DeleteAgain | Append | AppendPrepared | Overwrite | Set | Remove => {
                let deleted = model.files.iter().filter(|(_, (_, deleted))| !deleted.is_empty());
                rows.extend(deleted.map(|(path, (_, deleted))| (ids[path], deleted.iter().copied().collect())));
            }
        }
        self.table.delete_rows(rows, "by position", &plainly()).await.unwrap()
    }

    async fn overwrite(&mut self, model: &mut Model) -> Report {
        let files = self.take(2);
        model.files.clear();
        files.iter().for_each(|file| model.add(file));
        let Snapshot::Lance(held) = self.table.snapshot().clone() else { panic!("a Lance table") };
        let head = self.head(held.snapshot.version());
        let upserts = Texts::from([("interop.overwritten".to_owned(), self.states.len().to_string())]);
        model.config.extend(upserts.clone());
        let fragments = files.into_iter().map(|file| file.fragment).collect();
        let message = Transaction::new(overwrite(head, fragments, held.snapshot.fields().to_vec(), upserts));
        let prepared = Prepared::LanceTransaction(message.encoded().clone());
        self.table.commit_prepared(prepared, &plainly()).await.unwrap()
    }

    async fn set(&mut self, kind: Kind, model: &mut Model) -> Report {
        let present: Vec<String> = model.config.keys().filter(|key| key.contains(".key")).take(1).cloned().collect();
        if matches!(kind, Remove) && !present.is_empty() {
            model.config.retain(|key, _| !present.contains(key));
            return self.table.set_properties(Texts::new(), present, &plainly()).await.unwrap();
        }
        let key = format!("interop.key{}", self.random.below(4));
        let set = Texts::from([(key, format!("ж{}", self.states.len()))]);
        model.config.extend(set.clone());
        self.table.set_properties(set, Vec::new(), &plainly()).await.unwrap()
    }

    async fn step(&mut self, kind: Kind) {
        let (report, model) = self.statement(kind).await;
        if model == self.model {
            assert!(matches!(report.outcome, Outcome::Nothing { .. }), "{kind:?}: {:?}", report.outcome);
            return;
        }
        assert_eq!(committed(&report), self.states.len() as u64 + 1, "{kind:?}");
        self.model = model;
        self.states.push((self.model.clone(), Some(report.transaction_id.as_str().to_owned())));
    }

    async fn run(&mut self) {
        // The large fragment comes and loses most of its rows before anything else may take it out.
        let large = self.large.clone();
        self.model.add(&large);
        let report = self.table.append_fragments(vec![large.fragment], &plainly()).await.unwrap();
        assert_eq!(committed(&report), 2);
        self.states.push((self.model.clone(), Some(report.transaction_id.as_str().to_owned())));
        self.step(DeleteMany).await;
        while self.states.len() < COMMITS {
            for kind in self.random.shuffled(PATTERN) {
                if self.states.len() < COMMITS {
                    self.step(kind).await;
                }
            }
        }
    }
}

/// Every version as pylance reads it, against the bookkeeping and against what we read.
async fn every_version(python: &Python, path: &Path, states: &[(Model, Option<String>)]) {
    let last = states.len() as u64;
    let mut more: Vec<_> = ["--rows", "--addresses", "--history", "--each"].map(str::to_owned).into();
    more.extend(arguments(1..=last));
    let document = python.on("lance_read.py", &[], path, &more).await;
    assert_eq!(document["version"].as_u64(), Some(last));
    let table = open(path).await;
    let (each, history) = (list(&document["each"]), list(&document["history"]));
    assert_eq!((each.len(), history.len()), (states.len(), states.len()));
    for (((version, theirs), past), (model, id)) in (1..).zip(each).zip(history).zip(states) {
        let ours = table.at(VersionSpec::Number(version)).await.unwrap();
        same_version(&ours, theirs);
        assert_eq!(theirs["rows"], model.rows(), "pylance's rows of version {version}");
        let ids = fragment_ids(&ours);
        assert_eq!(ids.len(), model.files.len(), "fragments of version {version}");
        assert_eq!(theirs["addresses"], model.addresses(&ids), "pylance's addresses of version {version}");
        assert_eq!(texts(&theirs["config"]), model.config, "pylance's config of version {version}");
        assert_eq!(past["version"].as_u64(), Some(version));
        if let Some(id) = id {
            assert_eq!(past["uuid"].as_str(), Some(id.as_str()), "the transaction of version {version}");
        }
    }
}

#[tokio::test]
async fn pylance_reads_fifty_commits_of_ours_and_goes_on() {
    let Some(python) = Python::find() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table.lance");
    let mut series = Series::begin(&python, &path, 21).await;
    series.run().await;
    let deletions = path.join("_deletions");
    assert!(
        !names(&deletions, ".arrow").is_empty() && !names(&deletions, ".bin").is_empty(),
        "both kinds were written"
    );
    every_version(&python, &path, &series.states).await;

    let document = python.on("lance_write.py", &["mixed"], &path, &["--commits", "10", "--seed", "5"]).await;
    let last = COMMITS as u64 + 10;
    assert_eq!(document["version"].as_u64(), Some(last));
    assert!(series.table.refresh().await.unwrap(), "the handle sees the new versions");
    assert_eq!(series.table.version().get(), last);
    for commit in list(&document["commits"]) {
        let version = commit["version"].as_u64().unwrap();
        same_version(&series.table.at(VersionSpec::Number(version)).await.unwrap(), commit);
    }
    // And we go on where it stopped, on the handle that was open all the time.
    let file = series.take(1).remove(0);
    let report = series.table.append_fragments(vec![file.fragment], &plainly()).await.unwrap();
    assert_eq!(committed(&report), last + 1);
    let read = python.on("lance_read.py", &[], &path, &["--rows"]).await;
    let expected = document["num_rows"].as_u64().unwrap() + file.ids.len() as u64;
    assert_eq!(read["num_rows"].as_u64(), Some(expected));
    let rows = list(&read["rows"]);
    for id in &file.ids {
        assert!(rows.contains(&serde_json::json!([id, format!("s{id}")])), "row {id}");
    }
    for row in list(&document["rows"]) {
        assert!(rows.contains(row), "row {row}");
    }
    tended(&python, &path, &mut series.table, 700_000).await;
}
