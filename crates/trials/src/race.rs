//! Processes that race on one table.
//!
//! Each process looks, draws a statement, runs it once and writes down when it began and ended and what it was answered. From that
//! the schedule is told in which the race went, so that it can be played again under another policy.

use crate::arena::once;
use crate::check::{Commit, History};
use crate::play::Tally;
use crate::schedule::{Schedule, Step, first_rows, statement};
use crate::{Answer, Arena, State, Statement, TrialError, clock};
use lakebed_sim::Rng;
use lakebed_table::{Table, TableFormat, VersionSpec};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tokio::task::JoinSet;

/// What a process is told.
#[derive(Clone, Debug)]
pub struct Orders {
    /// The table.
    pub table: PathBuf,
    /// The format.
    pub format: TableFormat,
    /// The process's own number.
    pub writer: usize,
    /// How long it goes on, in milliseconds.
    pub millis: u64,
    /// What its statements are drawn from.
    pub seed: u64,
    /// Where it writes down what it did.
    pub log: PathBuf,
}

/// What a process wrote down of one statement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Told {
    began_us: u64,
    ended_us: u64,
    read: u64,
    statement: Statement,
    answer: Answer,
}

/// Runs one process to its end.
///
/// # Errors
/// The table or the log failed.
pub async fn work(orders: &Orders) -> Result<(), TrialError> {
    let arena = Arena::of(orders.format)?;
    let mut log = File::create(&orders.log).map_err(TrialError::file(&orders.log))?;
    let mut table = Table::open(&orders.table.to_string_lossy(), &arena.options()).await?;
    let mut rng = Rng::new(orders.seed ^ (orders.writer as u64) << 32);
    let started = clock::start();
    let mut number = 0;
    while started.elapsed().as_millis() < u128::from(orders.millis) {
        let began_us = clock::now_us();
        let _ = table.refresh().await?;
        let read = table.version().get();
        let statement = statement(&mut rng, orders.writer, number);
        let answer = statement.run(&mut table, &once(None)).await?;
        let told = Told { began_us, ended_us: clock::now_us(), read, statement, answer };
        let line = serde_json::to_string(&told)?;
        writeln!(log, "{line}").map_err(TrialError::file(&orders.log))?;
        number += 1;
    }
    Ok(())
}

/// A race that was run.
#[derive(Debug)]
pub struct Race {
    /// How statements ended.
    pub tally: Tally,
    /// The order in which its processes looked and committed.
    pub schedule: Schedule,
    /// Every version, with its statement and its rows.
    pub history: History,
}

/// Lets processes of `program` race on a fresh table with these properties; their arguments are the orders.
///
/// # Errors
/// A process failed, or the table holds versions that no process told of.
pub async fn race(
    program: &Path,
    arena: &Arena,
    properties: BTreeMap<String, String>,
    (processes, millis, seed): (usize, u64, u64),
) -> Result<Race, TrialError> {
    let folder = tempfile::tempdir().map_err(TrialError::file(std::env::temp_dir()))?;
    let place = folder.path().join(if arena.format == TableFormat::Lance { "table.lance" } else { "table" });
    let store = lakebed_storage::open(&place.to_string_lossy(), &arena.options().store)?;
    let (table, start) = arena.table(&store, properties, &first_rows()).await?;
    let first = table.version().get();
    let mut children = Vec::new();
    for writer in 0..processes {
        let log = folder.path().join(format!("{writer}.jsonl"));
        let orders = Orders { table: place.clone(), format: arena.format, writer, millis, seed, log: log.clone() };
        let child = command(program, &orders).spawn().map_err(TrialError::file(program))?;
        children.push((child, log));
    }
    let mut told = Vec::new();
    for (writer, (child, log)) in children.into_iter().enumerate() {
        let ended = child.wait_with_output().map_err(TrialError::file(program))?;
        if !ended.status.success() {
            let problem =
                format!("writer {writer} ended with {}: {}", ended.status, String::from_utf8_lossy(&ended.stderr));
            return Err(TrialError::Unfit { problem, advice: "see what it says" });
        }
        for line in BufReader::new(File::open(&log).map_err(TrialError::file(&log))?).lines() {
            let line = line.map_err(TrialError::file(&log))?;
            told.push((writer, serde_json::from_str::<Told>(&line)?));
        }
    }
    gathered(arena.open(&store).await?, (first, start), told).await
}

fn command(program: &Path, orders: &Orders) -> Command {
    let mut command = Command::new(program);
    command.arg("worker").arg(&orders.table).arg(orders.format.name());
    command.args([orders.writer.to_string(), orders.millis.to_string(), orders.seed.to_string()]).arg(&orders.log);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

async fn gathered(table: Table, (first, start): (u64, State), told: Vec<(usize, Told)>) -> Result<Race, TrialError> {
    let place = |version: u64| usize::try_from(version.saturating_sub(first)).unwrap_or_default();
    let broken = |version: u64, problem: String| TrialError::Broken { version: place(version), problem };
    let mut landed = BTreeMap::new();
    for (writer, told) in &told {
        let Some(version) = told.answer.committed() else { continue };
        if let Some((other, _)) = landed.insert(version, (*writer, told)) {
            return Err(broken(version, format!("writers {other} and {writer} were both told that it is theirs")));
        }
    }
    let newest = table.version().get();
    if let Some((version, (writer, _))) = landed.range(newest + 1..).next() {
        return Err(broken(
            *version,
            format!("writer {writer} was told of it, and the table ends at version {newest}"),
        ));
    }
    let mut history = History { start, commits: Vec::new() };
    for (version, after) in (first + 1..=newest).zip(states(&table, first + 1..=newest).await?) {
        history.commits.push(match landed.get(&version) {
            Some((_, told)) => Commit { read: place(told.read), statement: told.statement.clone(), after },
            // Rows that are deleted in what a compaction of a Lance table makes need ids that are reserved.
            None if table.format() == TableFormat::Lance => Commit::reservation(place(version) - 1, after),
            None => return Err(broken(version, "nobody told of it".to_owned())),
        });
    }
    let mut tally = Tally::default();
    for (writer, told) in &told {
        // Somebody else's version between what it read and its own, or the one that refused it, is what it met.
        let met = match &told.answer {
            Answer::Committed { version, .. } => {
                landed.range(told.read + 1..*version).any(|(_, (other, _))| other != writer)
            }
            Answer::Nothing => false,
            Answer::Refused { .. } | Answer::Exhausted | Answer::Unknown => true,
        };
        tally.count(&told.answer, met);
    }
    Ok(Race { tally, schedule: schedule(told), history })
}

/// How many readers share the reading of all versions.
const READERS: usize = 4;

/// What each of these versions holds. Each is opened by itself, from the log as it lies there.
async fn states(table: &Table, versions: RangeInclusive<u64>) -> Result<Vec<State>, TrialError> {
    let mut readers = JoinSet::new();
    for reader in 0..READERS {
        let (table, own) = (table.clone(), versions.clone().skip(reader).step_by(READERS));
        readers.spawn(async move {
            let mut states = Vec::new();
            for version in own {
                let snapshot = table.at(VersionSpec::Number(version)).await?;
                states.push((version, State::of(&table, &snapshot).await?));
            }
            Ok::<_, TrialError>(states)
        });
    }
    let mut all = BTreeMap::new();
    while let Some(read) = readers.join_next().await {
        let gone = |error| TrialError::Unfit { problem: format!("a reader broke off: {error}"), advice: "try again" };
        all.extend(read.map_err(gone)??);
    }
    Ok(all.into_values().collect())
}

/// The steps in the order of the clock that all processes share.
fn schedule(told: Vec<(usize, Told)>) -> Schedule {
    let mut steps: Vec<(u64, usize, Step)> = Vec::new();
    for (writer, told) in told {
        steps.push((told.began_us, writer, Step::Refresh));
        steps.push((told.ended_us, writer, Step::Run(told.statement)));
    }
    steps.sort_by_key(|(at, writer, _)| (*at, *writer));
    steps.into_iter().map(|(_, writer, step)| (writer, step)).collect()
}
