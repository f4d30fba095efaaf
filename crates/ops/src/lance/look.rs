//! Rows of fragments, for rules that need to know them.

use super::conform::modelled;
use super::files::LanceFiles;
use super::fragment::{FragmentRows, Which};
use super::table::LanceTable;
use crate::look::values;
use arrow_array::RecordBatch;
use arrow_select::filter::filter_record_batch;
use lakebed_data::filter_mask;
use lakebed_lance::FragmentSeen;
use lakebed_storage::{MemoryStore, Store};
use lakebed_transaction::{BinaryOp, Expr, SeenRow};
use std::sync::Arc;

/// The rows of a fragment, whose data files are at hand, for which one of the filters may be TRUE; `None` where they cannot be read.
pub async fn look(files: &Arc<dyn LanceFiles>, seen: &FragmentSeen<'_>, filters: &[Expr]) -> Option<Vec<SeenRow>> {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    for (name, bytes) in &seen.objects {
        store.put(name.as_str(), bytes.clone()).await.ok()?;
    }
    let table = LanceTable::new(store, Arc::clone(seen.version), Arc::clone(files)).ok()?;
    let filter = filters.iter().cloned().reduce(|a, b| a.binary(BinaryOp::Or, b));
    let wanted = columns(&table, seen.values, filter.as_ref());
    let columns: Vec<_> = wanted.iter().filter_map(|at| table.columns().get(*at).cloned()).collect();
    let which = match seen.only {
        Some(only) => Which::Only(only.clone()),
        None => Which::Without(seen.without.clone()),
    };
    let mut rows = FragmentRows::open(&table, seen.fragment, &wanted, which).await.ok()?;
    let mut found = Vec::new();
    while let Some((raw, positions)) = rows.next().await.ok()? {
        let mask = filter.as_ref().and_then(|filter| filter_mask(filter, &modelled(&raw, &columns).ok()?).ok());
        // A filter that cannot be evaluated rules nothing out.
        let Some(mask) = mask else {
            found.extend(taken(&raw, positions, seen.values)?);
            continue;
        };
        let positions = positions.into_iter().zip(mask.values()).filter(|(_, meets)| *meets).map(|(row, _)| row);
        found.extend(taken(&filter_record_batch(&raw, &mask).ok()?, positions.collect(), seen.values)?);
    }
    Some(found)
}

fn taken(rows: &RecordBatch, positions: Vec<u64>, compared: bool) -> Option<Vec<SeenRow>> {
    let mut values = if compared { values(rows)? } else { Vec::new() }.into_iter();
    Some(
        positions.into_iter().map(|position| SeenRow { position, values: values.next().unwrap_or_default() }).collect(),
    )
}

/// The places of the columns to decode: all where rows are compared, else what the filter looks at.
fn columns(table: &LanceTable, compared: bool, filter: Option<&Expr>) -> Vec<usize> {
    if compared {
        return (0..table.columns().len()).collect();
    }
    let named = filter.into_iter().flat_map(Expr::columns).filter_map(<[_]>::first);
    let mut places: Vec<usize> = named.filter_map(|name| table.position(name)).collect();
    places.sort_unstable();
    places.dedup();
    // How many rows there are must be told by one of them.
    if places.is_empty() { table.readable().take(1).collect() } else { places }
}
