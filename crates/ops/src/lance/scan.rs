//! Reading the rows of a version.

use super::conform::modelled;
use super::fragment::{FragmentRows, Which, deleted_rows};
use super::table::LanceTable;
use crate::OpsError;
use crate::tracking::numbered;
use arrow_array::RecordBatch;
use arrow_select::filter::filter_record_batch;
use lakebed_data::filter_mask;
use lakebed_lance::proto::table::DataFragment;
use lakebed_lance::proto::table::data_fragment::LastUpdatedAtVersionSequence as Updated;
use lakebed_lance::row_ids::RowVersions;
use lakebed_transaction::{Column, Expr};
use std::collections::HashMap;

/// The rows of a version, fragment by fragment, batch by batch.
pub struct LanceScan {
    table: LanceTable,
    fragments: std::vec::IntoIter<DataFragment>,
    /// Places of the columns that are read.
    read: Vec<usize>,
    /// The columns at those places.
    columns: Vec<Column>,
    /// Places among those that are read, of the columns that are asked for.
    shown: Vec<usize>,
    predicate: Option<Expr>,
    open: Option<(FragmentRows, Option<Written>)>,
    left: Option<usize>,
    /// Which version wrote the rows of each fragment, where that is asked for.
    versions: Option<HashMap<u64, Written>>,
}

/// Which version wrote the rows of a fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// One for all, where it is known.
    All(Option<u64>),
    /// One for each physical row.
    Each(RowVersions),
}

impl Written {
    /// What a fragment says by itself, on tables whose rows keep their ids.
    #[must_use]
    pub fn of(fragment: &DataFragment) -> Option<Self> {
        match &fragment.last_updated_at_version_sequence {
            Some(Updated::InlineLastUpdatedAtVersions(bytes)) => RowVersions::decode(bytes).map(Self::Each),
            Some(Updated::ColumnLastUpdatedAtVersions(_)) | None => None,
        }
    }

    fn at(&self, row: u64) -> Option<i64> {
        let version = match self {
            Self::All(version) => *version,
            Self::Each(versions) => versions.at(row),
        };
        version.and_then(|version| i64::try_from(version).ok())
    }
}

impl std::fmt::Debug for LanceScan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LanceScan").field("table", &self.table).field("left", &self.left).finish_non_exhaustive()
    }
}

impl LanceScan {
    /// A scan of the columns at these places, of rows that meet a predicate, which is bound to the table's columns; at most
    /// `limit` of them.
    #[must_use]
    pub fn new(table: LanceTable, wanted: &[usize], predicate: Option<Expr>, limit: Option<usize>) -> Self {
        let mut read: Vec<usize> = wanted.to_vec();
        let paths = predicate.iter().flat_map(Expr::columns);
        read.extend(paths.filter_map(<[_]>::first).filter_map(|name| table.position(name)));
        read.sort_unstable();
        read.dedup();
        let shown = wanted.iter().filter_map(|wanted| read.iter().position(|at| at == wanted)).collect();
        let columns = read.iter().filter_map(|at| table.columns().get(*at).cloned()).collect();
        let fragments = table.fragments().to_vec().into_iter();
        Self { table, fragments, read, columns, shown, predicate, open: None, left: limit, versions: None }
    }

    /// The scan with one column more at the very end, [`ROW_VERSION`](crate::ROW_VERSION): the version that wrote each row. It is
    /// NULL in fragments that are not listed here.
    #[must_use]
    pub fn with_versions(mut self, versions: HashMap<u64, Written>) -> Self {
        self.shown.push(self.read.len());
        self.versions = Some(versions);
        self
    }

    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// A file cannot be read, or the predicate cannot be evaluated.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>, OpsError> {
        while self.left != Some(0) {
            let (mut rows, written) = match self.open.take() {
                Some(open) => open,
                None => match self.fragments.next() {
                    Some(fragment) => {
                        let rows = open(&self.table, &self.read, &fragment).await?;
                        let written = self.versions.as_ref().and_then(|versions| versions.get(&fragment.id).cloned());
                        (rows, written)
                    }
                    None => return Ok(None),
                },
            };
            let Some((raw, places)) = rows.next().await? else { continue };
            let mut batch = modelled(&raw, &self.columns)?;
            if self.versions.is_some() {
                let version = |row: &u64| written.as_ref().and_then(|written| written.at(*row));
                batch = numbered(&batch, places.iter().map(version).collect())?;
            }
            self.open = Some((rows, written));
            if let Some(predicate) = &self.predicate {
                let mask = filter_mask(predicate, &batch)?;
                batch = filter_record_batch(&batch, &mask).map_err(OpsError::rows("a scan"))?;
            }
            if batch.num_rows() == 0 {
                continue;
            }
            let take = self.left.map_or(batch.num_rows(), |left| left.min(batch.num_rows()));
            self.left = self.left.map(|left| left - take);
            let shown = batch.slice(0, take).project(&self.shown).map_err(OpsError::rows("a scan"))?;
            return Ok(Some(shown));
        }
        Ok(None)
    }
}

/// Opens a fragment for a scan. It borrows no scan, of which only one thread may hold the open fragment.
async fn open(table: &LanceTable, read: &[usize], fragment: &DataFragment) -> Result<FragmentRows, OpsError> {
    let deleted = deleted_rows(&table.store, &table.snapshot, fragment).await?;
    FragmentRows::open(table, fragment, read, Which::Without(deleted)).await
}
