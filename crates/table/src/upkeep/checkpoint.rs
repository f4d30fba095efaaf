//! Checkpoints.

use crate::create::fresh_id;
use crate::load::delta::delta_error;
use crate::{Table, TableError};
use bytes::Bytes;
use lakebed_delta::{
    CheckpointFile, Snapshot, hint_to_standing, wants_v2_checkpoints, write_checkpoint, write_checksum,
    write_v2_checkpoint,
};
use lakebed_naming::Version;
use lakebed_storage::{Create, Store};

impl Table {
    /// Writes a checkpoint of the newest version that this handle knows (Delta), of the kind that the table asks for.
    ///
    /// # Errors
    /// The table has no checkpoints (Lance), or the store cannot be asked.
    pub async fn checkpoint(&self) -> Result<Version, TableError> {
        let held =
            self.delta_for_upkeep("checkpoints: every manifest holds a whole version", "there is nothing to do")?;
        write(&**self.store(), &held.snapshot, self.now_ms()).await?;
        Ok(held.snapshot.version())
    }
}

/// Writes the checkpoint, then the hint, then the checksum file where there is none.
pub(super) async fn write(store: &dyn Store, snapshot: &Snapshot, now_ms: i64) -> Result<(), TableError> {
    let wrong = |source| delta_error(store, source);
    let file = if wants_v2_checkpoints(snapshot) {
        write_v2_checkpoint(snapshot, now_ms, fresh_id()).map_err(wrong)?
    } else {
        write_checkpoint(snapshot, now_ms).map_err(wrong)?
    };
    let hint = put(store, snapshot, &file).await?;
    store.put(file.hint_name.as_str(), hint).await?;
    let checksum = write_checksum(snapshot).map_err(wrong)?;
    // It is never overwritten, and nobody needs it: whatever the answer is, it will do.
    let _ = store.create(checksum.name.as_str(), checksum.bytes).await;
    Ok(())
}

/// A classic checkpoint beside one of the second version, for old readers. The hint stays.
pub(super) async fn write_classic(store: &dyn Store, snapshot: &Snapshot, now_ms: i64) -> Result<(), TableError> {
    let file = write_checkpoint(snapshot, now_ms).map_err(|source| delta_error(store, source))?;
    put(store, snapshot, &file).await.map(drop)
}

/// What a checkpoint names goes before it. The bytes were read back before; a put is whole or not there. The hint to what stands
/// then: a checkpoint of somebody else that is as good stays.
async fn put(store: &dyn Store, snapshot: &Snapshot, file: &CheckpointFile) -> Result<Bytes, TableError> {
    for (name, bytes) in &file.sidecars {
        store.put(name.as_str(), bytes.clone()).await?;
    }
    let name = file.name.as_str();
    // Where nobody can say whether it was created, the put below says it with the same bytes.
    if matches!(store.create(name, file.bytes.clone()).await, Ok(Create::Created)) {
        return Ok(file.hint.clone());
    }
    let standing = store.get(name).await?;
    if let Some(hint) = standing.and_then(|bytes| hint_to_standing(snapshot, &file.name, &bytes)) {
        return Ok(hint);
    }
    store.put(name, file.bytes.clone()).await?;
    Ok(file.hint.clone())
}
