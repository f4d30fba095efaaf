//! Writing the file of one version.

use super::unknown::{ENTRIES_FIELD, FRAGMENTS_FIELD};
use super::{FOOTER_BYTES, INLINE_TRANSACTION_BYTES_MAX, MAGIC, ManifestFile, UnknownFields};
use crate::LanceError;
use crate::proto::table::{DataFragment, IndexMetadata, Manifest};
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
    let fragments = std::mem::take(&mut file.manifest.fragments);
    let parts = Parts {
        header: &mut file.manifest,
        fragments: (&[], vec![&fragments]),
        indices: &file.indices,
        transaction: file.transaction.as_ref(),
        unknown: &file.unknown,
    };
    let entry = parts.encode();
    file.manifest.fragments = fragments;
    entry.map(|entry| entry.bytes)
}

/// What a file is made of.
pub(crate) struct Parts<'a> {
    /// The manifest without its fragments.
    pub(crate) header: &'a mut Manifest,
    /// The fields of the first fragments, and the fragments after those.
    pub(crate) fragments: (&'a [u8], Vec<&'a [DataFragment]>),
    pub(crate) indices: &'a [IndexMetadata],
    pub(crate) transaction: Option<&'a Bytes>,
    pub(crate) unknown: &'a UnknownFields,
}

/// A file, and the fields in it that stand for the fragments.
pub(crate) struct Entry {
    pub(crate) bytes: Bytes,
    pub(crate) fragments: Bytes,
}

impl Parts<'_> {
    /// [`encode`].
    ///
    /// # Errors
    /// As there.
    pub(crate) fn encode(self) -> Result<Entry, LanceError> {
        let (known, new) = (self.fragments.0, self.new_fragments()?);
        let header = self.header;
        let mut out = BytesMut::new();
        header.index_section = None;
        header.transaction_section = None;
        header.transaction_section_deprecated = None;
        if !self.indices.is_empty() {
            header.index_section = Some(0);
            let section = index_section(self.indices, self.unknown)?;
            put_length(&mut out, section.len(), 0)?;
            out.put_slice(&section);
        }
        if let Some(message) = self.transaction.filter(|message| message.len() <= INLINE_TRANSACTION_BYTES_MAX) {
            header.transaction_section = Some(out.len() as u64);
            put_length(&mut out, message.len(), 0)?;
            out.put_slice(message);
        }
        let position = i64::try_from(out.len()).map_err(|_| too_large())?;
        let length = header.encoded_len() + known.len() + new.len() + self.unknown.manifest.len();
        put_length(&mut out, length, FOOTER_BYTES)?;
        // Fields stand in the order of their numbers, as other writers put them: the schema comes before the fragments.
        let schema = Manifest { fields: std::mem::take(&mut header.fields), ..Manifest::default() };
        let put = put_message(&mut out, &schema);
        let from = out.len();
        out.put_slice(known);
        out.put_slice(&new);
        let to = out.len();
        let put = put.and_then(|()| put_message(&mut out, header));
        header.fields = schema.fields;
        put?;
        out.put_slice(&self.unknown.manifest);
        out.put_i64_le(position);
        out.put_i16_le(FOOTER_VERSION.0);
        out.put_i16_le(FOOTER_VERSION.1);
        out.put_slice(MAGIC);
        let bytes = out.freeze();
        Ok(Entry { fragments: bytes.slice(from..to), bytes })
    }

    /// The fields of the fragments that are not encoded yet, each with those that the schemas do not list behind those that they
    /// do.
    fn new_fragments(&self) -> Result<BytesMut, LanceError> {
        let mut out = BytesMut::new();
        for fragment in self.fragments.1.iter().copied().flatten() {
            put_field(&mut out, FRAGMENTS_FIELD, fragment, self.unknown.fragments.get(&fragment.id))?;
        }
        Ok(out)
    }
}

/// The index section with fields that the schemas do not list put behind those that they do.
fn index_section(indices: &[IndexMetadata], unknown: &UnknownFields) -> Result<BytesMut, LanceError> {
    let mut message = BytesMut::new();
    for entry in indices {
        let extra = entry.uuid.as_ref().and_then(|id| unknown.indices.get(&id.uuid));
        put_field(&mut message, ENTRIES_FIELD, entry, extra)?;
    }
    Ok(message)
}

/// A field of a message, and what belongs to the message beside it.
fn put_field(out: &mut BytesMut, number: u32, message: &impl Message, extra: Option<&Bytes>) -> Result<(), LanceError> {
    let bytes = message.encoded_len().saturating_add(extra.map_or(0, Bytes::len));
    encode_key(number, WireType::LengthDelimited, out);
    encode_varint(bytes as u64, out);
    put_message(out, message)?;
    out.put_slice(extra.map_or(&[], |extra| extra));
    Ok(())
}

/// The length of what comes next, with room for that and for so many bytes behind it.
fn put_length(out: &mut BytesMut, bytes: usize, behind: usize) -> Result<(), LanceError> {
    let length = u32::try_from(bytes).map_err(|_| too_large())?;
    out.reserve(bytes + behind + size_of::<u32>());
    out.put_u32_le(length);
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
