//! What the races of both formats share: the other processes, what every writer believes, and the count.

use crate::support::{Python, Running, Texts, integers, list};
use lakebed_table::Report;
use lakebed_transaction::Outcome;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::Instant;

/// Refusals in a row after which a writer of ours gives up.
pub(crate) const REFUSALS_MAX: u32 = 200;

/// What a writer was told about an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// It is this version.
    Committed(u64),
    /// Nothing was committed: somebody stood in the way.
    Refused,
    /// Nothing was committed: there was nothing left to do.
    Nothing,
}

/// One attempt of one writer, ours or a client's.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub(crate) told: Told,
    /// The id or mark in the log; `None` where a client does not know what it was refused under.
    pub(crate) id: Option<String>,
    pub(crate) added: Vec<i64>,
    pub(crate) deleted: Vec<i64>,
    /// The property or configuration key that it set.
    pub(crate) set: Option<(String, String)>,
    /// Log entries that were offered to the store for it; a client does not say, so it counts as one.
    pub(crate) offered: u32,
    /// How often the statement was planned.
    pub(crate) plannings: u32,
    /// Whether it is ours.
    pub(crate) ours: bool,
}

impl Attempt {
    /// What a report says. An answer that is neither yes nor no, which a local disk never causes, fails the test.
    pub(crate) fn of(report: &Report) -> Self {
        let (told, offered) = match &report.outcome {
            Outcome::Committed { version, attempts } => (Told::Committed(version.get()), *attempts),
            Outcome::Nothing { .. } => (Told::Nothing, 0),
            Outcome::Conflict(_) => (Told::Refused, 1),
            other @ (Outcome::Exhausted { .. } | Outcome::Unknown { .. }) => panic!("no clear answer: {other:?}"),
        };
        Self {
            told,
            id: Some(report.transaction_id.as_str().to_owned()),
            added: Vec::new(),
            deleted: Vec::new(),
            set: None,
            offered,
            plannings: report.plannings,
            ours: true,
        }
    }

    /// What a client's script printed of it; `id` is the key under which its mark stands.
    fn printed(entry: &Value, id: &str) -> Self {
        let told = match entry["outcome"].as_str().unwrap() {
            "committed" => Told::Committed(entry["version"].as_u64().unwrap()),
            "refused" => Told::Refused,
            other => panic!("{other}: {entry}"),
        };
        let key = entry["config_key"].as_str();
        Self {
            told,
            id: entry[id].as_str().map(str::to_owned),
            added: integers(&entry["ids_added"]),
            deleted: integers(&entry["ids_deleted"]),
            set: key.map(|key| (key.to_owned(), key.trim_start_matches("interop.w").to_owned())),
            offered: 1,
            plannings: 1,
            ours: false,
        }
    }
}

/// The writer processes of a client, waiting for the start.
pub(crate) struct Clients {
    running: Vec<Running>,
    go: PathBuf,
    id: &'static str,
}

impl Clients {
    /// Starts a script for each writer and waits until all are ready.
    pub(crate) async fn start(
        python: &Python,
        (script, id): (&str, &'static str),
        table: &Path,
        writers: std::ops::Range<i64>,
        (commits, seed, pause_ms_max): (usize, u64, u64),
    ) -> Self {
        let folder = table.parent().unwrap();
        let go = folder.join("go");
        let ready = |writer: i64| folder.join(format!("ready-{writer}"));
        let mut running = Vec::new();
        for writer in writers.clone() {
            let start = writer * 1_000_000;
            let numbers = [writer, i64::try_from(commits).unwrap(), start];
            let numbers = numbers.map(|n| n.to_string()).into_iter().chain([seed, pause_ms_max].map(|n| n.to_string()));
            let keys = ["--writer", "--commits", "--start", "--seed", "--pause-ms"];
            let mut arguments = vec![table.to_str().unwrap().to_owned()];
            arguments.extend(keys.iter().zip(numbers).flat_map(|(key, n)| [(*key).to_owned(), n]));
            let files = [("--ready", ready(writer)), ("--go", go.clone())];
            arguments.extend(files.iter().flat_map(|(key, file)| [(*key).to_owned(), file.display().to_string()]));
            running.push(python.start(script, &arguments));
        }
        let end = Instant::now() + Duration::from_secs(60);
        while !writers.clone().all(|writer| ready(writer).exists()) {
            for one in &mut running {
                assert!(one.runs(), "a writer ended before the start: {}", one.errors());
            }
            assert!(Instant::now() < end, "the writers are not ready after a minute");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Self { running, go, id }
    }

    /// Lets them go.
    pub(crate) fn go(&self) {
        std::fs::write(&self.go, "").unwrap();
    }

    /// Waits for their end; what they did and believe.
    pub(crate) async fn end(self) -> Vec<Attempt> {
        let mut attempts = Vec::new();
        for one in self.running {
            let document = one.document().await;
            assert_eq!(document["errors"].as_u64(), Some(0), "{document}");
            attempts.extend(list(&document["log"]).iter().map(|entry| Attempt::printed(entry, self.id)));
        }
        attempts
    }
}

/// The committed attempts by version. Two writers who were told the same version fail the test.
pub(crate) fn by_version(attempts: &[Attempt]) -> BTreeMap<u64, &Attempt> {
    let mut found = BTreeMap::new();
    for attempt in attempts {
        if let Told::Committed(version) = attempt.told {
            let before = found.insert(version, attempt);
            assert!(before.is_none(), "version {version} was promised to two: {before:?} and {attempt:?}");
        }
    }
    found
}

/// Adds and deletes what was committed, in the order of the versions: no id comes twice, none goes that is not there.
pub(crate) fn live_ids(base: impl IntoIterator<Item = i64>, committed: &BTreeMap<u64, &Attempt>) -> Vec<i64> {
    let mut live: std::collections::BTreeSet<i64> = base.into_iter().collect();
    for (version, attempt) in committed {
        for id in &attempt.deleted {
            assert!(live.remove(id), "version {version} deletes {id}, which was not there");
        }
        for id in &attempt.added {
            assert!(live.insert(*id), "version {version} adds {id} once more");
        }
    }
    live.into_iter().collect()
}

/// Properties after what was committed, in the order of the versions.
pub(crate) fn set_texts(base: &Texts, committed: &BTreeMap<u64, &Attempt>) -> Texts {
    let mut texts = base.clone();
    texts.extend(committed.values().filter_map(|attempt| attempt.set.clone()));
    texts
}

/// Prints one line about a race, and answers how often the turn went from us to the client or back.
pub(crate) fn summary(name: &str, run: u64, attempts: &[Attempt], took: Duration) -> usize {
    let committed = by_version(attempts);
    let refused = |ours| attempts.iter().filter(|one| one.ours == ours && one.told == Told::Refused).count();
    let offered: u32 = attempts.iter().map(|one| one.offered).sum();
    let replanned: u32 = attempts.iter().map(|one| one.plannings - 1).sum();
    let order: Vec<bool> = committed.values().map(|one| one.ours).collect();
    let handovers = order.windows(2).filter(|pair| pair[0] != pair[1]).count();
    println!(
        "race {name}, run {run}: {} commits ({} ours), {} attempts, {offered} entries offered, {} conflicts of ours and {} of \
         theirs told, {replanned} statements planned again, {handovers} handovers, {:.1} s",
        committed.len(),
        order.iter().filter(|ours| **ours).count(),
        attempts.len(),
        refused(true),
        refused(false),
        took.as_secs_f64(),
    );
    handovers
}

fn told(told: Told, added: &[i64], deleted: &[i64]) -> Attempt {
    let (added, deleted) = (added.to_vec(), deleted.to_vec());
    Attempt { told, id: None, added, deleted, set: None, offered: 1, plannings: 1, ours: true }
}

#[test]
#[should_panic(expected = "version 3 was promised to two")]
fn a_version_that_two_were_told_is_found() {
    let _ = by_version(&[told(Told::Committed(3), &[1], &[]), told(Told::Committed(3), &[2], &[])]);
}

#[test]
#[should_panic(expected = "version 2 deletes 1, which was not there")]
fn a_row_that_two_deleted_is_found() {
    let attempts = [told(Told::Committed(1), &[], &[1]), told(Told::Committed(2), &[], &[1])];
    let _ = live_ids([1, 2], &by_version(&attempts));
}

#[test]
fn refused_attempts_leave_no_trace() {
    let attempts = [
        told(Told::Committed(2), &[7], &[1]),
        told(Told::Refused, &[8], &[2]),
        told(Told::Committed(1), &[1], &[]),
        told(Told::Nothing, &[], &[7]),
    ];
    assert_eq!(live_ids([2], &by_version(&attempts)), [2, 7]);
}
