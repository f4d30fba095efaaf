//! Compaction and clustering of a Lance table.

use crate::commit::Givers;
use crate::create::fresh_id;
use crate::delta_rows::bound_to;
use crate::lance_rows::{Beside, head};
use crate::lance_statements::{nothing, objects};
use crate::load::lance::format_error;
use crate::snapshot::LanceVersion;
use crate::{CommitOptions, CompactRequest, Report, Table, TableError};
use lakebed_lance::proto::table::transaction::rewrite::RewriteGroup;
use lakebed_lance::reuse::MovedRows;
use lakebed_lance::transaction::{reserve_fragments, rewrite};
use lakebed_ops::lance::{self, LanceCompactSpec, LanceCompaction, LanceGroup};
use lakebed_transaction::Outcome;
use std::collections::BTreeMap;

impl Table {
    /// Writes small fragments of a Lance table, and those of which much is deleted, anew as fewer and whole ones; below
    /// `target_rows` (default: 1,048,576) a fragment is small.
    ///
    /// # Errors
    /// The table is no Lance table, its rows cannot be read or written here, or the store cannot be asked. Nothing was committed.
    pub async fn compact_fragments(
        &mut self,
        target_rows: Option<u64>,
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        let held = self.lance_for("compacting fragments")?;
        let spec = LanceCompactSpec::default();
        let spec = LanceCompactSpec { target_rows: target_rows.unwrap_or(spec.target_rows), ..spec };
        self.compact_once(&held, &spec, commit).await
    }

    /// A compaction as it is asked for on tables of either format.
    pub(crate) async fn compact_lance(
        &mut self,
        request: &CompactRequest,
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        let mut plannings = 0;
        loop {
            plannings += 1;
            let held = self.lance_for("compact")?;
            let spec = self.lance_spec(&held, request)?;
            let report = self.compact_once(&held, &spec, commit).await?;
            if let Some(report) = self.planned_again(report, plannings, commit).await? {
                return Ok(report);
            }
        }
    }

    fn lance_spec(&self, held: &LanceVersion, request: &CompactRequest) -> Result<LanceCompactSpec, TableError> {
        let table = self.lance_table(held, "compact")?;
        let predicate = request.predicate.as_deref().map(|text| bound_to(text, table.columns())).transpose()?;
        let defaults = LanceCompactSpec::default();
        Ok(LanceCompactSpec {
            compaction: request.compaction,
            predicate,
            target_rows: request
                .target_size_bytes
                .and_then(|bytes| rows_in(held, bytes))
                .unwrap_or(defaults.target_rows),
            cluster_by: request.cluster_by.clone(),
            ..defaults
        })
    }

    async fn compact_once(
        &mut self,
        held: &LanceVersion,
        spec: &LanceCompactSpec,
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        let mut plan = lance::compact(&self.lance_table(held, "compact")?, spec).await?;
        let counts = counts(&plan);
        if plan.groups.is_empty() {
            return Ok(nothing(held, counts));
        }
        let new = || plan.groups.iter().flat_map(|group| &group.new).map(|(fragment, _)| fragment);
        let mut written: Vec<String> = objects(new());
        if let Some(lost) = self.name_deletions(held, &mut plan, &mut written, commit).await.transpose() {
            return self.counted(lost, counts, written).await;
        }
        let moved = plan.moves_indexed_rows.then(|| MovedRows {
            id: *fresh_id().as_bytes(),
            groups: plan.groups.iter().map(|group| group.moved.clone()).collect(),
        });
        let groups = plan.groups.into_iter().map(|LanceGroup { old, new, .. }| RewriteGroup {
            old_fragments: old,
            new_fragments: new.into_iter().map(|(fragment, _)| fragment).collect(),
        });
        let message = rewrite(head(held), groups.collect());
        let beside = Beside { moved, ..Beside::default() };
        let answer = self.commit_lance(held, message, beside, Givers::One, commit).await;
        self.counted(answer, counts, written).await
    }

    /// Writes the deletion files of new fragments of which rows are deleted. Such a file has its fragment's id in its name, so
    /// ids are reserved first, in a version of its own. The report of that, where it did not land.
    async fn name_deletions(
        &mut self,
        held: &LanceVersion,
        plan: &mut LanceCompaction,
        written: &mut Vec<String>,
        commit: &CommitOptions,
    ) -> Result<Option<Report>, TableError> {
        let worn = |(_, deleted): &&mut (_, lakebed_transaction::RowSet)| !deleted.is_empty();
        let count = plan.groups.iter_mut().flat_map(|group| &mut group.new).filter(worn).count();
        let Ok(count @ 1..) = u32::try_from(count) else { return Ok(None) };
        let message = reserve_fragments(head(held), count);
        let unmarked = CommitOptions { application: None, ..commit.clone() };
        let report = self.commit_lance(held, message, Beside::default(), Givers::One, &unmarked).await?;
        let Outcome::Committed { .. } = report.outcome else { return Ok(Some(report)) };
        let greatest = self.lance_for("compact")?.snapshot.header().max_fragment_id.unwrap_or_default();
        let ids = greatest.saturating_sub(count) + 1..=greatest;
        for ((fragment, deleted), id) in plan.groups.iter_mut().flat_map(|group| &mut group.new).filter(worn).zip(ids) {
            fragment.id = u64::from(id);
            *fragment = self.with_deletion_file(held, fragment, deleted, true).await?;
            let name =
                held.snapshot.deletion_object(fragment).map_err(|source| format_error(&**self.store(), source))?;
            written.extend(name.map(|name| name.as_str().to_owned()));
        }
        Ok(None)
    }
}

fn counts(plan: &LanceCompaction) -> BTreeMap<String, u64> {
    let sum = |of: fn(&LanceGroup) -> usize| plan.groups.iter().map(|group| of(group) as u64).sum();
    BTreeMap::from([
        ("fragments_removed".to_owned(), sum(|group| group.old.len())),
        ("fragments_added".to_owned(), sum(|group| group.new.len())),
        ("fragments_covered".to_owned(), plan.covered),
        ("rows_copied".to_owned(), plan.rows_copied),
    ])
}

/// How many rows of a table take about so many bytes; `None` where that is not known.
fn rows_in(held: &LanceVersion, bytes: u64) -> Option<u64> {
    let physical = held.snapshot.counts()?.physical;
    let files = held.snapshot.fragments().iter().flat_map(|fragment| &fragment.files);
    let all_bytes: u64 = files.map(|file| file.file_size_bytes).sum();
    let rows = u128::from(bytes).checked_mul(u128::from(physical))?.checked_div(u128::from(all_bytes))?;
    u64::try_from(rows).ok().map(|rows| rows.max(1))
}
