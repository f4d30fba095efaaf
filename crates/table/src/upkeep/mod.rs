//! Work that follows a commit, and work that is asked for: checkpoints, compacted logs, cleanups.
//!
//! What follows a commit runs after the answer and can never turn it into an error.

mod checkpoint;
mod clean_log;
mod compact_log;
mod notes;
mod vacuum;

pub use clean_log::LogRemoval;
pub use compact_log::LogCompaction;
pub use vacuum::Vacuumed;

use crate::create::Place;
use crate::snapshot::{DeltaVersion, Snapshot};
use crate::{Table, TableError, load};
use lakebed_delta::{Core, checkpoint_interval, cleans_log};
use lakebed_naming::Version;
use lakebed_storage::Store;
use std::sync::Arc;

impl Table {
    /// Starts what is due after a commit, without waiting for it.
    pub(crate) fn after_delta_commit(&self, version: Version) {
        let Snapshot::Delta(held) = &self.snapshot else { return };
        if held.snapshot.version() != version || !checkpoint_due(held.snapshot.core()) {
            return;
        }
        let snapshot = Arc::clone(&held.snapshot);
        let store = Arc::clone(self.store());
        let now_ms = self.now_ms();
        let work = tokio::spawn(async move { what_is_due(&*store, &snapshot, now_ms).await });
        self.place.shared.keep(work);
    }

    /// Waits for the work that earlier commits of this process left running on this table, and says what did not work out.
    /// Whatever that is, the commits stand; a checkpoint that failed is made up for by the next one.
    pub async fn settle(&self) -> Vec<String> {
        settle(&self.place).await
    }

    /// The newest version, for work that Lance tables have no need of.
    fn delta_for_upkeep(&self, what: &str, instead: &str) -> Result<DeltaVersion, TableError> {
        match &self.snapshot {
            Snapshot::Delta(held) => Ok(held.clone()),
            Snapshot::Lance(_) => {
                Err(TableError::Invalid { problem: format!("a Lance table has no {what}"), advice: instead.to_owned() })
            }
        }
    }

    fn now_ms(&self) -> i64 {
        i64::try_from(self.place.clock.now_ms()).unwrap_or(i64::MAX)
    }
}

/// Starts what is due after a commit that was made without a look at the table's files: for a checkpoint they are read after all.
pub(crate) fn after_append(place: &Place, core: &Core) {
    if !checkpoint_due(core) {
        return;
    }
    let (store, version) = (Arc::clone(&place.store), core.version);
    let now_ms = i64::try_from(place.clock.now_ms()).unwrap_or(i64::MAX);
    let work = tokio::spawn(async move {
        match load::delta::load(&*store, Some(version), None).await? {
            Some(loaded) => what_is_due(&*store, &loaded.snapshot, now_ms).await,
            None => Ok(()),
        }
    });
    place.shared.keep(work);
}

/// See [`Table::settle`].
pub(crate) async fn settle(place: &Place) -> Vec<String> {
    let mut problems = Vec::new();
    for work in place.shared.take_work() {
        match work.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => problems.push(format!("a checkpoint could not be written: {error}")),
            Err(error) => problems.push(format!("a checkpoint was not finished: {error}")),
        }
    }
    problems
}

async fn what_is_due(store: &dyn Store, snapshot: &lakebed_delta::Snapshot, now_ms: i64) -> Result<(), TableError> {
    checkpoint::write(store, snapshot, now_ms).await?;
    if cleans_log(snapshot.properties()) {
        clean_log::clean(store, snapshot, now_ms, clean_log::Run::Remove).await?;
    }
    Ok(())
}

fn checkpoint_due(core: &Core) -> bool {
    let version = core.version.get();
    version > 0 && version.is_multiple_of(checkpoint_interval(&core.metadata.configuration))
}
