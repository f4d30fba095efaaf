//! The footer of a Parquet file, and the Arrow types that its columns are decoded as.

use super::bytes::Object;
use super::guard::guarded;
use crate::DataError;
use crate::schema::UTC;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema, TimeUnit};
use parquet::DecodeResult;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::Type as PhysicalType;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataPushDecoder};
use parquet::schema::types::SchemaDescriptor;
use std::sync::Arc;

/// How much of the end is fetched first: most footers are smaller.
const TAIL_BYTES: u64 = 64 << 10;

pub(super) async fn fetch(object: &Object) -> Result<ArrowReaderMetadata, DataError> {
    let wrong = || DataError::parquet(object.path());
    let size = object.size();
    let mut decoder = ParquetMetaDataPushDecoder::try_new(size).map_err(wrong())?;
    let tail = size.saturating_sub(TAIL_BYTES)..size;
    let bytes = object.fetch(std::slice::from_ref(&tail)).await?;
    decoder.push_ranges(vec![tail], bytes).map_err(wrong())?;
    loop {
        match guarded(object.path(), || decoder.try_decode())? {
            DecodeResult::Data(metadata) => return guarded(object.path(), || prepared(Arc::new(metadata))),
            DecodeResult::NeedsData(ranges) => {
                let bytes = object.fetch(&ranges).await?;
                decoder.push_ranges(ranges, bytes).map_err(wrong())?;
            }
            DecodeResult::Finished => {
                return Err(DataError::Truncated { file: object.path().to_owned(), size_bytes: size });
            }
        }
    }
}

/// The metadata with types of our choosing: the file's own logical types, not an embedded Arrow schema, and instants in
/// microseconds where the file has the old 96-bit form, since nanoseconds reach only from 1677 to 2262.
pub(super) fn prepared(metadata: Arc<ParquetMetaData>) -> Result<ArrowReaderMetadata, ParquetError> {
    let plain = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let found = ArrowReaderMetadata::try_new(Arc::clone(&metadata), plain)?;
    let descriptor = metadata.file_metadata().schema_descr();
    if !(0..descriptor.num_columns()).any(|leaf| is_int96(descriptor, leaf)) {
        return Ok(found);
    }
    let mut leaf = 0;
    let fields = instants(found.schema().fields(), descriptor, &mut leaf);
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true).with_schema(Arc::new(Schema::new(fields)));
    ArrowReaderMetadata::try_new(metadata, options)
}

fn is_int96(descriptor: &SchemaDescriptor, leaf: usize) -> bool {
    leaf < descriptor.num_columns() && descriptor.column(leaf).physical_type() == PhysicalType::INT96
}

fn instants(fields: &Fields, descriptor: &SchemaDescriptor, leaf: &mut usize) -> Fields {
    fields.iter().map(|field| instant(field, descriptor, leaf)).collect()
}

/// `leaf` counts the leaf columns in file order, which is also the order of Arrow's fields.
#[expect(clippy::wildcard_enum_match_arm, reason = "Arrow's enum is not ours; every other type is one leaf")]
fn instant(field: &FieldRef, descriptor: &SchemaDescriptor, leaf: &mut usize) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(instants(fields, descriptor, leaf)),
        DataType::List(element) => DataType::List(instant(element, descriptor, leaf)),
        DataType::Map(entries, sorted) => DataType::Map(instant(entries, descriptor, leaf), *sorted),
        other => {
            let old_instant = is_int96(descriptor, *leaf);
            *leaf += 1;
            if old_instant { DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())) } else { other.clone() }
        }
    };
    Arc::new(Field::new(field.name(), data_type, field.is_nullable()).with_metadata(field.metadata().clone()))
}
