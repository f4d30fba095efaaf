//! One Parquet file of a checkpoint.

use super::parsed::StatsForm;
use super::{BATCH_ROWS, failed};
use crate::DeltaError;
use crate::action::{Add, Remove};
use crate::checkpoint::arrays::{self, Kind};
use arrow_array::{Array, ArrayRef, RecordBatch, new_null_array};
use arrow_schema::{DataType, Field, Fields, Schema};
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use std::sync::Arc;

/// Rows per row group: readers decode several at once, and writers hold one in memory.
const GROUP_ROWS: usize = 65_536;

/// Columns whose values hardly ever repeat: a dictionary of them is thrown away again.
const UNLIKE: [&[&str]; 3] = [&["add", "path"], &["add", "stats"], &["remove", "path"]];

pub(super) struct Writer<'a> {
    kinds: &'static [Kind],
    stats: &'a StatsForm,
    schema: Arc<Schema>,
    writer: ArrowWriter<Vec<u8>>,
    actions: usize,
}

impl<'a> Writer<'a> {
    pub(super) fn new(kinds: &'static [Kind], stats: &'a StatsForm) -> Result<Self, DeltaError> {
        let field = |kind: &Kind| Field::new(kind.name(), data_type(*kind, stats), true);
        let schema = Arc::new(Schema::new(kinds.iter().map(field).collect::<Vec<_>>()));
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_row_count(Some(GROUP_ROWS))
            .set_created_by(concat!("lakebed ", env!("CARGO_PKG_VERSION")).to_owned());
        for path in UNLIKE {
            let path = ColumnPath::new(path.iter().map(|part| (*part).to_owned()).collect());
            properties = properties.set_column_dictionary_enabled(path, false);
        }
        let options = ArrowWriterOptions::new().with_properties(properties.build()).with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(Vec::new(), Arc::clone(&schema), options)
            .map_err(|error| failed(&error))?;
        Ok(Self { kinds, stats, schema, writer, actions: 0 })
    }

    pub(super) fn put_removes(&mut self, removes: &[&Remove]) -> Result<(), DeltaError> {
        removes.chunks(BATCH_ROWS).try_for_each(|some| self.put(Kind::Remove, arrays::removes(some)?))
    }

    pub(super) fn put_adds(&mut self, adds: &[&Arc<Add>]) -> Result<(), DeltaError> {
        if adds.is_empty() {
            return Ok(());
        }
        let extra = self.stats.columns(adds)?;
        let texts = adds.iter().map(|add| self.stats.text(add)).collect();
        self.put(Kind::Add, arrays::adds(adds, texts, &self.stats.fields(), extra)?)
    }

    /// Writes actions of one kind; every other column is null in their rows.
    pub(super) fn put(&mut self, kind: Kind, array: ArrayRef) -> Result<(), DeltaError> {
        let rows = array.len();
        if rows == 0 {
            return Ok(());
        }
        self.actions += rows;
        let column = |other: &Kind| {
            if *other == kind { Arc::clone(&array) } else { new_null_array(&data_type(*other, self.stats), rows) }
        };
        let columns = self.kinds.iter().map(column).collect();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(|error| failed(&error))?;
        self.writer.write(&batch).map_err(|error| failed(&error))
    }

    pub(super) fn close(self) -> Result<(Bytes, usize), DeltaError> {
        let bytes = self.writer.into_inner().map_err(|error| failed(&error))?;
        Ok((Bytes::from(bytes), self.actions))
    }
}

fn data_type(kind: Kind, stats: &StatsForm) -> DataType {
    let DataType::Struct(fields) = kind.data_type() else { return kind.data_type() };
    if kind != Kind::Add {
        return DataType::Struct(fields);
    }
    DataType::Struct(fields.iter().cloned().chain(stats.fields().iter().cloned()).collect::<Fields>())
}
