//! Writing a classic checkpoint: one Parquet file with the whole state.

use super::arrays::{self, Kind};
use super::read::read;
use crate::action::{Action, Add, Remove};
use crate::{DeltaError, Snapshot, interval};
use arrow_array::{ArrayRef, RecordBatch, new_null_array};
use arrow_schema::{Field, Schema};
use bytes::Bytes;
use lakebed_commit::ObjectName;
use lakebed_naming::delta::{CheckpointForm, CheckpointName, LAST_CHECKPOINT, log_path};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::sync::Arc;

/// How long tombstones are kept where the table does not say: seven days.
const RETENTION_DEFAULT_MS: i64 = 7 * 86_400_000;

/// Actions per Arrow batch; bounds the memory beside the bytes themselves.
const BATCH_ROWS: usize = 8192;

/// A checkpoint, ready to be put, and the hint to put after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointFile {
    /// The checkpoint's name.
    pub name: ObjectName,
    /// Its bytes.
    pub bytes: Bytes,
    /// The hint's name.
    pub hint_name: ObjectName,
    /// The hint's bytes. Put them only once the checkpoint stands.
    pub hint: Bytes,
}

/// Writes a version's state as a classic checkpoint and reads it back to be sure.
///
/// Tombstones older than `delta.deletedFileRetentionDuration` at `now_ms` are left out. With
/// `delta.checkpoint.writeStatsAsJson` set to false, statistics stand only where a deletion vector needs the row count.
///
/// # Errors
/// The state has no Parquet form, or what was written does not read back as it was.
pub fn write_checkpoint(snapshot: &Snapshot, now_ms: i64) -> Result<CheckpointFile, DeltaError> {
    let name = log_path(&CheckpointName { version: snapshot.version(), form: CheckpointForm::Classic }.to_string());
    let keeps_stats = snapshot
        .properties()
        .get("delta.checkpoint.writeStatsAsJson")
        .is_none_or(|text| !text.eq_ignore_ascii_case("false"));
    let adds: Vec<Add> = snapshot.files().map(|add| in_checkpoint(add, keeps_stats)).collect();
    let removes: Vec<&Remove> = unexpired(snapshot, now_ms).collect();
    let mut writer = Writer::new()?;
    writer.put(Kind::Protocol, arrays::protocol(snapshot.protocol())?)?;
    writer.put(Kind::Metadata, arrays::metadata(snapshot.metadata())?)?;
    let txns: Vec<_> = snapshot.app_transactions().values().collect();
    writer.put(Kind::Txn, arrays::txns(&txns)?)?;
    let domains: Vec<_> = snapshot.domain_metadata().values().collect();
    writer.put(Kind::Domain, arrays::domains(&domains)?)?;
    for some in removes.chunks(BATCH_ROWS) {
        writer.put(Kind::Remove, arrays::removes(some)?)?;
    }
    for some in adds.chunks(BATCH_ROWS) {
        writer.put(Kind::Add, arrays::adds(some)?)?;
    }
    let (bytes, actions) = writer.close()?;
    verify(&name, &bytes, snapshot, removes.len())?;
    let hint = serde_json::json!({
        "version": snapshot.version().get(), "size": actions, "sizeInBytes": bytes.len(), "numOfAddFiles": adds.len()
    });
    Ok(CheckpointFile {
        name: ObjectName::new(name),
        bytes,
        hint_name: ObjectName::new(log_path(LAST_CHECKPOINT)),
        hint: Bytes::from(hint.to_string()),
    })
}

fn in_checkpoint(add: &Add, keeps_stats: bool) -> Add {
    let stats = add.stats.clone().filter(|_| keeps_stats || add.deletion_vector.is_some());
    Add { data_change: false, stats, ..add.clone() }
}

/// Tombstones that VACUUM must still respect.
fn unexpired(snapshot: &Snapshot, now_ms: i64) -> impl Iterator<Item = &Remove> {
    let retention = match snapshot.properties().get("delta.deletedFileRetentionDuration") {
        None => Some(RETENTION_DEFAULT_MS),
        // Keeping longer than needed is harmless, so a text that says nothing keeps everything.
        Some(text) => interval::interval_ms(text),
    };
    let cutoff = retention.map_or(i64::MIN, |retention| now_ms.saturating_sub(retention));
    snapshot.tombstones().map(|remove| &**remove).filter(move |remove| remove.deletion_timestamp.unwrap_or(0) > cutoff)
}

/// Reads the bytes back: every live file as it is, and nothing lost.
fn verify(name: &str, bytes: &Bytes, snapshot: &Snapshot, tombstones: usize) -> Result<(), DeltaError> {
    let (mut files, mut gone, mut same) = (0_u64, 0_usize, true);
    let (mut protocols, mut metadata) = (0_u32, 0_u32);
    let (mut txns, mut domains) = (0_usize, 0_usize);
    read(name, bytes, &mut |action| match action {
        Action::Add(add) => {
            files += 1;
            same &= snapshot.file(&add.key()).is_some_and(|live| {
                live.path == add.path
                    && live.partition_values == add.partition_values
                    && live.size == add.size
                    && live.deletion_vector == add.deletion_vector
            });
        }
        Action::Remove(_) => gone += 1,
        Action::Protocol(protocol) => {
            protocols += 1;
            same &= protocol == *snapshot.protocol();
        }
        Action::Metadata(found) => {
            metadata += 1;
            same &= found == *snapshot.metadata();
        }
        Action::Txn(_) => txns += 1,
        Action::Domain(_) => domains += 1,
        Action::Cdc(_) | Action::CommitInfo(_) | Action::CheckpointMetadata(_) | Action::Sidecar(_) => same = false,
    })?;
    let complete = files == snapshot.num_files()
        && gone == tombstones
        && (protocols, metadata) == (1, 1)
        && txns == snapshot.app_transactions().len()
        && domains == snapshot.domain_metadata().len();
    if same && complete {
        return Ok(());
    }
    Err(DeltaError::Damaged {
        object: name.to_owned(),
        problem: "what was written does not read back as the state of the version".into(),
        advice: "do not put it; the table stays readable without this checkpoint".into(),
    })
}

fn failed(error: &dyn std::fmt::Display) -> DeltaError {
    DeltaError::invalid(
        format!("the checkpoint cannot be written: {error}"),
        "the table stays readable without this checkpoint",
    )
}

struct Writer {
    schema: Arc<Schema>,
    writer: ArrowWriter<Vec<u8>>,
    actions: usize,
}

impl Writer {
    fn new() -> Result<Self, DeltaError> {
        let fields: Vec<Field> = Kind::ALL.iter().map(|kind| Field::new(kind.name(), kind.data_type(), true)).collect();
        let schema = Arc::new(Schema::new(fields));
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(concat!("lakebed ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let options = ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(Vec::new(), Arc::clone(&schema), options)
            .map_err(|error| failed(&error))?;
        Ok(Self { schema, writer, actions: 0 })
    }

    /// Writes actions of one kind; every other column is null in their rows.
    fn put(&mut self, kind: Kind, array: ArrayRef) -> Result<(), DeltaError> {
        let rows = array.len();
        if rows == 0 {
            return Ok(());
        }
        self.actions += rows;
        let columns = Kind::ALL
            .iter()
            .map(|other| if *other == kind { Arc::clone(&array) } else { new_null_array(&other.data_type(), rows) })
            .collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(|error| failed(&error))?;
        self.writer.write(&batch).map_err(|error| failed(&error))
    }

    fn close(self) -> Result<(Bytes, usize), DeltaError> {
        let bytes = self.writer.into_inner().map_err(|error| failed(&error))?;
        Ok((Bytes::from(bytes), self.actions))
    }
}
