//! Reading a checkpoint's objects: Parquet of any layout, or JSON.

use super::columns::Group;
use super::levels;
use super::projection::{self, Columns};
use super::stats_json;
use crate::DeltaError;
use crate::action::{
    Action, Add, CheckpointMetadata, DeletionVector, DomainMetadata, Format, InfoUse, Metadata, Protocol, Remove,
    Sidecar, TextMap, Txn, each_action,
};
use arrow_array::{Array, BooleanArray, RecordBatch, StructArray};
use arrow_schema::{DataType, FieldRef, Fields, Schema};
use bytes::Bytes;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection,
};
use parquet::file::metadata::ParquetMetaData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Rows that are decoded at a time; bounds the memory beside the state itself.
const BATCH_ROWS: usize = 8192;

/// No writer brings a file's name into fewer bytes than this, whatever the footer says of rows.
const ROW_BYTES_MIN: usize = 32;

/// Nor does one bring more rows than this into a byte. Rows of nothing take next to no bytes, and a page may hold two thousand million.
const ROWS_PER_BYTE_MAX: usize = 64;

/// Reads one object of a checkpoint, by its name JSON or Parquet.
pub(crate) fn read(object: &str, bytes: &Bytes, take: &mut dyn FnMut(Action)) -> Result<(), DeltaError> {
    if object.ends_with(".json") {
        return each_action(object, bytes, InfoUse::Skip, take);
    }
    // The Parquet reader asserts where a damaged footer contradicts itself. The state that a panic leaves half filled is
    // thrown away by every caller, as after any other error.
    let each = || open(object, bytes)?.each_batch(Columns::All, &mut |batch| read_batch(object, batch, true, take));
    catch_unwind(AssertUnwindSafe(each)).unwrap_or_else(|_| Err(contradicting(object)))
}

/// The error for data that no writer writes.
pub(super) fn contradicting(object: &str) -> DeltaError {
    DeltaError::damaged(object, "its Parquet data contradict themselves")
}

/// A Parquet object with its footer read.
pub(super) struct Opened<'a> {
    object: &'a str,
    bytes: &'a Bytes,
    footer: ArrowReaderMetadata,
}

pub(super) fn open<'a>(object: &'a str, bytes: &'a Bytes) -> Result<Opened<'a>, DeltaError> {
    let damaged = |error: &dyn std::fmt::Display| DeltaError::damaged(object, error.to_string());
    // The embedded Arrow schema is another writer's choice of types; the Parquet types are enough.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let plain = ArrowReaderMetadata::load(bytes, options).map_err(|error| damaged(&error))?;
    if !has_sound_ranges(plain.metadata(), bytes.len()) {
        return Err(damaged(&"its footer names bytes that the file does not have"));
    }
    let rows = plain.metadata().row_groups().iter().fold(0_i64, |rows, group| rows.saturating_add(group.num_rows()));
    if usize::try_from(rows).map_or(true, |rows| rows / ROWS_PER_BYTE_MAX > bytes.len()) {
        return Err(damaged(&format_args!("its footer counts {rows} rows, which {} bytes cannot hold", bytes.len())));
    }
    let viewed = ArrowReaderOptions::new().with_schema(Arc::new(viewed(plain.schema())));
    let footer = ArrowReaderMetadata::try_new(Arc::clone(plain.metadata()), viewed).unwrap_or(plain);
    Ok(Opened { object, bytes, footer })
}

/// The schema with paths and statistics as views into the pages, so that the most of a checkpoint is not copied.
fn viewed(schema: &Schema) -> Schema {
    let leaf = |field: &FieldRef| match (field.name().as_str(), field.data_type()) {
        ("path" | "stats", DataType::Utf8) => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8View)),
        _ => Arc::clone(field),
    };
    let group = |field: &FieldRef| match (field.name().as_str(), field.data_type()) {
        ("add", DataType::Struct(inner)) => {
            let inner = DataType::Struct(inner.iter().map(leaf).collect());
            Arc::new(field.as_ref().clone().with_data_type(inner))
        }
        _ => Arc::clone(field),
    };
    Schema::new(schema.fields().iter().map(group).collect::<Fields>())
}

impl Opened<'_> {
    /// Whether the statistics stand in it as text.
    pub(super) fn has_stats_text(&self) -> bool {
        let Ok(add) = self.footer.schema().field_with_name("add") else { return false };
        let DataType::Struct(fields) = add.data_type() else { return false };
        fields.iter().any(|field| field.name() == "stats" && *field.data_type() == DataType::Utf8View)
    }

    /// How many rows its footer counts, as far as its bytes can hold them.
    pub(super) fn num_rows(&self) -> usize {
        let rows = usize::try_from(self.footer.metadata().file_metadata().num_rows()).unwrap_or(0);
        rows.min(self.bytes.len() / ROW_BYTES_MIN)
    }

    /// Makes actions of everything but files.
    ///
    /// Such rows are few among the files', and their lists and maps take long to decode, so these are decoded where something stands.
    pub(super) fn each_other(&self, take: &mut dyn FnMut(Action)) -> Result<(), DeltaError> {
        let metadata = self.footer.metadata();
        let rows = if projection::tells_others_by_flat_columns(metadata) {
            let filled = self.batches(Columns::OthersFlat)?.map(|batch| Ok(filled_rows(&batch?)));
            Some(RowSelection::from_filters(&filled.collect::<Result<Vec<_>, DeltaError>>()?))
        } else {
            None
        };
        if rows.as_ref().is_some_and(|rows| !rows.selects_any()) {
            return Ok(());
        }
        self.selected(Columns::Others, rows)?.try_for_each(|batch| read_batch(self.object, &batch?, false, take))
    }

    /// Decodes some of the columns, batch by batch.
    pub(super) fn each_batch(
        &self,
        columns: Columns,
        take: &mut dyn FnMut(&RecordBatch) -> Result<(), DeltaError>,
    ) -> Result<(), DeltaError> {
        self.batches(columns)?.try_for_each(|batch| take(&batch?))
    }

    /// Some of the columns, decoded batch by batch as they are asked for.
    pub(super) fn batches(
        &self,
        columns: Columns,
    ) -> Result<impl Iterator<Item = Result<RecordBatch, DeltaError>>, DeltaError> {
        self.selected(columns, None)
    }

    fn selected(
        &self,
        columns: Columns,
        rows: Option<RowSelection>,
    ) -> Result<impl Iterator<Item = Result<RecordBatch, DeltaError>>, DeltaError> {
        let damaged = |error: &dyn std::fmt::Display| DeltaError::damaged(self.object, error.to_string());
        let mask = projection::of(self.footer.metadata(), columns);
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(self.bytes.clone(), self.footer.clone());
        let mut builder = builder.with_projection(mask.clone()).with_batch_size(BATCH_ROWS);
        if let Some(rows) = rows {
            if !levels::are_whole(self.footer.metadata(), self.bytes, &mask).map_err(|error| damaged(&error))? {
                return Err(contradicting(self.object));
            }
            builder = builder.with_row_selection(rows);
        }
        let reader = builder.build().map_err(|error| damaged(&error))?;
        Ok(reader.map(move |batch| batch.map_err(|error| damaged(&error))))
    }
}

/// The rows in which any of the columns holds something.
fn filled_rows(batch: &RecordBatch) -> BooleanArray {
    let holds = |row: usize| batch.columns().iter().any(|column| column.is_valid(row));
    (0..batch.num_rows()).map(|row| Some(holds(row))).collect()
}

/// Whether every column chunk lies inside the file. The reader takes that for granted.
fn has_sound_ranges(metadata: &ParquetMetaData, length: usize) -> bool {
    metadata.row_groups().iter().flat_map(|group| group.columns()).all(|column| {
        let start = column.dictionary_page_offset().unwrap_or_else(|| column.data_page_offset());
        let end = start.checked_add(column.compressed_size());
        start >= 0
            && column.compressed_size() >= 0
            && end.and_then(|end| usize::try_from(end).ok()).is_some_and(|end| end <= length)
    })
}

/// Makes actions of a batch; of files that come only where `adds` says so.
pub(super) fn read_batch(
    object: &str,
    batch: &RecordBatch,
    adds: bool,
    take: &mut dyn FnMut(Action),
) -> Result<(), DeltaError> {
    type Reader = fn(&Group<'_>) -> Option<Action>;
    let kinds: [(&str, Reader); 8] = [
        ("protocol", protocol),
        ("metaData", metadata),
        ("txn", txn),
        ("domainMetadata", domain),
        ("checkpointMetadata", checkpoint_metadata),
        ("sidecar", sidecar),
        ("remove", remove),
        ("add", add),
    ];
    for (name, reader) in kinds.into_iter().filter(|(name, _)| adds || *name != "add") {
        let Some(column) = batch.column_by_name(name) else { continue };
        if column.null_count() == column.len() {
            continue;
        }
        for row in 0..batch.num_rows() {
            let Some(group) = Group::at(column, row) else { continue };
            // Some writers fill an absent action with nulls instead of leaving it out; it has none of its own fields.
            if let Some(action) = reader(&group) {
                take(action);
            } else {
                let (array, row) = group.parts();
                refuse_unless_hollow(object, name, array, row)?;
            }
        }
    }
    Ok(())
}

/// An action that lacks what it must have, unless it has nothing at all.
pub(super) fn refuse_unless_hollow(
    object: &str,
    name: &str,
    array: &StructArray,
    row: usize,
) -> Result<(), DeltaError> {
    if array.columns().iter().all(|column| column.is_null(row)) {
        return Ok(());
    }
    Err(DeltaError::damaged(object, format!("a {name} action lacks a field that it must have")))
}

fn add(group: &Group<'_>) -> Option<Action> {
    add_with(group, None)
}

/// A file, with the text of its statistics where that was decoded apart.
pub(super) fn add_with(group: &Group<'_>, stats: Option<&str>) -> Option<Action> {
    let stats = stats
        .or_else(|| group.text("stats"))
        .map(Arc::from)
        .or_else(|| stats_json::of(&group.group("stats_parsed")?).map(Arc::from));
    Some(Action::Add(Add {
        path: Arc::from(group.text("path")?),
        partition_values: group
            .map("partitionValues")
            .or_else(|| Some(stats_json::texts(&group.group("partitionValues_parsed")?)))
            .unwrap_or_default(),
        size: group.long("size").unwrap_or_default(),
        modification_time: group.long("modificationTime").unwrap_or_default(),
        data_change: group.flag("dataChange").unwrap_or(true),
        stats,
        tags: group.map("tags"),
        deletion_vector: deletion_vector(group),
        base_row_id: group.long("baseRowId"),
        default_row_commit_version: group.long("defaultRowCommitVersion"),
        clustering_provider: group.text("clusteringProvider").map(str::to_owned),
    }))
}

fn remove(group: &Group<'_>) -> Option<Action> {
    Some(Action::Remove(Remove {
        path: Arc::from(group.text("path")?),
        deletion_timestamp: group.long("deletionTimestamp"),
        data_change: group.flag("dataChange").unwrap_or(true),
        extended_file_metadata: group.flag("extendedFileMetadata"),
        partition_values: group.map("partitionValues"),
        size: group.long("size"),
        tags: group.map("tags"),
        deletion_vector: deletion_vector(group),
        base_row_id: group.long("baseRowId"),
        default_row_commit_version: group.long("defaultRowCommitVersion"),
        stats: group.text("stats").map(Arc::from),
    }))
}

pub(super) fn deletion_vector(group: &Group<'_>) -> Option<DeletionVector> {
    let vector = group.group("deletionVector")?;
    Some(DeletionVector {
        storage_type: vector.text("storageType")?.to_owned(),
        path_or_inline_dv: vector.text("pathOrInlineDv")?.to_owned(),
        offset: vector.long("offset"),
        size_in_bytes: vector.long("sizeInBytes").unwrap_or_default(),
        cardinality: vector.long("cardinality").unwrap_or_default(),
    })
}

fn protocol(group: &Group<'_>) -> Option<Action> {
    Some(Action::Protocol(Protocol {
        min_reader_version: i32::try_from(group.long("minReaderVersion")?).ok()?,
        min_writer_version: i32::try_from(group.long("minWriterVersion")?).ok()?,
        reader_features: group.list("readerFeatures"),
        writer_features: group.list("writerFeatures"),
    }))
}

fn metadata(group: &Group<'_>) -> Option<Action> {
    let format = group.group("format").map_or_else(Format::default, |format| Format {
        provider: format.text("provider").unwrap_or("parquet").to_owned(),
        options: format.map("options").unwrap_or_default(),
    });
    let partition_columns = group.list("partitionColumns").unwrap_or_default();
    // A group that is filled with nulls where there is no metadata has no id.
    Some(Action::Metadata(Metadata {
        id: group.text("id")?.to_owned(),
        name: group.text("name").map(str::to_owned),
        description: group.text("description").map(str::to_owned),
        format,
        schema_string: group.text("schemaString").unwrap_or_default().to_owned(),
        partition_columns,
        configuration: group.map("configuration").unwrap_or_default(),
        created_time: group.long("createdTime"),
    }))
}

fn txn(group: &Group<'_>) -> Option<Action> {
    Some(Action::Txn(Txn {
        app_id: group.text("appId")?.to_owned(),
        version: group.long("version")?,
        last_updated: group.long("lastUpdated"),
    }))
}

fn domain(group: &Group<'_>) -> Option<Action> {
    Some(Action::Domain(DomainMetadata {
        domain: group.text("domain")?.to_owned(),
        configuration: group.text("configuration").unwrap_or_default().to_owned(),
        removed: group.flag("removed").unwrap_or(false),
    }))
}

fn checkpoint_metadata(group: &Group<'_>) -> Option<Action> {
    let tags: Option<TextMap> = group.map("tags");
    Some(Action::CheckpointMetadata(CheckpointMetadata { version: group.long("version")?, tags }))
}

fn sidecar(group: &Group<'_>) -> Option<Action> {
    Some(Action::Sidecar(Sidecar {
        path: group.text("path")?.to_owned(),
        size_in_bytes: group.long("sizeInBytes").unwrap_or_default(),
        modification_time: group.long("modificationTime").unwrap_or_default(),
        tags: group.map("tags"),
    }))
}
