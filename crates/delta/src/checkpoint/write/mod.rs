//! Writing a checkpoint: the whole state in one Parquet file, or a JSON file that names sidecars.

mod encode;
mod parsed;
mod scalars;
mod standing;
mod verify;

pub use standing::hint_to_standing;

use super::arrays::{self, Kind};
use crate::action::{Action, Add, CheckpointMetadata, Remove, Sidecar, TextMap, write_action};
use crate::upkeep::Retention;
use crate::{DeltaError, Snapshot};
use bytes::Bytes;
use encode::Writer;
use lakebed_commit::ObjectName;
use lakebed_naming::Uuid;
use lakebed_naming::delta::{CheckpointEncoding, CheckpointForm, CheckpointName, LAST_CHECKPOINT, log_path};
use parsed::StatsForm;
use std::sync::Arc;
use verify::Seen;

/// Actions per Arrow batch; bounds the memory beside the bytes themselves.
const BATCH_ROWS: usize = 8_192;

/// File actions per sidecar, as in Spark.
const SIDECAR_ROWS: usize = 50_000;

/// A checkpoint, ready to be put, and the hint to put after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointFile {
    /// What it names: put these first. They are seen by nobody until the checkpoint itself stands.
    pub sidecars: Vec<(ObjectName, Bytes)>,
    /// The checkpoint's name.
    pub name: ObjectName,
    /// Its bytes.
    pub bytes: Bytes,
    /// The hint's name.
    pub hint_name: ObjectName,
    /// The hint's bytes. Put them only once the checkpoint stands.
    pub hint: Bytes,
}

/// Whether a table wants checkpoints of the second version: by `delta.checkpointPolicy`, where the protocol supports it.
#[must_use]
pub fn wants_v2_checkpoints(snapshot: &Snapshot) -> bool {
    let told = snapshot.properties().get("delta.checkpointPolicy");
    told.is_some_and(|text| text.eq_ignore_ascii_case("v2")) && snapshot.protocol().supports("v2Checkpoint")
}

/// Writes a version's state as a classic checkpoint and reads it back to be sure.
///
/// Tombstones older than `delta.deletedFileRetentionDuration` at `now_ms` are left out, and application transactions older than
/// `delta.setTransactionRetentionDuration` where the table has one. Statistics stand in it as text and as
/// columns, by `delta.checkpoint.writeStatsAsJson` and `delta.checkpoint.writeStatsAsStruct`.
///
/// # Errors
/// The state has no Parquet form, or what was written does not read back as it was.
pub fn write_checkpoint(snapshot: &Snapshot, now_ms: i64) -> Result<CheckpointFile, DeltaError> {
    let snapshot = &snapshot.clone().retained(now_ms);
    let name = ObjectName::new(log_path(
        &CheckpointName { version: snapshot.version(), form: CheckpointForm::Classic }.to_string(),
    ));
    let stats = StatsForm::of(snapshot);
    let removes = unexpired(snapshot, now_ms);
    let mut writer = Writer::new(&Kind::ALL, &stats)?;
    writer.put(Kind::Protocol, arrays::protocol(snapshot.protocol())?)?;
    writer.put(Kind::Metadata, arrays::metadata(snapshot.metadata())?)?;
    let txns: Vec<_> = snapshot.app_transactions().values().collect();
    writer.put(Kind::Txn, arrays::txns(&txns)?)?;
    let domains: Vec<_> = snapshot.domain_metadata().values().collect();
    writer.put(Kind::Domain, arrays::domains(&domains)?)?;
    writer.put_removes(&removes)?;
    let mut adds: Vec<&Arc<Add>> = Vec::with_capacity(BATCH_ROWS);
    for add in snapshot.files() {
        adds.push(add);
        if adds.len() == BATCH_ROWS {
            writer.put_adds(&adds)?;
            adds.clear();
        }
    }
    writer.put_adds(&adds)?;
    let (bytes, actions) = writer.close()?;
    let mut seen = Seen::default();
    seen.read(&name, &bytes, snapshot, &stats)?;
    seen.complete(&name, snapshot, removes.len())?;
    let hint = hint(snapshot, actions, bytes.len());
    Ok(CheckpointFile { sidecars: Vec::new(), name, bytes, hint_name: hint_name(), hint })
}

/// Writes a version's state as a checkpoint of the second version: a JSON file under the name `id`, and the file actions in
/// sidecars. Everything is read back to be sure.
///
/// # Errors
/// As [`write_checkpoint`]; and the table's protocol does not support such checkpoints.
pub fn write_v2_checkpoint(snapshot: &Snapshot, now_ms: i64, id: Uuid) -> Result<CheckpointFile, DeltaError> {
    if !snapshot.protocol().supports("v2Checkpoint") {
        return Err(DeltaError::invalid(
            "the table does not support checkpoints of the second version",
            "set delta.checkpointPolicy to v2 first, or write a classic one",
        ));
    }
    let snapshot = &snapshot.clone().retained(now_ms);
    let form = CheckpointForm::Uuid { id, encoding: CheckpointEncoding::Json };
    let name = ObjectName::new(log_path(&CheckpointName { version: snapshot.version(), form }.to_string()));
    let stats = StatsForm::of(snapshot);
    let removes = unexpired(snapshot, now_ms);
    let sidecars = sidecars(snapshot, &removes, &stats, id)?;
    let mut seen = Seen::default();
    for (sidecar, bytes) in &sidecars {
        seen.read(sidecar, bytes, snapshot, &stats)?;
    }
    let (bytes, actions) = top_file(snapshot, &sidecars, removes.len(), now_ms)?;
    seen.read(&name, &bytes, snapshot, &stats)?;
    seen.complete(&name, snapshot, removes.len())?;
    let size_bytes = sidecars.iter().map(|(_, bytes)| bytes.len()).sum::<usize>() + bytes.len();
    let hint = hint(snapshot, actions, size_bytes);
    Ok(CheckpointFile { sidecars, name, bytes, hint_name: hint_name(), hint })
}

fn hint_name() -> ObjectName {
    ObjectName::new(log_path(LAST_CHECKPOINT))
}

fn hint(snapshot: &Snapshot, actions: usize, size_bytes: usize) -> Bytes {
    let (version, files) = (snapshot.version().get(), snapshot.num_files());
    let hint = serde_json::json!({
        "version": version, "size": actions, "sizeInBytes": size_bytes, "numOfAddFiles": files
    });
    Bytes::from(hint.to_string())
}

/// The file actions, in as many sidecars as it takes.
fn sidecars(
    snapshot: &Snapshot,
    removes: &[&Remove],
    stats: &StatsForm,
    id: Uuid,
) -> Result<Vec<(ObjectName, Bytes)>, DeltaError> {
    let total = removes.len().saturating_add(usize::try_from(snapshot.num_files()).unwrap_or(usize::MAX));
    let parts = total.div_ceil(SIDECAR_ROWS);
    let mut files = snapshot.files();
    let mut removes = removes.iter().copied();
    let mut sidecars = Vec::with_capacity(parts);
    for part in 1..=parts {
        let mut writer = Writer::new(&Kind::FILES, stats)?;
        let gone: Vec<&Remove> = removes.by_ref().take(SIDECAR_ROWS).collect();
        writer.put_removes(&gone)?;
        let mut left = SIDECAR_ROWS - gone.len();
        while left > 0 {
            let adds: Vec<&Arc<Add>> = files.by_ref().take(left.min(BATCH_ROWS)).collect();
            if adds.is_empty() {
                break;
            }
            left -= adds.len();
            writer.put_adds(&adds)?;
        }
        let (bytes, _) = writer.close()?;
        // Spark's naming: whose it is, which part of how many, and a name that nobody else takes.
        let file = format!("{:020}.checkpoint.{part:010}.{parts:010}.{id}.parquet", snapshot.version().get());
        sidecars.push((ObjectName::new(log_path(&format!("_sidecars/{file}"))), bytes));
    }
    Ok(sidecars)
}

/// The JSON file, and how many actions the checkpoint has with it.
fn top_file(
    snapshot: &Snapshot,
    sidecars: &[(ObjectName, Bytes)],
    removes: usize,
    now_ms: i64,
) -> Result<(Bytes, usize), DeltaError> {
    let files = usize::try_from(snapshot.num_files()).unwrap_or(usize::MAX).saturating_add(removes);
    let size_bytes: usize = sidecars.iter().map(|(_, bytes)| bytes.len()).sum();
    let tag = [
        ("sidecarNumActions", files.to_string()),
        ("sidecarSizeInBytes", size_bytes.to_string()),
        ("numOfAddFiles", snapshot.num_files().to_string()),
    ];
    let tags: TextMap = tag.iter().map(|(key, value)| (*key, Some(value.as_str()))).collect();
    let version = i64::try_from(snapshot.version().get()).unwrap_or(i64::MAX);
    let mut actions = vec![Action::CheckpointMetadata(CheckpointMetadata { version, tags: Some(tags) })];
    for (name, bytes) in sidecars {
        let file = name.as_str().rsplit('/').next().unwrap_or_default();
        actions.push(Action::Sidecar(Sidecar {
            path: file.to_owned(),
            size_in_bytes: i64::try_from(bytes.len()).unwrap_or(i64::MAX),
            modification_time: now_ms,
            tags: None,
        }));
    }
    actions.push(Action::Protocol(snapshot.protocol().clone()));
    actions.push(Action::Metadata(snapshot.metadata().clone()));
    actions.extend(snapshot.app_transactions().values().cloned().map(Action::Txn));
    actions.extend(snapshot.domain_metadata().values().cloned().map(Action::Domain));
    let mut out = Vec::new();
    for action in &actions {
        write_action(action, &mut out)?;
    }
    Ok((Bytes::from(out), actions.len().saturating_add(files)))
}

/// Tombstones that VACUUM must still respect.
fn unexpired(snapshot: &Snapshot, now_ms: i64) -> Vec<&Remove> {
    let retention_ms = Retention::of(snapshot.properties()).deleted_files_ms;
    let cutoff = retention_ms.map_or(i64::MIN, |retention_ms| now_ms.saturating_sub(retention_ms));
    let lives = |remove: &&Remove| remove.deletion_timestamp.unwrap_or(0) > cutoff;
    snapshot.tombstones().map(|remove| &**remove).filter(lives).collect()
}

fn failed(error: &dyn std::fmt::Display) -> DeltaError {
    DeltaError::invalid(
        format!("the checkpoint cannot be written: {error}"),
        "the table stays readable without this checkpoint",
    )
}
