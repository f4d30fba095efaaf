//! Rows put in order: by one column, or along a Z-order curve over several.

use super::lineage::{self, Known, Lineage};
use super::{LanceCompactSpec, LanceGroup, deleted};
use crate::OpsError;
use crate::compact::{Compaction, Order, Sample, Sorter, has_order};
use crate::lance::fragment::{FragmentRows, Which, deleted_rows};
use crate::lance::table::LanceTable;
use crate::lance::write::Writer;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{ArrayRef, RecordBatch, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use lakebed_lance::CLUSTERED_BY;
use lakebed_lance::proto::table::DataFragment;
use lakebed_transaction::RowSet;
use std::sync::Arc;

/// Columns that go through a sort with the rows: what is known of each.
const KNOWN: [&str; 3] = ["\0id", "\0created", "\0updated"];

/// The columns to go by.
pub(super) struct By {
    names: Vec<String>,
    places: Vec<usize>,
    /// The ids of their fields, as fragments say it.
    mark: String,
}

impl By {
    pub(super) fn new(table: &LanceTable, spec: &LanceCompactSpec) -> Result<Self, OpsError> {
        let invalid = |problem: String, advice: &str| Err(OpsError::Invalid { problem, advice: advice.to_owned() });
        if spec.compaction == Compaction::Minor {
            let problem = "a minor compaction keeps rows in their order, and clustering changes it".to_owned();
            return invalid(problem, "leave one of the two out");
        }
        let (mut by, mut ids) = (Self { names: Vec::new(), places: Vec::new(), mark: String::new() }, Vec::new());
        for name in &spec.cluster_by {
            let place = table.position(name);
            let Some((place, column)) = place.and_then(|place| Some((place, table.columns().get(place)?))) else {
                let names: Vec<&str> = table.columns().iter().map(|column| column.name.as_str()).collect();
                return invalid(
                    format!("rows cannot be clustered by {name}"),
                    &format!("name columns of the table: {}", names.join(", ")),
                );
            };
            if !has_order(&column.column_type) {
                let problem = format!("column {name} has a type without an order");
                return invalid(problem, "cluster by a column of a simple type");
            }
            if by.places.contains(&place) {
                return invalid(format!("column {name} is named twice"), "name it once");
            }
            by.names.push(table.schema.field(place).name().clone());
            by.places.push(place);
            ids.extend(table.top_ids().get(place).map(ToString::to_string));
        }
        by.mark = ids.join(",");
        Ok(by)
    }

    fn orders(&self, fragment: &DataFragment) -> bool {
        fragment.metadata.get(CLUSTERED_BY) == Some(&self.mark) && deleted(fragment) == 0
    }
}

/// Sorts the rows of the fragments that are not in order yet, and of small ones that are, so that these grow together. `None`
/// where there is nothing to do.
pub(super) async fn cluster(
    table: &LanceTable,
    group: Vec<DataFragment>,
    by: &By,
    spec: &LanceCompactSpec,
    rows_copied: &mut u64,
) -> Result<Option<LanceGroup>, OpsError> {
    let small = |fragment: &DataFragment| fragment.physical_rows < spec.target_rows / 2;
    let old: Vec<DataFragment> = group.into_iter().filter(|fragment| !by.orders(fragment) || small(fragment)).collect();
    if old.len() < 2 && old.iter().all(|fragment| by.orders(fragment)) {
        return Ok(None);
    }
    table.refuse_writing_blobs("a compaction")?;
    let schema = sorted_schema(table);
    let mut order = Order::new(&by.names, &schema)?;
    if order.is_curve() {
        let sample = sampled(table, &old, by, &order).await?;
        order.spread(sample);
    }
    let mut sorter = Sorter::new(&order, spec.sort_bytes);
    let mut group = LanceGroup::default();
    let all: Vec<usize> = (0..table.columns().len()).collect();
    for fragment in &old {
        let gone = deleted_rows(&table.store, &table.snapshot, fragment).await?;
        let lineage = Lineage::of(table, fragment)?;
        let mut rows = FragmentRows::open(table, fragment, &all, Which::Without(gone)).await?;
        let mut moved = RowSet::new();
        while let Some((batch, places)) = rows.next().await? {
            places.iter().for_each(|place| {
                moved.insert(*place);
            });
            let known = lineage.as_ref().map(|lineage| lineage.at(fragment, &places)).transpose()?;
            sorter.push(with_known(&schema, &batch, known)?)?;
        }
        group.moved.insert(fragment.id, moved);
    }
    let mut writer = Writer::with_rows_max(table, spec.target_rows);
    let mut versions = Vec::new();
    let mut sorted = sorter.finish()?;
    while let Some(batch) = sorted.next()? {
        let rows = batch.project(&all).map_err(OpsError::rows("a sort"))?;
        let rows = rows.with_schema(Arc::clone(&table.schema)).map_err(OpsError::rows("a sort"))?;
        let known = known_of(&batch);
        let ids: Option<Vec<u64>> = known.as_ref().map(|known| known.iter().map(|(id, ..)| *id).collect());
        versions.extend(known.into_iter().flatten().map(|(_, created, updated)| (created, updated)));
        *rows_copied += writer.write(&rows, ids.as_deref()).await?;
    }
    let mut fragments = writer.finish().await?;
    if table.snapshot.has_stable_row_ids() {
        lineage::write_down(&mut fragments, versions)?;
    }
    for mut fragment in fragments {
        fragment.metadata.insert(CLUSTERED_BY.to_owned(), by.mark.clone());
        group.new.push((fragment, RowSet::new()));
    }
    group.old = old;
    Ok(Some(group))
}

/// The columns of the table, and what is known of each row behind them.
fn sorted_schema(table: &LanceTable) -> Arc<Schema> {
    let mut fields = table.schema.fields().to_vec();
    if table.snapshot.has_stable_row_ids() {
        fields.extend(KNOWN.map(|name| Arc::new(Field::new(name, DataType::UInt64, false))));
    }
    Arc::new(Schema::new(fields))
}

fn with_known(schema: &Arc<Schema>, batch: &RecordBatch, known: Option<Vec<Known>>) -> Result<RecordBatch, OpsError> {
    let mut arrays = batch.columns().to_vec();
    if let Some(known) = known {
        let part = |of: fn(&Known) -> u64| -> ArrayRef { Arc::new(known.iter().map(of).collect::<UInt64Array>()) };
        arrays.extend([part(|(id, ..)| *id), part(|(_, created, _)| *created), part(|(.., updated)| *updated)]);
    }
    RecordBatch::try_new(Arc::clone(schema), arrays).map_err(OpsError::rows("a sort"))
}

fn known_of(batch: &RecordBatch) -> Option<Vec<Known>> {
    let [ids, created, updated] = KNOWN.map(|name| batch.column_by_name(name));
    let part = |array: &'_ ArrayRef| array.as_primitive_opt::<UInt64Type>().map(|array| array.values().to_vec());
    let (ids, created, updated) = (part(ids?)?, part(created?)?, part(updated?)?);
    Some(ids.into_iter().zip(created).zip(updated).map(|((id, created), updated)| (id, created, updated)).collect())
}

/// Looks at the columns alone, to learn how their values are spread.
async fn sampled(table: &LanceTable, old: &[DataFragment], by: &By, order: &Order) -> Result<Sample, OpsError> {
    let mut sample = Sample::of(order);
    for fragment in old {
        let gone = deleted_rows(&table.store, &table.snapshot, fragment).await?;
        let mut rows = FragmentRows::open(table, fragment, &by.places, Which::Without(gone)).await?;
        while let Some((batch, _)) = rows.next().await? {
            sample.see(order, &batch)?;
        }
    }
    Ok(sample)
}
