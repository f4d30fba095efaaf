//! Statements put together word by word: what is to be done, then how it is to be committed, then [`Builder::run`].

use crate::application::ApplicationBatch;
use crate::compact::CompactRequest;
use crate::delta_rows::Scope;
use crate::{CommitOptions, Report, Table, TableError, VersionSpec};
use arrow_array::RecordBatch;
use lakebed_ops::{Batches, ColumnChange, Compaction, Matched, MergeSpec, NotMatched, NotMatchedBySource, SqlEngine};
use lakebed_transaction::Column;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Rows that are held in memory, as a source that can be asked for each planning.
pub fn rows(
    batches: impl IntoIterator<Item = RecordBatch>,
) -> impl FnMut() -> Result<Batches, TableError> + Send + 'static {
    let held: Vec<RecordBatch> = batches.into_iter().collect();
    move || Ok(Box::new(held.clone().into_iter().map(Ok)))
}

/// A statement that is being put together. It begins with [`Table::builder`].
///
/// ```
/// use arrow_array::record_batch;
/// use lakebed_table::{CommitOptions, NewTable, OpenOptions, Table, TableFormat, rows};
/// use lakebed_transaction::{Column, ColumnType, Outcome};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let columns = vec![Column::new("id", ColumnType::Long, true), Column::new("fare", ColumnType::Double, true)];
/// let definition = NewTable::new(TableFormat::Delta, columns);
/// let url = "memory://builder/trips";
/// let (table, _) = Table::create(url, &OpenOptions::default(), &definition, &CommitOptions::default()).await?;
/// let mut table = table.ok_or("not created")?;
/// let batch = record_batch!(("id", Int64, [1, 2, 3]), ("fare", Float64, [12.5, 30.0, 7.0]))?;
/// let _ = table.builder().append(rows([batch])).run().await?;
/// let report =
///     table.builder().update("fare = fare * 2").only("id > 1").policy("precise").plannings_max(3).run().await?;
/// assert!(matches!(report.outcome, Outcome::Committed { version, .. } if version.get() == 2));
/// assert_eq!(report.metrics["rows_updated"], 2);
/// # Ok(())
/// # }
/// ```
#[must_use = "a statement does nothing until it is run"]
#[derive(Debug)]
pub struct Builder<'a, S> {
    table: &'a mut Table,
    commit: CommitOptions,
    statement: S,
}

/// No statement yet.
#[derive(Debug)]
pub struct Empty;

/// Appends rows.
#[derive(Debug)]
pub struct Append<F> {
    source: F,
    merge_columns: Option<Vec<Column>>,
}

/// Replaces rows.
#[derive(Debug)]
pub struct Overwrite<F> {
    source: F,
    scope: Scope,
    replace_columns: Option<Vec<Column>>,
}

/// Deletes rows.
#[derive(Debug)]
pub struct Delete(String);

/// Deletes all rows.
#[derive(Debug)]
pub struct Truncate;

/// Sets columns.
#[derive(Debug)]
pub struct Update {
    assignments: Vec<String>,
    predicate: Option<String>,
}

/// Brings rows in by key.
#[derive(Debug)]
pub struct Merge<F> {
    source: F,
    spec: MergeSpec,
}

/// Changes the layout of rows.
#[derive(Debug)]
pub struct Compact(CompactRequest);

/// Goes back to an old version.
#[derive(Debug)]
pub struct Restore(VersionSpec);

/// Sets and removes properties.
#[derive(Debug)]
pub struct Properties {
    set: BTreeMap<String, String>,
    unset: Vec<String>,
}

/// Changes columns.
#[derive(Debug)]
pub struct Columns {
    change: ColumnChange,
    upgrade: bool,
}

impl Table {
    /// Begins a statement that is put together word by word.
    pub fn builder(&mut self) -> Builder<'_, Empty> {
        Builder { table: self, commit: CommitOptions::default(), statement: Empty }
    }
}

impl<S> Builder<'_, S> {
    /// Commits with these options.
    pub fn options(mut self, commit: CommitOptions) -> Self {
        self.commit = commit;
        self
    }

    /// Is judged by the policy of this name.
    pub fn policy(mut self, name: impl Into<String>) -> Self {
        self.commit.policy = Some(name.into());
        self
    }

    /// Rebases over at most so many landed entries.
    pub const fn rebases_max(mut self, rebases_max: u32) -> Self {
        self.commit.rebases_max = rebases_max;
        self
    }

    /// Is planned at most so often, where it reads and loses.
    pub const fn plannings_max(mut self, plannings_max: u32) -> Self {
        self.commit.plannings_max = plannings_max;
        self
    }

    /// Ends within this time.
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.commit.timeout = timeout;
        self
    }

    /// Computes SQL of the table beyond our grammar by this engine.
    pub fn engine(mut self, engine: Arc<dyn SqlEngine>) -> Self {
        self.commit.engine = Some(engine);
        self
    }

    /// Is this batch of a streaming writer, and lands once.
    pub fn application(mut self, batch: ApplicationBatch) -> Self {
        self.commit.application = Some(batch);
        self
    }
}

impl<'a> Builder<'a, Empty> {
    fn with<S>(self, statement: S) -> Builder<'a, S> {
        Builder { table: self.table, commit: self.commit, statement }
    }

    /// Appends rows: see [`Table::append`]. [`rows`] makes a source of batches.
    pub fn append<F: FnMut() -> Result<Batches, TableError>>(self, source: F) -> Builder<'a, Append<F>> {
        self.with(Append { source, merge_columns: None })
    }

    /// Replaces all rows: see [`Table::overwrite`].
    pub fn overwrite<F: FnMut() -> Result<Batches, TableError>>(self, source: F) -> Builder<'a, Overwrite<F>> {
        self.with(Overwrite { source, scope: Scope::Whole, replace_columns: None })
    }

    /// Deletes the rows that meet a predicate: see [`Table::delete`].
    pub fn delete(self, predicate: impl Into<String>) -> Builder<'a, Delete> {
        self.with(Delete(predicate.into()))
    }

    /// Deletes all rows: see [`Table::truncate`].
    pub fn truncate(self) -> Builder<'a, Truncate> {
        self.with(Truncate)
    }

    /// Sets a column, as in `fare = fare * 2`: see [`Table::update`].
    pub fn update(self, assignment: impl Into<String>) -> Builder<'a, Update> {
        self.with(Update { assignments: vec![assignment.into()], predicate: None })
    }

    /// Brings rows in by the columns of a key: see [`Table::merge`]. Those that the table has are updated, others inserted, unless
    /// it is told otherwise.
    pub fn merge<F: FnMut() -> Result<Batches, TableError>>(
        self,
        source: F,
        on: impl IntoIterator<Item = impl Into<String>>,
    ) -> Builder<'a, Merge<F>> {
        let on = on.into_iter().map(Into::into).collect();
        let spec = MergeSpec { on, ..MergeSpec::default() };
        self.with(Merge { source, spec })
    }

    /// Joins small files and keeps deleted rows: see [`Table::compact`].
    pub fn compact(self) -> Builder<'a, Compact> {
        self.with(Compact(CompactRequest::default()))
    }

    /// Goes back to an old version: see [`Table::restore`].
    pub fn restore(self, to: VersionSpec) -> Builder<'a, Restore> {
        self.with(Restore(to))
    }

    /// Sets a property: see [`Table::set_properties`].
    pub fn set(self, key: impl Into<String>, value: impl Into<String>) -> Builder<'a, Properties> {
        self.with(Properties { set: BTreeMap::new(), unset: Vec::new() }).set(key, value)
    }

    /// Removes a property: see [`Table::set_properties`].
    pub fn unset(self, key: impl Into<String>) -> Builder<'a, Properties> {
        self.with(Properties { set: BTreeMap::new(), unset: Vec::new() }).unset(key)
    }

    /// Changes columns: see [`Table::change_columns`].
    pub fn change_columns(self, change: ColumnChange) -> Builder<'a, Columns> {
        self.with(Columns { change, upgrade: false })
    }
}

impl<F: FnMut() -> Result<Batches, TableError>> Builder<'_, Append<F>> {
    /// Adds those of these columns that the table does not have, in the same commit.
    pub fn merge_columns(mut self, columns: Vec<Column>) -> Self {
        self.statement.merge_columns = Some(columns);
        self
    }

    /// Runs it.
    ///
    /// # Errors
    /// As [`Table::append`].
    pub async fn run(self) -> Result<Report, TableError> {
        let Append { source, merge_columns } = self.statement;
        match merge_columns {
            None => self.table.append(source, &self.commit).await,
            Some(columns) => self.table.append_merging(source, &columns, &self.commit).await,
        }
    }
}

impl<F: FnMut() -> Result<Batches, TableError>> Builder<'_, Overwrite<F>> {
    /// Replaces only the rows that meet a predicate; the new rows must meet it too.
    pub fn only(mut self, predicate: impl Into<String>) -> Self {
        self.statement.scope = Scope::Where(predicate.into());
        self
    }

    /// Replaces only the partitions that new rows belong to.
    pub fn by_partition(mut self) -> Self {
        self.statement.scope = Scope::Partitions;
        self
    }

    /// Gives the table these columns. All rows are replaced then.
    pub fn replace_columns(mut self, columns: Vec<Column>) -> Self {
        self.statement.replace_columns = Some(columns);
        self
    }

    /// Runs it.
    ///
    /// # Errors
    /// As [`Table::overwrite`]; and columns were given for a part of the rows.
    pub async fn run(self) -> Result<Report, TableError> {
        let Overwrite { source, scope, replace_columns } = self.statement;
        match (replace_columns, scope) {
            (None, scope) => self.table.overwrite(source, &scope, &self.commit).await,
            (Some(columns), Scope::Whole) => self.table.overwrite_replacing(source, &columns, &self.commit).await,
            (Some(_), Scope::Where(_) | Scope::Partitions) => Err(TableError::Invalid {
                problem: "a part of the rows cannot have other columns".to_owned(),
                advice: "replace all rows, or leave the columns as they are".to_owned(),
            }),
        }
    }
}

impl Builder<'_, Delete> {
    /// Runs it.
    ///
    /// # Errors
    /// As [`Table::delete`].
    pub async fn run(self) -> Result<Report, TableError> {
        self.table.delete(&self.statement.0, &self.commit).await
    }
}

impl Builder<'_, Truncate> {
    /// Runs it.
    ///
    /// # Errors
    /// As [`Table::truncate`].
    pub async fn run(self) -> Result<Report, TableError> {
        self.table.truncate(None, &self.commit).await
    }
}

impl Builder<'_, Update> {
    /// Sets another column too; every value is computed from the old row.
    pub fn set(mut self, assignment: impl Into<String>) -> Self {
        self.statement.assignments.push(assignment.into());
        self
    }

    /// Only in the rows that meet a predicate.
    pub fn only(mut self, predicate: impl Into<String>) -> Self {
        self.statement.predicate = Some(predicate.into());
        self
    }

    /// Runs it.
    ///
    /// # Errors
    /// As [`Table::update`].
    pub async fn run(self) -> Result<Report, TableError> {
        let Update { assignments, predicate } = self.statement;
        self.table.update(&assignments, predicate.as_deref(), &self.commit).await
    }
}

impl<F: FnMut() -> Result<Batches, TableError>> Builder<'_, Merge<F>> {
    /// What becomes of rows that the table has.
    pub const fn matched(mut self, matched: Matched) -> Self {
        self.statement.spec.matched = matched;
        self
    }

    /// What becomes of rows that it does not have.
    pub const fn not_matched(mut self, not_matched: NotMatched) -> Self {
        self.statement.spec.not_matched = not_matched;
        self
    }

    /// What becomes of rows that only the table has.
    pub fn not_matched_by_source(mut self, not_matched: NotMatchedBySource) -> Self {
        self.statement.spec.not_matched_by_source = not_matched;
        self
    }

    /// Runs it.
    ///
    /// # Errors
    /// As [`Table::merge`].
    pub async fn run(self) -> Result<Report, TableError> {
        self.table.merge(self.statement.source, &self.statement.spec, &self.commit).await
    }
}

impl Builder<'_, Compact> {
    /// Drops deleted rows too.
    pub const fn major(mut self) -> Self {
        self.statement.0.compaction = Compaction::Major;
        self
    }

    /// Only in the partitions that meet a predicate.
    pub fn only(mut self, predicate: impl Into<String>) -> Self {
        self.statement.0.predicate = Some(predicate.into());
        self
    }

    /// Puts rows in the order of these columns.
    pub fn cluster_by(mut self, columns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.statement.0.cluster_by = columns.into_iter().map(Into::into).collect();
        self
    }

    /// Makes files of about this size.
    pub const fn target_size_bytes(mut self, size: u64) -> Self {
        self.statement.0.target_size_bytes = Some(size);
        self
    }

    /// Runs it.
    ///
    /// # Errors
    /// As [`Table::compact`].
    pub async fn run(self) -> Result<Report, TableError> {
        self.table.compact(&self.statement.0, &self.commit).await
    }
}

impl Builder<'_, Restore> {
    /// Runs it.
    ///
    /// # Errors
    /// As [`Table::restore`].
    pub async fn run(self) -> Result<Report, TableError> {
        self.table.restore(self.statement.0, &self.commit).await
    }
}

impl Builder<'_, Properties> {
    /// Sets a property too.
    pub fn set(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.statement.set.insert(key.into(), value.into());
        self
    }

    /// Removes a property too.
    pub fn unset(mut self, key: impl Into<String>) -> Self {
        self.statement.unset.push(key.into());
        self
    }

    /// Runs it.
    ///
    /// # Errors
    /// As [`Table::set_properties`].
    pub async fn run(self) -> Result<Report, TableError> {
        let Properties { set, unset } = self.statement;
        self.table.set_properties(set, unset, &self.commit).await
    }
}

impl Builder<'_, Columns> {
    /// Turns on what the change needs of the table.
    pub const fn upgrade(mut self) -> Self {
        self.statement.upgrade = true;
        self
    }

    /// Runs it.
    ///
    /// # Errors
    /// As [`Table::change_columns`].
    pub async fn run(self) -> Result<Report, TableError> {
        let Columns { change, upgrade } = self.statement;
        self.table.change_columns(&change, upgrade, &self.commit).await
    }
}
