//! Reading rows.

use crate::delta_rows::bound;
use crate::snapshot::Snapshot;
use crate::{Table, TableError};
use arrow_array::RecordBatch;
use lakebed_naming::Version;
use lakebed_ops::Scan;
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
    scan: Scan,
    projection: Option<Vec<usize>>,
}

impl Table {
    /// Reads rows of a version, and behind all other columns the version that wrote each, as [`ROW_VERSION`](crate::ROW_VERSION).
    ///
    /// # Errors
    /// As [`Table::scan`]; the log cannot be read.
    pub async fn scan_with_versions(&self, snapshot: &Snapshot, request: &ScanRequest) -> Result<Scanned, TableError> {
        let tracked = match snapshot {
            Snapshot::Delta(held) => {
                held.snapshot.protocol().supports("rowTracking")
                    && held.snapshot.metadata().flag("delta.enableRowTracking")
            }
            Snapshot::Lance(_) => false,
        };
        let inner = ScanRequest { with_row_tracking: request.with_row_tracking || tracked, ..request.clone() };
        let Scanned { scan, projection } = self.scan(snapshot, &inner)?;
        let versions = self.file_versions(snapshot).await?;
        let number = |version: Version| i64::try_from(version.get()).ok();
        let versions = versions.into_iter().map(|(id, known)| (id, known.added.and_then(number))).collect();
        let last = scan.width() + if inner.with_row_tracking { 2 } else { 0 };
        let mut shown = projection.unwrap_or_else(|| (0..last).collect());
        if !request.with_row_tracking {
            shown.retain(|at| *at < scan.width());
        }
        shown.push(last);
        Ok(Scanned { scan: scan.with_versions(versions), projection: Some(shown) })
    }

    /// Reads rows of a version.
    ///
    /// # Errors
    /// The predicate or a column does not fit the table, or its rows cannot be read here.
    pub fn scan(&self, snapshot: &Snapshot, request: &ScanRequest) -> Result<Scanned, TableError> {
        let Snapshot::Delta(delta) = snapshot else {
            return Err(TableError::Invalid {
                problem: "scan on a lance table needs to read rows of Lance data files, which this build does not do (it was \
                          built without lance-data)"
                    .to_owned(),
                advice: "read it with a Lance client, or use a build with lance-data".to_owned(),
            });
        };
        let predicate = request.predicate.as_deref().map(|text| bound(text, delta)).transpose()?;
        let columns = delta.snapshot.schema().columns();
        let projection = match &request.columns {
            None => None,
            Some(names) => Some(
                names
                    .iter()
                    .map(|name| {
                        columns
                            .iter()
                            .position(|c| c.name.eq_ignore_ascii_case(name))
                            .ok_or_else(|| no_column(name, &columns))
                    })
                    .collect::<Result<Vec<_>, _>>()?,
            ),
        };
        let mut scan = Scan::new(Arc::clone(self.store()), &*delta.snapshot, predicate, request.limit)?;
        let mut projection = projection.map(|wanted: Vec<usize>| scan.select(&wanted));
        if request.with_row_tracking {
            scan = scan.with_row_tracking(&*delta.snapshot)?;
            let width = scan.width();
            projection = projection.map(|own| own.into_iter().chain([width, width + 1]).collect());
        }
        Ok(Scanned { scan, projection })
    }
}

impl Scanned {
    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// A file cannot be read, or the predicate cannot be evaluated.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>, TableError> {
        let Some(batch) = self.scan.next().await? else { return Ok(None) };
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

fn no_column(name: &str, columns: &[lakebed_transaction::Column]) -> TableError {
    let names: Vec<_> = columns.iter().map(|column| column.name.as_str()).collect();
    TableError::Invalid {
        problem: format!("there is no column {name}; the columns are {}", names.join(", ")),
        advice: "select one of them".to_owned(),
    }
}
