//! Rows on their way into new fragments.

use super::conform::{complete, modelled};
use super::files::LanceSink;
use super::plan::LancePlan;
use super::table::LanceTable;
use crate::{Batches, OpsError};
use arrow_array::RecordBatch;
use lakebed_data::{Collector, StatsColumns};
use lakebed_lance::proto::table::data_fragment::RowIdSequence;
use lakebed_lance::proto::table::{DataFile, DataFragment};
use lakebed_lance::row_ids::RowIds;
use lakebed_lance::transaction::new_fragment;
use lakebed_lance::{FileBounds, Reads};
use lakebed_naming::Uuid;
use lakebed_naming::lance::DataFileName;
use std::collections::BTreeMap;

/// A fragment is closed after so many rows, as released clients do.
const FRAGMENT_ROWS_MAX: u64 = 1 << 20;

/// A fragment is closed once its rows take about so many bytes: it is held in memory until then.
const FRAGMENT_BYTES_MAX: u64 = 128 << 20;

/// The columns of which bounds are told.
const BOUNDED: StatsColumns = StatsColumns::First(32);

/// Plans an append of rows that depend on nothing in the table.
///
/// # Errors
/// The rows do not fit the table's columns, or a data file cannot be written.
pub async fn append(table: &LanceTable, source: Batches) -> Result<LancePlan, OpsError> {
    let mut plan = LancePlan { reads: Reads::nothing(), ..LancePlan::default() };
    let mut writer = Writer::new(table);
    for batch in source {
        plan.rows_inserted += writer.write(&complete(&batch?, table)?, None).await?;
    }
    writer.finish_into(&mut plan).await?;
    Ok(plan)
}

/// Writes rows into new fragments of one data file each.
pub(crate) struct Writer<'a> {
    table: &'a LanceTable,
    version: String,
    rows_max: u64,
    open: Option<Open>,
    fragments: Vec<DataFragment>,
    bounds: BTreeMap<String, FileBounds>,
}

struct Open {
    sink: Box<dyn LanceSink>,
    rows: u64,
    /// The ids of the first rows, where rows keep theirs.
    ids: RowIds,
    /// Gathers what later transactions want to know of the values.
    statistics: Collector,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(table: &'a LanceTable) -> Self {
        Self::with_rows_max(table, FRAGMENT_ROWS_MAX)
    }

    /// A writer that closes a fragment after so many rows at most.
    pub(crate) fn with_rows_max(table: &'a LanceTable, rows_max: u64) -> Self {
        let version = table.snapshot.header().data_format.as_ref().map(|format| format.version.clone());
        let (version, rows_max) = (version.unwrap_or_default(), rows_max.min(FRAGMENT_ROWS_MAX));
        Self { table, version, rows_max, open: None, fragments: Vec::new(), bounds: BTreeMap::new() }
    }

    /// Takes rows in the types of the table's files, with their ids where they moved; how many. Rows without ids come after those
    /// with ids.
    pub(crate) async fn write(&mut self, rows: &RecordBatch, ids: Option<&[u64]>) -> Result<u64, OpsError> {
        if rows.num_rows() == 0 {
            return Ok(0);
        }
        let mut open = match self.open.take() {
            Some(open) => open,
            None => {
                self.table.refuse_writing_blobs("writing rows")?;
                let sink = self.table.files.create(self.table.snapshot.fields(), &self.version)?;
                Open {
                    sink,
                    rows: 0,
                    ids: RowIds::default(),
                    statistics: Collector::new(self.table.columns(), &BOUNDED),
                }
            }
        };
        open.sink.write(rows).await?;
        open.statistics.update(&modelled(rows, self.table.columns())?)?;
        open.rows += rows.num_rows() as u64;
        for id in ids.unwrap_or_default() {
            open.ids.extend(*id, 1).ok_or_else(|| OpsError::Invalid {
                problem: "the table's row ids are used up".to_owned(),
                advice: "copy the table into a new one".to_owned(),
            })?;
        }
        if open.rows >= self.rows_max || open.sink.size_bytes() >= FRAGMENT_BYTES_MAX {
            self.close(open).await?;
        } else {
            self.open = Some(open);
        }
        Ok(rows.num_rows() as u64)
    }

    /// Closes the open fragment, so that the rows to come stand in another.
    pub(crate) async fn cut(&mut self) -> Result<(), OpsError> {
        match self.open.take() {
            Some(open) => self.close(open).await,
            None => Ok(()),
        }
    }

    /// All fragments that were written.
    pub(crate) async fn finish(mut self) -> Result<Vec<DataFragment>, OpsError> {
        self.cut().await?;
        Ok(self.fragments)
    }

    /// The same, into a plan, with what is known of their values.
    pub(crate) async fn finish_into(mut self, plan: &mut LancePlan) -> Result<(), OpsError> {
        self.cut().await?;
        plan.added = self.fragments;
        plan.bounds = self.bounds;
        Ok(())
    }

    async fn close(&mut self, open: Open) -> Result<(), OpsError> {
        let bounds = self.bounds_of(&open.statistics);
        let file = put_file(self.table, open.sink).await?;
        self.bounds.insert(file.path.clone(), bounds);
        let mut fragment = new_fragment(file, open.rows);
        if !open.ids.is_empty() {
            fragment.row_id_sequence = Some(RowIdSequence::InlineRowIds(open.ids.encode()));
        }
        self.fragments.push(fragment);
        Ok(())
    }

    /// Bounds by the ids of fields at the top.
    fn bounds_of(&self, statistics: &Collector) -> FileBounds {
        let ids = self.table.top_ids();
        let field = |name: &str| self.table.position(name).and_then(|at| ids.get(at).copied());
        statistics.bounds().into_iter().filter_map(|(name, bounds)| Some((field(&name)?, bounds))).collect()
    }
}

/// Puts a finished file among the table's, under a name of its own.
#[expect(clippy::disallowed_methods, reason = "names of new data files are random")]
pub(crate) async fn put_file(table: &LanceTable, sink: Box<dyn LanceSink>) -> Result<DataFile, OpsError> {
    let (bytes, mut file) = sink.finish().await?;
    let name = DataFileName { id: Uuid::from_random(*uuid::Uuid::new_v4().as_bytes()) };
    table.store.put(&name.path(), bytes).await?;
    file.path = name.file_name();
    Ok(file)
}
