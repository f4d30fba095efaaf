//! One history: a table, its two writers, and what it must hold.

use super::choice::{Choice, rows};
use super::lines::Lines;
use super::predicate::Predicate;
use super::seen::seen;
use super::state::{MAPS, State, Texts};
use super::step::Step;
use super::{ours, theirs};
use crate::support::{Random, Rows, Worker, by_id, committed, open, options, plainly, scan, scan_of, source};
use lakebed_lance::index::FRAGMENT_REUSE;
use lakebed_table::{NewTable, ScanRequest, Table, TableFormat, VersionSpec};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What both must answer alike.
const ALIKE: [&str; 10] =
    ["version", "rows", "fragments", "schema", "config", "metadata", "schema_metadata", "indices", "rows_at", "stable"];

/// How often each writer had its turn, and which table it was.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) ours: u64,
    pub(crate) theirs: u64,
    pub(crate) versions: u64,
    pub(crate) table: String,
    /// Steps of ours and of theirs, by kind.
    pub(crate) kinds: BTreeMap<&'static str, [u64; 2]>,
}

/// A table, and what it must hold.
pub(crate) struct History<'a> {
    worker: &'a mut Worker,
    path: PathBuf,
    random: Random,
    seed: u64,
    table: Table,
    /// What every version must hold; there is no version 0.
    states: Vec<State>,
    lines: Lines,
    next_id: i64,
    tally: Tally,
}

impl<'a> History<'a> {
    /// Creates the table, with some rows.
    pub(crate) async fn begin(worker: &'a mut Worker, folder: &Path, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let path = folder.join(format!("seed-{seed}.lance"));
        let mut state = State::default();
        let next_id = 4 + i64::try_from(random.below(8)).unwrap();
        let first = rows(&state, 0..next_id, &mut random);
        let (table, name) = if random.below(3) == 0 {
            (created(&path, &first).await, "ours".to_owned())
        } else {
            let format = *random.one(&["2.0", "2.1", "2.2"]);
            let (stable, v1_names) = (random.below(2) == 0, random.below(5) == 0);
            let command = json!({
                "do": "create", "table": path, "rows": theirs::listed(&first),
                "format": format, "stable": stable, "v1_names": v1_names,
            });
            assert_eq!(worker.ask(&command).await["version"], 1, "seed {seed}");
            let name = format!("pylance's of format {format}, stable row ids {stable}, old names {v1_names}");
            (open(&path).await, name)
        };
        state.rows = first;
        let mut states = vec![State::default(); usize::try_from(table.version().get()).unwrap()];
        states.push(state);
        let tally = Tally { table: name, ..Tally::default() };
        Self { worker, path, random, seed, table, states, lines: Lines::default(), next_id, tally }
    }

    /// Goes so many steps, and compares old versions at the end.
    pub(crate) async fn run(mut self, steps: u64) -> Tally {
        for number in 0..steps {
            let state = self.states.last().unwrap();
            let newest = self.newest();
            let mut choice = Choice { state, lines: &self.lines, newest, next_id: &mut self.next_id, number };
            let step = choice.step(&mut self.random);
            self.step(number, step).await;
        }
        self.old_versions().await;
        self.tally.versions = self.newest();
        self.tally
    }

    fn newest(&self) -> u64 {
        self.states.len() as u64 - 1
    }

    async fn step(&mut self, number: u64, step: Step) {
        let before = self.newest();
        let ours = !step.is_theirs_alone() && self.random.below(2) == 0;
        let who = if ours { "lakebed" } else { "pylance" };
        let what = format!("seed {}, step {number}, {who}: {step:?}", self.seed);
        let state = step.apply(self.states.last().unwrap(), &self.states);
        let kind = self.tally.kinds.entry(step.kind()).or_default();
        if ours {
            kind[0] += 1;
            self.tally.ours += 1;
            if self.random.below(4) == 0 {
                self.table = open(&self.path).await;
            }
            self.table.refresh().await.unwrap();
            ours::run(&mut self.table, &step, &mut self.random).await;
        } else {
            kind[1] += 1;
            self.tally.theirs += 1;
            let mut command = theirs::command(&step);
            let answer = self.ask(&mut command).await;
            assert!(answer["error"].is_null(), "{what}: {answer}");
        }
        self.table.refresh().await.unwrap();
        let version = self.table.version().get();
        let most = before + step.versions_max();
        assert!((before..=most).contains(&version), "{what}: version {version} after {before}");
        assert!(version > before || state == *self.states.last().unwrap(), "{what}: nothing was committed");
        self.states.resize(usize::try_from(version).unwrap() + 1, state.clone());
        *self.states.last_mut().unwrap() = state;
        step.apply_beside(&mut self.lines, &self.states);
        self.compare(&what).await;
        self.compare_lines(&what).await;
    }

    async fn ask(&mut self, command: &mut Value) -> Value {
        command["table"] = json!(self.path);
        command["fresh"] = json!(self.random.below(4) == 0);
        self.worker.ask(command).await
    }

    /// Both read the same, and what must be there: we by the handle that stays and, now and then, by a new one.
    async fn compare(&mut self, what: &str) {
        let predicate = Predicate::random(&mut self.random, &self.states.last().unwrap().base());
        let theirs = self.ask(&mut json!({"do": "read", "where": predicate.sql(r"\")})).await;
        assert!(theirs["error"].is_null(), "{what}: {theirs}");
        let state = self.states.last().unwrap();
        assert_eq!(theirs["found"], json!(state.meets(&predicate)), "{what}: pylance's rows {predicate:?}");
        self.must(state, &theirs, what, "pylance's");
        let ours = seen(&self.table).await;
        for key in ALIKE {
            assert_eq!(ours[key], theirs[key], "{what}: we and pylance read different {key}");
        }
        if self.random.below(3) == 0 {
            assert_eq!(seen(&open(&self.path).await).await, ours, "{what}: a new handle of ours reads something else");
        }
    }

    /// What was read is what must be there.
    fn must(&self, state: &State, seen: &Value, what: &str, whose: &str) {
        assert_eq!(seen["version"], self.newest(), "{what}: {whose} version");
        assert_eq!(by_id(seen["rows"].as_array().unwrap()), state.rows, "{what}: {whose} rows");
        for map in MAPS {
            let texts: Texts = serde_json::from_value(seen[map].clone()).unwrap();
            assert_eq!(texts, state.maps.get(map).cloned().unwrap_or_default(), "{what}: {whose} {map}");
        }
        let names = |value: &Value| -> BTreeSet<String> {
            value.as_array().unwrap().iter().map(|one| one[0].as_str().unwrap().to_owned()).collect()
        };
        let mut columns: BTreeSet<String> = state.added.keys().cloned().collect();
        columns.extend(["id", "s", "w"].map(str::to_owned));
        assert_eq!(names(&seen["schema"]), columns, "{what}: {whose} columns");
        let mut indices = names(&seen["indices"]);
        // The record of where a compaction of ours put rows that an index finds; both sides say the same of it.
        indices.remove(FRAGMENT_REUSE);
        assert_eq!(indices, state.indices.keys().cloned().collect(), "{what}: {whose} indices");
    }

    /// Both see the same tags and branches, and rows on them.
    async fn compare_lines(&mut self, what: &str) {
        let theirs = self.ask(&mut json!({"do": "lines"})).await;
        assert_eq!(theirs["tags"], json!(self.lines.tags), "{what}: pylance's tags");
        let ours: BTreeMap<String, u64> =
            self.table.tags().await.unwrap().into_iter().map(|tag| (tag.name, tag.version)).collect();
        assert_eq!(ours, self.lines.tags, "{what}: our tags");
        let branches = self.table.branches().await.unwrap();
        let names: Vec<&str> = branches.iter().map(|branch| branch.name.as_str()).collect();
        assert_eq!(names, self.lines.branches.keys().collect::<Vec<_>>(), "{what}: our branches");
        assert_eq!(theirs["branches"].as_object().unwrap().len(), names.len(), "{what}: pylance's branches");
        for branch in &branches {
            let line = &self.lines.branches[&branch.name];
            let (name, seen) = (&branch.name, &theirs["branches"][&branch.name]);
            assert_eq!((branch.parent_version, &seen["from"]), (line.from, &json!(line.from)), "{what}: {name}");
            let table = self.table.checkout(name).await.unwrap();
            assert_eq!(table.version().get(), seen["version"].as_u64().unwrap(), "{what}: version of {name}");
            let rows = by_id(&scan(&table, &ScanRequest::default()).await);
            assert_eq!(rows, line.state.rows, "{what}: our rows of {name}");
            assert_eq!(by_id(seen["rows"].as_array().unwrap()), rows, "{what}: pylance's rows of {name}");
        }
    }

    /// Versions hold what they held.
    async fn old_versions(&mut self) {
        let past: Vec<u64> = (1..=self.newest()).collect();
        for version in self.random.some(&past, 3) {
            let what = format!("seed {}: version {version} afterwards", self.seed);
            let answer = self.ask(&mut json!({"do": "read", "at": version})).await;
            let expected = &self.states[usize::try_from(version).unwrap()].rows;
            assert_eq!(&by_id(answer["rows"].as_array().unwrap()), expected, "{what}: pylance's rows");
            assert_eq!(&self.rows_at(version).await, expected, "{what}: our rows");
        }
    }

    async fn rows_at(&self, version: u64) -> Rows {
        let snapshot = self.table.at(VersionSpec::Number(version)).await.unwrap();
        by_id(&scan_of(&self.table, &snapshot, &ScanRequest::default()).await)
    }
}

/// A table of ours, with rows in its second version.
async fn created(path: &Path, first: &Rows) -> Table {
    let columns = lakebed_sql::parse_columns("id long, s string, w int").unwrap();
    let new = NewTable::new(TableFormat::Lance, columns);
    let made = Table::create(path.to_str().unwrap(), &options(), &new, &plainly()).await.unwrap();
    let mut table = made.0.unwrap();
    let rows: Vec<Value> = first.values().cloned().collect();
    assert_eq!(committed(&table.append(source(&table, &rows), &plainly()).await.unwrap()), 2);
    table
}
