//! Row statements on a Lance table.

use crate::commit::Givers;
use crate::create::fresh_id;
use crate::delta_rows::{bound_to, set_column};
use crate::lance_rows::{Beside, head};
use crate::snapshot::{LanceVersion, Snapshot};
use crate::{CommitOptions, CompactRequest, Compaction, Report, Scope, Table, TableError};
use lakebed_lance::proto::table::DataFragment;
use lakebed_lance::transaction::{Head, append, delete, overwrite, rewrite, update};
use lakebed_lance::{BLIND, Reads, with_bounds};
use lakebed_ops::lance::{self, LancePlan, LanceTable};
use lakebed_ops::{Batches, MergeSpec};
use lakebed_transaction::{Column, Outcome, TransactionId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where new data files lie.
const DATA_FOLDER: &str = "data";

/// What a statement is in the words of the format.
enum Operation<'a> {
    Append,
    Delete(&'a str),
    Update,
}

impl Table {
    /// The columns in which the rows of a version are given and taken.
    ///
    /// # Errors
    /// The schema cannot be read.
    pub fn row_columns(&self, snapshot: &Snapshot) -> Result<Vec<Column>, TableError> {
        match (snapshot, &self.place.lance_files) {
            (Snapshot::Lance(held), Some(_)) => Ok(self.lance_table(held, "reading rows")?.columns().to_vec()),
            (Snapshot::Lance(_) | Snapshot::Delta(_), _) => Ok(snapshot.summary()?.columns),
        }
    }

    /// Writes small fragments of a Lance table, and those of which much is deleted, anew as fewer and whole ones; below
    /// `target_rows` (default: 1,048,576) a fragment is small. Fragments that an index covers are left alone.
    ///
    /// # Errors
    /// The table is no Lance table, its rows cannot be read or written here, or the store cannot be asked. Nothing was committed.
    pub async fn compact_fragments(
        &mut self,
        target_rows: Option<u64>,
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        let held = self.lance_for("compacting fragments")?;
        let table = self.lance_table(&held, "compact")?;
        let plan = lance::compact(&table, target_rows).await?;
        let count = |fragments: usize| fragments as u64;
        let counts = BTreeMap::from([
            ("fragments_removed".to_owned(), plan.groups.iter().map(|group| count(group.old_fragments.len())).sum()),
            ("fragments_added".to_owned(), plan.groups.iter().map(|group| count(group.new_fragments.len())).sum()),
            ("fragments_covered".to_owned(), plan.covered),
            ("rows_copied".to_owned(), plan.rows_copied),
        ]);
        if plan.groups.is_empty() {
            return Ok(nothing(&held, counts));
        }
        let written = plan.groups.iter().flat_map(|group| objects(&group.new_fragments)).collect();
        let message = rewrite(head(&held), plan.groups);
        let report = self.commit_lance(&held, message, Beside::default(), Givers::One, commit).await?;
        Ok(self.counted(report, counts, written).await)
    }

    /// A compaction as it is asked for on tables of either format.
    pub(crate) async fn compact_lance(
        &mut self,
        request: &CompactRequest,
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        let refused = match request {
            CompactRequest { compaction: Compaction::Minor, .. } => Some("keeps deleted rows"),
            CompactRequest { predicate: Some(_), .. } => Some("looks at a part of the table"),
            CompactRequest { cluster_by, .. } if !cluster_by.is_empty() => Some("puts rows in order"),
            CompactRequest { .. } => None,
        };
        if let Some(what) = refused {
            return Err(TableError::Invalid {
                problem: format!("a compaction of a lance table that {what} is not done here"),
                advice: "compact the whole table without options".to_owned(),
            });
        }
        let mut plannings = 0;
        loop {
            plannings += 1;
            let held = self.lance_for("compact")?;
            let target = request.target_size_bytes.and_then(|bytes| rows_in(&held, bytes));
            let report = self.compact_fragments(target, commit).await?;
            if let Some(report) = self.planned_again(report, plannings, commit).await? {
                return Ok(report);
            }
        }
    }

    pub(crate) async fn append_lance(
        &mut self,
        mut source: impl FnMut() -> Result<Batches, TableError>,
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        let held = self.lance_for("append")?;
        let plan = lance::append(&self.lance_table(&held, "append")?, source()?).await?;
        self.commit_lance_plan(&held, plan, Operation::Append, commit).await
    }

    pub(crate) async fn delete_lance(
        &mut self,
        statement: &'static str,
        predicate: &str,
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        let mut plannings = 0;
        loop {
            plannings += 1;
            let held = self.lance_for(statement)?;
            let table = self.lance_table(&held, statement)?;
            let plan = lance::delete(&table, &bound_to(predicate, table.columns())?).await?;
            let report = self.commit_lance_plan(&held, plan, Operation::Delete(predicate), commit).await?;
            if let Some(report) = self.planned_again(report, plannings, commit).await? {
                return Ok(report);
            }
        }
    }

    pub(crate) async fn update_lance(
        &mut self,
        assignments: &[String],
        predicate: Option<&str>,
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        let mut plannings = 0;
        loop {
            plannings += 1;
            let held = self.lance_for("update")?;
            let table = self.lance_table(&held, "update")?;
            let set =
                assignments.iter().map(|text| set_column(text, table.columns())).collect::<Result<Vec<_>, _>>()?;
            let expr = bound_to(predicate.unwrap_or("TRUE"), table.columns())?;
            let plan = lance::update(&table, &set, &expr).await?;
            let report = self.commit_lance_plan(&held, plan, Operation::Update, commit).await?;
            if let Some(report) = self.planned_again(report, plannings, commit).await? {
                return Ok(report);
            }
        }
    }

    pub(crate) async fn merge_lance(
        &mut self,
        mut source: impl FnMut() -> Result<Batches, TableError>,
        spec: &MergeSpec,
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        let mut plannings = 0;
        loop {
            plannings += 1;
            let held = self.lance_for("merge")?;
            let plan = lance::merge(&self.lance_table(&held, "merge")?, source()?, spec).await?;
            let report = self.commit_lance_plan(&held, plan, Operation::Update, commit).await?;
            if let Some(report) = self.planned_again(report, plannings, commit).await? {
                return Ok(report);
            }
        }
    }

    pub(crate) async fn overwrite_lance(
        &mut self,
        mut source: impl FnMut() -> Result<Batches, TableError>,
        scope: &Scope,
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        let mut plannings = 0;
        loop {
            plannings += 1;
            let held = self.lance_for("overwrite")?;
            let table = self.lance_table(&held, "overwrite")?;
            let report = match scope {
                Scope::Whole => {
                    let plan = lance::append(&table, source()?).await?;
                    self.commit_lance_overwrite(&held, plan, commit).await?
                }
                Scope::Where(text) => {
                    let predicate = bound_to(text, table.columns())?;
                    let plan = lance::overwrite_where(&table, source()?, &predicate, text).await?;
                    self.commit_lance_plan(&held, plan, Operation::Update, commit).await?
                }
                Scope::Partitions => {
                    return Err(TableError::Invalid {
                        problem: "Lance tables have no partitions that could be overwritten".to_owned(),
                        advice: "overwrite the rows that meet a predicate, or all of them".to_owned(),
                    });
                }
            };
            if let Some(report) = self.planned_again(report, plannings, commit).await? {
                return Ok(report);
            }
        }
    }

    async fn commit_lance_overwrite(
        &mut self,
        held: &LanceVersion,
        plan: LancePlan,
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        let mut counts = counts(&plan);
        counts.insert("fragments_removed".to_owned(), held.snapshot.fragments().len() as u64);
        counts.extend(held.snapshot.counts().map(|counts| ("rows_deleted".to_owned(), counts.live())));
        let (fields, metadata) = (held.snapshot.fields().to_vec(), held.snapshot.schema_metadata().clone());
        let written = objects(&plan.added);
        let message = overwrite(head(held), plan.added, fields, BTreeMap::new());
        let message = lakebed_lance::transaction::with_schema_metadata(message, metadata);
        let reads = Reads { keeps_schema: true, ..Reads::nothing() };
        let beside = Beside { affected: None, reads: Some(reads) };
        let report = self.commit_lance(held, with_bounds(message, &plan.bounds), beside, Givers::One, commit).await?;
        Ok(self.counted(report, counts, written).await)
    }

    /// The report with what was counted; what was written for a statement that is known to have lost is removed. Who fails to
    /// remove it leaves it to a cleanup.
    async fn counted(&self, mut report: Report, mut counts: BTreeMap<String, u64>, written: Vec<String>) -> Report {
        match report.outcome {
            Outcome::Conflict(_) | Outcome::Exhausted { .. } | Outcome::Nothing { .. } => {
                let mut removed = 0;
                for name in written {
                    removed += u64::from(self.store().delete(&name).await.is_ok());
                }
                counts.insert("objects_discarded".to_owned(), removed);
            }
            Outcome::Committed { .. } | Outcome::Unknown { .. } => {}
        }
        report.metrics = counts;
        report
    }

    async fn commit_lance_plan(
        &mut self,
        held: &LanceVersion,
        plan: LancePlan,
        operation: Operation<'_>,
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        let mut counts = counts(&plan);
        if plan.is_empty() {
            return Ok(nothing(held, counts));
        }
        let taken = self.take_out(held, plan.taken).await?;
        counts.insert("fragments_removed".to_owned(), taken.removed.len() as u64);
        counts.insert("deletion_files_added".to_owned(), taken.updated.len() as u64);
        let mut written = objects(&plan.added);
        for fragment in &taken.updated {
            let name = held.snapshot.deletion_object(fragment).ok().flatten();
            written.extend(name.map(|name| name.as_str().to_owned()));
        }
        let head = head(held);
        let message = match operation {
            Operation::Append => {
                let blind = (BLIND.to_owned(), "true".to_owned());
                append(Head { properties: [blind].into(), ..head }, plan.added)
            }
            Operation::Delete(predicate) => delete(head, taken.updated, taken.removed, predicate.to_owned()),
            Operation::Update => update(head, taken.updated, taken.removed, plan.added, plan.fields_changed),
        };
        let affected = (!matches!(operation, Operation::Append)).then_some(taken.affected);
        let beside = Beside { affected, reads: Some(plan.reads) };
        let report = self.commit_lance(held, with_bounds(message, &plan.bounds), beside, Givers::One, commit).await?;
        Ok(self.counted(report, counts, written).await)
    }

    /// A version with who reads and writes its data files.
    pub(crate) fn lance_table(&self, held: &LanceVersion, statement: &str) -> Result<LanceTable, TableError> {
        let Some(files) = &self.place.lance_files else {
            return Err(TableError::Invalid {
                problem: format!(
                    "{statement} on a lance table needs the rows of Lance data files, and this build has no Lance rows (it was \
                     built without lance-data)"
                ),
                advice: "build the whole program with `cargo xtask install`, or use a Lance client for this".to_owned(),
            });
        };
        Ok(LanceTable::new(Arc::clone(self.store()), Arc::clone(&held.snapshot), Arc::clone(files))?)
    }
}

/// How many rows of a table take about so many bytes; `None` where that is not known.
fn rows_in(held: &LanceVersion, bytes: u64) -> Option<u64> {
    let physical = held.snapshot.counts()?.physical;
    let files = held.snapshot.fragments().iter().flat_map(|fragment| &fragment.files);
    let all_bytes: u64 = files.map(|file| file.file_size_bytes).sum();
    let rows = u128::from(bytes).checked_mul(u128::from(physical))?.checked_div(u128::from(all_bytes))?;
    u64::try_from(rows).ok().map(|rows| rows.max(1))
}

/// The data files of new fragments.
fn objects(fragments: &[DataFragment]) -> Vec<String> {
    fragments.iter().flat_map(|fragment| &fragment.files).map(|file| format!("{DATA_FOLDER}/{}", file.path)).collect()
}

fn nothing(held: &LanceVersion, counts: BTreeMap<String, u64>) -> Report {
    let outcome = Outcome::Nothing { version: held.snapshot.version() };
    let mut report = Report::of(outcome, TransactionId::new(fresh_id().to_string()));
    report.metrics = counts;
    report
}

fn counts(plan: &LancePlan) -> BTreeMap<String, u64> {
    BTreeMap::from([
        ("fragments_added".to_owned(), plan.added.len() as u64),
        ("rows_inserted".to_owned(), plan.rows_inserted),
        ("rows_deleted".to_owned(), plan.rows_deleted),
        ("rows_updated".to_owned(), plan.rows_updated),
    ])
}
