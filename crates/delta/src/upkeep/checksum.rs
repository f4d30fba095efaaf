//! Checksum files: a version's totals, for whoever wants to check its replay.

use crate::action::CommitInfo;
use crate::{DeltaError, Snapshot};
use bytes::Bytes;
use lakebed_commit::ObjectName;
use lakebed_naming::delta::{LogName, log_path};
use serde_json::{Map, Value, json};

/// A checksum file, ready to be created where there is none: it is never overwritten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChecksumFile {
    /// Its name.
    pub name: ObjectName,
    /// Its bytes.
    pub bytes: Bytes,
}

/// The checksum file of a version that stands in the log.
///
/// # Errors
/// Never in practice: every state has a JSON form.
pub fn write_checksum(snapshot: &Snapshot) -> Result<ChecksumFile, DeltaError> {
    let name = LogName::Checksum(snapshot.version()).file_name().unwrap_or_default();
    let vectors = snapshot.files().filter(|add| add.deletion_vector.is_some()).count();
    let mut document = Map::new();
    if let Some(id) = snapshot.commit_info().and_then(CommitInfo::transaction_id) {
        document.insert("txnId".into(), id.into());
    }
    document.insert("tableSizeBytes".into(), snapshot.size_bytes().into());
    document.insert("numFiles".into(), snapshot.num_files().into());
    document.insert("numMetadata".into(), 1.into());
    document.insert("numProtocol".into(), 1.into());
    if let Some(stamp) = snapshot.in_commit_timestamp_ms() {
        document.insert("inCommitTimestampOpt".into(), stamp.into());
    }
    let listed = |values: Result<Vec<Value>, serde_json::Error>| values.map(Value::Array).map_err(|e| formless(&e));
    let txns = snapshot.app_transactions().values().map(serde_json::to_value).collect();
    document.insert("setTransactions".into(), listed(txns)?);
    let domains = snapshot.domain_metadata().values().map(serde_json::to_value).collect();
    document.insert("domainMetadata".into(), listed(domains)?);
    let metadata = serde_json::to_value(snapshot.metadata()).map_err(|error| formless(&error))?;
    document.insert("metadata".into(), metadata);
    document.insert("protocol".into(), serde_json::to_value(snapshot.protocol()).map_err(|error| formless(&error))?);
    if snapshot.protocol().supports("deletionVectors") {
        document.insert("numDeletedRecordsOpt".into(), json!(snapshot.num_deleted_rows()));
        document.insert("numDeletionVectorsOpt".into(), json!(vectors));
    }
    let bytes = Bytes::from(Value::Object(document).to_string());
    Ok(ChecksumFile { name: ObjectName::new(log_path(&name)), bytes })
}

fn formless(error: &serde_json::Error) -> DeltaError {
    DeltaError::invalid(format!("the version's totals have no JSON form: {error}"), "leave the checksum file out")
}
