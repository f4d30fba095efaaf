//! The entry to the crate.

use crate::error::failed;
use crate::{fields, read, write};
use arrow_schema::{Fields, Schema, SchemaRef};
use async_trait::async_trait;
use lakebed_data::DataError;
use lakebed_lance::proto::file::Field;
use lakebed_lance::proto::table::DataFile;
use lakebed_ops::{LanceFiles, LanceReader, LanceSink};
use lakebed_storage::Store;
use lance_arrow::json::lance_json_to_arrow_json;
use lance_file::version::ConcreteFileVersion;
use std::sync::Arc;

/// Reads data files of format version 2.0 and later, and writes them as released Lance clients do.
#[derive(Clone, Copy, Debug, Default)]
pub struct LanceDataFiles;

/// What a schema is called in messages.
const SCHEMA: &str = "the table's schema";

/// What a file is called in messages while it has no name.
const NEW: &str = "a new data file";

#[async_trait]
impl LanceFiles for LanceDataFiles {
    fn schema(&self, wanted: &[Field]) -> Result<SchemaRef, DataError> {
        // A type of a name that is not known makes the conversion panic.
        let made = std::panic::catch_unwind(|| fields::schema(SCHEMA, wanted).map(|schema| Schema::from(&schema)));
        let stored = made.map_err(|_| failed(SCHEMA, "it holds a type that is not known"))??;
        // JSON lies in the files in a binary form, and is text everywhere else.
        let fields: Fields = stored.fields().iter().map(|field| lance_json_to_arrow_json(field)).collect();
        Ok(Arc::new(Schema::new_with_metadata(fields, stored.metadata)))
    }

    async fn open(
        &self,
        store: &Arc<dyn Store>,
        object: &str,
        file: &DataFile,
        wanted: &[Field],
    ) -> Result<Box<dyn LanceReader>, DataError> {
        let schema = fields::schema(object, wanted)?;
        Ok(Box::new(read::Reader::open(store, object, file, schema).await?))
    }

    fn create(&self, wanted: &[Field], version: &str) -> Result<Box<dyn LanceSink>, DataError> {
        let known = ConcreteFileVersion::from_manifest_string(version).ok();
        let version = known
            .filter(|version| *version != ConcreteFileVersion::V1)
            .ok_or_else(|| failed(NEW, &format!("files of format version {version} are not written here")))?;
        Ok(Box::new(write::Sink::new(fields::schema(NEW, wanted)?, version, NEW)?))
    }
}
