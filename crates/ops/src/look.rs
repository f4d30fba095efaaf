//! Rows of data files, for rules that need to know them.

use crate::view::FileReader;
use arrow_array::RecordBatch;
use arrow_row::{RowConverter, SortField};
use futures::FutureExt;
use lakebed_data::{ReadOptions, Rows, read_parquet};
use lakebed_delta::{FileSeen, LookAtRows};
use lakebed_storage::{MemoryStore, Store};
use lakebed_transaction::{BinaryOp, Column, Expr, SeenRow};
use std::sync::Arc;

/// Looks at rows of Parquet files.
pub static LOOKER: ParquetLooker = ParquetLooker;

/// Looks at rows of Parquet files whose bytes are at hand.
#[derive(Clone, Copy, Debug)]
pub struct ParquetLooker;

impl LookAtRows for ParquetLooker {
    fn rows(&self, file: FileSeen<'_>, filters: &[Expr]) -> Option<Vec<SeenRow>> {
        let filter = filters.iter().cloned().reduce(|a, b| a.binary(BinaryOp::Or, b));
        let columns = columns(&file, filter.as_ref());
        // A filter that cannot be evaluated rules nothing out.
        let rows = read(&file, &columns, filter).or_else(|| read(&file, &columns, None))?;
        let mut seen = Vec::new();
        for Rows { batch, positions } in rows {
            let values = if file.values { values(&batch)? } else { Vec::new() };
            let mut values = values.into_iter();
            seen.extend(
                positions?.into_iter().map(|position| SeenRow { position, values: values.next().unwrap_or_default() }),
            );
        }
        Some(seen)
    }
}

/// The columns to decode: all where rows are compared, else what the filter looks at.
fn columns(file: &FileSeen<'_>, filter: Option<&Expr>) -> Vec<Column> {
    let all = file.table.schema().columns();
    if file.values {
        return all;
    }
    let named: Vec<_> = filter.into_iter().flat_map(Expr::columns).filter_map(|path| path.first().cloned()).collect();
    let is_named = |column: &&Column| named.iter().any(|name| name.eq_ignore_ascii_case(&column.name));
    let some: Vec<Column> = all.iter().filter(is_named).cloned().collect();
    if some.is_empty() { all.into_iter().take(1).collect() } else { some }
}

/// The bytes are in memory, so that nothing is waited for.
fn read(file: &FileSeen<'_>, columns: &[Column], filter: Option<Expr>) -> Option<Vec<Rows>> {
    const OBJECT: &str = "file.parquet";
    let view = FileReader::new(file.table).ok()?.live(file.add).ok()?;
    let options = ReadOptions::new(columns)
        .with_partition(view.partition)
        .with_names(view.names)
        .with_filter(filter)
        .with_deleted(Some(file.without.clone()))
        .with_only(file.only.cloned())
        .with_positions();
    let bytes = file.bytes.clone();
    async move {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        store.put(OBJECT, bytes).await.ok()?;
        read_parquet(&store, OBJECT, options).await.ok()?.collect().await.ok()
    }
    .now_or_never()?
}

/// The rows in a form that can be compared; `None` for types that have none.
pub(crate) fn values(batch: &RecordBatch) -> Option<Vec<Box<[u8]>>> {
    let fields = batch.schema_ref().fields().iter().map(|field| SortField::new(field.data_type().clone())).collect();
    let rows = RowConverter::new(fields).ok()?.convert_columns(batch.columns()).ok()?;
    Some(rows.iter().map(|row| Box::from(row.as_ref())).collect())
}
