//! Row statements on a Lance table.

use crate::commit::Givers;
use crate::create::fresh_id;
use crate::delta_rows::{bound_to, discard_lost, set_column};
use crate::lance_rows::{Beside, head};
use crate::snapshot::{LanceVersion, Snapshot};
use crate::{CommitOptions, Report, Scope, Table, TableError};
use lakebed_lance::proto::table::DataFragment;
use lakebed_lance::transaction::{Head, append, delete, overwrite, update, with_inserted_keys};
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

    pub(crate) async fn append_lance(
        &mut self,
        mut source: impl FnMut() -> Result<Batches, TableError>,
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        if let Some(done) = self.repeated(commit) {
            return Ok(done);
        }
        let held = self.lance_for("append")?;
        let plan = lance::append(&self.lance_table(&held, "append")?, source()?).await?;
        self.commit_lance_plan(&held, plan, Operation::Append, commit).await
    }

    pub(crate) async fn append_lance_having_read(
        &mut self,
        rows: Batches,
        predicates: &[String],
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        if let Some(done) = self.repeated(commit) {
            return Ok(done);
        }
        let held = self.lance_for("append")?;
        let table = self.lance_table(&held, "append")?;
        let read = predicates.iter().map(|text| bound_to(text, table.columns())).collect::<Result<Vec<_>, _>>()?;
        let plan = LancePlan { reads: lance::reads_of(&read), ..lance::append(&table, rows).await? };
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
            if let Some(done) = self.repeated(commit) {
                return Ok(done);
            }
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
            if let Some(done) = self.repeated(commit) {
                return Ok(done);
            }
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
            if let Some(done) = self.repeated(commit) {
                return Ok(done);
            }
            let held = self.lance_for("merge")?;
            let table = self.lance_table(&held, "merge")?;
            let gone = spec.not_matched_by_source.gone().map(|text| bound_to(text, table.columns())).transpose()?;
            let plan = lance::merge(&table, source()?, spec, gone.as_ref()).await?;
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
            if let Some(done) = self.repeated(commit) {
                return Ok(done);
            }
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
        let beside = Beside { reads: Some(reads), ..Beside::default() };
        let answer = self.commit_lance(held, with_bounds(message, &plan.bounds), beside, Givers::One, commit).await;
        self.counted(answer, counts, written).await
    }

    /// The report with what was counted; what was written for a statement that is known to have lost is removed. Who fails to
    /// remove it leaves it to a cleanup.
    pub(crate) async fn counted(
        &self,
        answer: Result<Report, TableError>,
        counts: BTreeMap<String, u64>,
        written: Vec<String>,
    ) -> Result<Report, TableError> {
        let answer = answer.map(|report| Report { metrics: counts, ..report });
        discard_lost(&**self.store(), answer, written).await
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
            Operation::Append if plan.reads == Reads::nothing() => {
                let blind = (BLIND.to_owned(), "true".to_owned());
                append(Head { properties: [blind].into(), ..head }, plan.added)
            }
            Operation::Append => append(head, plan.added),
            Operation::Delete(predicate) => delete(head, taken.updated, taken.removed, predicate.to_owned()),
            Operation::Update => {
                let message = update(head, taken.updated, taken.removed, plan.added, plan.fields_changed);
                with_inserted_keys(message, plan.inserted_keys)
            }
        };
        let affected = (!matches!(operation, Operation::Append)).then_some(taken.affected);
        let beside = Beside { affected, reads: Some(plan.reads), moved: None };
        let answer = self.commit_lance(held, with_bounds(message, &plan.bounds), beside, Givers::One, commit).await;
        self.counted(answer, counts, written).await
    }

    /// A version with who reads and writes its data files.
    pub(crate) fn lance_table(&self, held: &LanceVersion, statement: &str) -> Result<LanceTable, TableError> {
        let Some(files) = &self.place.lance_files else {
            return Err(TableError::NoLanceRows { statement: statement.to_owned() });
        };
        Ok(LanceTable::new(Arc::clone(self.store()), Arc::clone(&held.snapshot), Arc::clone(files))?)
    }
}

/// The data files of new fragments.
pub(crate) fn objects<'a>(fragments: impl IntoIterator<Item = &'a DataFragment>) -> Vec<String> {
    let files = fragments.into_iter().flat_map(|fragment| &fragment.files);
    files.map(|file| format!("{DATA_FOLDER}/{}", file.path)).collect()
}

pub(crate) fn nothing(held: &LanceVersion, counts: BTreeMap<String, u64>) -> Report {
    let outcome = Outcome::Nothing { version: held.snapshot.version() };
    let mut report = Report::of(outcome, TransactionId::new(fresh_id().to_string()));
    report.metrics = counts;
    report
}

pub(crate) fn counts(plan: &LancePlan) -> BTreeMap<String, u64> {
    BTreeMap::from([
        ("fragments_added".to_owned(), plan.added.len() as u64),
        ("rows_inserted".to_owned(), plan.rows_inserted),
        ("rows_deleted".to_owned(), plan.rows_deleted),
        ("rows_updated".to_owned(), plan.rows_updated),
    ])
}
