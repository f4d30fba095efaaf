//! Row statements and property changes on a Delta table.

use crate::commit::Givers;
use crate::create::fresh_id;
use crate::load::delta::{delta_error, first};
use crate::snapshot::{DeltaVersion, Snapshot};
use crate::{CommitOptions, Report, Table, TableError, application, policy};
use futures::future::BoxFuture;
use lakebed_commit::CommitError;
use lakebed_delta::{DeltaFormat, Pending, Transaction, Vouched};
use lakebed_naming::Version;
use lakebed_ops::delta::{Statement, set_properties, statement};
use lakebed_ops::{
    Batches, Evolved, LOOKER, Layout, MergeSpec, OverwriteScope, Plan, SetColumn, Writing, append, delete, merge,
    note_reads, overwrite, truncate, update,
};
use lakebed_storage::Store;
use lakebed_transaction::{Column, Expr, Outcome, TransactionId, Verdict};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a statement takes out.
#[derive(Clone, Copy)]
enum Going<'a> {
    /// The rows that meet a predicate.
    Rows(&'a str),
    /// Partitions, or the whole table.
    Partitions(Option<&'a str>),
}

impl Table {
    /// Appends rows, blindly: nothing of the table is read. `source` is called once for each planning.
    ///
    /// Who does nothing but append opens an [`Appender`](crate::Appender), which does not learn of the table's files.
    ///
    /// # Errors
    /// The rows do not fit the table, or the store cannot be asked. Nothing was committed.
    pub async fn append(
        &mut self,
        mut source: impl FnMut() -> Result<Batches, TableError>,
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        let held = match &self.snapshot {
            Snapshot::Delta(held) => held.clone(),
            Snapshot::Lance(_) => return self.append_lance(source, commit).await,
        };
        if let Some(done) = application::repeated(held.snapshot.core(), commit) {
            return Ok(done);
        }
        let layout = Layout::of(held.snapshot.core())?;
        let plan = append(self.store(), &layout, source()?, &writing(commit)).await?;
        self.commit_plan(&held, plan, commit).await
    }

    /// Appends rows that were computed from the table's own: from those of the version that this handle holds which meet the
    /// predicates (SQL text). So they are judged by what they read, as a merge is, and are not blind.
    ///
    /// Whoever loses gets the conflict: only the caller can compute the rows again, after [`Table::refresh`].
    ///
    /// # Errors
    /// The rows or a predicate do not fit the table, or the store cannot be asked. Nothing was committed.
    pub async fn append_having_read(
        &mut self,
        rows: Batches,
        predicates: &[String],
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        let held = match &self.snapshot {
            Snapshot::Delta(held) => held.clone(),
            Snapshot::Lance(_) => return self.append_lance_having_read(rows, predicates, commit).await,
        };
        if let Some(done) = application::repeated(held.snapshot.core(), commit) {
            return Ok(done);
        }
        let read = predicates.iter().map(|text| bound(text, &held)).collect::<Result<Vec<_>, _>>()?;
        let layout = Layout::of(held.snapshot.core())?;
        let mut plan = append(self.store(), &layout, rows, &writing(commit)).await?;
        note_reads(&*held.snapshot, &read, &mut plan)?;
        self.commit_plan(&held, plan, commit).await
    }

    /// Replaces all rows, or those that meet a predicate, by others. `source` is called once for each planning.
    ///
    /// # Errors
    /// The rows do not fit the table or the predicate, or the store cannot be asked. Nothing was committed.
    pub async fn overwrite(
        &mut self,
        mut source: impl FnMut() -> Result<Batches, TableError>,
        scope: &Scope,
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        let mut plannings = 0;
        loop {
            plannings += 1;
            let held = match &self.snapshot {
                Snapshot::Delta(held) => held.clone(),
                Snapshot::Lance(_) => return self.overwrite_lance(source, scope, commit).await,
            };
            if let Some(done) = application::repeated(held.snapshot.core(), commit) {
                return Ok(done);
            }
            let scope = match scope {
                Scope::Whole => OverwriteScope::Whole,
                Scope::Where(text) => OverwriteScope::Where(bound(text, &held)?, text.clone()),
                Scope::Partitions => OverwriteScope::Partitions,
            };
            let mut plan = overwrite(self.store(), &*held.snapshot, source()?, &scope, &writing(commit)).await?;
            plan.lost_plannings = plannings - 1;
            let report = self.commit_plan(&held, plan, commit).await?;
            if let Some(report) = self.planned_again(report, plannings, commit).await? {
                return Ok(report);
            }
        }
    }

    /// Deletes the rows that meet a predicate (SQL text).
    ///
    /// # Errors
    /// The predicate does not fit the table, or the store cannot be asked. Nothing was committed.
    pub async fn delete(&mut self, predicate: &str, commit: &CommitOptions) -> Result<Report, TableError> {
        self.take_out_where(Going::Rows(predicate), commit).await
    }

    /// Deletes all rows, or those that meet a predicate (SQL text). Of a Delta table whole partitions go as they stand when this
    /// commits, as under an overwrite by no rows.
    ///
    /// # Errors
    /// As [`Table::delete`].
    pub async fn truncate(&mut self, predicate: Option<&str>, commit: &CommitOptions) -> Result<Report, TableError> {
        self.take_out_where(Going::Partitions(predicate), commit).await
    }

    async fn take_out_where(&mut self, going: Going<'_>, commit: &CommitOptions) -> Result<Report, TableError> {
        let (statement, predicate) = match going {
            Going::Rows(predicate) => ("delete", predicate),
            Going::Partitions(predicate) => ("truncate", predicate.unwrap_or("TRUE")),
        };
        let mut plannings = 0;
        loop {
            plannings += 1;
            let held = match &self.snapshot {
                Snapshot::Delta(held) => held.clone(),
                Snapshot::Lance(_) => return self.delete_lance(statement, predicate, commit).await,
            };
            if let Some(done) = application::repeated(held.snapshot.core(), commit) {
                return Ok(done);
            }
            let expr = bound(predicate, &held)?;
            let (store, view, writing) = (self.store(), &*held.snapshot, writing(commit));
            let mut plan = match going {
                Going::Rows(text) => delete(store, view, &expr, text, &writing).await?,
                Going::Partitions(text) => truncate(store, view, &expr, text, &writing).await?,
            };
            plan.lost_plannings = plannings - 1;
            let report = self.commit_plan(&held, plan, commit).await?;
            if let Some(report) = self.planned_again(report, plannings, commit).await? {
                return Ok(report);
            }
        }
    }

    /// Sets columns of the rows that meet a predicate, or of all rows. Assignments and predicate are SQL text, such as
    /// `price = price * 2`; every value is computed from the old row.
    ///
    /// # Errors
    /// An assignment or the predicate does not fit the table, or the store cannot be asked. Nothing was committed.
    pub async fn update(
        &mut self,
        assignments: &[String],
        predicate: Option<&str>,
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        let mut plannings = 0;
        loop {
            plannings += 1;
            let held = match &self.snapshot {
                Snapshot::Delta(held) => held.clone(),
                Snapshot::Lance(_) => return self.update_lance(assignments, predicate, commit).await,
            };
            if let Some(done) = application::repeated(held.snapshot.core(), commit) {
                return Ok(done);
            }
            let columns = held.snapshot.schema().columns();
            let set = assignments.iter().map(|text| set_column(text, &columns)).collect::<Result<Vec<_>, _>>()?;
            let expr = bound(predicate.unwrap_or("TRUE"), &held)?;
            let mut plan = update(self.store(), &*held.snapshot, &set, (&expr, predicate), &writing(commit)).await?;
            plan.lost_plannings = plannings - 1;
            let report = self.commit_plan(&held, plan, commit).await?;
            if let Some(report) = self.planned_again(report, plannings, commit).await? {
                return Ok(report);
            }
        }
    }

    /// Brings rows in by key: rows that the table has are updated, deleted or left alone, others added or left out, and rows that only
    /// the table has stay or go. `source` is called once for each planning, and its rows are held in memory.
    ///
    /// # Errors
    /// The rows do not fit the table, or the store cannot be asked. Nothing was committed.
    pub async fn merge(
        &mut self,
        mut source: impl FnMut() -> Result<Batches, TableError>,
        spec: &MergeSpec,
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        let mut plannings = 0;
        loop {
            plannings += 1;
            let held = match &self.snapshot {
                Snapshot::Delta(held) => held.clone(),
                Snapshot::Lance(_) => return self.merge_lance(source, spec, commit).await,
            };
            if let Some(done) = application::repeated(held.snapshot.core(), commit) {
                return Ok(done);
            }
            let gone = spec.not_matched_by_source.gone().map(|text| bound(text, &held)).transpose()?;
            let spec = (spec, gone.as_ref());
            let mut plan = merge(self.store(), &*held.snapshot, source()?, spec, &writing(commit)).await?;
            plan.lost_plannings = plannings - 1;
            let report = self.commit_plan(&held, plan, commit).await?;
            if let Some(report) = self.planned_again(report, plannings, commit).await? {
                return Ok(report);
            }
        }
    }

    pub(crate) async fn set_delta_properties(
        &mut self,
        held: &DeltaVersion,
        set: &BTreeMap<String, String>,
        unset: &[String],
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        let statement = set_properties(&held.snapshot, set, unset)?;
        self.commit_statement(held, statement, BTreeMap::new(), commit).await
    }

    /// Whether a statement that reads and lost is planned again: `None` after a refresh, the report where it ends.
    pub(crate) async fn planned_again(
        &mut self,
        mut report: Report,
        plannings: u32,
        commit: &CommitOptions,
    ) -> Result<Option<Report>, TableError> {
        report.plannings = plannings;
        let lost = matches!(&report.outcome, Outcome::Conflict(conflict) if conflict.why.verdict == Verdict::Retryable);
        if !lost || plannings >= commit.plannings_max {
            return Ok(Some(report));
        }
        self.refresh().await?;
        Ok(None)
    }

    pub(crate) fn delta_for(&self, statement: &'static str) -> Result<DeltaVersion, TableError> {
        match &self.snapshot {
            Snapshot::Delta(delta) => Ok(delta.clone()),
            Snapshot::Lance(held) => {
                self.lance_table(held, statement)?;
                Err(TableError::Invalid {
                    problem: format!("{statement} on a lance table is not done here"),
                    advice: "use a Lance client for this".to_owned(),
                })
            }
        }
    }

    async fn commit_plan(
        &mut self,
        held: &DeltaVersion,
        plan: Plan,
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        let answer = self.commit_evolved(held, None, &plan, commit).await;
        discard_lost(&**self.store(), answer, plan.objects()).await
    }

    /// Commits a plan, with the columns that it was made for where they are others than those of `held`. Its files stay whatever
    /// comes of it.
    pub(crate) async fn commit_evolved(
        &mut self,
        held: &DeltaVersion,
        evolved: Option<&Evolved>,
        plan: &Plan,
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        let counts = counts(plan);
        if plan.is_empty() && evolved.is_none() && commit.application.is_none() {
            let outcome = Outcome::Nothing { version: held.snapshot.version() };
            let mut report = Report::of(outcome, TransactionId::new(fresh_id().to_string()));
            report.metrics = counts;
            return Ok(report);
        }
        let now_ms = i64::try_from(self.place.clock.now_ms()).unwrap_or(i64::MAX);
        let view = evolved.map_or(&*held.snapshot, |evolved| &evolved.snapshot);
        let mut statement = statement(view, plan, now_ms)?;
        if let Some(evolved) = evolved {
            statement.actions.splice(0..0, evolved.actions.iter().cloned());
        }
        self.commit_statement(held, statement, counts, commit).await
    }

    pub(crate) async fn commit_statement(
        &mut self,
        held: &DeltaVersion,
        statement: Statement,
        counts: BTreeMap<String, u64>,
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        let mut report = self.commit_delta(held, transaction(statement), commit).await?;
        report.metrics = counts;
        self.correct_counts(&mut report);
        Ok(report)
    }

    /// Takes over what the committed entry counts: it may have found less to do than the statement that was planned.
    fn correct_counts(&self, report: &mut Report) {
        let Outcome::Committed { version, .. } = &report.outcome else { return };
        let Snapshot::Delta(held) = &self.snapshot else { return };
        let info = held.snapshot.commit_info().filter(|_| held.snapshot.version() == *version);
        let Some(told) = info.and_then(|info| info.0.get("operationMetrics")) else { return };
        for (name, key) in [
            ("numDeletedRows", "rows_deleted"),
            ("numRemovedFiles", "files_removed"),
            ("numDeletionVectorsAdded", "deletion_vectors_added"),
        ] {
            if let Some(number) = told.get(name).and_then(Value::as_str).and_then(|text| text.parse().ok()) {
                report.metrics.insert(key.to_owned(), number);
            }
        }
    }

    /// Commits a Delta transaction that was built on `held`.
    ///
    /// # Errors
    /// It cannot be written on that version, or the store cannot be asked. Nothing was committed.
    ///
    /// Boxed, so that it is compiled here and not in each program that awaits it.
    pub(crate) fn commit_delta<'a>(
        &'a mut self,
        held: &'a DeltaVersion,
        mut transaction: Transaction,
        commit: &'a CommitOptions,
    ) -> BoxFuture<'a, Result<Report, TableError>> {
        Box::pin(async move {
            if let Some(done) = application::repeated(held.snapshot.core(), commit) {
                return Ok(done);
            }
            application::mark(&mut transaction, self.place.clock.now_ms(), commit);
            let id = transaction.id.clone();
            let judged_by = policy::delta(commit.policy.as_deref(), Some(held.snapshot.metadata()))?;
            let format = DeltaFormat::judged_by(judged_by).with_looker(&LOOKER);
            let store = Arc::clone(self.store());
            let pending =
                Pending::on(held.snapshot.core(), transaction).map_err(|source| delta_error(&*store, source))?;
            let pending = pending.with_table(Arc::clone(&held.snapshot));
            let base = held.snapshot.version();
            let place = Arc::clone(&self.place);
            let ended = place.run(format, pending, Some((base, self.known_ms(base))), Givers::One, commit).await?;
            if let (Outcome::Committed { version, .. }, Some(entry)) = (&ended.outcome, &ended.entry) {
                let (version, asked_ms) = (*version, ended.asked_ms);
                self.take_delta(held, &ended.followed, version, entry, asked_ms);
                self.after_delta_commit(version);
            }
            Ok(Report::of(ended.outcome, id))
        })
    }

    /// Moves the handle to the version that ours created, by the entries that are at hand. Where that does not work out the
    /// handle stays: the commit stands all the same, and the next refresh finds it.
    fn take_delta(
        &mut self,
        held: &DeltaVersion,
        followed: &[(Version, bytes::Bytes)],
        version: Version,
        entry: &bytes::Bytes,
        asked_ms: u64,
    ) {
        let mut snapshot = (*held.snapshot).clone();
        let ours = [(version, entry.clone())];
        for (landed, bytes) in followed.iter().chain(&ours) {
            match snapshot.advance(*landed, bytes) {
                Ok(next) => snapshot = next,
                Err(_) => return,
            }
        }
        if snapshot.version() == version {
            let commit_modified_ms = i64::try_from(self.place.clock.now_ms()).ok();
            self.snapshot =
                Snapshot::Delta(DeltaVersion { snapshot: Arc::new(snapshot), commit_modified_ms, by_file_time: false });
            self.asked_ms = asked_ms;
        }
    }
}

/// What an overwrite replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every row.
    Whole,
    /// The rows that meet a predicate (SQL text); the new rows must meet it too.
    Where(String),
    /// Every row of the partitions that new rows belong to.
    Partitions,
}

pub(crate) fn writing(commit: &CommitOptions) -> Writing {
    Writing::default().with_engine(commit.engine.clone())
}

/// What a plan counts, for a report.
pub(crate) fn counts(plan: &Plan) -> BTreeMap<String, u64> {
    BTreeMap::from([
        ("files_added".to_owned(), plan.added.len() as u64),
        ("files_removed".to_owned(), plan.removed.len() as u64),
        ("rows_inserted".to_owned(), plan.rows_inserted),
        ("rows_deleted".to_owned(), plan.rows_deleted),
        ("rows_copied".to_owned(), plan.rows_copied),
        ("rows_updated".to_owned(), plan.rows_updated),
        ("deletion_vectors_added".to_owned(), plan.marked.len() as u64),
    ])
}

/// A statement as a transaction with an id of its own.
pub(crate) fn transaction(statement: Statement) -> Transaction {
    let id = TransactionId::new(fresh_id().to_string());
    let mut transaction = Transaction::new(id, &statement.operation, statement.actions);
    transaction.parameters =
        statement.parameters.into_iter().map(|(key, text)| (key, Value::String(text))).collect::<Map<_, _>>();
    transaction.metrics = statement.metrics.into_iter().collect();
    transaction.reads.predicates = statement.predicates;
    transaction.reads.files = statement.read_files;
    transaction.reads.keys = statement.keys;
    transaction.row_changes = statement.row_changes;
    transaction.taking = statement.taking;
    transaction.lost_plannings = statement.lost_plannings;
    // The statement checked the rows and wrote down their changes.
    transaction.vouched = Vouched { values: true, changes: true };
    transaction
}

/// Removes what was written for a statement that is known not to have been committed, and counts it. Who fails to remove
/// it leaves it to a vacuum.
pub(crate) async fn discard_lost(
    store: &dyn Store,
    answer: Result<Report, TableError>,
    written: impl IntoIterator<Item = String>,
) -> Result<Report, TableError> {
    let lost = match &answer {
        Ok(report) => match report.outcome {
            Outcome::Conflict(_) | Outcome::Exhausted { .. } | Outcome::Nothing { .. } => true,
            Outcome::Committed { .. } | Outcome::Unknown { .. } => false,
        },
        // These say that nothing was committed; another may come of looking again after the commit.
        Err(error) => matches!(error, TableError::Commit { .. } | TableError::Delta { .. }),
    };
    if !lost {
        return answer;
    }
    let mut removed = 0;
    for name in written {
        removed += u64::from(store.delete(&name).await.is_ok());
    }
    answer.map(|mut report| {
        report.metrics.insert("objects_discarded".to_owned(), removed);
        report
    })
}

/// An assignment, parsed and fitted to the table's columns.
pub(crate) fn set_column(text: &str, columns: &[Column]) -> Result<SetColumn, TableError> {
    let parsed = lakebed_sql::parse_assignment(text)?;
    let bound = lakebed_sql::bind_assignment(&parsed, columns, &jiff::tz::TimeZone::UTC)?;
    match <[Arc<str>; 1]>::try_from(bound.column) {
        Ok([column]) => Ok(SetColumn { column, value: bound.value }),
        Err(path) => Err(TableError::Invalid {
            problem: format!("the field {} cannot be set by itself", path.join(".")),
            advice: "set the whole column".to_owned(),
        }),
    }
}

/// A predicate, parsed and fitted to the table's columns.
pub(crate) fn bound(text: &str, held: &DeltaVersion) -> Result<Expr, TableError> {
    bound_to(text, &held.snapshot.schema().columns())
}

/// A predicate, parsed and fitted to columns.
pub(crate) fn bound_to(text: &str, columns: &[Column]) -> Result<Expr, TableError> {
    Ok(lakebed_sql::bind(&lakebed_sql::parse_expression(text)?, columns)?)
}

/// The snapshot of a table's first version, from its entry.
pub(crate) fn first_version(
    root: &str,
    version: Version,
    entry: &bytes::Bytes,
) -> Result<lakebed_delta::Snapshot, TableError> {
    first(version, entry).map_err(|source| TableError::Delta { root: root.to_owned(), source })
}

/// A commit error that names the table.
pub(crate) fn commit_error(root: &str, source: CommitError) -> TableError {
    TableError::Commit { root: root.to_owned(), source }
}
