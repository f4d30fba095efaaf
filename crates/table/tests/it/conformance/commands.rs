//! The pairs of SQL commands that Spark was measured on, run through the facade by two handles.

mod levels;
mod rows;
mod statements;

use super::{folder, rows_of};
use crate::support::{isolated, once, unique};
use bytes::Bytes;
use lakebed_storage::{MemoryStore, Store};
use lakebed_table::{CommitOptions, Report, ScanRequest, Table};
use lakebed_transaction::Outcome;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Objects by their names.
type Objects = Vec<(String, Bytes)>;

/// Rows as JSON, without their NULLs, sorted.
type Rows = Vec<String>;

/// How many threads run cases.
const THREADS: usize = 2;

/// Of the cases, one in so many is run where nobody asked for all of them.
const PART: usize = 4;

/// One measured pair.
#[derive(Clone, Debug)]
struct Case {
    id: String,
    base: String,
    ours: String,
    winner: String,
    /// What a `delta-…` policy must answer, as the data's description says.
    expect: String,
    /// Spark's answer.
    verdict: String,
    /// Which serial runs Spark's rows equal.
    serial: String,
    /// The rows that Spark ended with.
    rows: String,
    /// Whether a rebase without reading data can reach log order; `None` where a side changes neither rows nor layout.
    rebasable: Option<bool>,
}

impl Case {
    fn of(mut cells: Vec<String>) -> Self {
        cells.resize(15, String::new());
        let [id, base, ours, winner, _, expect, verdict, _, _, _, serial, _, rows, _, rebasable] = cells.as_slice()
        else {
            panic!("{cells:?}")
        };
        let [id, base, ours, winner] = [id, base, ours, winner].map(Clone::clone);
        let [expect, verdict, serial, rows] = [expect, verdict, serial, rows].map(Clone::clone);
        let rebasable = (!rebasable.is_empty()).then(|| rebasable == "yes");
        Self { id, base, ours, winner, expect, verdict, serial, rows, rebasable }
    }

    /// Whether Spark committed ours, and that came to the winner and then ours.
    fn in_log_order(&self) -> bool {
        matches!(self.serial.as_str(), "both" | "equals winner-then-loser")
    }

    /// Whether Spark let ours stand.
    fn stands(&self) -> bool {
        matches!(self.verdict.as_str(), "ok" | "ok-nocommit")
    }
}

/// The measured data.
#[derive(Debug)]
struct Measured {
    root: PathBuf,
    cases: Vec<Case>,
    texts: BTreeMap<String, String>,
    /// The objects of each base.
    bases: BTreeMap<String, Objects>,
    /// What winners put beside a base's objects, by the base and the winner; `None` where our program lacks the statement.
    landed: Mutex<Landed>,
}

type Landed = BTreeMap<(String, String), Option<Arc<Objects>>>;

impl Measured {
    /// All of it; `None` (after saying so) where it is absent.
    fn find() -> Option<Arc<Self>> {
        let root = folder("delta-commands")?;
        let cases: Vec<Case> = rows_of(&root.join("cases.tsv")).into_iter().map(Case::of).collect();
        let texts =
            rows_of(&root.join("commands.tsv")).into_iter().map(|cells| (cells[0].clone(), cells[1].clone())).collect();
        let names: std::collections::BTreeSet<String> = cases.iter().map(|case| case.base.clone()).collect();
        let bases = names.into_iter().map(|name| (name.clone(), objects(&root.join("bases").join(name)))).collect();
        Some(Arc::new(Self { root, cases, texts, bases, landed: Mutex::default() }))
    }

    /// The rows that Spark counted.
    fn rows(&self, hash: &str) -> Rows {
        let text = std::fs::read_to_string(self.root.join("rows").join(format!("{hash}.json"))).unwrap();
        let rows: Vec<Value> = serde_json::from_str(&text).unwrap();
        sorted(rows)
    }

    /// A copy of a base in memory.
    async fn copy(&self, base: &str) -> Arc<dyn Store> {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::named(&format!("commands-{}", unique())));
        put(&store, &self.bases[base]).await;
        store
    }

    /// Runs a command on a handle; `None` where our program has no such statement.
    async fn run(&self, table: &mut Table, base: &str, name: &str, commit: &CommitOptions) -> Option<Report> {
        let what = format!("{name} on {base}");
        let header = || {
            let text = std::fs::read_to_string(self.root.join("ours").join(format!("{base}.{name}.json"))).ok()?;
            text.lines().next().map(str::to_owned)
        };
        let report = statements::run(table, name, &self.texts[name], header, commit).await?;
        Some(report.unwrap_or_else(|error| panic!("{what}: {error}")))
    }

    /// What a winner puts beside a base's objects.
    async fn landed(&self, base: &str, winner: &str) -> Option<Arc<Objects>> {
        let key = (base.to_owned(), winner.to_owned());
        if let Some(known) = self.landed.lock().unwrap().get(&key) {
            return known.clone();
        }
        let store = self.copy(base).await;
        let report = self.run(&mut handle(&store).await, base, winner, &once()).await;
        let landed = match report {
            None => None,
            Some(report) => {
                assert_done(&report, winner);
                let mut objects = Objects::new();
                for listed in store.list("", None, usize::MAX).await.unwrap() {
                    let bytes = store.get(&listed.name).await.unwrap().unwrap();
                    if !self.bases[base].contains(&(listed.name.clone(), bytes.clone())) {
                        objects.push((listed.name, bytes));
                    }
                }
                Some(Arc::new(objects))
            }
        };
        self.landed.lock().unwrap().entry(key).or_insert(landed).clone()
    }

    /// The winner lands while ours stands on the version before; then ours commits. What ours was answered, and the rows in the
    /// end; `None` where our program lacks one of the statements.
    async fn raced(&self, case: &Case, policy: &str) -> Option<(Report, Rows)> {
        let landed = self.landed(&case.base, &case.winner).await?;
        let store = self.copy(&case.base).await;
        let mut table = handle(&store).await;
        put(&store, &landed).await;
        let commit = CommitOptions { policy: Some(policy.to_owned()), ..once() };
        let report = self.run(&mut table, &case.base, &case.ours, &commit).await?;
        Some((report, scanned(&handle(&store).await).await))
    }

    /// The rows after two commands, the second on what the first left.
    async fn in_turn(&self, base: &str, [first, second]: [&str; 2]) -> Rows {
        let store = self.copy(base).await;
        put(&store, &self.landed(base, first).await.unwrap()).await;
        let report = self.run(&mut handle(&store).await, base, second, &once()).await.unwrap();
        assert_done(&report, second);
        scanned(&handle(&store).await).await
    }
}

async fn put(store: &Arc<dyn Store>, objects: &Objects) {
    for (name, bytes) in objects {
        store.put(name, bytes.clone()).await.unwrap();
    }
}

fn assert_done(report: &Report, what: &str) {
    assert!(matches!(report.outcome, Outcome::Committed { .. } | Outcome::Nothing { .. }), "{what}: {report:?}");
}

/// The objects below a folder, by their names from there.
fn objects(folder: &Path) -> Objects {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(&at).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                found.push((name, std::fs::read(&path).unwrap().into()));
            }
        }
    }
    found
}

async fn handle(store: &Arc<dyn Store>) -> Table {
    Table::open_store(Arc::clone(store), &isolated()).await.unwrap()
}

async fn scanned(table: &Table) -> Rows {
    let mut rows = Vec::new();
    for batch in table.scan(table.snapshot(), &ScanRequest::default()).unwrap().all().await.unwrap() {
        for row in 0..batch.num_rows() {
            rows.push(serde_json::from_str(&lakebed_data::json_row(&batch, row).unwrap()).unwrap());
        }
    }
    sorted(rows)
}

fn sorted(rows: Vec<Value>) -> Rows {
    let spelled = |row: Value| {
        let Value::Object(fields) = row else { panic!("{row}") };
        let fields: BTreeMap<String, Value> = fields.into_iter().filter(|(_, value)| !value.is_null()).collect();
        serde_json::to_string(&fields).unwrap()
    };
    let mut rows: Rows = rows.into_iter().map(spelled).collect();
    rows.sort();
    rows
}

/// Whether every case is run, or one in so many.
fn runs_all() -> bool {
    std::env::var("LAKEBED_COMMANDS").is_ok_and(|text| text == "all")
}

/// Does the same for every case, or (where nobody asked for all) for those that always count and a part of the others, on two threads;
/// in the order of the cases.
fn each<T: Send, F: Future<Output = T>>(
    measured: &Arc<Measured>,
    always: impl Fn(&Case) -> bool + Sync,
    work: impl Fn(Arc<Measured>, Case) -> F + Sync,
) -> Vec<T> {
    let run = |first: usize| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let cases = measured.cases.iter().enumerate().skip(first).step_by(THREADS);
        let cases = cases.filter(|(at, case)| runs_all() || always(case) || (at / THREADS).is_multiple_of(PART));
        cases.map(|(at, case)| (at, runtime.block_on(work(Arc::clone(measured), case.clone())))).collect::<Vec<_>>()
    };
    let mut done: Vec<(usize, T)> = std::thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = (0..THREADS).map(|first| scope.spawn(move || run(first))).collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, found)| found).collect()
}
