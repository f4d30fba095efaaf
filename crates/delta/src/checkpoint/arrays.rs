//! Actions as nested Arrow arrays, in the layout of a classic checkpoint.

use crate::DeltaError;
use crate::action::{Add, DeletionVector, DomainMetadata, Metadata, Protocol, Remove, TextMap, Txn};
use arrow_array::builder::{ListBuilder, MapBuilder, MapFieldNames, StringBuilder};
use arrow_array::{Array, ArrayRef, BooleanArray, Int32Array, Int64Array, StringArray, StructArray};
use arrow_schema::{DataType, Field, Fields};
use std::sync::Arc;

/// The actions that a checkpoint holds, each with its column.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Txn,
    Add,
    Remove,
    Metadata,
    Protocol,
    Domain,
}

impl Kind {
    /// In the order of the columns.
    pub(super) const ALL: [Self; 6] =
        [Self::Txn, Self::Add, Self::Remove, Self::Metadata, Self::Protocol, Self::Domain];

    /// The actions about files: what a sidecar holds.
    pub(super) const FILES: [Self; 2] = [Self::Add, Self::Remove];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Txn => "txn",
            Self::Add => "add",
            Self::Remove => "remove",
            Self::Metadata => "metaData",
            Self::Protocol => "protocol",
            Self::Domain => "domainMetadata",
        }
    }

    pub(super) fn data_type(self) -> DataType {
        DataType::Struct(self.fields())
    }

    fn fields(self) -> Fields {
        match self {
            Self::Txn => fields(&[("appId", text()), ("version", DataType::Int64), ("lastUpdated", DataType::Int64)]),
            Self::Add => fields(&[
                ("path", text()),
                ("partitionValues", map()),
                ("size", DataType::Int64),
                ("modificationTime", DataType::Int64),
                ("dataChange", DataType::Boolean),
                ("tags", map()),
                ("deletionVector", DataType::Struct(vector_fields())),
                ("baseRowId", DataType::Int64),
                ("defaultRowCommitVersion", DataType::Int64),
                ("clusteringProvider", text()),
                ("stats", text()),
            ]),
            Self::Remove => fields(&[
                ("path", text()),
                ("deletionTimestamp", DataType::Int64),
                ("dataChange", DataType::Boolean),
                ("extendedFileMetadata", DataType::Boolean),
                ("partitionValues", map()),
                ("size", DataType::Int64),
                ("deletionVector", DataType::Struct(vector_fields())),
                ("baseRowId", DataType::Int64),
                ("defaultRowCommitVersion", DataType::Int64),
            ]),
            Self::Metadata => fields(&[
                ("id", text()),
                ("name", text()),
                ("description", text()),
                ("format", DataType::Struct(format_fields())),
                ("schemaString", text()),
                ("partitionColumns", list()),
                ("configuration", map()),
                ("createdTime", DataType::Int64),
            ]),
            Self::Protocol => fields(&[
                ("minReaderVersion", DataType::Int32),
                ("minWriterVersion", DataType::Int32),
                ("readerFeatures", list()),
                ("writerFeatures", list()),
            ]),
            Self::Domain => fields(&[("domain", text()), ("configuration", text()), ("removed", DataType::Boolean)]),
        }
    }
}

fn fields(list: &[(&str, DataType)]) -> Fields {
    list.iter().map(|(name, data_type)| Field::new(*name, data_type.clone(), true)).collect()
}

const fn text() -> DataType {
    DataType::Utf8
}

fn map() -> DataType {
    let entry = Fields::from(vec![Field::new("key", text(), false), Field::new("value", text(), true)]);
    DataType::Map(Arc::new(Field::new("key_value", DataType::Struct(entry), false)), false)
}

fn list() -> DataType {
    DataType::List(Arc::new(Field::new("element", text(), true)))
}

fn vector_fields() -> Fields {
    fields(&[
        ("storageType", text()),
        ("pathOrInlineDv", text()),
        ("offset", DataType::Int32),
        ("sizeInBytes", DataType::Int32),
        ("cardinality", DataType::Int64),
    ])
}

fn format_fields() -> Fields {
    fields(&[("provider", text()), ("options", map())])
}

fn failed(error: &dyn std::fmt::Display) -> DeltaError {
    DeltaError::invalid(
        format!("an action has no form in a checkpoint: {error}"),
        "the table stays readable without this checkpoint",
    )
}

fn group(kind: Kind, columns: Vec<ArrayRef>) -> Result<ArrayRef, DeltaError> {
    Ok(Arc::new(StructArray::try_new(kind.fields(), columns, None).map_err(|error| failed(&error))?))
}

fn texts<'a>(values: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    Arc::new(values.collect::<StringArray>())
}

fn longs(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(values.collect::<Int64Array>())
}

/// A number that does not fit becomes an error, not another number.
fn ints(values: impl Iterator<Item = Option<i64>>) -> Result<ArrayRef, DeltaError> {
    let narrow: Result<Int32Array, _> = values.map(|value| value.map(i32::try_from).transpose()).collect();
    Ok(Arc::new(narrow.map_err(|error| failed(&error))?))
}

fn flags(values: impl Iterator<Item = Option<bool>>) -> ArrayRef {
    Arc::new(values.collect::<BooleanArray>())
}

fn maps<'a>(values: impl Iterator<Item = Option<&'a TextMap>>) -> Result<ArrayRef, DeltaError> {
    let names = MapFieldNames { entry: "key_value".into(), key: "key".into(), value: "value".into() };
    let mut builder = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new());
    for map in values {
        for (key, value) in map.iter().flat_map(|map| map.iter()) {
            builder.keys().append_value(key);
            builder.values().append_option(value);
        }
        builder.append(map.is_some()).map_err(|error| failed(&error))?;
    }
    Ok(Arc::new(builder.finish()))
}

fn lists<'a>(values: impl Iterator<Item = Option<&'a Vec<String>>>) -> ArrayRef {
    let mut builder = ListBuilder::new(StringBuilder::new()).with_field(Field::new("element", text(), true));
    for list in values {
        for item in list.into_iter().flatten() {
            builder.values().append_value(item);
        }
        builder.append(list.is_some());
    }
    Arc::new(builder.finish())
}

fn vectors(values: &[Option<&DeletionVector>]) -> Result<ArrayRef, DeltaError> {
    let each = || values.iter().copied();
    let storage = texts(each().map(|vector| vector.map(|vector| vector.storage_type.as_str())));
    let nulls = storage.nulls().cloned();
    let columns = vec![
        storage,
        texts(each().map(|vector| vector.map(|vector| vector.path_or_inline_dv.as_str()))),
        ints(each().map(|vector| vector.and_then(|vector| vector.offset)))?,
        ints(each().map(|vector| vector.map(|vector| vector.size_in_bytes)))?,
        longs(each().map(|vector| vector.map(|vector| vector.cardinality))),
    ];
    Ok(Arc::new(StructArray::try_new(vector_fields(), columns, nulls).map_err(|error| failed(&error))?))
}

/// The files, with these texts of their statistics, and with further columns. What a checkpoint holds is no change of data.
pub(super) fn adds(
    adds: &[&Arc<Add>],
    stats: Vec<Option<&str>>,
    more_fields: &[Arc<Field>],
    more: Vec<ArrayRef>,
) -> Result<ArrayRef, DeltaError> {
    let vector: Vec<_> = adds.iter().map(|add| add.deletion_vector.as_ref()).collect();
    let mut columns = vec![
        texts(adds.iter().map(|add| Some(&*add.path))),
        maps(adds.iter().map(|add| Some(&add.partition_values)))?,
        longs(adds.iter().map(|add| Some(add.size))),
        longs(adds.iter().map(|add| Some(add.modification_time))),
        flags(adds.iter().map(|_| Some(false))),
        maps(adds.iter().map(|add| add.tags.as_ref()))?,
        vectors(&vector)?,
        longs(adds.iter().map(|add| add.base_row_id)),
        longs(adds.iter().map(|add| add.default_row_commit_version)),
        texts(adds.iter().map(|add| add.clustering_provider.as_deref())),
        texts(stats.into_iter()),
    ];
    columns.extend(more);
    let fields: Fields = Kind::Add.fields().iter().chain(more_fields).cloned().collect();
    Ok(Arc::new(StructArray::try_new(fields, columns, None).map_err(|error| failed(&error))?))
}

pub(super) fn removes(removes: &[&Remove]) -> Result<ArrayRef, DeltaError> {
    let vector: Vec<_> = removes.iter().map(|remove| remove.deletion_vector.as_ref()).collect();
    let columns = vec![
        texts(removes.iter().map(|remove| Some(&*remove.path))),
        longs(removes.iter().map(|remove| remove.deletion_timestamp)),
        flags(removes.iter().map(|remove| Some(remove.data_change))),
        flags(removes.iter().map(|remove| remove.extended_file_metadata)),
        maps(removes.iter().map(|remove| remove.partition_values.as_ref()))?,
        longs(removes.iter().map(|remove| remove.size)),
        vectors(&vector)?,
        longs(removes.iter().map(|remove| remove.base_row_id)),
        longs(removes.iter().map(|remove| remove.default_row_commit_version)),
    ];
    group(Kind::Remove, columns)
}

pub(super) fn txns(txns: &[&Txn]) -> Result<ArrayRef, DeltaError> {
    let columns = vec![
        texts(txns.iter().map(|txn| Some(txn.app_id.as_str()))),
        longs(txns.iter().map(|txn| Some(txn.version))),
        longs(txns.iter().map(|txn| txn.last_updated)),
    ];
    group(Kind::Txn, columns)
}

pub(super) fn domains(domains: &[&DomainMetadata]) -> Result<ArrayRef, DeltaError> {
    let columns = vec![
        texts(domains.iter().map(|domain| Some(domain.domain.as_str()))),
        texts(domains.iter().map(|domain| Some(domain.configuration.as_str()))),
        flags(domains.iter().map(|domain| Some(domain.removed))),
    ];
    group(Kind::Domain, columns)
}

pub(super) fn protocol(protocol: &Protocol) -> Result<ArrayRef, DeltaError> {
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from(vec![protocol.min_reader_version])),
        Arc::new(Int32Array::from(vec![protocol.min_writer_version])),
        lists(std::iter::once(protocol.reader_features.as_ref())),
        lists(std::iter::once(protocol.writer_features.as_ref())),
    ];
    group(Kind::Protocol, columns)
}

pub(super) fn metadata(metadata: &Metadata) -> Result<ArrayRef, DeltaError> {
    let one = |text: Option<&str>| texts(std::iter::once(text));
    let format = StructArray::try_new(
        format_fields(),
        vec![one(Some(&metadata.format.provider)), maps(std::iter::once(Some(&metadata.format.options)))?],
        None,
    );
    let columns = vec![
        one(Some(&metadata.id)),
        one(metadata.name.as_deref()),
        one(metadata.description.as_deref()),
        Arc::new(format.map_err(|error| failed(&error))?),
        one(Some(&metadata.schema_string)),
        lists(std::iter::once(Some(&metadata.partition_columns))),
        maps(std::iter::once(Some(&metadata.configuration)))?,
        longs(std::iter::once(metadata.created_time)),
    ];
    group(Kind::Metadata, columns)
}
