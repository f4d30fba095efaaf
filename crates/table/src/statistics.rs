//! How a table fares: commits, races that they lost, files, and what to do about it.

use crate::snapshot::Snapshot;
use crate::summary::HistoryEntry;
use crate::{Table, TableError};
use lakebed_delta::checkpoint_interval;
use std::collections::BTreeMap;

/// Files below this are small.
const SMALL_BYTES: u64 = 16 << 20;
/// From so many small files on, joining them is worth it.
const SMALL_FILES: u64 = 16;
/// From this share of lost attempts on, something should change.
const CONTENDED: f64 = 0.1;

/// What a table's history and newest version say of how it fares.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// Versions that the history has.
    pub commits: u64,
    /// Attempts that they took, as far as writers say; one where they do not.
    pub attempts: u64,
    /// Attempts that met a version which somebody else had created, as a share of all.
    pub conflict_rate: f64,
    /// How often statements were planned again because they had lost, by operation.
    pub replanned: BTreeMap<String, u64>,
    /// How often a commit of the first operation had to follow one of the second, which landed after it had read.
    pub pairs: BTreeMap<(String, String), u64>,
    /// Data files, or fragments.
    pub files: u64,
    /// Of those the small ones; `None` where sizes are not known.
    pub small_files: Option<u64>,
    /// Live rows.
    pub rows: Option<u64>,
    /// Rows that are hidden.
    pub deleted_rows: Option<u64>,
    /// Bytes of the data files.
    pub size_bytes: Option<u64>,
    /// Log entries above the newest checkpoint (Delta).
    pub entries_above_checkpoint: Option<u64>,
    /// What to do.
    pub advice: Vec<String>,
}

impl Table {
    /// Looks at the last `limit` versions, or all, and at the newest one.
    ///
    /// # Errors
    /// The log cannot be read.
    pub async fn statistics(&self, limit: Option<usize>) -> Result<Statistics, TableError> {
        let history = self.history(limit).await?;
        let summary = self.snapshot.summary()?;
        let mut found = Statistics {
            commits: history.len() as u64,
            files: summary.num_files,
            rows: summary.num_rows,
            deleted_rows: summary.num_deleted_rows,
            size_bytes: summary.size_bytes,
            ..Statistics::default()
        };
        races(&history, &mut found);
        if let Snapshot::Lance(held) = &self.snapshot {
            found.small_files = small_fragments(&held.snapshot);
        }
        if let Snapshot::Delta(held) = &self.snapshot {
            let small = |add: &&std::sync::Arc<lakebed_delta::action::Add>| {
                u64::try_from(add.size).is_ok_and(|size| size < SMALL_BYTES)
            };
            found.small_files = Some(held.snapshot.files().filter(small).count() as u64);
            let version = held.snapshot.version().get();
            let listing = self.log_names().await?;
            let newest = listing.checkpoints().iter().map(|checkpoint| checkpoint.version.get()).max();
            let above = newest.map_or(version + 1, |newest| version.saturating_sub(newest));
            found.entries_above_checkpoint = Some(above);
            if above > 3 * checkpoint_interval(held.snapshot.properties()) {
                found.advice.push(format!(
                    "{above} log entries stand above the newest checkpoint, and opening reads them all: lakebed checkpoint"
                ));
            }
        }
        advise(&history, &summary.partition_columns, &mut found);
        Ok(found)
    }
}

/// Fragments of few bytes; `None` where sizes are not known.
fn small_fragments(snapshot: &lakebed_lance::Snapshot) -> Option<u64> {
    let mut small = 0;
    for fragment in snapshot.fragments() {
        let sizes = fragment.files.iter().map(|file| Some(file.file_size_bytes).filter(|bytes| *bytes > 0));
        small += u64::from(sizes.sum::<Option<u64>>()? < SMALL_BYTES);
    }
    Some(small)
}

/// Which commits followed which, from the versions that they read.
fn races(history: &[HistoryEntry], found: &mut Statistics) {
    let operation = |entry: &HistoryEntry| entry.operation.clone().unwrap_or_else(|| "unknown".to_owned());
    let by_version: BTreeMap<u64, &HistoryEntry> = history.iter().map(|entry| (entry.version.get(), entry)).collect();
    for entry in history {
        found.attempts += u64::from(entry.attempts.unwrap_or(1).max(1));
        if entry.lost_plannings > 0 {
            *found.replanned.entry(operation(entry)).or_default() += u64::from(entry.lost_plannings);
        }
        let Some(read) = entry.read_version else { continue };
        for (_, landed) in by_version.range(read.saturating_add(1)..entry.version.get().max(read.saturating_add(1))) {
            *found.pairs.entry((operation(entry), operation(landed))).or_default() += 1;
        }
    }
    let lost = found.attempts.saturating_sub(found.commits);
    found.conflict_rate = if found.attempts == 0 { 0.0 } else { lost as f64 / found.attempts as f64 };
}

fn advise(history: &[HistoryEntry], partition_columns: &[String], found: &mut Statistics) {
    if found.conflict_rate >= CONTENDED {
        let lost = format!("{:.0} % of the attempts met somebody else's version", found.conflict_rate * 100.0);
        let rewriting = |name: &str| matches!(name, "DELETE" | "UPDATE" | "MERGE" | "Delete" | "Update");
        let appending = |name: &str| matches!(name, "WRITE" | "STREAMING UPDATE" | "Append");
        let rewrites: u64 = found.replanned.iter().filter(|(ours, _)| rewriting(ours)).map(|(_, count)| count).sum();
        let appends: u64 = found.pairs.iter().filter(|((ours, _), _)| appending(ours)).map(|(_, count)| count).sum();
        if rewrites > 0 && partition_columns.is_empty() {
            found.advice.push(format!(
                "{lost}, and {rewrites} statements were planned again: partition the table by a column that writers differ in, and \
                 name it in their predicates"
            ));
        } else if rewrites > 0 {
            found.advice.push(format!(
                "{lost}, and {rewrites} statements were planned again: name the partition ({}) in each predicate, or choose a level \
                 that lets inserts pass (delta.isolationLevel=WriteSerializable)",
                partition_columns.join(", ")
            ));
        }
        if appends >= rewrites && appends > 0 {
            found.advice.push(format!("{lost}: append fewer and larger batches, or let one writer commit for several"));
        }
    }
    if let Some(small) = found.small_files.filter(|small| *small >= SMALL_FILES && small * 2 > found.files) {
        found.advice.push(format!("{small} of {} files are small: lakebed compact", found.files));
    }
    if let (Some(rows), Some(deleted)) = (found.rows, found.deleted_rows)
        && deleted > 0
        && deleted * 4 >= rows
    {
        found.advice.push(format!(
            "{deleted} deleted rows are still in files beside {rows} live ones: lakebed compact --major"
        ));
    }
    if let Some(apart_ms) = pace_ms(history).filter(|apart_ms| *apart_ms < 1_000) {
        found.advice.push(format!(
            "commits come every {apart_ms} ms: gather rows into fewer commits, each of which readers must list"
        ));
    }
}

/// How far commits are apart, where there are enough of them to tell.
fn pace_ms(history: &[HistoryEntry]) -> Option<i64> {
    let changes: Vec<i64> =
        history.iter().filter(|entry| entry.data_change).filter_map(|entry| entry.timestamp_ms).collect();
    let (newest, oldest) = (changes.first()?, changes.last()?);
    let steps = i64::try_from(changes.len()).ok()?.checked_sub(1).filter(|steps| *steps >= 50)?;
    Some((newest - oldest) / steps)
}
