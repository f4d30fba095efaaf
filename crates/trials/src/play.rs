//! A schedule, played by handles of one process on a table in memory.

use crate::arena::once;
use crate::check::{Commit, History};
use crate::schedule::{Schedule, Step, first_rows};
use crate::statement::Layout;
use crate::{Answer, Arena, State, Statement, TrialError, clock};
use lakebed_table::{CommitOptions, Table, VersionSpec};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How statements ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// All statements that had something to do.
    pub statements: u64,
    /// Those of them that met a commit which they had not seen.
    pub met: u64,
    /// Those that met one and were accepted.
    pub accepted: u64,
    /// Those that were refused, by the check that fired.
    pub refused: BTreeMap<String, u64>,
    /// Statements that had nothing to do.
    pub nothing: u64,
}

impl Tally {
    /// Counts an answer; `met` where commits had landed that the statement had not seen.
    pub fn count(&mut self, answer: &Answer, met: bool) {
        let refused = match answer {
            Answer::Nothing => {
                self.nothing += 1;
                return;
            }
            Answer::Committed { .. } => None,
            Answer::Refused { check, .. } => Some(check.as_str()),
            Answer::Exhausted => Some("out of time or attempts"),
            Answer::Unknown => Some("outcome not known"),
        };
        self.statements += 1;
        self.met += u64::from(met);
        self.accepted += u64::from(met && refused.is_none());
        if let Some(check) = refused {
            *self.refused.entry(check.to_owned()).or_default() += 1;
        }
    }

    /// Of those that met a commit, how many of a hundred were accepted.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a share for people to read")]
    pub fn accepted_percent(&self) -> f64 {
        if self.met == 0 { 100.0 } else { 100.0 * self.accepted as f64 / self.met as f64 }
    }
}

/// What came of a schedule.
#[derive(Clone, Debug, Default)]
pub struct Played {
    /// How statements ended when they were first run.
    pub tally: Tally,
    /// Statements that were refused and run again until they stood; 0 where nothing is run again.
    pub again: u64,
    /// How long it took.
    pub seconds: f64,
    /// What the table held after every commit; only the newest state where states were not asked for.
    pub history: History,
}

/// What is done beside playing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extras {
    /// Read every version, for a check.
    pub states: bool,
    /// Plan a statement that was refused again on the newest version.
    pub again: bool,
}

/// Plays a schedule under a policy on a fresh table.
///
/// # Errors
/// A statement failed for another reason than a conflict.
pub async fn play(
    arena: &Arena,
    policy: Option<&str>,
    properties: BTreeMap<String, String>,
    schedule: &Schedule,
    extras: Extras,
) -> Result<Played, TrialError> {
    let store = arena.memory();
    let (table, start) = arena.table(&store, properties, &first_rows()).await?;
    let first = table.version().get();
    let mut player = Player { extras, commit: once(policy), newest: table, first, played: Played::default() };
    player.played.history.start = start;
    let mut handles: Vec<Option<Table>> = Vec::new();
    let started = clock::start();
    for (number, step) in schedule {
        while handles.len() <= *number {
            handles.push(Some(arena.open(&Arc::clone(&store)).await?));
        }
        let Some(handle) = handles.get_mut(*number).and_then(Option::as_mut) else { continue };
        match step {
            Step::Refresh => drop(handle.refresh().await?),
            Step::Run(statement) => player.run(handle, statement).await?,
        }
    }
    player.played.seconds = started.elapsed().as_secs_f64();
    Ok(player.played)
}

struct Player {
    extras: Extras,
    commit: CommitOptions,
    /// A handle that only reads, and stands at the newest version.
    newest: Table,
    /// The version that the schedule began with.
    first: u64,
    played: Played,
}

impl Player {
    async fn run(&mut self, handle: &mut Table, statement: &Statement) -> Result<(), TrialError> {
        let read = handle.version().get();
        let newest = self.top();
        let answer = statement.run(handle, &self.commit).await?;
        self.played.tally.count(&answer, read < newest);
        self.landed(&answer, read, statement).await?;
        if self.extras.again && matches!(answer, Answer::Refused { .. }) {
            let _ = handle.refresh().await?;
            let read = handle.version().get();
            let answer = statement.run(handle, &self.commit).await?;
            self.played.again += 1;
            self.landed(&answer, read, statement).await?;
        }
        Ok(())
    }

    /// Takes down what a statement landed: its version, and below it one that reserved ids for a compaction of a Lance table.
    async fn landed(&mut self, answer: &Answer, read: u64, statement: &Statement) -> Result<(), TrialError> {
        let reserves = matches!(statement, Statement::Compact(Layout::Minor));
        if self.extras.states || reserves {
            let _ = self.newest.refresh().await?;
        }
        let own = answer.committed();
        let top = if reserves { Some(self.newest.version().get()) } else { own };
        for version in self.top() + 1..=top.unwrap_or_default() {
            let after = if self.extras.states {
                let snapshot = self.newest.at(VersionSpec::Number(version)).await?;
                State::of(&self.newest, &snapshot).await?
            } else {
                State::default()
            };
            let place = |version: u64| usize::try_from(version - self.first).unwrap_or_default();
            self.played.history.commits.push(if own == Some(version) {
                Commit { read: place(read), statement: statement.clone(), after }
            } else {
                Commit::reservation(place(version - 1), after)
            });
        }
        Ok(())
    }

    /// The newest version that is known here.
    fn top(&self) -> u64 {
        self.first + self.played.history.commits.len() as u64
    }
}
