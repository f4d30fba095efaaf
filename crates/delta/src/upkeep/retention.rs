//! How long things are kept, by the table's properties.

use crate::action::TextMap;
use crate::interval::interval_ms;

/// Commits between two checkpoints where the table does not say (Spark's default).
const CHECKPOINT_INTERVAL: u64 = 10;
const DAY_MS: i64 = 86_400_000;

/// How long things are kept. `None`: the table's text says nothing that can be read, so they are kept for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// `delta.logRetentionDuration`, in milliseconds: 30 days where the table does not say.
    pub log_ms: Option<i64>,
    /// `delta.deletedFileRetentionDuration`, in milliseconds: 7 days where the table does not say.
    pub deleted_files_ms: Option<i64>,
    /// `delta.setTransactionRetentionDuration`, in milliseconds: for ever where the table does not say.
    pub transactions_ms: Option<i64>,
}

impl Retention {
    /// By a table's properties.
    #[must_use]
    pub fn of(properties: &TextMap) -> Self {
        // Keeping longer than needed is harmless, so a text that says nothing keeps everything.
        let read = |key: &str, unset: Option<i64>| match properties.get(key) {
            None => unset,
            Some(text) => interval_ms(text).filter(|ms| *ms >= 0),
        };
        Self {
            log_ms: read("delta.logRetentionDuration", Some(30 * DAY_MS)),
            deleted_files_ms: read("delta.deletedFileRetentionDuration", Some(7 * DAY_MS)),
            transactions_ms: read("delta.setTransactionRetentionDuration", None),
        }
    }
}

/// `delta.checkpointInterval`: how many commits lie between two checkpoints.
#[must_use]
pub fn checkpoint_interval(properties: &TextMap) -> u64 {
    let told = properties.get("delta.checkpointInterval").and_then(|text| text.trim().parse::<u64>().ok());
    told.filter(|interval| *interval > 0).unwrap_or(CHECKPOINT_INTERVAL)
}

/// `delta.enableExpiredLogCleanup`: whether the log is cleaned after a checkpoint. Yes, unless the table says no.
#[must_use]
pub fn cleans_log(properties: &TextMap) -> bool {
    properties.get("delta.enableExpiredLogCleanup").is_none_or(|text| !text.trim().eq_ignore_ascii_case("false"))
}
