//! Compaction and clustering.

use crate::delta_rows::{bound, discard_lost};
use crate::snapshot::{DeltaVersion, Snapshot};
use crate::{CommitOptions, Report, Table, TableError};
use lakebed_conflict::maxcompute::MAXCOMPUTE;
use lakebed_ops::{CompactSpec, Compaction, Plan, TARGET_SIZE_BYTES, Writing, compact};
use lakebed_transaction::{Outcome, UnitId};
use std::collections::HashMap;

/// What to compact, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompactRequest {
    /// What becomes of deleted rows.
    pub compaction: Compaction,
    /// Only partitions that meet this (SQL text over partition columns).
    pub predicate: Option<String>,
    /// The size to join files to, in bytes; without it the table's `delta.targetFileSize`, else 128 MiB.
    pub target_size_bytes: Option<u64>,
    /// Put rows in the order of this column, or along a Z-order curve over several.
    pub cluster_by: Vec<String>,
}

/// The property in which a table says how large its files should be.
const TARGET_FILE_SIZE: &str = "delta.targetFileSize";

impl Table {
    /// Joins small files, drops deleted rows, or puts rows in order. No reader sees a difference, and without work nothing is
    /// committed.
    ///
    /// A compaction that lost is committed again as it is while every file that it read still stands as it was; else, and under
    /// `maxcompute`, by which a job that lost is lost, it is planned again.
    ///
    /// # Errors
    /// The request does not fit the table, or the store cannot be asked. Nothing was committed.
    pub async fn compact(&mut self, request: &CompactRequest, commit: &CommitOptions) -> Result<Report, TableError> {
        let mut plannings = 0;
        loop {
            plannings += 1;
            if let Snapshot::Lance(_) = &self.snapshot {
                return self.compact_lance(request, commit).await;
            }
            let held = self.delta_for("compact")?;
            let spec = spec(request, &held)?;
            let writing = Writing::default().with_engine(commit.engine.clone());
            let mut plan = compact(self.store(), &held.snapshot, &spec, &writing).await?;
            plan.lost_plannings = plannings - 1;
            let mut answer = self.commit_evolved(&held, None, &plan, commit).await;
            let mut again = 0;
            while answer.as_ref().is_ok_and(may_follow) && again < commit.rebases_max {
                again += 1;
                if let Err(error) = self.refresh().await {
                    drop(discard_lost(&**self.store(), answer, plan.objects()).await);
                    return Err(error);
                }
                let newest = self.delta_for("compact")?;
                if !stands(&plan, &held, &newest) {
                    break;
                }
                answer = self.commit_evolved(&newest, None, &plan, commit).await;
            }
            let report = discard_lost(&**self.store(), answer, plan.objects()).await?;
            if let Some(report) = self.planned_again(report, plannings, commit).await? {
                return Ok(report);
            }
        }
    }
}

/// Whether a compaction that lost may still be committed as it is.
fn may_follow(report: &Report) -> bool {
    matches!(&report.outcome, Outcome::Conflict(conflict) if conflict.policy != MAXCOMPUTE.label())
}

fn spec(request: &CompactRequest, held: &DeltaVersion) -> Result<CompactSpec, TableError> {
    let predicate = request.predicate.as_ref().map(|text| Ok::<_, TableError>((bound(text, held)?, text.clone())));
    let property = held.snapshot.properties().get(TARGET_FILE_SIZE).and_then(bytes_in);
    Ok(CompactSpec {
        compaction: request.compaction,
        predicate: predicate.transpose()?,
        target_size_bytes: request.target_size_bytes.or(property).unwrap_or(TARGET_SIZE_BYTES),
        cluster_by: request.cluster_by.clone(),
        ..CompactSpec::default()
    })
}

/// A number of bytes as properties spell it: `134217728`, `128mb`, `1g`.
fn bytes_in(text: &str) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim() {
        "" | "b" => 0,
        "k" | "kb" => 10,
        "m" | "mb" => 20,
        "g" | "gb" => 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift).filter(|bytes| *bytes > 0)
}

/// Whether a plan that was made on `held` holds on `newest`: its files stand as they were, and so do columns and partitions.
fn stands(plan: &Plan, held: &DeltaVersion, newest: &DeltaVersion) -> bool {
    let (old, new) = (held.snapshot.metadata(), newest.snapshot.metadata());
    let carries_vectors = plan.added.iter().any(|file| !file.deleted.is_empty());
    if old.schema_string != new.schema_string
        || old.partition_columns != new.partition_columns
        || carries_vectors && old.configuration != new.configuration
    {
        return false;
    }
    let known: HashMap<UnitId, _> = held.snapshot.files().map(|add| (UnitId::file(&add.path), add)).collect();
    plan.removed.iter().all(|id| {
        let Some(add) = known.get(id) else { return false };
        newest.snapshot.file(&add.key()).is_some_and(|now| now == *add)
    })
}

#[cfg(test)]
mod tests {
    use super::bytes_in;

    #[test]
    fn sizes_are_read_with_and_without_a_unit() {
        let sizes = ["1048576", "128mb", "1 GB", "16k", "0", "many", "3 parsecs"].map(bytes_in);
        assert_eq!(sizes, [Some(1_048_576), Some(128 << 20), Some(1 << 30), Some(16 << 10), None, None, None]);
    }
}
