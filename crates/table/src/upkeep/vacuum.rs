//! Removing files that no version needs any more.

use super::notes;
use crate::load::delta::delta_error;
use crate::load::list_all;
use crate::snapshot::Snapshot;
use crate::{CommitOptions, Table, TableError};
use lakebed_delta::{Transaction, Vacuum, VacuumScope};
use lakebed_storage::Listed;
use lakebed_transaction::Outcome;
use std::time::Duration;

/// Objects removed by one request, where a store removes several at once.
const REMOVED_AT_ONCE: usize = 1_000;

/// What a vacuum removed, or would remove.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vacuumed {
    /// The files, relative to the table's root, in the order of their names.
    pub files: Vec<String>,
    /// Their size together, in bytes.
    pub size_bytes: u64,
}

impl Vacuumed {
    fn of(removed: Vec<Listed>) -> Self {
        Self {
            size_bytes: removed.iter().map(|entry| entry.size_bytes).sum(),
            files: removed.into_iter().map(|entry| entry.name).collect(),
        }
    }
}

fn scope(retain: Option<Duration>, allow_shorter: bool) -> VacuumScope {
    let retain_ms = retain.map(|retain| i64::try_from(retain.as_millis()).unwrap_or(i64::MAX));
    VacuumScope { retain_ms, allow_shorter }
}

impl Table {
    /// Of a Delta table: removes the files below the table's root that neither the newest version nor one younger than the retention needs
    /// (Delta). `retain` replaces `delta.deletedFileRetentionDuration`; a shorter one is refused unless `allow_shorter`,
    /// because it takes files from writers that are still at work. Temporary files of writers that died go by the same age. With `dry_run` it only says which.
    ///
    /// Of a Lance table: removes the versions that are older than the retention (a week where nobody says), and the files that
    /// no version names any more. Tags, branches and detached versions keep what they name. A retention below an hour is refused
    /// unless `allow_shorter`, and even then no version goes whose number a slow writer could create again.
    ///
    /// # Errors
    /// The retention is too short, the table needs a writer that knows more, or the store
    /// cannot be asked.
    pub async fn vacuum(
        &mut self,
        retain: Option<Duration>,
        allow_shorter: bool,
        dry_run: bool,
    ) -> Result<Vacuumed, TableError> {
        if let Snapshot::Lance(_) = self.snapshot {
            return self.vacuum_lance(retain, allow_shorter, dry_run).await.map(Vacuumed::of);
        }
        let (doomed, _) = self.doomed(scope(retain, allow_shorter), dry_run).await?;
        if !dry_run {
            self.remove(&doomed).await?;
        }
        Ok(Vacuumed::of(doomed))
    }

    /// As [`Table::vacuum`] of a Delta table, and the history tells of it, in two commits without actions, as Spark writes them: one
    /// before the first file goes, with what is to go, and one at the end, with what became of it.
    ///
    /// # Errors
    /// As there; or the commits cannot be made. Without the first, nothing is removed.
    pub async fn vacuum_noted(
        &mut self,
        retain: Option<Duration>,
        allow_shorter: bool,
        commit: &CommitOptions,
    ) -> Result<Vacuumed, TableError> {
        let scope = scope(retain, allow_shorter);
        let (doomed, folders) = self.doomed(scope, false).await?;
        let vacuumed = Vacuumed::of(doomed.clone());
        self.note(notes::start(self.delta_for("vacuum")?.snapshot.properties(), scope, &vacuumed), commit).await?;
        let removed = self.remove(&doomed).await;
        let number = if removed.is_ok() { doomed.len() } else { 0 };
        self.note(notes::end(removed.is_ok(), number, folders), commit).await?;
        removed.map(|()| vacuumed)
    }

    async fn note(&mut self, note: Transaction, commit: &CommitOptions) -> Result<(), TableError> {
        let what = note.operation.clone();
        // It changes nothing, so the table's level comes down to the one that Spark notes.
        let commit = CommitOptions { policy: Some("delta".to_owned()), ..commit.clone() };
        let held = self.delta_for("vacuum")?;
        let report = self.commit_delta(&held, note, &commit).await?;
        match report.outcome {
            Outcome::Committed { .. } | Outcome::Nothing { .. } => Ok(()),
            outcome @ (Outcome::Conflict(_) | Outcome::Exhausted { .. } | Outcome::Unknown { .. }) => {
                Err(TableError::Invalid {
                    problem: format!("{what} could not be noted in the log: {outcome:?}"),
                    advice: "vacuum again, or leave the notes out".to_owned(),
                })
            }
        }
    }

    /// The files that go, and how many folders the table has.
    async fn doomed(&mut self, scope: VacuumScope, dry_run: bool) -> Result<(Vec<Listed>, usize), TableError> {
        self.delta_for_upkeep("files that a Delta vacuum would know", "clean it up with a Lance client")?;
        // First the files, then the version: what is committed in between is young, or named.
        let listed = list_all(&**self.store(), "", None).await?;
        let strays = self.store().strays().await?;
        let mut doomed = self.unneeded(&listed, scope).await?;
        if !dry_run {
            // A version that brought an old file back in between keeps it.
            let again = self.unneeded(&doomed, scope).await?;
            doomed = again;
        }
        doomed.extend(self.left_behind(strays, scope)?);
        Ok((doomed, notes::folders(&listed)))
    }

    async fn remove(&self, doomed: &[Listed]) -> Result<(), TableError> {
        for some in doomed.chunks(REMOVED_AT_ONCE) {
            let names: Vec<String> = some.iter().map(|entry| entry.name.clone()).collect();
            self.store().delete_all(&names).await?;
        }
        Ok(())
    }

    /// Those of the files that the newest version, looked up now, lets go.
    async fn unneeded(&mut self, listed: &[Listed], scope: VacuumScope) -> Result<Vec<Listed>, TableError> {
        self.refresh().await?;
        let Snapshot::Delta(held) = &self.snapshot else { return Ok(Vec::new()) };
        let vacuum =
            Vacuum::new(&held.snapshot, scope, self.now_ms()).map_err(|source| delta_error(&**self.store(), source))?;
        Ok(listed.iter().filter(|entry| vacuum.removes(&entry.name, entry.modified_ms)).cloned().collect())
    }

    /// Those of the temporary files that are old enough.
    fn left_behind(&self, strays: Vec<Listed>, scope: VacuumScope) -> Result<Vec<Listed>, TableError> {
        let Snapshot::Delta(held) = &self.snapshot else { return Ok(Vec::new()) };
        let vacuum =
            Vacuum::new(&held.snapshot, scope, self.now_ms()).map_err(|source| delta_error(&**self.store(), source))?;
        Ok(strays.into_iter().filter(|entry| vacuum.removes_stray(entry.modified_ms)).collect())
    }
}
