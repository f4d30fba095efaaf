//! Removing files that no version needs any more.

use crate::load::delta::delta_error;
use crate::load::list_all;
use crate::snapshot::Snapshot;
use crate::{Table, TableError};
use lakebed_delta::{Vacuum, VacuumScope};
use lakebed_storage::Listed;
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
        self.delta_for_upkeep("files that a Delta vacuum would know", "clean it up with a Lance client")?;
        let retain_ms = retain.map(|retain| i64::try_from(retain.as_millis()).unwrap_or(i64::MAX));
        let scope = VacuumScope { retain_ms, allow_shorter };
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
        if !dry_run {
            for some in doomed.chunks(REMOVED_AT_ONCE) {
                let names: Vec<String> = some.iter().map(|entry| entry.name.clone()).collect();
                self.store().delete_all(&names).await?;
            }
        }
        Ok(Vacuumed::of(doomed))
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
