//! What the benchmarks of lakebed share: tables on a store, and the smallest commit that each format has.
//!
//! A commit here is metadata only: one prepared add (Delta) or one prepared fragment (Lance), without a data file.

use bytes::Bytes;
use lakebed_lance::proto::table::{DataFile, DataFragment};
use lakebed_storage::{Durability, LocalStore, MemoryStore, Store};
use lakebed_table::{CommitOptions, NewTable, OpenOptions, Prepared, Table, TableError, TableFormat};
use lakebed_transaction::{Column, ColumnType, Outcome};
use std::path::Path;
use std::sync::Arc;

/// Where the tables of a benchmark live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In memory.
    Memory,
    /// In a local folder, without fsync.
    Local,
    /// In a local folder, each commit durable before it is answered.
    LocalDurable,
}

impl Place {
    /// The name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Local => "local",
            Self::LocalDurable => "local durable",
        }
    }

    /// A store there; local ones below `folder`.
    ///
    /// # Errors
    /// The folder cannot be used.
    pub fn store(self, folder: &Path) -> Result<Arc<dyn Store>, TableError> {
        Ok(match self {
            Self::Memory => Arc::new(MemoryStore::new()),
            Self::Local => Arc::new(LocalStore::new(folder, Durability::None)?),
            Self::LocalDurable => Arc::new(LocalStore::new(folder, Durability::Full)?),
        })
    }
}

/// A new table of one column, `id long`.
///
/// # Errors
/// The store cannot be asked, or holds a table already.
pub async fn new_table(store: Arc<dyn Store>, format: TableFormat) -> Result<Table, TableError> {
    let definition = NewTable::new(format, vec![Column::new("id", ColumnType::Long, true)])
        .with_properties([("delta.checkpointInterval".to_owned(), "1000000".to_owned())].into());
    let options = OpenOptions { format: Some(format), isolated: true, ..OpenOptions::default() };
    let (table, report) = Table::create_store(store, &options, &definition, &CommitOptions::default()).await?;
    table.ok_or_else(|| TableError::Invalid {
        problem: format!("the table was not created: {:?}", report.outcome),
        advice: "use an empty folder".to_owned(),
    })
}

/// One commit: whether it landed.
///
/// # Errors
/// The store cannot be asked.
pub async fn commit_one(table: &mut Table, number: u64) -> Result<bool, TableError> {
    let options = CommitOptions::default();
    let report = match table.format() {
        TableFormat::Delta => table.commit_prepared(Prepared::DeltaActions(one_add(number)), &options).await?,
        TableFormat::Lance => table.append_fragments(vec![one_fragment(number)], &options).await?,
    };
    Ok(matches!(report.outcome, Outcome::Committed { .. }))
}

fn one_add(number: u64) -> Bytes {
    Bytes::from(format!(
        "{{\"add\":{{\"path\":\"part-{number:08}.parquet\",\"partitionValues\":{{}},\"size\":1000,\"modificationTime\":0,\
         \"dataChange\":true,\"stats\":\"{{\\\"numRecords\\\":10}}\"}}}}\n"
    ))
}

fn one_fragment(number: u64) -> DataFragment {
    let file = DataFile {
        path: format!("{number:08}.lance"),
        fields: vec![0],
        column_indices: vec![0],
        file_major_version: 2,
        file_minor_version: 2,
        file_size_bytes: 1_000,
        base_id: None,
    };
    lakebed_lance::transaction::new_fragment(file, 10)
}
