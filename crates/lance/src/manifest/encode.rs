//! Writing the file of one version.

use super::unknown::{ENTRIES_FIELD, FRAGMENTS_FIELD};
use super::{FOOTER_BYTES, INLINE_TRANSACTION_BYTES_MAX, MAGIC, ManifestFile};
use crate::LanceError;
use crate::proto::table::{IndexMetadata, IndexSection, Manifest};
use bytes::{BufMut, Bytes, BytesMut};
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint};

/// Major and minor version in the footer.
const FOOTER_VERSION: (i16, i16) = (0, 2);

/// The file of one version. Sets the positions of the index section and of the inline transaction in the manifest; a
/// transaction above [`INLINE_TRANSACTION_BYTES_MAX`] is left out.
///
/// # Errors
/// A message is longer than its length prefix can say.
pub fn encode(file: &mut ManifestFile) -> Result<Bytes, LanceError> {
    let ManifestFile { manifest, indices, transaction, unknown } = file;
    let mut out = BytesMut::new();
    manifest.index_section = None;
    manifest.transaction_section = None;
    manifest.transaction_section_deprecated = None;
    if !indices.is_empty() {
        manifest.index_section = Some(out.len() as u64);
        if unknown.indices.is_empty() {
            let section = IndexSection { indices: std::mem::take(indices) };
            let put = put_length(&mut out, section.encoded_len()).and_then(|()| put_message(&mut out, &section));
            *indices = section.indices;
            put?;
        } else {
            let section = index_section(indices, unknown)?;
            put_length(&mut out, section.len())?;
            out.put_slice(&section);
        }
    }
    if let Some(message) = transaction.as_ref().filter(|message| message.len() <= INLINE_TRANSACTION_BYTES_MAX) {
        manifest.transaction_section = Some(out.len() as u64);
        put_length(&mut out, message.len())?;
        out.put_slice(message);
    }
    let position = i64::try_from(out.len()).map_err(|_| too_large())?;
    if unknown.is_empty() {
        put_length(&mut out, manifest.encoded_len())?;
        put_message(&mut out, manifest)?;
    } else {
        let message = with_unknown(manifest, unknown)?;
        put_length(&mut out, message.len())?;
        out.put_slice(&message);
    }
    out.reserve(FOOTER_BYTES);
    out.put_i64_le(position);
    out.put_i16_le(FOOTER_VERSION.0);
    out.put_i16_le(FOOTER_VERSION.1);
    out.put_slice(MAGIC);
    Ok(out.freeze())
}

/// The manifest with fields that the schemas do not list put behind those that they do.
fn with_unknown(manifest: &mut Manifest, unknown: &super::UnknownFields) -> Result<BytesMut, LanceError> {
    let mut message = BytesMut::with_capacity(manifest.encoded_len());
    let fragments = std::mem::take(&mut manifest.fragments);
    let put = put_message(&mut message, manifest);
    manifest.fragments = fragments;
    put?;
    for fragment in &manifest.fragments {
        let extra = unknown.fragments.get(&fragment.id);
        let bytes = fragment.encoded_len().saturating_add(extra.map_or(0, Bytes::len));
        encode_key(FRAGMENTS_FIELD, WireType::LengthDelimited, &mut message);
        encode_varint(bytes as u64, &mut message);
        put_message(&mut message, fragment)?;
        message.put_slice(extra.map_or(&[], |extra| extra));
    }
    message.put_slice(&unknown.manifest);
    Ok(message)
}

/// The index section with fields that the schemas do not list put behind those that they do.
fn index_section(indices: &[IndexMetadata], unknown: &super::UnknownFields) -> Result<BytesMut, LanceError> {
    let mut message = BytesMut::new();
    for entry in indices {
        let extra = entry.uuid.as_ref().and_then(|id| unknown.indices.get(&id.uuid));
        let bytes = entry.encoded_len().saturating_add(extra.map_or(0, Bytes::len));
        encode_key(ENTRIES_FIELD, WireType::LengthDelimited, &mut message);
        encode_varint(bytes as u64, &mut message);
        put_message(&mut message, entry)?;
        message.put_slice(extra.map_or(&[], |extra| extra));
    }
    Ok(message)
}

fn put_length(out: &mut BytesMut, bytes: usize) -> Result<(), LanceError> {
    out.put_u32_le(u32::try_from(bytes).map_err(|_| too_large())?);
    out.reserve(bytes);
    Ok(())
}

fn put_message(out: &mut BytesMut, message: &impl Message) -> Result<(), LanceError> {
    message.encode(out).map_err(|_| too_large())
}

fn too_large() -> LanceError {
    LanceError::Invalid {
        problem: "a message of the manifest would be 4 GiB or larger".to_owned(),
        advice: "compact the table so that it has fewer fragments".to_owned(),
    }
}
