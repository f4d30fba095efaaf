//! Where tables of a format are made and opened.

use crate::rows::columns;
use crate::{Row, State, Statement, TrialError};
use bytes::Bytes;
use lakebed_storage::{Durability, MemoryStore, Store, StoreOptions};
use lakebed_table::{CommitOptions, LanceFiles, NewTable, OpenOptions, Table, TableFormat};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A format, and how its tables are opened.
#[derive(Clone, Debug)]
pub struct Arena {
    /// The format.
    pub format: TableFormat,
    /// Whether tables are partitioned by `p`, where the format does that.
    pub partitioned: bool,
    lance_files: Option<Arc<dyn LanceFiles>>,
}

/// How many partitions rows are spread over.
pub const PARTITIONS: i64 = 4;

impl Arena {
    /// Delta tables.
    #[must_use]
    pub const fn delta() -> Self {
        Self { format: TableFormat::Delta, partitioned: true, lance_files: None }
    }

    /// Lance tables.
    #[cfg(feature = "lance-data")]
    #[must_use]
    pub fn lance() -> Self {
        let lance_files: Option<Arc<dyn LanceFiles>> = Some(Arc::new(lakebed_lance_data::LanceDataFiles));
        Self { format: TableFormat::Lance, partitioned: false, lance_files }
    }

    /// The arena of a format.
    ///
    /// # Errors
    /// [`TrialError::Unfit`]: this build has no rows of it.
    pub fn of(format: TableFormat) -> Result<Self, TrialError> {
        match format {
            TableFormat::Delta => Ok(Self::delta()),
            #[cfg(feature = "lance-data")]
            TableFormat::Lance => Ok(Self::lance()),
            #[cfg(not(feature = "lance-data"))]
            TableFormat::Lance => Err(TrialError::Unfit {
                problem: "this build has no rows of Lance tables".to_owned(),
                advice: "build it with `cargo xtask full` and the feature lance-data",
            }),
        }
    }

    /// The same, with tables that are partitioned by `p` or not.
    #[must_use]
    pub fn with_partitions(mut self, partitioned: bool) -> Self {
        self.partitioned = partitioned;
        self
    }

    /// How tables are opened: each handle as if it were alone in its process.
    #[must_use]
    pub fn options(&self) -> OpenOptions {
        OpenOptions {
            store: StoreOptions::new().durability(Durability::None),
            format: Some(self.format),
            isolated: true,
            lance_files: self.lance_files.clone(),
            ..OpenOptions::default()
        }
    }

    /// An empty place in memory.
    #[must_use]
    pub fn memory(&self) -> Arc<dyn Store> {
        Arc::new(MemoryStore::new())
    }

    /// A handle of its own.
    ///
    /// # Errors
    /// The table cannot be opened.
    pub async fn open(&self, store: &Arc<dyn Store>) -> Result<Table, TrialError> {
        Ok(Table::open_store(Arc::clone(store), &self.options()).await?)
    }

    /// The properties of a table in which rows can be deleted where they stand.
    #[must_use]
    pub fn properties(&self) -> BTreeMap<String, String> {
        match self.format {
            TableFormat::Delta => BTreeMap::from([("delta.enableDeletionVectors".to_owned(), "true".to_owned())]),
            TableFormat::Lance => BTreeMap::new(),
        }
    }

    /// A table with these rows, each list in a file of its own; and what it holds.
    ///
    /// # Errors
    /// It cannot be made.
    pub async fn table(
        &self,
        store: &Arc<dyn Store>,
        properties: BTreeMap<String, String>,
        files: &[Vec<Row>],
    ) -> Result<(Table, State), TrialError> {
        let mut new = NewTable::new(self.format, columns()).with_properties(properties);
        if self.partitioned {
            new = new.with_partition_columns(vec!["p".to_owned()]);
        }
        let (table, report) =
            Table::create_store(Arc::clone(store), &self.options(), &new, &CommitOptions::default()).await?;
        let mut table = table.ok_or_else(|| TrialError::Unfit {
            problem: format!("the table was not created: {:?}", report.outcome),
            advice: "choose an empty place",
        })?;
        let mut state = State::default();
        for rows in files {
            let append = Statement::Append(rows.clone());
            let answer = append.run(&mut table, &once(None)).await?;
            if answer.committed().is_none() {
                let problem = format!("rows to begin with were not appended: {answer:?}");
                return Err(TrialError::Unfit { problem, advice: "choose an empty place" });
            }
            state = append.alone(&state);
        }
        Ok((table, state))
    }
}

/// Every object of a store, by its name.
pub type Objects = Vec<(String, Bytes)>;

/// Every object of a store.
///
/// # Errors
/// The store cannot be asked.
pub async fn objects(store: &Arc<dyn Store>) -> Result<Objects, TrialError> {
    let mut objects = Objects::new();
    for listed in store.list("", None, usize::MAX).await? {
        if let Some(bytes) = store.get(&listed.name).await? {
            objects.push((listed.name, bytes));
        }
    }
    Ok(objects)
}

/// Puts objects into a store.
///
/// # Errors
/// The store cannot be asked.
pub async fn put(store: &Arc<dyn Store>, objects: &Objects) -> Result<(), TrialError> {
    for (name, bytes) in objects {
        store.put(name, bytes.clone()).await?;
    }
    Ok(())
}

/// Plan once under a policy, or under the table's own.
#[must_use]
pub fn once(policy: Option<&str>) -> CommitOptions {
    CommitOptions {
        policy: policy.map(str::to_owned),
        plannings_max: 1,
        timeout: Duration::from_secs(60),
        ..CommitOptions::default()
    }
}
