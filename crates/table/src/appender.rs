//! Appends by who knows nothing of the table's files.

use crate::commit::Givers;
use crate::create::{Place, fresh_id};
use crate::delta_rows::{counts, discard_lost, transaction, writing};
use crate::load::delta::{delta_error, load_head};
use crate::table::{by_store, by_url, sharing};
use crate::{CommitOptions, OpenOptions, Report, Table, TableError, TableFormat, application, policy, upkeep};
use bytes::Bytes;
use futures::future::BoxFuture;
use lakebed_delta::{DeltaFormat, Head, Pending};
use lakebed_naming::Version;
use lakebed_ops::delta::append_statement;
use lakebed_ops::{Batches, LOOKER, Layout, Plan, append};
use lakebed_storage::Store;
use lakebed_transaction::{Column, Outcome, TransactionId};
use std::sync::Arc;

/// A handle that appends, and does nothing else. Of a Delta table it knows a version without its files: opening reads of
/// checkpoints and commits only what is not about files, so it takes no longer, and no more memory, than the bytes of the newest
/// checkpoint do, however many files the table has. When a checkpoint is due after a commit, the files are read for that.
///
/// ```
/// use lakebed_table::{Appender, CommitOptions, NewTable, OpenOptions, Table, TableFormat};
/// use lakebed_transaction::{Column, ColumnType};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (url, options) = ("memory://doc/log", OpenOptions::default());
/// let definition = NewTable::new(TableFormat::Delta, vec![Column::new("id", ColumnType::Long, false)]);
/// let (table, _) = Table::create(url, &options, &definition, &CommitOptions::default()).await?;
/// let appender = Appender::open(url, &options).await?;
/// assert_eq!(Some(appender.version()), table.map(|table| table.version()));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Appender {
    of: Of,
}

#[derive(Clone, Debug)]
enum Of {
    Delta(DeltaHead),
    /// Of Lance tables a manifest is all that there is to read, and a table that a catalog manages is opened to be refused.
    Whole(Box<Table>),
}

#[derive(Clone, Debug)]
struct DeltaHead {
    place: Arc<Place>,
    head: Head,
    /// When the request was sent that showed the version to be the newest.
    asked_ms: u64,
}

impl Appender {
    /// Opens the table at a local path or URL, at its newest version.
    ///
    /// # Errors
    /// As [`Table::open`].
    pub async fn open(url: &str, options: &OpenOptions) -> Result<Self, TableError> {
        let store = options.open_store(url)?;
        let shared = sharing(&by_url(&*store, options), options);
        if let Some(head) = DeltaHead::open(Place::new(store, shared, options), options).await? {
            return Ok(Self { of: Of::Delta(head) });
        }
        Ok(Self { of: Of::Whole(Box::new(Table::open(url, options).await?)) })
    }

    /// Opens the table in a store of the caller's.
    ///
    /// # Errors
    /// As [`Table::open`].
    pub async fn open_store(store: Arc<dyn Store>, options: &OpenOptions) -> Result<Self, TableError> {
        let shared = sharing(&by_store(&store), options);
        let place = Place::new(options.seen(Arc::clone(&store))?, shared, options);
        if let Some(head) = DeltaHead::open(place, options).await? {
            return Ok(Self { of: Of::Delta(head) });
        }
        Ok(Self { of: Of::Whole(Box::new(Table::open_store(store, options).await?)) })
    }

    /// The newest version that this handle knows.
    #[must_use]
    pub fn version(&self) -> Version {
        match &self.of {
            Of::Delta(delta) => delta.head.version(),
            Of::Whole(table) => table.version(),
        }
    }

    /// The columns in which rows are taken.
    ///
    /// # Errors
    /// The schema cannot be read.
    pub fn columns(&self) -> Result<Vec<Column>, TableError> {
        match &self.of {
            Of::Delta(delta) => Ok(delta.head.core().schema.columns()),
            Of::Whole(table) => table.row_columns(table.snapshot()),
        }
    }

    /// See [`Table::check_policy`].
    ///
    /// # Errors
    /// As there.
    pub fn check_policy(&self, name: &str) -> Result<(), TableError> {
        match &self.of {
            Of::Delta(delta) => policy::delta(Some(name), Some(&delta.head.core().metadata)).map(drop),
            Of::Whole(table) => table.check_policy(name),
        }
    }

    /// Appends rows, as [`Table::append`] does.
    ///
    /// # Errors
    /// As there.
    pub async fn append(
        &mut self,
        mut source: impl FnMut() -> Result<Batches, TableError>,
        commit: &CommitOptions,
    ) -> Result<Report, TableError> {
        match &mut self.of {
            Of::Delta(delta) => delta.append(source()?, commit).await,
            Of::Whole(table) => table.append(source, commit).await,
        }
    }

    /// See [`Table::settle`].
    pub async fn settle(&self) -> Vec<String> {
        match &self.of {
            Of::Delta(delta) => upkeep::settle(&delta.place).await,
            Of::Whole(table) => table.settle().await,
        }
    }
}

impl DeltaHead {
    /// `None` where a whole table is to be opened, or there is none.
    async fn open(place: Place, options: &OpenOptions) -> Result<Option<Self>, TableError> {
        let elsewhere = match options.format {
            Some(TableFormat::Delta) => false,
            Some(TableFormat::Lance) => true,
            None => place.store.root().trim_end_matches('/').ends_with(".lance"),
        };
        if elsewhere || options.log_tail.is_some() {
            return Ok(None);
        }
        let asked_ms = place.clock.now_ms();
        let Some(head) = load_head(&*place.store).await? else { return Ok(None) };
        place.shared.found(head.version(), asked_ms);
        Ok(Some(Self { place: Arc::new(place), head, asked_ms }))
    }

    async fn append(&mut self, rows: Batches, commit: &CommitOptions) -> Result<Report, TableError> {
        let (place, core) = (Arc::clone(&self.place), Arc::clone(self.head.core()));
        if let Some(done) = application::repeated(&core, commit) {
            return Ok(done);
        }
        let plan = append(&place.store, &Layout::of(&core)?, rows, &writing(commit)).await?;
        if plan.is_empty() && commit.application.is_none() {
            let outcome = Outcome::Nothing { version: core.version };
            let mut report = Report::of(outcome, TransactionId::new(fresh_id().to_string()));
            report.metrics = counts(&plan);
            return Ok(report);
        }
        let answer = self.commit(&plan, commit).await;
        discard_lost(&*place.store, answer, plan.objects()).await
    }

    /// Boxed, so that it is compiled here and not in each program that awaits it.
    fn commit<'a>(
        &'a mut self,
        plan: &'a Plan,
        commit: &'a CommitOptions,
    ) -> BoxFuture<'a, Result<Report, TableError>> {
        Box::pin(async move {
            let (place, core) = (Arc::clone(&self.place), Arc::clone(self.head.core()));
            let now_ms = i64::try_from(place.clock.now_ms()).unwrap_or(i64::MAX);
            let mut transaction = transaction(append_statement(&core, plan, now_ms)?);
            application::mark(&mut transaction, place.clock.now_ms(), commit);
            let id = transaction.id.clone();
            let judged_by = policy::delta(commit.policy.as_deref(), Some(&core.metadata))?;
            let format = DeltaFormat::judged_by(judged_by).with_looker(&LOOKER);
            let pending = Pending::on(&core, transaction).map_err(|source| delta_error(&*place.store, source))?;
            let base = (core.version, self.asked_ms);
            let ended = place.run(format, pending, Some(base), Givers::One, commit).await?;
            if let (Outcome::Committed { version, .. }, Some(entry)) = (&ended.outcome, &ended.entry) {
                self.follow(&ended.followed, (*version, entry.clone()), ended.asked_ms);
                if self.head.version() == *version {
                    upkeep::after_append(&place, self.head.core());
                }
            }
            let mut report = Report::of(ended.outcome, id);
            report.metrics = counts(plan);
            Ok(report)
        })
    }

    /// Moves the handle to the version that ours created. Where that does not work out the handle stays, and the next commit
    /// follows what landed since.
    fn follow(&mut self, landed: &[(Version, Bytes)], ours: (Version, Bytes), asked_ms: u64) {
        let mut head = self.head.clone();
        for (version, entry) in landed.iter().chain([&ours]) {
            match head.advance(*version, entry) {
                Ok(next) => head = next,
                Err(_) => return,
            }
        }
        (self.head, self.asked_ms) = (head, asked_ms);
    }
}
