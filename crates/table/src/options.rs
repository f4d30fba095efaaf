//! How to open a table and how to commit to it.

use crate::metrics::Measured;
use crate::{ApplicationBatch, Metrics, TableError};
use lakebed_delta::LogTail;
use lakebed_ops::{LanceFiles, SqlEngine};
use lakebed_storage::{CommitIndex, Indexed, Store, StoreOptions, open};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What stands in the root of every branch of a Lance table.
const BRANCHES: &str = "/tree/";

/// The two table formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TableFormat {
    /// A log of actions under `_delta_log`.
    Delta,
    /// One manifest for each version under `_versions`.
    Lance,
}

impl TableFormat {
    /// `delta` or `lance`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Delta => "delta",
            Self::Lance => "lance",
        }
    }
}

impl fmt::Display for TableFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How to open a table.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// How to open its store.
    pub store: StoreOptions,
    /// The format where it is known; it saves the look for the other one.
    pub format: Option<TableFormat>,
    /// Share nothing with other handles of the table in this process, as if they lived in another one.
    pub isolated: bool,
    /// What the catalog answered of a Delta table that it manages. Such a table is read only, and refused without.
    pub log_tail: Option<LogTail>,
    /// Who reads and writes the data files of Lance tables (crate `lakebed-lance-data`). Without, everything that needs no row of
    /// such a table works.
    pub lance_files: Option<Arc<dyn LanceFiles>>,
    /// The external index that decides commits, where the store cannot create atomically or other writers of the table go
    /// through it. Every writer of the table has to use it.
    pub index: Option<Arc<dyn CommitIndex>>,
    /// Who is told of every request and every commit. Handles of one table may have different ones; each is told what goes
    /// through its own handle.
    pub metrics: Option<Arc<dyn Metrics>>,
}

impl OpenOptions {
    /// The store at a local path or URL, as [`OpenOptions::seen`].
    pub(crate) fn open_store(&self, url: &str) -> Result<Arc<dyn Store>, TableError> {
        self.seen(open(url, &self.raw_store_options())?)
    }

    /// How to open the store itself: where an index decides, the store need not create atomically, and is not tried out.
    fn raw_store_options(&self) -> StoreOptions {
        let options = self.store.clone();
        if self.index.is_some() { options.without_probe() } else { options }
    }

    /// A store, measured and seen through the index: what is told are the requests that the store itself gets.
    pub(crate) fn seen(&self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, TableError> {
        match &self.metrics {
            Some(metrics) => self.through_index(Arc::new(Measured::new(store, Arc::clone(metrics)))),
            None => self.through_index(store),
        }
    }

    /// A store, seen through the index. The key of a Lance table's branch is that of the table, whichever of the two was
    /// opened.
    fn through_index(&self, store: Arc<dyn Store>) -> Result<Arc<dyn Store>, TableError> {
        let Some(index) = &self.index else { return Ok(store) };
        let indexed = Indexed::new(store, Arc::clone(index));
        let key = indexed.table().to_owned();
        Ok(Arc::new(match key.find(BRANCHES) {
            Some(at) => indexed.at(&key[at + 1..])?,
            None => indexed,
        }))
    }

    /// What tells handles of one place apart that do not see the same table.
    pub(crate) fn identity(&self) -> String {
        let index = self.index.as_ref().map_or("no index", |index| index.location());
        format!("{:x} and {index}", self.store.identity())
    }
}

/// How to commit.
#[derive(Clone, Debug)]
pub struct CommitOptions {
    /// The policy by name; absent: the table's own.
    pub policy: Option<String>,
    /// Rebases over landed entries.
    pub rebases_max: u32,
    /// How often a statement that reads and lost may be planned and run again.
    pub plannings_max: u32,
    /// Time from start to answer.
    pub timeout: Duration,
    /// How long a snapshot may be taken for the newest without asking. Far below every cleanup's retention.
    pub trust: Duration,
    /// Computes SQL of the table beyond our grammar: constraints, defaults, generated columns.
    pub engine: Option<Arc<dyn SqlEngine>>,
    /// The batch of a streaming writer that this commit is, so that it lands once.
    pub application: Option<ApplicationBatch>,
}

impl Default for CommitOptions {
    /// 1,000 rebases, 10 plannings, 5 minutes; a snapshot is trusted for one minute.
    fn default() -> Self {
        Self {
            policy: None,
            rebases_max: 1_000,
            plannings_max: 10,
            timeout: Duration::from_secs(300),
            trust: Duration::from_secs(60),
            engine: None,
            application: None,
        }
    }
}

/// Which version of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionSpec {
    /// The newest.
    Newest,
    /// The version with this number.
    Number(u64),
    /// The newest version that is not younger than this, in milliseconds since 1970. A time after the newest version is
    /// refused on a Delta table, as in Spark.
    AtMs(i64),
    /// As [`VersionSpec::AtMs`], and a time after the newest version means the newest.
    UpToMs(i64),
}
