//! Fields that the schemas do not list, kept as the bytes that they came in.

use bytes::Bytes;
use prost::encoding::{WireType, decode_key, decode_varint};
use std::collections::BTreeMap;

/// Field numbers of `Manifest` that the schemas list, and 17, which is reserved.
const MANIFEST_KNOWN: [u32; 26] =
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26];

/// Field numbers of `DataFragment` that the schemas list. The reserved 6, 8 and 10 pointed at sequences in files of their own:
/// they are kept like any other field that we do not read.
const FRAGMENT_KNOWN: [u32; 13] = [1, 2, 3, 4, 5, 7, 9, 11, 12, 13, 14, 15, 16];

/// Field numbers of `IndexMetadata` that the schemas list.
const INDEX_KNOWN: [u32; 13] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13];

/// The id's field number in `IndexMetadata`.
const INDEX_ID_FIELD: u32 = 1;

/// The entries' field number in `IndexSection`.
pub(crate) const ENTRIES_FIELD: u32 = 1;

/// The fragments' field number in `Manifest`.
pub(crate) const FRAGMENTS_FIELD: u32 = 2;

/// The id's field number in `DataFragment`.
const FRAGMENT_ID_FIELD: u32 = 1;

/// Fields of a manifest and of its fragments that the schemas do not list, in their encoded form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnknownFields {
    /// Fields at the top of the manifest.
    pub manifest: Bytes,
    /// Fields of fragments, by fragment id.
    pub fragments: BTreeMap<u64, Bytes>,
    /// Fields of index entries, by the bytes of the entry's id.
    pub indices: BTreeMap<Bytes, Bytes>,
}

impl UnknownFields {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.manifest.is_empty() && self.fragments.is_empty() && self.indices.is_empty()
    }

    /// The unknown fields of an encoded manifest, and the fields of its fragments where they follow one another; `None` when the
    /// bytes are no protobuf message without groups.
    pub(crate) fn of_manifest(message: &Bytes) -> Option<(Self, Option<Bytes>)> {
        let mut found = Self::default();
        let mut top = Vec::new();
        let (mut at, mut fragments, mut in_one_piece) = (0, 0..0, true);
        for field in Fields::new(message) {
            let field = field?;
            let from = at;
            at += field.whole.len();
            if field.number == FRAGMENTS_FIELD {
                if fragments.is_empty() {
                    fragments.start = from;
                } else {
                    in_one_piece &= fragments.end == from;
                }
                fragments.end = at;
                let (id, unknown) = of_fragment(field.payload)?;
                if !unknown.is_empty() {
                    found.fragments.insert(id, unknown);
                }
            } else if !MANIFEST_KNOWN.contains(&field.number) {
                top.extend_from_slice(field.whole);
            }
        }
        found.manifest = Bytes::from(top);
        Some((found, in_one_piece.then(|| message.slice(fragments))))
    }
}

/// The unknown fields of the entries of an encoded index section, by entry id; `None` as for a manifest.
pub(crate) fn of_index_section(message: &Bytes) -> Option<BTreeMap<Bytes, Bytes>> {
    let mut found = BTreeMap::new();
    for entry in Fields::new(message) {
        let entry = entry?;
        let mut id = Bytes::new();
        let mut unknown = Vec::new();
        for field in Fields::new(entry.payload) {
            let field = field?;
            if field.number == INDEX_ID_FIELD {
                // The id is a message whose first field holds the bytes.
                id = Bytes::copy_from_slice(Fields::new(field.payload).next()??.payload);
            } else if !INDEX_KNOWN.contains(&field.number) {
                unknown.extend_from_slice(field.whole);
            }
        }
        if entry.number == ENTRIES_FIELD && !unknown.is_empty() {
            found.insert(id, Bytes::from(unknown));
        }
    }
    Some(found)
}

/// The numbers of the fields of an encoded message, in their order; `None` where the bytes are damaged.
pub(crate) fn field_numbers(message: &Bytes) -> Option<impl Iterator<Item = u32>> {
    let numbers: Option<Vec<u32>> = Fields::new(message).map(|field| field.map(|field| field.number)).collect();
    numbers.map(Vec::into_iter)
}

fn of_fragment(message: &[u8]) -> Option<(u64, Bytes)> {
    let mut id = 0;
    let mut unknown = Vec::new();
    for field in Fields::new(message) {
        let field = field?;
        if field.number == FRAGMENT_ID_FIELD {
            id = decode_varint(&mut { field.payload }).ok()?;
        } else if !FRAGMENT_KNOWN.contains(&field.number) {
            unknown.extend_from_slice(field.whole);
        }
    }
    Some((id, Bytes::from(unknown)))
}

/// One field of a message: its number, the value without its length, and all of its bytes.
struct Field<'a> {
    number: u32,
    payload: &'a [u8],
    whole: &'a [u8],
}

/// The fields of an encoded message; yields `None` once where the bytes are damaged, then ends.
struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    const fn new(message: &'a [u8]) -> Self {
        Self { rest: message }
    }

    fn read(&mut self) -> Option<Field<'a>> {
        let before = self.rest;
        let (number, wire) = decode_key(&mut self.rest).ok()?;
        let bytes = match wire {
            WireType::Varint => {
                let mut probe = self.rest;
                decode_varint(&mut probe).ok()?;
                self.rest.len().checked_sub(probe.len())?
            }
            WireType::SixtyFourBit => 8,
            WireType::ThirtyTwoBit => 4,
            WireType::LengthDelimited => usize::try_from(decode_varint(&mut self.rest).ok()?).ok()?,
            WireType::StartGroup | WireType::EndGroup => return None,
        };
        let (payload, rest) = self.rest.split_at_checked(bytes)?;
        self.rest = rest;
        let whole = before.get(..before.len().checked_sub(rest.len())?)?;
        Some(Field { number, payload, whole })
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Option<Field<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.read();
        if field.is_none() {
            self.rest = &[];
        }
        Some(field)
    }
}
