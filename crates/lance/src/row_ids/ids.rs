//! Row ids in segments.

use super::range;
use crate::proto::table::encoded_u64_array::Array;
use crate::proto::table::u64_segment::{Range, RangeWithBitmap, Segment};
use crate::proto::table::{EncodedU64Array, RowIdSequence, U64Segment};
use bytes::Bytes;
use prost::Message;

/// The ids of a fragment's rows, in the order of the rows. Segments stay as compact as they came: nothing is unfolded that a
/// few bytes could make huge.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowIds {
    segments: Vec<Part>,
    sequence: RowIdSequence,
}

/// One segment, made ready for look-ups.
#[derive(Clone, Debug, PartialEq)]
struct Part {
    start: u64,
    end: u64,
    count: u64,
    form: Form,
}

#[derive(Clone, Debug, PartialEq)]
enum Form {
    /// Every number from start to end.
    Whole,
    /// All but these, ascending.
    Holes(Vec<u64>),
    /// Those whose bit is set, the lowest bit of each byte first.
    Bits(Bytes),
    /// These, in any order.
    Listed(Vec<u64>),
}

impl RowIds {
    /// The sequence in these bytes; `None` where they are damaged.
    #[must_use]
    pub fn decode(bytes: &Bytes) -> Option<Self> {
        let sequence = RowIdSequence::decode(bytes.clone()).ok()?;
        let segments = sequence.segments.iter().map(Part::new).collect::<Option<Vec<_>>>()?;
        segments.iter().try_fold(0_u64, |sum, part| sum.checked_add(part.count))?;
        Some(Self { segments, sequence })
    }

    /// The encoded sequence.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        Bytes::from(self.sequence.encode_to_vec())
    }

    /// How many ids there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.segments.iter().fold(0, |sum, part| sum.saturating_add(part.count))
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Puts `rows` ids from `first` on at the end; `None` when the last would not fit.
    pub fn extend(&mut self, first: u64, rows: u64) -> Option<()> {
        let end = first.checked_add(rows)?;
        self.len().checked_add(rows)?;
        if rows == 0 {
            return Some(());
        }
        if let (Some(part), Some(U64Segment { segment: Some(Segment::Range(last)) })) =
            (self.segments.last_mut(), self.sequence.segments.last_mut())
            && last.end == first
        {
            last.end = end;
            (part.end, part.count) = (end, part.count.checked_add(rows)?);
            return Some(());
        }
        self.segments.push(Part { start: first, end, count: rows, form: Form::Whole });
        self.sequence.segments.push(range(first, end));
        Some(())
    }

    /// The row that has this id.
    #[must_use]
    pub fn position(&self, id: u64) -> Option<u64> {
        let mut before = 0_u64;
        for part in &self.segments {
            if let Some(at) = part.position(id) {
                return before.checked_add(at);
            }
            before = before.checked_add(part.count)?;
        }
        None
    }

    /// The ids, in the order of the rows.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.segments.iter().flat_map(|part| {
            let listed: Box<dyn Iterator<Item = u64> + '_> = match &part.form {
                Form::Whole => Box::new(part.start..part.end),
                Form::Holes(holes) => Box::new((part.start..part.end).filter(|id| holes.binary_search(id).is_err())),
                Form::Bits(bits) => Box::new((part.start..part.end).filter(|id| bit(bits, id - part.start))),
                Form::Listed(ids) => Box::new(ids.iter().copied()),
            };
            listed
        })
    }
}

impl Part {
    fn new(segment: &U64Segment) -> Option<Self> {
        match segment.segment.as_ref()? {
            Segment::Range(Range { start, end }) => {
                Some(Self { start: *start, end: *end, count: end.checked_sub(*start)?, form: Form::Whole })
            }
            Segment::RangeWithHoles(range) => {
                let mut holes = values(range.holes.as_ref()?)?;
                holes.retain(|hole| (range.start..range.end).contains(hole));
                holes.sort_unstable();
                holes.dedup();
                let count = range.end.checked_sub(range.start)?.checked_sub(holes.len() as u64)?;
                Some(Self { start: range.start, end: range.end, count, form: Form::Holes(holes) })
            }
            Segment::RangeWithBitmap(RangeWithBitmap { start, end, bitmap }) => {
                let slots = end.checked_sub(*start)?;
                if slots.div_ceil(8) != bitmap.len() as u64 {
                    return None;
                }
                let count = bitmap.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>();
                (count <= slots).then_some(())?;
                Some(Self { start: *start, end: *end, count, form: Form::Bits(bitmap.clone()) })
            }
            Segment::SortedArray(array) | Segment::Array(array) => {
                let ids = values(array)?;
                let start = ids.iter().min().copied().unwrap_or(0);
                let end = ids.iter().max().map_or(Some(0), |max| max.checked_add(1))?;
                Some(Self { start, end, count: ids.len() as u64, form: Form::Listed(ids) })
            }
        }
    }

    fn position(&self, id: u64) -> Option<u64> {
        if !(self.start..self.end).contains(&id) {
            return None;
        }
        let slot = id - self.start;
        match &self.form {
            Form::Whole => Some(slot),
            Form::Holes(holes) => {
                let before = holes.binary_search(&id).err()?;
                slot.checked_sub(before as u64)
            }
            Form::Bits(bits) => {
                bit(bits, slot).then_some(())?;
                let whole = usize::try_from(slot / 8).ok()?;
                let full: u64 = bits.get(..whole)?.iter().map(|byte| u64::from(byte.count_ones())).sum();
                let below = (1_u8 << (slot % 8)).wrapping_sub(1);
                full.checked_add(u64::from((bits.get(whole)? & below).count_ones()))
            }
            Form::Listed(ids) => ids.iter().position(|listed| *listed == id).map(|at| at as u64),
        }
    }
}

/// Whether the slot's bit is set.
fn bit(bits: &Bytes, slot: u64) -> bool {
    usize::try_from(slot / 8).ok().and_then(|at| bits.get(at)).is_some_and(|byte| byte & (1 << (slot % 8)) != 0)
}

/// The numbers of an array; offsets of 2 or 4 bytes count from its base.
fn values(array: &EncodedU64Array) -> Option<Vec<u64>> {
    match array.array.as_ref()? {
        Array::U16Array(array) => {
            numbers(&array.offsets, |bytes: [u8; 2]| u64::from(u16::from_le_bytes(bytes)), array.base)
        }
        Array::U32Array(array) => {
            numbers(&array.offsets, |bytes: [u8; 4]| u64::from(u32::from_le_bytes(bytes)), array.base)
        }
        Array::U64Array(array) => numbers(&array.values, u64::from_le_bytes, 0),
    }
}

fn numbers<const N: usize>(bytes: &Bytes, read: impl Fn([u8; N]) -> u64, base: u64) -> Option<Vec<u64>> {
    let (chunks, rest) = bytes.as_chunks::<N>();
    rest.is_empty().then_some(())?;
    chunks.iter().map(|chunk| base.checked_add(read(*chunk))).collect()
}
