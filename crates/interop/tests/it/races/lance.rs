//! Four writers of ours and two pylance processes on one Lance table.

use super::writer::{Attempt, Clients, REFUSALS_MAX, Told, by_version, live_ids, set_texts, summary};
use crate::support::lance::{Written, create, distinct_row_ids, fragment_ids, same_version, write};
use crate::support::{Python, Random, Texts, committed, list, open, plainly, texts};
use lakebed_table::{CommitOptions, Table};
use lakebed_transaction::RowSet;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

const WRITERS: usize = 4;
/// The longest pause between two commits of a writer of ours, and of theirs: nobody is done before the others begin.
const PAUSES_MS_MAX: (u64, u64) = (80, 80);
/// Commits of each writer of ours: with those of pylance 200 in all.
const OURS: usize = 35;
/// Commits of each of the two pylance writers.
const THEIRS: usize = 30;
/// Files for each writer of ours, more than it commits.
const FILES: usize = OURS + 5;
/// Rows of the base fragment that belong to each writer of ours.
const SLICE: u64 = 30;
/// Rows of the base fragment that everybody of ours wants to delete.
const CONTESTED: u64 = 12;

/// As pylance judges: of two that delete one row, one is refused.
fn by_pylance() -> CommitOptions {
    CommitOptions { policy: Some("lance".to_owned()), ..plainly() }
}

/// One writer of ours: an isolated handle, and what belongs to it.
struct Writer {
    number: u64,
    table: Table,
    random: Random,
    files: Vec<Written>,
    /// Live rows that are its own: file, position, id.
    rows: Vec<(String, u64, i64)>,
    /// The base file, and the contested rows that this writer did not see go: position and id.
    base: String,
    contested: Vec<(u64, i64)>,
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
                Told::Nothing => {}
            }
            self.log.push(attempt);
        }
        self.log
    }

    async fn attempt(&mut self) -> Attempt {
        match self.random.below(10) {
            0..=3 => self.append().await,
            4 | 5 if !self.rows.is_empty() => self.delete_own().await,
            6 if !self.rows.is_empty() => self.delete_file().await,
            7 if !self.contested.is_empty() => self.delete_contested().await,
            8 => self.configure("interop.shared".to_owned()).await,
            9 => self.configure(format!("interop.ours.{}.{}", self.number, self.log.len())).await,
            _ => self.append().await,
        }
    }

    /// A file of its own each time, also after a refusal.
    async fn append(&mut self) -> Attempt {
        let file = self.files.pop().expect("files are left");
        let report = self.table.append_fragments(vec![file.fragment.clone()], &by_pylance()).await.unwrap();
        let attempt = Attempt { added: file.ids.clone(), ..Attempt::of(&report) };
        if matches!(attempt.told, Told::Committed(_)) {
            self.rows.extend((0..).zip(file.ids).map(|(position, id)| (file.path.clone(), position, id)));
        }
        attempt
    }

    async fn delete(&mut self, gone: &[(String, u64, i64)]) -> Attempt {
        let ids = fragment_ids(self.table.snapshot());
        let mut rows: BTreeMap<u64, RowSet> = BTreeMap::new();
        for (path, position, _) in gone {
            rows.entry(ids[path]).or_default().insert(*position);
        }
        let report = self.table.delete_rows(rows, "rows of a writer", &by_pylance()).await.unwrap();
        Attempt { deleted: gone.iter().map(|(.., id)| *id).collect(), ..Attempt::of(&report) }
    }

    async fn delete_own(&mut self) -> Attempt {
        let gone = self.random.some(&self.rows, 2);
        let attempt = self.delete(&gone).await;
        if matches!(attempt.told, Told::Committed(_)) {
            self.rows.retain(|row| !gone.contains(row));
        }
        attempt
    }

    /// All rows of one of its files, which then goes as a whole (of the base file: its own slice).
    async fn delete_file(&mut self) -> Attempt {
        let path = self.random.one(&self.rows).0.clone();
        let (gone, kept) = self.rows.iter().cloned().partition::<Vec<_>, _>(|row| row.0 == path);
        let attempt = self.delete(&gone).await;
        if matches!(attempt.told, Told::Committed(_)) {
            self.rows = kept;
        }
        attempt
    }

    /// A row that the others want to delete too: one of all is told that it did.
    async fn delete_contested(&mut self) -> Attempt {
        let (position, id) = *self.random.one(&self.contested);
        let attempt = self.delete(&[(self.base.clone(), position, id)]).await;
        if attempt.told != Told::Refused {
            self.contested.retain(|row| row.0 != position);
        }
        attempt
    }

    async fn configure(&mut self, key: String) -> Attempt {
        let pair = (key, format!("{}.{}", self.number, self.log.len()));
        let set = Texts::from([pair.clone()]);
        let report = self.table.set_properties(set, Vec::new(), &by_pylance()).await.unwrap();
        Attempt { set: Some(pair), ..Attempt::of(&report) }
    }
}

/// The table with its base fragment, and one writer for each slice of it.
async fn prepare(python: &Python, path: &Path, run: u64) -> (Vec<Writer>, Vec<i64>, u64) {
    let slices = SLICE * WRITERS as u64;
    let rows = usize::try_from(slices + CONTESTED + 1).unwrap();
    let (base, first) = if run.is_multiple_of(2) {
        let mut table = create(path, Texts::new()).await;
        let base = write(python, path, 1, rows, 0).await.remove(0);
        let report = table.append_fragments(vec![base.fragment.clone()], &by_pylance()).await.unwrap();
        (base.path, committed(&report) + 1)
    } else {
        // With the old names, or with stable row ids.
        let kind = if run % 4 == 1 { "--v1-names" } else { "--stable-row-ids" };
        python.on("lance_write.py", &["create"], path, &["--rows", &rows.to_string(), kind]).await;
        (fragment_ids(open(path).await.snapshot()).into_keys().next().unwrap(), 2)
    };
    let mut files = write(python, path, WRITERS * FILES, 4, 50_000).await;
    let ids: Vec<i64> = (0..i64::try_from(rows).unwrap()).collect();
    let slice = |from: u64, count: u64| -> Vec<(u64, i64)> {
        (from..from + count).map(|position| (position, i64::try_from(position).unwrap())).collect()
    };
    let mut writers = Vec::new();
    for number in 0..WRITERS as u64 {
        let own = slice(number * SLICE, SLICE).into_iter();
        writers.push(Writer {
            number,
            table: open(path).await,
            random: Random::new(run * 100 + number),
            files: files.split_off(files.len() - FILES),
            rows: own.map(|(position, id)| (base.clone(), position, id)).collect(),
            base: base.clone(),
            contested: slice(slices, CONTESTED),
            log: Vec::new(),
        });
    }
    (writers, ids, first)
}

/// What pylance reads in the end, against what every writer was told.
async fn audit(python: &Python, path: &Path, base: Vec<i64>, first: u64, attempts: &[Attempt]) {
    let told = by_version(attempts);
    assert_eq!(told.len(), WRITERS * OURS + 2 * THEIRS, "every commit was acknowledged at a version of its own");
    let versions: Vec<u64> = told.keys().copied().collect();
    assert_eq!(versions, (first..first + told.len() as u64).collect::<Vec<_>>(), "the versions are contiguous");

    let read = python.on("lance_read.py", &[], path, &["--rows", "--addresses", "--history"]).await;
    let history = list(&read["history"]);
    let past: BTreeMap<u64, &str> =
        history.iter().map(|one| (one["version"].as_u64().unwrap(), one["uuid"].as_str().unwrap())).collect();
    assert_eq!(past.len(), history.len());
    assert_eq!(past.keys().copied().collect::<Vec<_>>(), (1..first + told.len() as u64).collect::<Vec<_>>());
    assert_eq!(past.values().collect::<BTreeSet<_>>().len(), past.len(), "no transaction landed twice");
    for (version, attempt) in &told {
        assert_eq!(attempt.id.as_deref(), Some(past[version]), "the transaction of version {version}");
    }
    for attempt in attempts.iter().filter(|attempt| !matches!(attempt.told, Told::Committed(_))) {
        let landed = past.iter().find(|(_, id)| Some(**id) == attempt.id.as_deref());
        assert_eq!(landed, None, "{attempt:?} was not to land");
    }

    let live = live_ids(base, &told);
    for attempt in attempts.iter().filter(|attempt| attempt.told == Told::Nothing) {
        assert!(attempt.deleted.iter().all(|id| !live.contains(id)), "{attempt:?} left what it was to delete");
    }
    let rows: serde_json::Value = live.iter().map(|id| serde_json::json!([id, format!("s{id}")])).collect();
    assert_eq!(read["rows"], rows, "every row exactly once");
    assert_eq!(texts(&read["config"]), set_texts(&Texts::new(), &told));
    distinct_row_ids(&read);
    same_version(open(path).await.snapshot(), &read);
}

async fn race(python: &Python, run: u64) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let path: PathBuf = folder.path().join("table.lance");
    let (writers, base, first) = prepare(python, &path, run).await;
    let numbers = (10, 12);
    let clients =
        Clients::start(python, ("lance_race.py", "uuid"), &path, numbers.0..numbers.1, (THEIRS, run, PAUSES_MS_MAX.1))
            .await;
    let (start, go) = watch::channel(false);
    let ours: Vec<_> = writers.into_iter().map(|writer| tokio::spawn(writer.run(go.clone()))).collect();
    let began = Instant::now();
    clients.go();
    start.send(true).unwrap();
    let mut attempts = Vec::new();
    for one in ours {
        attempts.extend(one.await.unwrap());
    }
    attempts.extend(clients.end().await);
    let handovers = summary("on Lance", run, &attempts, began.elapsed());
    audit(python, &path, base, first, &attempts).await;
    handovers
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn five_races_with_pylance_lose_and_double_nothing() {
    let Some(python) = Python::find() else { return };
    let mut handovers = 0;
    for run in 0..5 {
        handovers += race(&python, run).await;
    }
    assert!(handovers >= 25, "only {handovers} times did a commit follow one of the other side: that is no race");
}
