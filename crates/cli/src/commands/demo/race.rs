//! The writers, and the tally of their answers.

use super::model::Effect;
use super::statement::{Statement, pause_ms};
use crate::audit::Acknowledged;
use crate::error::CliError;
use indicatif::ProgressBar;
use lakebed_commit::Found;
use lakebed_storage::Store;
use lakebed_table::{CommitOptions, OpenOptions, Report, Table, TableFormat};
use lakebed_transaction::{Conflict, Outcome};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// How often one statement may be run again before the demonstration gives up.
const RETRIES_MAX: u64 = 500;

/// Where the writers meet.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    pub(super) store: Arc<dyn Store>,
    pub(super) open: OpenOptions,
    pub(super) commit: CommitOptions,
    pub(super) format: TableFormat,
    pub(super) bar: ProgressBar,
}

/// A committed statement.
#[derive(Clone, Debug)]
pub(super) struct Landed {
    pub(super) acknowledged: Acknowledged,
    pub(super) effect: Effect,
}

/// Conflicts of one kind.
#[derive(Clone, Debug)]
pub(super) struct Kind {
    pub(super) count: u64,
    pub(super) example: Conflict,
    /// Whether the race did not bring it up.
    pub(super) staged: bool,
}

/// What the writers were answered.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) landed: Vec<Landed>,
    pub(super) attempts: u64,
    pub(super) nothing: u64,
    pub(super) exhausted: u64,
    pub(super) unknown: u64,
    /// Conflicts by the check that fired.
    pub(super) conflicts: BTreeMap<&'static str, Kind>,
}

impl Tally {
    pub(super) fn num_conflicts(&self) -> u64 {
        self.conflicts.values().map(|kind| kind.count).sum()
    }

    pub(super) fn merge(&mut self, other: Self, staged: bool) {
        self.landed.extend(other.landed);
        self.attempts += other.attempts;
        self.nothing += other.nothing;
        self.exhausted += other.exhausted;
        self.unknown += other.unknown;
        for (check, kind) in other.conflicts {
            let known = self.conflicts.entry(check).or_insert(Kind { count: 0, staged, ..kind.clone() });
            known.count += kind.count;
        }
    }

    fn conflict(&mut self, conflict: Conflict) {
        let check = conflict.why.reason.map_or("no named check", |reason| reason.check);
        self.conflicts.entry(check).or_insert(Kind { count: 0, example: conflict, staged: false }).count += 1;
    }
}

/// What becomes of a statement after an answer.
enum Next {
    Done,
    Nothing,
    Again,
}

impl Ring {
    /// A handle that shares nothing with the others, as if it lived in another process.
    pub(super) async fn handle(&self) -> Result<Table, CliError> {
        Ok(Table::open_store(Arc::clone(&self.store), &self.open).await?)
    }

    /// Lets all writers go at once.
    pub(super) async fn race(&self, writers: u32, commits: u32) -> Result<Tally, CliError> {
        let mut running = JoinSet::new();
        for writer in 0..writers {
            let (ring, table) = (self.clone(), self.handle().await?);
            running.spawn(async move { ring.write(table, writer, commits).await });
        }
        let mut tally = Tally::default();
        while let Some(ended) = running.join_next().await {
            let ended = ended.map_err(|error| CliError::failed(format!("a writer broke off: {error}"), "try again"))?;
            tally.merge(ended?, false);
        }
        Ok(tally)
    }

    async fn write(&self, mut table: Table, writer: u32, commits: u32) -> Result<Tally, CliError> {
        let mut tally = Tally::default();
        for number in 0..commits {
            let statement = Statement::planned(self.format, writer, number);
            if !self.commit(&mut table, &statement, writer, &mut tally).await? {
                // It found nothing to delete; so that everybody commits as often, rows are added instead.
                let instead = Statement::addition(self.format, writer, number);
                self.commit(&mut table, &instead, writer, &mut tally).await?;
            }
            self.bar.inc(1);
        }
        Ok(tally)
    }

    /// Runs a statement until it is committed or has nothing to do; whether it was committed.
    pub(super) async fn commit(
        &self,
        table: &mut Table,
        statement: &Statement,
        writer: u32,
        tally: &mut Tally,
    ) -> Result<bool, CliError> {
        for retry in 0..RETRIES_MAX {
            let (report, effect) = statement.run(table, retry, &self.commit).await?;
            match self.answered(table, report, effect, tally).await? {
                Next::Done => return Ok(true),
                Next::Nothing => return Ok(false),
                Next::Again => {
                    tokio::time::sleep(Duration::from_millis(pause_ms(writer, retry))).await;
                    table.refresh().await?;
                }
            }
        }
        Err(CliError::failed(
            format!("a statement lost {RETRIES_MAX} times in a row: {statement:?}"),
            "try again with fewer writers",
        ))
    }

    async fn answered(
        &self,
        table: &Table,
        report: Report,
        effect: Effect,
        tally: &mut Tally,
    ) -> Result<Next, CliError> {
        let land = |version: u64| {
            let acknowledged = Acknowledged { transaction_id: report.transaction_id.as_str().to_owned(), version };
            tally.landed.push(Landed { acknowledged, effect });
            Next::Done
        };
        Ok(match report.outcome {
            Outcome::Committed { version, attempts } => {
                let next = land(version.get());
                tally.attempts += u64::from(attempts);
                next
            }
            Outcome::Nothing { .. } => {
                tally.nothing += 1;
                Next::Nothing
            }
            Outcome::Conflict(conflict) => {
                tally.conflict(*conflict);
                Next::Again
            }
            Outcome::Exhausted { .. } => {
                tally.exhausted += 1;
                Next::Again
            }
            Outcome::Unknown { .. } => {
                let found = table.outcome_of(&report.transaction_id).await?;
                let next = if let Found::Committed(version) = found { land(version.get()) } else { Next::Again };
                tally.unknown += 1;
                next
            }
        })
    }

    /// Stages a conflict: `theirs` lands while ours, which was planned before, is on its way; then ours is run again.
    pub(super) async fn stage(&self, theirs: &Statement, ours: &Statement) -> Result<Tally, CliError> {
        let mut tally = Tally::default();
        let (mut first, mut second) = (self.handle().await?, self.handle().await?);
        self.commit(&mut second, theirs, 0, &mut tally).await?;
        self.commit(&mut first, ours, 1, &mut tally).await?;
        Ok(tally)
    }
}
