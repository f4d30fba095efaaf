//! One version of a Lance table, as statements see it.

use super::files::LanceFiles;
use crate::OpsError;
use arrow_schema::{Schema, SchemaRef};
use lakebed_data::{arrow_type, columns_of};
use lakebed_lance::Snapshot;
use lakebed_lance::proto::file::Field;
use lakebed_lance::proto::table::DataFragment;
use lakebed_storage::Store;
use lakebed_transaction::Column;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Marks of fields whose values stand in objects of their own.
const BLOB_KEY: &str = "lance-encoding:blob";
const EXTENSION_KEY: &str = "ARROW:extension:name";
const BLOB_EXTENSION: &[u8] = b"lance.blob.v2";

/// One version of a Lance table with who reads and writes its data files.
#[derive(Clone, Debug)]
pub struct LanceTable {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) files: Arc<dyn LanceFiles>,
    /// The columns as they lie in memory.
    pub(crate) schema: SchemaRef,
    columns: Vec<Column>,
    /// The places of columns with values that stand in objects of their own, which are not read and not written here.
    blobs: BTreeSet<usize>,
}

impl LanceTable {
    /// A version, whose objects lie in `store`, with who reads and writes its data files.
    ///
    /// # Errors
    /// The schema cannot be read.
    pub fn new(store: Arc<dyn Store>, snapshot: Arc<Snapshot>, files: Arc<dyn LanceFiles>) -> Result<Self, OpsError> {
        let schema = files.schema(snapshot.fields())?;
        let columns = snapshot.columns()?;
        let columns = columns.into_iter().zip(schema.fields()).map(|(column, field)| {
            if arrow_type(&column.column_type).is_ok() {
                return column;
            }
            // Types beyond the model's, such as vectors and unsigned numbers, are computed with as the next wider of its own.
            let wider = columns_of(&Schema::new(vec![Arc::clone(field)])).ok().and_then(|mut columns| columns.pop());
            wider.unwrap_or(column)
        });
        let columns = columns.collect();
        let blobs = blob_columns(snapshot.fields());
        Ok(Self { store, snapshot, files, schema, columns, blobs })
    }

    /// Refuses to read columns, by their places, of which one is a blob column.
    ///
    /// # Errors
    /// It is named there, and what can be read instead.
    pub(crate) fn refuse_reading_blobs(&self, wanted: &[usize]) -> Result<(), OpsError> {
        let Some(at) = wanted.iter().find(|at| self.blobs.contains(*at)) else { return Ok(()) };
        let others = self.columns.iter().enumerate().filter(|(at, _)| !self.blobs.contains(at));
        let others: Vec<&str> = others.map(|(_, column)| column.name.as_str()).collect();
        Err(OpsError::Unsupported {
            feature: format!("the blob column {}", self.columns.get(*at).map_or("?", |column| column.name.as_str())),
            statement: "reading rows",
            advice: format!("name the columns to read, without it ({}), or use a Lance client", others.join(", ")),
        })
    }

    /// Refuses a statement that writes whole rows, where the table has a blob column.
    ///
    /// # Errors
    /// It is named there.
    pub(crate) fn refuse_writing_blobs(&self, statement: &'static str) -> Result<(), OpsError> {
        let Some(column) = self.blobs.first().and_then(|at| self.columns.get(*at)) else { return Ok(()) };
        Err(OpsError::Unsupported {
            feature: format!("the blob column {}", column.name),
            statement,
            advice:
                "use a Lance client for this; deleting rows, reading other columns, and all that touches no row work"
                    .to_owned(),
        })
    }

    /// The places of the columns that can be read.
    pub(crate) fn readable(&self) -> impl Iterator<Item = usize> {
        (0..self.columns.len()).filter(|at| !self.blobs.contains(at))
    }

    /// The columns in which its rows are given and taken.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The version.
    #[must_use]
    pub const fn snapshot(&self) -> &Arc<Snapshot> {
        &self.snapshot
    }

    pub(crate) fn fragments(&self) -> &[DataFragment] {
        self.snapshot.fragments()
    }

    /// The place of a column, by its name without regard to case.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        let exact = self.columns.iter().position(|column| column.name == name);
        exact.or_else(|| self.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name)))
    }

    /// The ids of columns by their names; a name that is no column's has none.
    pub(crate) fn field_ids<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Vec<i64> {
        let ids = self.top_ids();
        let found = names.into_iter().filter_map(|name| ids.get(self.position(name)?).copied().map(i64::from));
        found.collect()
    }

    /// The ids of fields at the top, in order.
    pub(crate) fn top_ids(&self) -> Vec<i32> {
        self.snapshot.fields().iter().filter(|field| field.parent_id < 0).map(|field| field.id).collect()
    }
}

/// The places of columns that are blobs or hold one.
fn blob_columns(fields: &[Field]) -> BTreeSet<usize> {
    let (mut blobs, mut places, mut next) = (BTreeSet::new(), HashMap::new(), 0);
    for field in fields {
        let place = if field.parent_id < 0 {
            next += 1;
            next - 1
        } else {
            places.get(&field.parent_id).copied().unwrap_or_default()
        };
        places.insert(field.id, place);
        if is_blob(field) {
            blobs.insert(place);
        }
    }
    blobs
}

fn is_blob(field: &Field) -> bool {
    field.metadata.contains_key(BLOB_KEY)
        || field.metadata.get(EXTENSION_KEY).is_some_and(|name| name.as_ref() == BLOB_EXTENSION)
        || field.extension_name.as_bytes() == BLOB_EXTENSION
}
