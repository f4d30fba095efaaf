//! Reading the file of one version.

use super::unknown::of_index_section;
use super::{FOOTER_BYTES, MAGIC, ManifestFile, UnknownFields};
use crate::LanceError;
use crate::proto::table::{IndexSection, Manifest};
use bytes::Bytes;
use prost::Message;
use std::ops::Range;

/// What the end of a manifest file was enough for.
#[derive(Clone, Debug, PartialEq)]
pub enum TailRead {
    /// Everything.
    Done(Box<ManifestFile>),
    /// These bytes of the file are needed too; read from the start of the range to the end of the file and try again.
    Needs(Range<u64>),
}

/// A manifest file taken apart, with the fields that stand for its fragments where they follow one another.
pub(crate) enum Opened {
    Done(Box<ManifestFile>, Option<Bytes>),
    /// As [`TailRead::Needs`].
    Needs(Range<u64>),
}

/// Takes a whole manifest file apart. `object` names it in messages.
///
/// # Errors
/// The bytes are no manifest file, or a section does not lie in it.
pub fn decode(object: &str, bytes: &Bytes) -> Result<ManifestFile, LanceError> {
    match decode_tail(object, bytes, bytes.len() as u64)? {
        TailRead::Done(file) => Ok(*file),
        TailRead::Needs(_) => Err(damaged(object, "a section lies before the first byte")),
    }
}

/// Takes a manifest file apart of which only the last bytes are at hand. `object_bytes` is the size of the whole file.
///
/// # Errors
/// As [`decode`].
pub fn decode_tail(object: &str, tail: &Bytes, object_bytes: u64) -> Result<TailRead, LanceError> {
    Ok(match open(object, tail, object_bytes)? {
        Opened::Done(file, _) => TailRead::Done(file),
        Opened::Needs(range) => TailRead::Needs(range),
    })
}

/// [`decode_tail`], with the fields of the fragments.
///
/// # Errors
/// As [`decode`].
pub(crate) fn open(object: &str, tail: &Bytes, object_bytes: u64) -> Result<Opened, LanceError> {
    let file = Tail::new(object, tail, object_bytes)?;
    let position = file.manifest_position()?;
    if position < file.start {
        return Ok(Opened::Needs(position..object_bytes));
    }
    let message = file.manifest(position, object_bytes)?;
    let manifest = Manifest::decode(message.clone())
        .map_err(|error| damaged(object, &format!("the manifest message cannot be decoded ({error})")))?;
    let transaction_at = manifest.transaction_section.or(manifest.transaction_section_deprecated);
    let first = [manifest.index_section, transaction_at].into_iter().flatten().min();
    if let Some(first) = first.filter(|first| *first < file.start) {
        return Ok(Opened::Needs(first..object_bytes));
    }
    let (indices, unknown_of_indices) = match manifest.index_section {
        Some(at) => {
            let (bytes, _) = file.message_at(at, "the index section")?;
            let section = IndexSection::decode(bytes.clone())
                .map_err(|error| damaged(object, &format!("the index section cannot be decoded ({error})")))?;
            (section.indices, of_index_section(&bytes).unwrap_or_default())
        }
        None => Default::default(),
    };
    let transaction = transaction_at.map(|at| file.message_at(at, "the inline transaction")).transpose()?;
    let (mut unknown, encoded) = UnknownFields::of_manifest(&message).unwrap_or_default();
    unknown.indices = unknown_of_indices;
    let transaction = transaction.map(|(message, _)| message);
    Ok(Opened::Done(Box::new(ManifestFile { manifest, indices, transaction, unknown }), encoded))
}

/// The encoded manifest in a whole manifest file.
///
/// # Errors
/// The bytes are no manifest file.
pub(crate) fn manifest_message(object: &str, bytes: &Bytes) -> Result<Bytes, LanceError> {
    let file_bytes = bytes.len() as u64;
    let file = Tail::new(object, bytes, file_bytes)?;
    file.manifest(file.manifest_position()?, file_bytes)
}

/// The message whose length stands at this offset of a whole manifest file.
///
/// # Errors
/// It does not lie in the file.
pub(crate) fn section_at(object: &str, bytes: &Bytes, at: u64) -> Result<Bytes, LanceError> {
    Tail::new(object, bytes, bytes.len() as u64)?.message_at(at, "a section").map(|(message, _)| message)
}

/// The end of a file, addressed by offsets into the whole file.
struct Tail<'a> {
    object: &'a str,
    bytes: &'a Bytes,
    start: u64,
}

impl<'a> Tail<'a> {
    fn new(object: &'a str, bytes: &'a Bytes, object_bytes: u64) -> Result<Self, LanceError> {
        let start = object_bytes
            .checked_sub(bytes.len() as u64)
            .ok_or_else(|| damaged(object, "it is smaller than the part of it that was read"))?;
        Ok(Self { object, bytes, start })
    }

    fn manifest_position(&self) -> Result<u64, LanceError> {
        let footer = self
            .bytes
            .len()
            .checked_sub(FOOTER_BYTES)
            .and_then(|at| self.bytes.get(at..))
            .ok_or_else(|| damaged(self.object, "it is too short for a footer"))?;
        let (position, rest) =
            footer.split_first_chunk::<8>().ok_or_else(|| damaged(self.object, "it is too short for a footer"))?;
        if !rest.ends_with(MAGIC) {
            return Err(damaged(self.object, "it does not end in LANC"));
        }
        u64::try_from(i64::from_le_bytes(*position))
            .map_err(|_| damaged(self.object, "the position in the footer is negative"))
    }

    /// The manifest, which ends where the footer begins.
    fn manifest(&self, position: u64, object_bytes: u64) -> Result<Bytes, LanceError> {
        let (message, end) = self.message_at(position, "the manifest")?;
        if end == object_bytes.saturating_sub(FOOTER_BYTES as u64) {
            return Ok(message);
        }
        Err(damaged(self.object, "the length of the manifest does not lead to the footer"))
    }

    /// The message whose length stands at `at`, and the offset after it. It must end before the footer.
    fn message_at(&self, at: u64, what: &str) -> Result<(Bytes, u64), LanceError> {
        let outside = || damaged(self.object, &format!("{what} does not lie in the file"));
        let local = at.checked_sub(self.start).and_then(|local| usize::try_from(local).ok()).ok_or_else(outside)?;
        let limit = self.bytes.len().saturating_sub(FOOTER_BYTES);
        let body = self.bytes.get(local..limit).ok_or_else(outside)?;
        let (length, _) = body.split_first_chunk::<4>().ok_or_else(outside)?;
        let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|_| outside())?;
        let from = local.checked_add(4).ok_or_else(outside)?;
        let to = from.checked_add(length).filter(|to| *to <= limit).ok_or_else(outside)?;
        Ok((self.bytes.slice(from..to), self.start.saturating_add(to as u64)))
    }
}

fn damaged(object: &str, problem: &str) -> LanceError {
    LanceError::Damaged {
        object: object.to_owned(),
        problem: problem.to_owned(),
        advice: "read it again; if it stays so, open an earlier version or restore the object".to_owned(),
    }
}
