//! The rows of one fragment.

use super::assemble::{Tree, assemble};
use super::files::{BATCH_ROWS, LanceReader};
use super::table::LanceTable;
use crate::OpsError;
use crate::elsewhere::locate;
use arrow_array::{BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use lakebed_lance::proto::table::{DataFile, DataFragment};
use lakebed_lance::{LanceError, Snapshot, deletion};
use lakebed_storage::Store;
use lakebed_transaction::RowSet;
use std::collections::HashSet;
use std::sync::Arc;

/// The live rows of a fragment, batch by batch, with their positions.
pub(crate) struct FragmentRows {
    what: String,
    readers: Vec<Box<dyn LanceReader>>,
    schema: SchemaRef,
    rows: Which,
    next: u64,
    num_rows: u64,
}

/// Which rows of a fragment are read.
pub(crate) enum Which {
    /// All but these.
    Without(RowSet),
    /// Only these.
    Only(RowSet),
}

impl Which {
    fn takes(&self, row: u64) -> bool {
        match self {
            Self::Without(rows) => !rows.contains(row),
            Self::Only(rows) => rows.contains(row),
        }
    }
}

impl FragmentRows {
    /// Opens a fragment for some columns, by their places among the table's.
    pub(crate) async fn open(
        table: &LanceTable,
        fragment: &DataFragment,
        wanted: &[usize],
        rows: Which,
    ) -> Result<Self, OpsError> {
        table.refuse_reading_blobs(wanted)?;
        let what = format!("fragment {} of version {}", fragment.id, table.snapshot.version());
        let ids = table.top_ids();
        let top: HashSet<i32> = wanted.iter().filter_map(|at| ids.get(*at).copied()).collect();
        let fields: Vec<_> = wanted.iter().filter_map(|at| table.schema.fields().get(*at).cloned()).collect();
        let tree = Tree::new(table.snapshot.fields());
        let overlaid = |file: Option<&DataFile>| file.is_none_or(|file| !tree.held(&top, file).is_empty());
        if fragment.overlays.iter().any(|overlay| overlaid(overlay.data_file.as_ref())) {
            return Err(OpsError::Unsupported {
                feature: format!("data overlays (of {what})"),
                statement: "reading rows",
                advice: "read columns without them, or use a Lance client".to_owned(),
            });
        }
        let mut readers = Vec::new();
        for file in &fragment.files {
            let held = tree.held(&top, file);
            if held.is_empty() {
                continue;
            }
            let object = table.snapshot.data_object(file)?;
            let (store, object) = reach(&table.store, object.as_str(), file.base_id.is_some()).await?;
            readers.push(table.files.open(&store, &object, file, &held).await?);
        }
        let known = (fragment.physical_rows > 0).then_some(fragment.physical_rows);
        let num_rows = match readers.first().map(|reader| reader.num_rows()).or(known) {
            Some(num_rows) => Some(num_rows),
            None => counted(table, fragment, &tree).await?,
        };
        let num_rows = num_rows.ok_or_else(|| damaged(&what, "it does not say how many rows it has"))?;
        if readers.iter().any(|reader| reader.num_rows() != num_rows) || known.is_some_and(|known| known != num_rows) {
            return Err(damaged(&what, "its data files have different numbers of rows"));
        }
        Ok(Self { what, readers, schema: Arc::new(Schema::new(fields)), rows, next: 0, num_rows })
    }

    /// The next live rows, with their positions in the fragment; `None` at the end. Batches may be empty.
    pub(crate) async fn next(&mut self) -> Result<Option<(RecordBatch, Vec<u64>)>, OpsError> {
        let rows = u64::from(BATCH_ROWS).min(self.num_rows - self.next);
        if rows == 0 {
            return Ok(None);
        }
        let mut parts = Vec::with_capacity(self.readers.len());
        for reader in &mut self.readers {
            match reader.next().await? {
                Some(part) if part.num_rows() as u64 == rows => parts.push(part),
                Some(_) | None => return Err(damaged(&self.what, "a data file has other rows than it says")),
            }
        }
        let count = usize::try_from(rows).unwrap_or_default();
        let mut arrays = Vec::with_capacity(self.schema.fields().len());
        for field in self.schema.fields() {
            let held: Vec<_> = parts.iter().filter_map(|part| part.column_by_name(field.name()).cloned()).collect();
            arrays.push(assemble(field, &held, count)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)
            .map_err(OpsError::rows(&self.what))?;
        let positions: Vec<u64> = (self.next..self.next + rows).collect();
        self.next += rows;
        let mask: Vec<bool> = positions.iter().map(|row| self.rows.takes(*row)).collect();
        if mask.iter().all(|taken| *taken) {
            return Ok(Some((batch, positions)));
        }
        let live = positions.into_iter().zip(&mask).filter(|(_, taken)| **taken).map(|(row, _)| row).collect();
        let batch = filter_record_batch(&batch, &BooleanArray::from(mask)).map_err(OpsError::rows(&self.what))?;
        Ok(Some((batch, live)))
    }
}

/// How many rows the data files of a fragment have of which the manifest does not say it, as of one without any and of those that
/// old clients wrote.
async fn counted(table: &LanceTable, fragment: &DataFragment, tree: &Tree<'_>) -> Result<Option<u64>, OpsError> {
    let ids = table.top_ids();
    for top in table.readable().filter_map(|at| ids.get(at)) {
        for file in &fragment.files {
            let held = tree.held(&HashSet::from([*top]), file);
            if !held.is_empty() {
                let object = table.snapshot.data_object(file)?;
                let (store, object) = reach(&table.store, object.as_str(), file.base_id.is_some()).await?;
                return Ok(Some(table.files.open(&store, &object, file, &held).await?.num_rows()));
            }
        }
    }
    Ok(None)
}

/// The rows of a fragment that its deletion file lists.
///
/// # Errors
/// The file is not there, or damaged.
pub async fn deleted_rows(
    store: &Arc<dyn Store>,
    snapshot: &Snapshot,
    fragment: &DataFragment,
) -> Result<RowSet, OpsError> {
    let (Some(file), Some(name)) = (&fragment.deletion_file, snapshot.deletion_object(fragment)?) else {
        return Ok(RowSet::new());
    };
    let (store, name) = reach(store, name.as_str(), file.base_id.is_some()).await?;
    let bytes = store.get(&name).await?.ok_or_else(|| OpsError::Invalid {
        problem: format!("the deletion file {name} is not there"),
        advice: "read an earlier version, or restore the file".to_owned(),
    })?;
    let kind = deletion::kind_of(&name, file)?;
    let physical_rows = (fragment.physical_rows > 0).then_some(fragment.physical_rows);
    Ok(deletion::decode(&name, kind, &bytes, physical_rows)?)
}

/// The store of an object, and its name there. A branch reaches the table that it was made of through its own store; other base
/// paths lie elsewhere.
async fn reach(store: &Arc<dyn Store>, object: &str, outside: bool) -> Result<(Arc<dyn Store>, String), OpsError> {
    if !outside || matches!(store.head(object).await, Ok(Some(_))) {
        return Ok((Arc::clone(store), object.to_owned()));
    }
    locate(store, object)
}

fn damaged(what: &str, problem: &str) -> OpsError {
    OpsError::Lance(LanceError::Damaged {
        object: what.to_owned(),
        problem: problem.to_owned(),
        advice: "open an earlier version".to_owned(),
    })
}
