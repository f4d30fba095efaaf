//! Reading rows.

use crate::delta_rows::{bound, bound_to};
use crate::snapshot::{LanceVersion, Snapshot};
use crate::{Table, TableError};
use arrow_array::RecordBatch;
use lakebed_data::DataError;
use lakebed_naming::Version;
use lakebed_ops::lance::LanceScan;
use lakebed_ops::{OpsError, Scan};
use lakebed_transaction::Column;
use std::sync::Arc;

/// Which rows and columns to read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanRequest {
    /// Only rows that meet this predicate (SQL text).
    pub predicate: Option<String>,
    /// Only these columns, in this order.
    pub columns: Option<Vec<String>>,
    /// At most so many rows.
    pub limit: Option<usize>,
    /// Behind the columns also [`ROW_ID`](crate::ROW_ID) and
    /// [`ROW_COMMIT_VERSION`](crate::ROW_COMMIT_VERSION), on Delta tables that track their rows.
    pub with_row_tracking: bool,
}

/// Rows being read, batch by batch.
#[derive(Debug)]
pub struct Scanned {
    scan: Rows,
    projection: Option<Vec<usize>>,
    /// Where it reads, and which version.
    root: String,
    version: Version,
}

/// The rows of a version, by its format.
#[derive(Debug)]
enum Rows {
    Delta(Box<Scan>),
    Lance(Box<LanceScan>),
}

impl Table {
    /// Reads rows of a version, and behind all other columns the version that wrote each, as [`ROW_VERSION`](crate::ROW_VERSION).
    ///
    /// # Errors
    /// As [`Table::scan`]; the log cannot be read.
    pub async fn scan_with_versions(&self, snapshot: &Snapshot, request: &ScanRequest) -> Result<Scanned, TableError> {
        let held = match snapshot {
            Snapshot::Delta(held) => held,
            Snapshot::Lance(held) => return self.scan_lance_with_versions(held, request).await,
        };
        let tracked = held.snapshot.protocol().supports("rowTracking")
            && held.snapshot.metadata().flag("delta.enableRowTracking");
        let inner = ScanRequest { with_row_tracking: request.with_row_tracking || tracked, ..request.clone() };
        let Scanned { scan, projection, root, version } = self.scan(snapshot, &inner)?;
        let Rows::Delta(scan) = scan else { return Err(self.vanished()) };
        let versions = self.file_versions(snapshot).await?;
        let number = |version: Version| i64::try_from(version.get()).ok();
        let versions = versions.into_iter().map(|(id, known)| (id, known.added.and_then(number))).collect();
        let last = scan.width() + if inner.with_row_tracking { 2 } else { 0 };
        let mut shown = projection.unwrap_or_else(|| (0..last).collect());
        if !request.with_row_tracking {
            shown.retain(|at| *at < scan.width());
        }
        shown.push(last);
        Ok(Scanned {
            scan: Rows::Delta(Box::new(scan.with_versions(versions))),
            projection: Some(shown),
            root,
            version,
        })
    }

    /// Reads rows of a version.
    ///
    /// # Errors
    /// The predicate or a column does not fit the table, or its rows cannot be read here.
    pub fn scan(&self, snapshot: &Snapshot, request: &ScanRequest) -> Result<Scanned, TableError> {
        let delta = match snapshot {
            Snapshot::Delta(delta) => delta,
            Snapshot::Lance(lance) => return self.scan_lance(lance, request),
        };
        let predicate = request.predicate.as_deref().map(|text| bound(text, delta)).transpose()?;
        let columns = delta.snapshot.schema().columns();
        let projection = request.columns.as_ref().map(|names| places(names, &columns)).transpose()?;
        let mut scan = Scan::new(Arc::clone(self.store()), &*delta.snapshot, predicate, request.limit)?;
        let mut projection = projection.map(|wanted: Vec<usize>| scan.select(&wanted));
        if request.with_row_tracking {
            scan = scan.with_row_tracking(&*delta.snapshot)?;
            let width = scan.width();
            projection = projection.map(|own| own.into_iter().chain([width, width + 1]).collect());
        }
        let root = self.store().root().to_owned();
        Ok(Scanned { scan: Rows::Delta(Box::new(scan)), projection, root, version: delta.snapshot.version() })
    }

    async fn scan_lance_with_versions(
        &self,
        held: &LanceVersion,
        request: &ScanRequest,
    ) -> Result<Scanned, TableError> {
        let Scanned { scan, projection, root, version } = self.scan_lance(held, request)?;
        let Rows::Lance(scan) = scan else { return Err(self.vanished()) };
        let scan = scan.with_versions(self.written(held).await?);
        Ok(Scanned { scan: Rows::Lance(Box::new(scan)), projection, root, version })
    }

    fn scan_lance(&self, held: &LanceVersion, request: &ScanRequest) -> Result<Scanned, TableError> {
        if request.with_row_tracking {
            return Err(TableError::Invalid {
                problem: "row ids and row versions of a Lance table are not read here".to_owned(),
                advice: "ask for the rows alone".to_owned(),
            });
        }
        let table = self.lance_table(held, "scan")?;
        let predicate = request.predicate.as_deref().map(|text| bound_to(text, table.columns())).transpose()?;
        let wanted = match &request.columns {
            Some(names) => places(names, table.columns())?,
            None => (0..table.columns().len()).collect(),
        };
        let scan = LanceScan::new(table, &wanted, predicate, request.limit);
        let (root, version) = (self.store().root().to_owned(), held.snapshot.version());
        Ok(Scanned { scan: Rows::Lance(Box::new(scan)), projection: None, root, version })
    }
}

/// The places of columns by their names.
fn places(names: &[String], columns: &[Column]) -> Result<Vec<usize>, TableError> {
    let place = |name: &String| columns.iter().position(|column| column.name.eq_ignore_ascii_case(name));
    names.iter().map(|name| place(name).ok_or_else(|| no_column(name, columns))).collect()
}

impl Scanned {
    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// A file cannot be read, or the predicate cannot be evaluated.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>, TableError> {
        let next = match &mut self.scan {
            Rows::Delta(scan) => scan.next().await,
            Rows::Lance(scan) => scan.next().await,
        };
        let Some(batch) = next.map_err(|error| self.explained(error))? else { return Ok(None) };
        match &self.projection {
            None => Ok(Some(batch)),
            Some(indices) => {
                let projected = batch
                    .project(indices)
                    .map_err(|source| lakebed_ops::OpsError::Rows { what: "a scan".to_owned(), source })?;
                Ok(Some(projected))
            }
        }
    }

    /// A file that is gone belonged to a version that is kept no longer, as a rule.
    fn explained(&self, error: OpsError) -> TableError {
        let OpsError::Data(DataError::MissingFile { file, .. }) = &error else { return error.into() };
        TableError::Unavailable {
            root: self.root.clone(),
            problem: format!("version {} cannot be read any more: its data file {file} is not there", self.version),
            advice: "a vacuum removes what is older than its retention: read a newer version, or restore the file; `lakebed verify` \
                     tells what else is missing"
                .to_owned(),
        }
    }

    /// All remaining rows.
    ///
    /// # Errors
    /// As [`Scanned::next`].
    pub async fn all(mut self) -> Result<Vec<RecordBatch>, TableError> {
        let mut batches = Vec::new();
        while let Some(batch) = self.next().await? {
            batches.push(batch);
        }
        Ok(batches)
    }
}

fn no_column(name: &str, columns: &[Column]) -> TableError {
    let names: Vec<_> = columns.iter().map(|column| column.name.as_str()).collect();
    TableError::Invalid {
        problem: format!("there is no column {name}; the columns are {}", names.join(", ")),
        advice: "select one of them".to_owned(),
    }
}
