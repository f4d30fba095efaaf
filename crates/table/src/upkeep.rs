//! Work that follows a commit: it runs after the answer and can never turn it into an error.

use crate::snapshot::Snapshot;
use crate::{Table, TableError};
use lakebed_delta::write_checkpoint;
use lakebed_naming::Version;
use lakebed_storage::Store;
use std::sync::Arc;

/// Commits between two checkpoints where the table does not say (Spark's default).
const CHECKPOINT_INTERVAL: u64 = 10;

impl Table {
    /// Starts what is due after a commit, without waiting for it.
    pub(crate) fn after_delta_commit(&self, version: Version) {
        let Snapshot::Delta(held) = &self.snapshot else { return };
        if held.snapshot.version() != version || !checkpoint_due(&held.snapshot) {
            return;
        }
        let snapshot = Arc::clone(&held.snapshot);
        let store = Arc::clone(self.store());
        let now_ms = i64::try_from(self.place.clock.now_ms()).unwrap_or(i64::MAX);
        let work = tokio::spawn(async move { checkpoint(&*store, &snapshot, now_ms).await });
        self.place.shared.keep(work);
    }

    /// Waits for the work that earlier commits of this process left running on this table, and says what did not work out.
    /// Whatever that is, the commits stand; a checkpoint that failed is made up for by the next one.
    pub async fn settle(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for work in self.place.shared.take_work() {
            match work.await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => problems.push(format!("a checkpoint could not be written: {error}")),
                Err(error) => problems.push(format!("a checkpoint was not finished: {error}")),
            }
        }
        problems
    }

    /// Writes a checkpoint of the newest version that this handle knows (Delta).
    ///
    /// # Errors
    /// The table has no checkpoints (Lance), or the store cannot be asked.
    pub async fn checkpoint(&self) -> Result<Version, TableError> {
        let Snapshot::Delta(held) = &self.snapshot else {
            return Err(TableError::Invalid {
                problem: "a Lance table has no checkpoints: every manifest holds a whole version".to_owned(),
                advice: "there is nothing to do".to_owned(),
            });
        };
        let now_ms = i64::try_from(self.place.clock.now_ms()).unwrap_or(i64::MAX);
        checkpoint(&**self.store(), &held.snapshot, now_ms).await?;
        Ok(held.snapshot.version())
    }
}

fn checkpoint_due(snapshot: &lakebed_delta::Snapshot) -> bool {
    let interval = snapshot.properties().get("delta.checkpointInterval").and_then(|text| text.parse::<u64>().ok());
    let interval = interval.filter(|interval| *interval > 0).unwrap_or(CHECKPOINT_INTERVAL);
    let version = snapshot.version().get();
    version > 0 && version.is_multiple_of(interval)
}

/// Writes the checkpoint, then the hint. The bytes were read back before; a put is whole or not there.
async fn checkpoint(store: &dyn Store, snapshot: &lakebed_delta::Snapshot, now_ms: i64) -> Result<(), TableError> {
    let wrong = |source| TableError::Delta { root: store.root().to_owned(), source };
    let file = write_checkpoint(snapshot, now_ms).map_err(wrong)?;
    store.put(file.name.as_str(), file.bytes).await?;
    store.put(file.hint_name.as_str(), file.hint).await?;
    Ok(())
}
