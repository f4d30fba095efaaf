//! Starting writers, killing them, starting them again, and keeping what they were told.

use super::audit;
use super::writer::Job;
use crate::support::{Python, Random, Texts, alone, committed, plainly};
use lakebed_table::{NewTable, Table, TableFormat};
use lakebed_transaction::{Column, ColumnType};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Writers on each table; the last one is the real client's.
const WRITERS: i64 = 3;

/// The longest pause between two kills.
const PAUSE_MS_MAX: u64 = 250;

/// A writer that is not at work after this long hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// What the writers of one or both tables were told.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    pub(super) tried: BTreeSet<i64>,
    /// Acknowledged, with the version where the client says it.
    pub(super) committed: BTreeMap<i64, Option<u64>>,
    pub(super) refused: BTreeSet<i64>,
    /// Counted by the audit: commits that stand although their writer died before it was told.
    pub(super) unheard: usize,
    /// Versions in the logs.
    pub(super) versions: usize,
    pub(super) rounds: usize,
}

impl Told {
    /// Adds another round's; ids begin anew in each, so only the counts can be added.
    pub(super) fn take_in(&mut self, other: &Self) {
        let shift = i64::try_from(self.rounds + 1).unwrap() * 1_000_000_000_000;
        self.rounds += 1;
        self.tried.extend(other.tried.iter().map(|id| id + shift));
        self.committed.extend(other.committed.iter().map(|(id, version)| (id + shift, *version)));
        self.refused.extend(other.refused.iter().map(|id| id + shift));
        self.unheard += other.unheard;
        self.versions += other.versions;
    }

    fn hear(&mut self, line: &str) {
        let Some((_, said)) = line.split_once("told: ") else { return };
        let mut words = said.split_whitespace();
        let (what, id) = (words.next().unwrap(), words.next().unwrap().parse().unwrap());
        match what {
            "trying" => assert!(self.tried.insert(id), "{id} was tried before"),
            "committed" => {
                self.committed.insert(id, words.next().map(|version| version.parse().unwrap()));
            }
            "refused" => {
                self.refused.insert(id);
            }
            _ => {}
        }
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} commits tried, {} acknowledged, {} refused, {} landed unheard, {} versions",
            self.tried.len(),
            self.committed.len(),
            self.refused.len(),
            self.unheard,
            self.versions
        )
    }
}

/// A writer process and the thread that listens to it. Dropped, it is ended.
struct Writer {
    format: TableFormat,
    number: i64,
    generation: i64,
    child: Child,
    listener: Option<JoinHandle<()>>,
    told: Arc<Mutex<Told>>,
    /// What this process alone was acknowledged: who has committed once is at work.
    at_work: Arc<Mutex<bool>>,
    since: Instant,
}

impl Writer {
    fn start(
        mut command: Command,
        (format, number, generation): (TableFormat, i64, i64),
        told: Arc<Mutex<Told>>,
    ) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let output = child.stdout.take().unwrap();
        let at_work = Arc::new(Mutex::new(false));
        let (all, mine) = (Arc::clone(&told), Arc::clone(&at_work));
        let listener = std::thread::spawn(move || {
            let mut lines = BufReader::new(output);
            loop {
                let mut line = String::new();
                lines.read_line(&mut line).unwrap();
                // What the kill cut off was not said, as little as what it kept from being said.
                if !line.ends_with('\n') {
                    return;
                }
                all.lock().unwrap().hear(&line);
                if line.contains("told: committed") {
                    *mine.lock().unwrap() = true;
                }
            }
        });
        Self { format, number, generation, child, listener: Some(listener), told, at_work, since: Instant::now() }
    }

    fn is_at_work(&mut self) -> bool {
        let ended = self.child.try_wait().unwrap();
        assert!(ended.is_none(), "writer {} of {} ended by itself: {ended:?}", self.number, self.format);
        let works = *self.at_work.lock().unwrap();
        assert!(works || self.since.elapsed() < PATIENCE, "writer {} of {} hangs", self.number, self.format);
        works
    }

    /// Kills it at once, and hears what it had still said.
    fn kill(&mut self) {
        self.child.kill().unwrap();
        let _ = self.child.wait().unwrap();
        if let Some(listener) = self.listener.take() {
            listener.join().expect("the lines of a writer can be read");
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One round: two tables, three writers on each.
pub(super) struct Round<'a> {
    pub(super) python: &'a Python,
    /// A folder or URL, empty.
    pub(super) place: String,
    pub(super) kills: u32,
}

impl Round<'_> {
    /// Runs it and audits both tables.
    pub(super) async fn run(&self, random: &mut Random) -> Told {
        let mut writers = Vec::new();
        let mut heard = Vec::new();
        for (format, name) in super::TABLES {
            let url = format!("{}/{name}", self.place);
            create(&url, format).await;
            let told = Arc::new(Mutex::new(Told::default()));
            writers.extend((0..WRITERS).map(|number| self.start(&url, (format, number, 0), &told)));
            heard.push((format, url, told));
        }
        self.kill_on(&mut writers, random);
        for writer in &mut writers {
            writer.kill();
        }
        let mut all = Told::default();
        for (format, url, told) in heard {
            let mut told = told.lock().unwrap().clone();
            audit::audit(self.python, format, &url, &mut told).await;
            all.take_in(&told);
        }
        all
    }

    fn kill_on(&self, writers: &mut [Writer], random: &mut Random) {
        for _ in 0..self.kills {
            std::thread::sleep(Duration::from_millis(random.below(PAUSE_MS_MAX)));
            let victim = loop {
                let at_work: Vec<usize> = (0..writers.len()).filter(|at| writers[*at].is_at_work()).collect();
                if !at_work.is_empty() {
                    break *random.one(&at_work);
                }
                std::thread::sleep(Duration::from_millis(5));
            };
            let victim = &mut writers[victim];
            victim.kill();
            let (format, number, generation) = (victim.format, victim.number, victim.generation + 1);
            let name = super::TABLES.iter().find(|(one, _)| *one == format).map(|(_, name)| *name).unwrap();
            let told = Arc::clone(&victim.told);
            *victim = self.start(&format!("{}/{name}", self.place), (format, number, generation), &told);
        }
    }

    fn start(
        &self,
        url: &str,
        (format, number, generation): (TableFormat, i64, i64),
        told: &Arc<Mutex<Told>>,
    ) -> Writer {
        let start = (number * 10_000 + generation) * 1_000_000;
        let command = if number == WRITERS - 1 {
            let (number, start) = (number.to_string(), start.to_string());
            self.python
                .command("kill_writer.py", &[url, "--format", format.name(), "--writer", &number, "--start", &start])
        } else {
            Job { url: url.to_owned(), format, number, start }.command()
        };
        Writer::start(command, (format, number, generation), Arc::clone(told))
    }
}

/// Checkpoints are frequent, so that kills fall into them too.
async fn create(url: &str, format: TableFormat) {
    let mut columns = vec![Column::new("id", ColumnType::Long, true), Column::new("s", ColumnType::String, true)];
    let mut properties = Texts::new();
    if format == TableFormat::Delta {
        columns.push(Column::new("w", ColumnType::Integer, true));
        properties.insert("delta.checkpointInterval".to_owned(), "10".to_owned());
    }
    let definition = NewTable::new(format, columns).with_properties(properties);
    let (_, report) = Table::create(url, &alone(), &definition, &plainly()).await.unwrap();
    let _ = committed(&report);
}
