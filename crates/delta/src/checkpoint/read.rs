//! Reading a checkpoint's objects: Parquet of any layout, or JSON.

use super::columns::Group;
use super::stats_json;
use crate::DeltaError;
use crate::action::{
    Action, Add, CheckpointMetadata, DeletionVector, DomainMetadata, Format, InfoUse, Metadata, Protocol, Remove,
    Sidecar, TextMap, Txn, each_action,
};
use arrow_array::RecordBatch;
use bytes::Bytes;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::file::metadata::ParquetMetaData;
use parquet::schema::types::SchemaDescriptor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Rows that are decoded at a time; bounds the memory beside the state itself.
const BATCH_ROWS: usize = 8192;

/// Reads one object of a checkpoint, by its name JSON or Parquet.
pub(crate) fn read(object: &str, bytes: &Bytes, take: &mut dyn FnMut(Action)) -> Result<(), DeltaError> {
    if object.ends_with(".json") {
        return each_action(object, bytes, InfoUse::Skip, take);
    }
    // The Parquet reader asserts where a damaged footer contradicts itself. The state that a panic leaves half filled is
    // thrown away by every caller, as after any other error.
    catch_unwind(AssertUnwindSafe(|| read_parquet(object, bytes, take)))
        .unwrap_or_else(|_| Err(DeltaError::damaged(object, "its Parquet data contradict themselves")))
}

fn read_parquet(object: &str, bytes: &Bytes, take: &mut dyn FnMut(Action)) -> Result<(), DeltaError> {
    let damaged = |error: &dyn std::fmt::Display| DeltaError::damaged(object, error.to_string());
    // The embedded Arrow schema is another writer's choice of types; the Parquet types are enough.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(bytes.clone(), options)
        .map_err(|error| damaged(&error))?;
    if !has_sound_ranges(builder.metadata(), bytes.len()) {
        return Err(damaged(&"its footer names bytes that the file does not have"));
    }
    let mask = needed_columns(builder.parquet_schema());
    let reader = builder.with_projection(mask).with_batch_size(BATCH_ROWS).build().map_err(|error| damaged(&error))?;
    for batch in reader {
        read_batch(object, &batch.map_err(|error| damaged(&error))?, take)?;
    }
    Ok(())
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

/// Everything but parsed partition values; of parsed statistics only the row count where the text stands beside them.
fn needed_columns(schema: &SchemaDescriptor) -> ProjectionMask {
    let parts: Vec<Vec<&str>> =
        schema.columns().iter().map(|leaf| leaf.path().parts().iter().map(String::as_str).collect()).collect();
    let has_stats_text = parts.iter().any(|path| matches!(path.as_slice(), ["add", "stats"]));
    let wanted = |path: &[&str]| match path {
        ["add" | "remove", "partitionValues_parsed", ..] | ["remove", "stats_parsed", ..] => false,
        ["add", "stats_parsed", rest @ ..] => !has_stats_text || matches!(rest, ["numRecords"]),
        [
            "add" | "remove" | "metaData" | "protocol" | "txn" | "domainMetadata" | "checkpointMetadata" | "sidecar",
            ..,
        ] => true,
        _ => false,
    };
    ProjectionMask::leaves(schema, (0..parts.len()).filter(|leaf| parts.get(*leaf).is_some_and(|path| wanted(path))))
}

fn read_batch(object: &str, batch: &RecordBatch, take: &mut dyn FnMut(Action)) -> Result<(), DeltaError> {
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
    for (name, reader) in kinds {
        let Some(column) = batch.column_by_name(name) else { continue };
        for row in 0..batch.num_rows() {
            let Some(group) = Group::at(column, row) else { continue };
            // Some writers fill an absent action with nulls instead of leaving it out; it has none of its own fields.
            if let Some(action) = reader(&group) {
                take(action);
            } else if !is_hollow(&group) {
                return Err(DeltaError::damaged(object, format!("a {name} action lacks a field that it must have")));
            }
        }
    }
    Ok(())
}

fn is_hollow(group: &Group<'_>) -> bool {
    let (array, row) = group.parts();
    array.columns().iter().all(|column| arrow_array::Array::is_null(column, row))
}

fn add(group: &Group<'_>) -> Option<Action> {
    let stats =
        group.text("stats").map(Arc::from).or_else(|| stats_json::of(&group.group("stats_parsed")?).map(Arc::from));
    Some(Action::Add(Add {
        path: Arc::from(group.text("path")?),
        partition_values: group.map("partitionValues").unwrap_or_default(),
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

fn deletion_vector(group: &Group<'_>) -> Option<DeletionVector> {
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
