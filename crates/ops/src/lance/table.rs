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
}

impl LanceTable {
    /// A version, whose objects lie in `store`, with who reads and writes its data files.
    ///
    /// # Errors
    /// The schema cannot be read, or holds columns whose values stand outside of the data files.
    pub fn new(store: Arc<dyn Store>, snapshot: Arc<Snapshot>, files: Arc<dyn LanceFiles>) -> Result<Self, OpsError> {
        if let Some(field) = snapshot.fields().iter().find(|field| is_blob(field)) {
            return Err(OpsError::Unsupported {
                feature: format!("blob columns ({})", field.name),
                statement: "reading and writing rows",
                advice: "read or change its rows with a Lance client; history and show work".to_owned(),
            });
        }
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
        Ok(Self { columns: columns.collect(), store, snapshot, files, schema })
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

fn is_blob(field: &Field) -> bool {
    field.metadata.contains_key(BLOB_KEY)
        || field.metadata.get(EXTENSION_KEY).is_some_and(|name| name.as_ref() == BLOB_EXTENSION)
        || field.extension_name.as_bytes() == BLOB_EXTENSION
}
