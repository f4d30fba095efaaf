//! Four writers of ours and two deltalake processes on one Delta table.

use super::writer::{Attempt, Clients, REFUSALS_MAX, Told, by_version, live_ids, set_texts, summary};
use crate::support::delta::{create, plain_rows, printed, scan, source};
use crate::support::rows::Rows;
use crate::support::{Python, Random, Texts, committed, list, names, open, plainly, texts};
use lakebed_table::{Scope, Table};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

const WRITERS: usize = 4;
/// The longest pause between two commits of a writer of ours, and of theirs: nobody is done before the others begin.
const PAUSES_MS_MAX: (u64, u64) = (300, 120);
/// Commits of each writer of ours: with those of deltalake 100 in all.
const OURS: usize = 17;
/// Commits of each of the two deltalake writers.
const THEIRS: usize = 16;
/// Rows of each writer of ours in the one file that all of them delete from.
const SLICE: i64 = 6;
/// The partition of that file.
const SHARED: i32 = 9;

/// One writer of ours: an isolated handle, and what belongs to it.
struct Writer {
    number: i64,
    table: Table,
    random: Random,
    next_id: i64,
    /// Live rows in its own partition.
    rows: Vec<i64>,
    /// Live rows of its slice of the shared file.
    shared: Vec<i64>,
    log: Vec<Attempt>,
}

impl Writer {
    async fn run(mut self, mut go: watch::Receiver<bool>) -> Vec<Attempt> {
        go.wait_for(|go| *go).await.unwrap();
        let (mut done, mut refusals) = (0, 0);
        while done < OURS {
            tokio::time::sleep(Duration::from_millis(self.random.below(PAUSES_MS_MAX.0))).await;
            let attempt = self.attempt().await;
            match attempt.told {
                Told::Committed(_) => (done, refusals) = (done + 1, 0),
                Told::Refused => {
                    refusals += 1;
                    assert!(refusals < REFUSALS_MAX, "refused {refusals} times in a row: {attempt:?}");
                    self.table.refresh().await.unwrap();
                }
                Told::Nothing => panic!("a writer's own rows are there: {attempt:?}"),
            }
            self.log.push(attempt);
        }
        assert_eq!(self.table.settle().await, Vec::<String>::new(), "work after the commits");
        self.log
    }

    async fn attempt(&mut self) -> Attempt {
        match self.random.below(12) {
            7 if !self.rows.is_empty() => self.delete_own().await,
            8 | 9 if !self.shared.is_empty() => self.delete_shared().await,
            10 if !self.rows.is_empty() => self.overwrite().await,
            11 => self.configure().await,
            _ => self.append().await,
        }
    }

    /// Rows with ids of their own each time, also after a refusal.
    fn fresh(&mut self, count: i64) -> Rows {
        let first = self.next_id;
        self.next_id += count;
        plain_rows(first..self.next_id, i32::try_from(self.number).unwrap())
    }

    async fn append(&mut self) -> Attempt {
        let rows = self.fresh(3);
        let added: Vec<i64> = rows.keys().copied().collect();
        let report = self.table.append(source(&rows), &plainly()).await.unwrap();
        let attempt = Attempt { added: added.clone(), ..Attempt::of(&report) };
        if matches!(attempt.told, Told::Committed(_)) {
            self.rows.extend(added);
        }
        attempt
    }

    async fn delete(&mut self, writer: i64, gone: Vec<i64>) -> Attempt {
        let listed = gone.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let predicate = format!("w = {writer} AND id IN ({listed})");
        let report = self.table.delete(&predicate, &plainly()).await.unwrap();
        if matches!(Attempt::of(&report).told, Told::Committed(_)) {
            assert_eq!(report.metrics["rows_deleted"], gone.len() as u64, "{predicate}");
        }
        Attempt { deleted: gone, ..Attempt::of(&report) }
    }

    async fn delete_own(&mut self) -> Attempt {
        let gone = self.random.some(&self.rows, 2);
        let attempt = self.delete(self.number, gone.clone()).await;
        if matches!(attempt.told, Told::Committed(_)) {
            self.rows.retain(|id| !gone.contains(id));
        }
        attempt
    }

    /// A row of its own in the file of all: whoever comes second has to plan on what the first left.
    async fn delete_shared(&mut self) -> Attempt {
        let gone = self.random.some(&self.shared, 1);
        let attempt = self.delete(i64::from(SHARED), gone.clone()).await;
        if matches!(attempt.told, Told::Committed(_)) {
            self.shared.retain(|id| !gone.contains(id));
        }
        attempt
    }

    /// Its whole partition, replaced.
    async fn overwrite(&mut self) -> Attempt {
        let rows = self.fresh(2);
        let added: Vec<i64> = rows.keys().copied().collect();
        let scope = Scope::Where(format!("w = {}", self.number));
        let report = self.table.overwrite(source(&rows), &scope, &plainly()).await.unwrap();
        let attempt = Attempt { added: added.clone(), deleted: self.rows.clone(), ..Attempt::of(&report) };
        if matches!(attempt.told, Told::Committed(_)) {
            self.rows = added;
        }
        attempt
    }

    async fn configure(&mut self) -> Attempt {
        let pair = (format!("interop.ours.{}.{}", self.number, self.log.len()), "set".to_owned());
        let report = self.table.set_properties(Texts::from([pair.clone()]), Vec::new(), &plainly()).await.unwrap();
        Attempt { set: Some(pair), ..Attempt::of(&report) }
    }
}

/// The table with its shared file, made by us or by deltalake; its rows, its properties and the first version to come.
async fn prepare(python: &Python, path: &Path, run: u64) -> (Rows, Texts, u64) {
    let properties = Texts::from([("delta.checkpointInterval".to_owned(), "10".to_owned())]);
    let rows = plain_rows(0..SLICE * i64::try_from(WRITERS).unwrap() + 1, SHARED);
    if run.is_multiple_of(2) {
        let mut table = create(path, true, properties.clone()).await;
        assert_eq!(committed(&table.append(source(&rows), &plainly()).await.unwrap()), 1);
    } else {
        python.on("delta_write.py", &["create"], path, &["--property", "delta.checkpointInterval=10"]).await;
        let more = ["--rows", &rows.len().to_string(), "--start", "0", "--writer", &SHARED.to_string()];
        python.on("delta_write.py", &["append"], path, &more).await;
    }
    (rows, properties, 2)
}

/// What the log holds, read without the code under test.
#[derive(Default)]
struct Log {
    /// The transaction id (ours) or mark (deltalake's) of each version.
    ids: BTreeMap<u64, String>,
    live: BTreeSet<String>,
    properties: Texts,
}

impl Log {
    fn read(folder: &Path) -> Self {
        let mut log = Self::default();
        for (version, name) in (0_u64..).zip(names(folder, ".json")) {
            assert_eq!(name, format!("{version:020}.json"), "the versions are contiguous");
            let text = std::fs::read_to_string(folder.join(&name)).unwrap();
            let actions: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            log.commit(version, &actions);
        }
        log
    }

    fn commit(&mut self, version: u64, actions: &[Value]) {
        let removed = actions.iter().filter_map(|action| action["remove"]["path"].as_str());
        for path in removed {
            assert!(self.live.remove(path), "version {version} removes {path}, which is not there");
        }
        for path in actions.iter().filter_map(|action| action["add"]["path"].as_str()) {
            assert!(self.live.insert(path.to_owned()), "version {version} adds {path} once more");
        }
        for action in actions {
            if let Some(configuration) = action["metaData"].get("configuration") {
                self.properties = texts(configuration);
            }
            let info = &action["commitInfo"];
            if let Some(id) = info["txnId"].as_str().or(info["interop.mark"].as_str()) {
                assert!(!self.ids.values().any(|other| other == id), "{id} landed twice");
                self.ids.insert(version, id.to_owned());
            }
        }
    }
}

/// The log, what deltalake reads and what we read, against what every writer was told.
async fn audit(python: &Python, path: &Path, (base, properties, first): (Rows, Texts, u64), attempts: &[Attempt]) {
    let told = by_version(attempts);
    assert_eq!(told.len(), WRITERS * OURS + 2 * THEIRS, "every commit was acknowledged at a version of its own");
    let last = first + told.len() as u64 - 1;
    assert_eq!(told.keys().copied().collect::<Vec<_>>(), (first..=last).collect::<Vec<_>>());
    let folder = path.join("_delta_log");
    let log = Log::read(&folder);
    assert_eq!(names(&folder, ".json").len() as u64, last + 1, "nothing landed that nobody was told of");
    for (version, attempt) in &told {
        assert_eq!(log.ids.get(version), attempt.id.as_ref(), "the transaction of version {version}");
    }
    for attempt in attempts.iter().filter(|attempt| attempt.told == Told::Refused) {
        let landed = log.ids.iter().find(|(_, id)| Some(*id) == attempt.id.as_ref());
        assert_eq!(landed, None, "{attempt:?} was not to land");
    }

    let live = live_ids(base.keys().copied(), &told);
    let expected: Rows = live
        .into_iter()
        .map(|id| {
            // Every writer takes its ids from a million of its own.
            let w = if base.contains_key(&id) { SHARED } else { i32::try_from(id / 1_000_000).unwrap() };
            (id, (Some(format!("s{id}")), Some(w)))
        })
        .collect();
    let properties = set_texts(&properties, &told);
    let read = python.on("delta_read.py", &[], path, &["--rows"]).await;
    assert_eq!(read["version"].as_u64(), Some(last));
    assert_eq!(printed(&read["rows"]), expected, "every row exactly once");
    assert_eq!(texts(&read["properties"]), properties);
    assert_eq!(log.properties, properties);
    let files: BTreeSet<String> = list(&read["files"]).iter().map(|one| one["path"].as_str().unwrap().into()).collect();
    assert_eq!(files, log.live);
    let table = open(path).await;
    assert_eq!(table.version().get(), last);
    assert_eq!(scan(&table, table.snapshot()).await, expected);
    assert_eq!(table.snapshot().files().into_iter().map(|file| file.path).collect::<BTreeSet<_>>(), log.live);
}

async fn race(python: &Python, run: u64) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("table");
    let base = prepare(python, &path, run).await;
    let mut ours = Vec::new();
    let (start, go) = watch::channel(false);
    for number in 0..i64::try_from(WRITERS).unwrap() {
        let writer = Writer {
            number,
            table: open(&path).await,
            random: Random::new(run * 100 + u64::try_from(number).unwrap()),
            next_id: number * 1_000_000 + 500_000,
            rows: Vec::new(),
            shared: (number * SLICE..(number + 1) * SLICE).collect(),
            log: Vec::new(),
        };
        ours.push(tokio::spawn(writer.run(go.clone())));
    }
    let clients =
        Clients::start(python, ("delta_race.py", "mark"), &path, 10..12, (THEIRS, run, PAUSES_MS_MAX.1)).await;
    let began = Instant::now();
    clients.go();
    start.send(true).unwrap();
    let mut attempts = Vec::new();
    for one in ours {
        attempts.extend(one.await.unwrap());
    }
    attempts.extend(clients.end().await);
    let handovers = summary("on Delta", run, &attempts, began.elapsed());
    audit(python, &path, base, &attempts).await;
    handovers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_races_with_deltalake_lose_and_double_nothing() {
    let Some(python) = Python::find() else { return };
    let mut handovers = 0;
    for run in 0..5 {
        handovers += race(&python, run).await;
    }
    assert!(handovers >= 25, "only {handovers} times did a commit follow one of the other side: that is no race");
}

#[test]
#[should_panic(expected = "adds a once more")]
fn a_file_that_is_added_twice_is_found() {
    let add = serde_json::json!({"add": {"path": "a"}});
    let mut log = Log::default();
    log.commit(1, std::slice::from_ref(&add));
    log.commit(2, &[add]);
}

#[test]
#[should_panic(expected = "removes a, which is not there")]
fn a_file_that_is_removed_twice_is_found() {
    let remove = serde_json::json!({"remove": {"path": "a"}});
    let mut log = Log::default();
    log.commit(1, &[serde_json::json!({"add": {"path": "a"}})]);
    log.commit(2, std::slice::from_ref(&remove));
    log.commit(3, &[remove]);
}

#[test]
#[should_panic(expected = "x landed twice")]
fn a_transaction_that_landed_twice_is_found() {
    let info = serde_json::json!({"commitInfo": {"txnId": "x"}});
    let mut log = Log::default();
    log.commit(1, std::slice::from_ref(&info));
    log.commit(2, &[info]);
}
