//! One history: a table, its two writers, and the rows that it must have.

use super::step::{Choice, Compacting, Step};
use crate::support::delta::{create, printed, scan, source};
use crate::support::rows::Rows;
use crate::support::{Random, Texts, Worker, names, open, plainly, texts};
use lakebed_table::{CompactRequest, Compaction, MergeSpec, NotMatched, Report, Scope, Table, VersionSpec};
use lakebed_transaction::Outcome;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A backslash in a text of SQL.
const OUR_BACKSLASH: &str = r"\\";
const THEIR_BACKSLASH: &str = r"\";
const MAPPING_MODE: &str = "delta.columnMapping.mode";

/// How often each writer had its turn, and what the table went through.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) ours: u64,
    pub(crate) theirs: u64,
    pub(crate) versions: u64,
    pub(crate) checkpoints: u64,
    pub(crate) compactions: u64,
}

/// A table, and what it must hold.
pub(crate) struct History<'a> {
    worker: &'a mut Worker,
    path: PathBuf,
    random: Random,
    seed: u64,
    table: Table,
    rows: Rows,
    /// The rows of every version.
    states: Vec<Rows>,
    mapped: bool,
    partitioned: bool,
    /// No older version has all its files.
    floor: u64,
    next_id: i64,
    tally: Tally,
}

impl<'a> History<'a> {
    /// Creates the table.
    pub(crate) async fn begin(worker: &'a mut Worker, folder: &Path, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let path = folder.join(format!("seed-{seed}"));
        let partitioned = random.below(2) == 0;
        let mut properties = Texts::from([("delta.checkpointInterval".to_owned(), (2 + random.below(9)).to_string())]);
        for (one_of, key) in [(3, "delta.enableDeletionVectors"), (4, "delta.enableChangeDataFeed")] {
            if random.below(one_of) == 0 {
                properties.insert(key.to_owned(), "true".to_owned());
            }
        }
        if random.below(5) == 0 {
            properties.insert(MAPPING_MODE.to_owned(), "name".to_owned());
        }
        if random.below(2) == 0 {
            drop(create(&path, partitioned, properties.clone()).await);
        } else {
            let command = json!({"do": "create", "table": path, "partitioned": partitioned, "properties": properties});
            assert_eq!(worker.ask(&command).await["version"], 0, "seed {seed}");
        }
        let mapped = properties.contains_key(MAPPING_MODE);
        let table = open(&path).await;
        let (rows, states) = (Rows::new(), vec![Rows::new()]);
        let (floor, next_id, tally) = (0, 0, Tally::default());
        Self { worker, path, random, seed, table, rows, states, mapped, partitioned, floor, next_id, tally }
    }

    /// Goes so many steps, and compares once more from scratch at the end.
    pub(crate) async fn run(mut self, steps: u64) -> Tally {
        for number in 0..steps {
            let restorable = self.floor..self.states.len() as u64;
            let mut choice = Choice { rows: &self.rows, restorable, next_id: &mut self.next_id, number };
            let step = choice.step(&mut self.random);
            // deltalake joins no files of a table that maps its columns.
            if !(self.mapped && matches!(step, Step::Optimize)) {
                self.step(number, step).await;
            }
        }
        self.old_versions().await;
        self.tally.versions = self.states.len() as u64;
        self.tally.checkpoints = names(&self.path.join("_delta_log"), ".checkpoint.parquet").len() as u64;
        self.tally
    }

    async fn step(&mut self, number: u64, step: Step) {
        let newest = self.states.len() as u64 - 1;
        // Each joins files in its own way, and deltalake refuses to restore what is there.
        let is_own = matches!(step, Step::Compact(_)) || matches!(step, Step::Restore(to) if to == newest);
        let ours = is_own || (!matches!(step, Step::Optimize) && self.random.below(2) == 0);
        self.tally.compactions += u64::from(matches!(step, Step::Compact(_)));
        let who = if ours { "lakebed" } else { "deltalake" };
        let what = format!("seed {}, step {number}, {who}: {step:?}", self.seed);
        let rows = step.apply(&self.rows, &self.states);
        let version = if ours {
            self.tally.ours += 1;
            self.ours(&step, &what).await
        } else {
            self.tally.theirs += 1;
            self.theirs(&step, &what).await
        };
        let before = self.states.len() as u64 - 1;
        // deltalake notes in the log when a vacuum starts and when it ends.
        let most = if matches!(step, Step::Vacuum) && !ours { 2 } else { 1 };
        assert!((before..=before + most).contains(&version), "{what}: version {version} after {before}");
        assert!(version > before || rows == self.rows, "{what}: nothing was committed");
        if matches!(step, Step::Vacuum) {
            self.floor = version;
        }
        self.rows = rows;
        self.states.resize(usize::try_from(version).unwrap() + 1, self.rows.clone());
        self.compare(&what).await;
    }

    /// Carries a step out ourselves; the newest version after it.
    async fn ours(&mut self, step: &Step, what: &str) -> u64 {
        if self.random.below(4) == 0 {
            self.table = open(&self.path).await;
        }
        self.table.refresh().await.unwrap();
        let table = &mut self.table;
        let commit = plainly();
        let report = match step {
            Step::Append(rows) => table.append(source(rows), &commit).await,
            Step::Overwrite(rows) => table.overwrite(source(rows), &Scope::Whole, &commit).await,
            Step::OverwriteWhere(predicate, rows) => {
                table.overwrite(source(rows), &Scope::Where(predicate.sql(OUR_BACKSLASH)), &commit).await
            }
            Step::Delete(predicate) => table.delete(&predicate.sql(OUR_BACKSLASH), &commit).await,
            Step::Update(assignment, predicate) => {
                let (column, value) = assignment.sql();
                table.update(&[format!("{column} = {value}")], Some(&predicate.sql(OUR_BACKSLASH)), &commit).await
            }
            Step::Merge(rows, matched, insert) => {
                let spec = MergeSpec {
                    on: vec!["id".to_owned()],
                    matched: matched.ours(),
                    not_matched: if *insert { NotMatched::Insert } else { NotMatched::Ignore },
                    ..MergeSpec::default()
                };
                table.merge(source(rows), &spec, &commit).await
            }
            Step::Set(key, value) => {
                let set = Texts::from([(key.clone(), value.clone())]);
                table.set_properties(set, Vec::new(), &commit).await
            }
            Step::Restore(to) => table.restore(VersionSpec::Number(*to), &commit).await,
            Step::Checkpoint => {
                let version = table.checkpoint().await.unwrap();
                assert_eq!(version, table.version(), "{what}");
                return version.get();
            }
            Step::Vacuum => {
                table.vacuum(Some(Duration::ZERO), true, false).await.unwrap();
                return table.version().get();
            }
            Step::Compact(how) => {
                let request = how.request(self.partitioned);
                table.compact(&request, &commit).await
            }
            Step::Optimize => panic!("{what}: that is deltalake's way to join files"),
        };
        let version = committed_or_not(&report.unwrap_or_else(|error| panic!("{what}: {error}")), what);
        assert_eq!(table.settle().await, Vec::<String>::new(), "{what}");
        version
    }

    /// Lets deltalake carry a step out; the newest version after it.
    async fn theirs(&mut self, step: &Step, what: &str) -> u64 {
        let mut command = match step {
            Step::Append(rows) => json!({"do": "append", "rows": listed(rows)}),
            Step::Overwrite(rows) => json!({"do": "overwrite", "rows": listed(rows), "where": null}),
            Step::OverwriteWhere(predicate, rows) => {
                json!({"do": "overwrite", "rows": listed(rows), "where": predicate.sql(THEIR_BACKSLASH)})
            }
            Step::Delete(predicate) => json!({"do": "delete", "where": predicate.sql(THEIR_BACKSLASH)}),
            Step::Update(assignment, predicate) => {
                let (column, value) = assignment.sql();
                json!({"do": "update", "set": {column: value}, "where": predicate.sql(THEIR_BACKSLASH)})
            }
            Step::Merge(rows, matched, insert) => {
                json!({"do": "merge", "rows": listed(rows), "matched": matched.theirs(), "insert": insert})
            }
            Step::Set(key, value) => json!({"do": "set", "properties": {key: value}}),
            Step::Restore(to) => json!({"do": "restore", "to": to}),
            Step::Checkpoint => json!({"do": "checkpoint"}),
            Step::Optimize => json!({"do": "optimize"}),
            Step::Compact(_) => panic!("{what}: that is our way to join files"),
            Step::Vacuum => json!({"do": "vacuum"}),
        };
        let answer = self.ask(&mut command).await;
        answer["version"].as_u64().unwrap_or_else(|| panic!("{what}: {answer}"))
    }

    async fn ask(&mut self, command: &mut Value) -> Value {
        command["table"] = json!(self.path);
        command["fresh"] = json!(self.random.below(4) == 0);
        self.worker.ask(command).await
    }

    /// Both read what must be there: we by the handle that stays and, now and then, by a new one.
    async fn compare(&mut self, what: &str) {
        let version = self.states.len() as u64 - 1;
        let answer = self.ask(&mut json!({"do": "read"})).await;
        assert_eq!(answer["version"], version, "{what}: deltalake reads another version: {answer}");
        assert_eq!(printed(&answer["rows"]), self.rows, "{what}: deltalake's rows");
        self.table.refresh().await.unwrap();
        self.compare_ours(&self.table, &answer, what).await;
        if self.random.below(3) == 0 {
            self.compare_ours(&open(&self.path).await, &answer, what).await;
        }
    }

    async fn compare_ours(&self, table: &Table, answer: &Value, what: &str) {
        assert_eq!(Some(table.version().get()), answer["version"].as_u64(), "{what}: we read another version");
        assert_eq!(scan(table, table.snapshot()).await, self.rows, "{what}: our rows");
        let properties = table.snapshot().summary().unwrap().properties;
        assert_eq!(properties, texts(&answer["properties"]), "{what}: properties");
    }

    /// Versions that are still whole hold what they held.
    async fn old_versions(&mut self) {
        let past: Vec<u64> = (self.floor..self.states.len() as u64).collect();
        for version in self.random.some(&past, 3) {
            let what = format!("seed {}: version {version} afterwards", self.seed);
            let answer = self.ask(&mut json!({"do": "read", "at": version})).await;
            let expected = &self.states[usize::try_from(version).unwrap()];
            assert_eq!(&printed(&answer["rows"]), expected, "{what}: deltalake's rows");
            let snapshot = self.table.at(VersionSpec::Number(version)).await.unwrap();
            assert_eq!(&scan(&self.table, &snapshot).await, expected, "{what}: our rows");
        }
    }
}

impl Compacting {
    fn request(self, partitioned: bool) -> CompactRequest {
        let mut request = CompactRequest::default();
        match self {
            Self::Minor => request.compaction = Compaction::Minor,
            Self::Major => {}
            Self::Into(size) => request.target_size_bytes = Some(size),
            Self::Sorted(columns) => request.cluster_by = columns.iter().map(|name| (*name).to_owned()).collect(),
            Self::Of(writer) => request.predicate = partitioned.then(|| format!("w = {writer}")),
        }
        request
    }
}

/// The newest version after a statement that nobody was in the way of.
fn committed_or_not(report: &Report, what: &str) -> u64 {
    match &report.outcome {
        Outcome::Committed { version, .. } | Outcome::Nothing { version } => version.get(),
        other @ (Outcome::Conflict(_) | Outcome::Exhausted { .. } | Outcome::Unknown { .. }) => {
            panic!("{what}: {other:?}")
        }
    }
}

/// Rows as the worker takes them.
fn listed(rows: &Rows) -> Value {
    rows.iter().map(|(id, (s, w))| json!([id, s, w])).collect()
}
