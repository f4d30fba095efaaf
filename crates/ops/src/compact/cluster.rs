//! Rows put in order, partition by partition.

use super::order::{Order, Sample};
use super::sort::Sorter;
use super::{CompactSpec, Compaction, Input};
use crate::layout::clustering_columns;
use crate::rows::RowWriter;
use crate::scan::{deleted_rows, open_view_file};
use crate::touch::{Open, tracked};
use crate::{Layout, OpsError, Plan};
use lakebed_data::arrow_schema;
use lakebed_delta::Snapshot;
use lakebed_storage::Store;
use lakebed_transaction::{Column, ColumnType};
use serde_json::json;
use std::sync::Arc;

/// The tag under which a file says by which columns its rows are in order, by their names in files.
const CLUSTERED_BY: &str = "lakebed.clusteredBy";

/// The columns to go by, as the table spells them; none where rows keep their order.
pub(super) fn columns(snapshot: &Snapshot, layout: &Layout, spec: &CompactSpec) -> Result<Vec<String>, OpsError> {
    let invalid = |problem: String, advice: String| Err(OpsError::Invalid { problem, advice });
    if spec.cluster_by.is_empty() {
        return Ok(Vec::new());
    }
    if spec.compaction == Compaction::Minor {
        let advice = "leave one of the two out".to_owned();
        return invalid("a minor compaction keeps rows in their order, and clustering changes it".to_owned(), advice);
    }
    let mut columns = Vec::with_capacity(spec.cluster_by.len());
    for name in &spec.cluster_by {
        let known = layout.in_file.iter().find(|column| column.name.eq_ignore_ascii_case(name));
        let Some(known) = known else {
            let names: Vec<&str> = layout.in_file.iter().map(|column| column.name.as_str()).collect();
            let problem = format!("rows cannot be clustered by {name}");
            return invalid(problem, format!("name columns that stand in files: {}", names.join(", ")));
        };
        if !has_order(&known.column_type) {
            return invalid(
                format!("column {name} has a type without an order"),
                "cluster by a column of a simple type".to_owned(),
            );
        }
        if columns.contains(&known.name) {
            return invalid(format!("column {name} is named twice"), "name it once".to_owned());
        }
        columns.push(known.name.clone());
    }
    let own = clustering_columns(snapshot.core());
    if !own.is_empty() && own != in_files(snapshot, &columns) {
        let logical = logical(snapshot, &own);
        return invalid(
            format!("the table is clustered by {logical}, which is not what was asked for"),
            format!("cluster by {logical}, or let the table's clustering columns be changed first"),
        );
    }
    Ok(columns)
}

/// Names in files.
fn in_files(snapshot: &Snapshot, columns: &[String]) -> Vec<String> {
    let name = |column: &String| {
        let field = snapshot.schema().field(column);
        field.map_or_else(|| column.clone(), |field| field.physical_name(snapshot.column_mapping()).to_owned())
    };
    columns.iter().map(name).collect()
}

fn logical(snapshot: &Snapshot, physical: &[String]) -> String {
    let mapping = snapshot.column_mapping();
    let name = |wanted: &String| {
        let field = snapshot.schema().fields.iter().find(|field| field.physical_name(mapping) == wanted);
        field.map_or_else(|| wanted.clone(), |field| field.name.clone())
    };
    physical.iter().map(name).collect::<Vec<_>>().join(", ")
}

pub(crate) const fn has_order(column_type: &ColumnType) -> bool {
    !matches!(column_type, ColumnType::Struct(_) | ColumnType::Array(_) | ColumnType::Map(_, _) | ColumnType::Other(_))
}

/// Sorts the rows of the files that are not in order yet, and of small ones that are, so that these grow together.
pub(super) async fn cluster(
    store: &Arc<dyn Store>,
    group: Vec<Input>,
    columns: &[String],
    (spec, layout): (&CompactSpec, &Layout),
    writer: &mut RowWriter<'_>,
    plan: &mut Plan,
) -> Result<(), OpsError> {
    let tag = json!(columns).to_string();
    let ordered = |input: &Input| input.add.tags.as_ref().and_then(|tags| tags.get(CLUSTERED_BY)) == Some(tag.as_str());
    let small = |input: &Input| input.file.size_bytes < spec.target_size_bytes / 2;
    let inputs: Vec<Input> =
        group.into_iter().filter(|input| !ordered(input) || input.has_vector() || small(input)).collect();
    if inputs.len() < 2 && inputs.iter().all(|input| ordered(input) && !input.has_vector()) {
        return Ok(());
    }
    let mut order = Order::new(columns, &*arrow_schema(&layout.columns)?)?;
    if order.is_curve() {
        let sample = sampled(store, &inputs, columns, (&order, layout)).await?;
        order.spread(sample);
    }
    let mut sorter = Sorter::new(&order, spec.sort_bytes);
    for Input { file, .. } in &inputs {
        let deleted = deleted_rows(store, file).await?.unwrap_or_default();
        let mut open = Open::new(store, file, layout, deleted).await?;
        while let Some((rows, _, ids)) = open.next().await? {
            plan.rows_copied += rows.num_rows() as u64;
            sorter.push(tracked(&rows, ids, layout)?)?;
        }
        plan.removed.push(file.id.clone());
    }
    let Some(Input { file, .. }) = inputs.first() else { return Ok(()) };
    let mut sorted = sorter.finish()?;
    while let Some(rows) = sorted.next()? {
        writer.write_in(&file.partition, &rows).await?;
    }
    for mut file in writer.take().await? {
        file.clustered = true;
        file.tags.push((CLUSTERED_BY.to_owned(), tag.clone()));
        plan.added.push(file);
    }
    Ok(())
}

/// Looks at the columns alone, to learn how their values are spread.
async fn sampled(
    store: &Arc<dyn Store>,
    inputs: &[Input],
    columns: &[String],
    (order, layout): (&Order, &Layout),
) -> Result<Sample, OpsError> {
    let read: Vec<Column> = layout.columns.iter().filter(|column| columns.contains(&column.name)).cloned().collect();
    let mut sample = Sample::of(order);
    for input in inputs {
        let mut rows = open_view_file(store, &input.file, &read, None).await?;
        while let Some(rows) = rows.next().await? {
            sample.see(order, &rows.batch)?;
        }
    }
    Ok(sample)
}
