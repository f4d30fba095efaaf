//! The Arrow form.
//!
//! The reader of `arrow-ipc` trusts the offsets and lengths that a file states about itself. They are checked here before it
//! sees the file, so that damaged bytes become an error and never a panic or a huge allocation.

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_ipc::reader::FileReader;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use arrow_ipc::{Block, CompressionType, Endianness, MessageHeader, Type, root_as_footer, root_as_message};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use bytes::Bytes;
use roaring::RoaringBitmap;
use std::io::Cursor;
use std::sync::Arc;

/// The only column.
const COLUMN: &str = "row_id";

/// First and last bytes of an Arrow file.
const MAGIC: &[u8] = b"ARROW1";

/// Bytes of the footer's length and the magic at the end.
const TRAILER_BYTES: usize = 10;

/// What stands before a message that has its length as a second word.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// More rows than any client writes in this form; larger lists are bitmaps.
const ROWS_MAX: u64 = 1 << 26;

/// Buffers are padded to a multiple of this, at most.
const PADDING_BYTES: u64 = 64;

/// In place of the length of the uncompressed bytes: they are not compressed.
const NOT_COMPRESSED: i64 = -1;

/// The listed rows.
pub(super) fn decode(bytes: &Bytes) -> Result<RoaringBitmap, String> {
    check(bytes)?;
    let reader = FileReader::try_new(Cursor::new(bytes.as_ref()), None).map_err(|error| words(&error))?;
    let mut rows = RoaringBitmap::new();
    for batch in reader {
        let batch = batch.map_err(|error| words(&error))?;
        let [column] = batch.columns() else { return Err("it has more than one column".to_owned()) };
        let Some(column) = column.as_primitive_opt::<UInt32Type>() else {
            return Err("its column is not UInt32".to_owned());
        };
        if column.null_count() > 0 {
            return Err("a row is null".to_owned());
        }
        rows.extend(column.values().iter().copied());
    }
    Ok(rows)
}

/// The file that lists these rows, compressed as released clients do.
pub(super) fn encode(rows: &RoaringBitmap) -> Result<Bytes, String> {
    let schema = Arc::new(Schema::new(vec![Field::new(COLUMN, DataType::UInt32, false)]));
    let column: ArrayRef = Arc::new(UInt32Array::from_iter_values(rows.iter()));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![column]).map_err(|error| words(&error))?;
    let options =
        IpcWriteOptions::default().try_with_compression(Some(CompressionType::ZSTD)).map_err(|error| words(&error))?;
    let mut writer = FileWriter::try_new_with_options(Vec::new(), &schema, options).map_err(|error| words(&error))?;
    writer.write(&batch).map_err(|error| words(&error))?;
    writer.into_inner().map(Bytes::from).map_err(|error| words(&error))
}

fn words(error: &ArrowError) -> String {
    format!("Arrow says: {error}")
}

/// Whether the file is what it says and has exactly the schema that clients agree on.
fn check(bytes: &[u8]) -> Result<(), String> {
    let outside = || "a part of the Arrow file lies outside of it".to_owned();
    if !bytes.starts_with(MAGIC) || !bytes.ends_with(MAGIC) {
        return Err("it is not an Arrow file".to_owned());
    }
    let trailer_at = bytes.len().checked_sub(TRAILER_BYTES).ok_or_else(outside)?;
    let length = bytes.get(trailer_at..).and_then(|trailer| trailer.first_chunk::<4>()).ok_or_else(outside)?;
    let length = usize::try_from(i32::from_le_bytes(*length)).map_err(|_| outside())?;
    let footer_at = trailer_at.checked_sub(length).ok_or_else(outside)?;
    let footer = bytes.get(footer_at..trailer_at).ok_or_else(outside)?;
    let footer = root_as_footer(footer).map_err(|error| format!("its footer is damaged ({error})"))?;
    check_schema(footer.schema().ok_or("it has no schema")?)?;
    if footer.dictionaries().is_some_and(|dictionaries| !dictionaries.is_empty()) {
        return Err("it has dictionaries".to_owned());
    }
    let blocks = footer.recordBatches().ok_or("it has no batches")?;
    let mut rows = 0_u64;
    for block in blocks {
        rows = rows.saturating_add(check_block(bytes, block)?);
        if rows > ROWS_MAX {
            return Err(format!("it lists more than {ROWS_MAX} rows"));
        }
    }
    Ok(())
}

fn check_schema(schema: arrow_ipc::Schema<'_>) -> Result<(), String> {
    let wrong = || Err(format!("its schema is not one column {COLUMN} of UInt32, not null, without metadata"));
    if schema.endianness() != Endianness::Little
        || schema.custom_metadata().is_some_and(|metadata| !metadata.is_empty())
    {
        return wrong();
    }
    let Some(fields) = schema.fields().filter(|fields| fields.len() == 1) else { return wrong() };
    let field = fields.get(0);
    let plain = field.name() == Some(COLUMN)
        && !field.nullable()
        && field.dictionary().is_none()
        && field.children().is_none_or(|children| children.is_empty())
        && field.custom_metadata().is_none_or(|metadata| metadata.is_empty());
    if !plain || field.type_type() != Type::Int {
        return wrong();
    }
    match field.type_as_int() {
        Some(int) if int.bitWidth() == 32 && !int.is_signed() => Ok(()),
        Some(_) | None => wrong(),
    }
}

/// Checks one batch and returns how many rows it states.
fn check_block(bytes: &[u8], block: &Block) -> Result<u64, String> {
    let outside = || "a batch lies outside of the Arrow file".to_owned();
    let start = usize::try_from(block.offset()).map_err(|_| outside())?;
    let metadata = usize::try_from(block.metaDataLength()).map_err(|_| outside())?;
    let body = usize::try_from(block.bodyLength()).map_err(|_| outside())?;
    let body_at = start.checked_add(metadata).ok_or_else(outside)?;
    let end = body_at.checked_add(body).ok_or_else(outside)?;
    let (message, body) = match (bytes.get(start..body_at), bytes.get(body_at..end)) {
        (Some(message), Some(body)) => (message, body),
        (None, _) | (_, None) => return Err(outside()),
    };
    let message = message.strip_prefix(&CONTINUATION).unwrap_or(message).get(4..).ok_or_else(outside)?;
    let message = root_as_message(message).map_err(|error| format!("a batch is damaged ({error})"))?;
    if message.header_type() != MessageHeader::RecordBatch {
        return Err("a batch is no batch".to_owned());
    }
    let batch = message.header_as_record_batch().ok_or("a batch is no batch")?;
    let rows = u64::try_from(batch.length()).map_err(|_| outside())?;
    let nodes = batch.nodes().filter(|nodes| nodes.len() == 1).ok_or("a batch has not one column")?;
    let node = nodes.get(0);
    if node.length() != batch.length() || node.null_count() != 0 {
        return Err("a batch has nulls or columns of different lengths".to_owned());
    }
    if batch.variadicBufferCounts().is_some_and(|counts| !counts.is_empty()) {
        return Err("a batch has buffers of views".to_owned());
    }
    let buffers = batch.buffers().filter(|buffers| buffers.len() == 2).ok_or("a batch has not two buffers")?;
    for (buffer, row_bytes) in [(buffers.get(0), 1), (buffers.get(1), 4)] {
        let at = usize::try_from(buffer.offset()).map_err(|_| outside())?;
        let length = usize::try_from(buffer.length()).map_err(|_| outside())?;
        let buffer = at.checked_add(length).and_then(|end| body.get(at..end)).ok_or_else(outside)?;
        check_buffer(buffer, rows.saturating_mul(row_bytes), batch.compression().is_some())?;
    }
    Ok(rows)
}

/// Whether the buffer does not unfold to more than its rows need.
fn check_buffer(buffer: &[u8], bytes_max: u64, compressed: bool) -> Result<(), String> {
    if !compressed || buffer.is_empty() {
        return Ok(());
    }
    let (stated, rest) = buffer.split_first_chunk::<8>().ok_or("a compressed buffer has no length")?;
    let stated = i64::from_le_bytes(*stated);
    let unfolded = match stated {
        NOT_COMPRESSED => rest.len() as u64,
        stated => u64::try_from(stated).map_err(|_| "the length of a compressed buffer is negative".to_owned())?,
    };
    if unfolded > bytes_max.saturating_add(PADDING_BYTES) {
        return Err("a compressed buffer states more bytes than its rows need".to_owned());
    }
    Ok(())
}
