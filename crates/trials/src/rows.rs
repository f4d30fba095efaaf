//! The tables: three numbers a row, and a few properties.

use crate::TrialError;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use lakebed_data::DataError;
use lakebed_table::{Batches, ScanRequest, Snapshot, Table, TableError};
use lakebed_transaction::{Column, ColumnType};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What begins the names of properties that statements set.
pub const PROPERTY: &str = "trial.";

/// One row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Row {
    /// Its number, the key of merges.
    pub id: i64,
    /// Its partition.
    pub p: i64,
    /// Its value.
    pub v: i64,
}

/// What a version holds: how often each row, and the properties of the trial.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// How often each row is there.
    pub rows: BTreeMap<Row, u32>,
    /// Properties whose names begin with [`PROPERTY`].
    pub properties: BTreeMap<String, String>,
}

impl State {
    /// Puts rows in.
    pub fn add(&mut self, rows: impl IntoIterator<Item = Row>) {
        for row in rows {
            *self.rows.entry(row).or_default() += 1;
        }
    }

    /// Takes out the rows that meet a condition, each as often as it is there.
    pub fn take(&mut self, meets: impl Fn(&Row) -> bool) -> Vec<(Row, u32)> {
        let taken: Vec<(Row, u32)> =
            self.rows.iter().filter(|(row, _)| meets(row)).map(|(row, count)| (*row, *count)).collect();
        for (row, _) in &taken {
            self.rows.remove(row);
        }
        taken
    }

    /// The rows that meet a condition, each as often as it is there.
    #[must_use]
    pub fn found(&self, meets: impl Fn(&Row) -> bool) -> Vec<Row> {
        let all = self.rows.iter().filter(|(row, _)| meets(row));
        all.flat_map(|(row, count)| (0..*count).map(|_| *row)).collect()
    }

    /// What a version of a table holds.
    ///
    /// # Errors
    /// It cannot be read.
    pub async fn of(table: &Table, snapshot: &Snapshot) -> Result<Self, TrialError> {
        let mut state = Self::default();
        state.add(scan(table, snapshot, None).await?);
        let properties = match snapshot {
            Snapshot::Delta(_) => snapshot.summary()?.properties,
            Snapshot::Lance(held) => held.snapshot.config().clone(),
        };
        state.properties = properties.into_iter().filter(|(key, _)| key.starts_with(PROPERTY)).collect();
        Ok(state)
    }
}

/// The columns.
#[must_use]
pub fn columns() -> Vec<Column> {
    ["id", "p", "v"].map(|name| Column::new(name, ColumnType::Long, true)).to_vec()
}

/// Rows of a version that meet a predicate.
pub(crate) async fn scan(
    table: &Table,
    snapshot: &Snapshot,
    predicate: Option<String>,
) -> Result<Vec<Row>, TrialError> {
    let columns = Some(["id", "p", "v"].map(str::to_owned).to_vec());
    let mut scanned = table.scan(snapshot, &ScanRequest { predicate, columns, ..ScanRequest::default() })?;
    let mut rows = Vec::new();
    while let Some(batch) = scanned.next().await? {
        let [id, p, v] = batch.columns() else { return Err(strange()) };
        let numbers = [id, p, v].map(|column| column.as_primitive_opt::<Int64Type>());
        let [Some(id), Some(p), Some(v)] = numbers else { return Err(strange()) };
        let zipped = id.values().iter().zip(p.values()).zip(v.values());
        rows.extend(zipped.map(|((id, p), v)| Row { id: *id, p: *p, v: *v }));
    }
    Ok(rows)
}

fn strange() -> TrialError {
    TrialError::Unfit { problem: "the table's columns are not those of a trial".to_owned(), advice: "name another" }
}

/// Rows as Arrow, by the columns of [`columns`].
pub(crate) fn batch(rows: &[Row]) -> Result<RecordBatch, DataError> {
    let column = |value: fn(&Row) -> i64| -> ArrayRef { Arc::new(rows.iter().map(value).collect::<Int64Array>()) };
    let columns = [("id", column(|row| row.id)), ("p", column(|row| row.p)), ("v", column(|row| row.v))];
    RecordBatch::try_from_iter_with_nullable(columns.map(|(name, values)| (name, values, true)))
        .map_err(|source| DataError::Arrow { what: "rows of a trial".to_owned(), source })
}

/// A source of rows that can be asked again.
pub(crate) fn source(rows: &[Row]) -> impl FnMut() -> Result<Batches, TableError> + use<> {
    let rows = rows.to_vec();
    move || Ok(Box::new(std::iter::once(batch(&rows))))
}
