//! Row versions in runs.

use super::range;
use crate::proto::table::encoded_u64_array::Array;
use crate::proto::table::u64_segment::Segment;
use crate::proto::table::{EncodedU64Array, RowDatasetVersionRun, RowDatasetVersionSequence, U64Segment};
use bytes::Bytes;
use prost::Message;
use roaring::RoaringBitmap;

/// The version of each of a fragment's rows, in runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowVersions {
    /// Number of rows, and their version.
    runs: Vec<(u64, u64)>,
}

impl RowVersions {
    /// So many rows of one version.
    #[must_use]
    pub fn of(version: u64, rows: u64) -> Self {
        let mut versions = Self::default();
        versions.push(version, rows);
        versions
    }

    /// The sequence in these bytes; `None` where they are damaged. Of a run's span only the number of elements counts.
    #[must_use]
    pub fn decode(bytes: &Bytes) -> Option<Self> {
        let sequence = RowDatasetVersionSequence::decode(bytes.clone()).ok()?;
        let mut versions = Self::default();
        for run in &sequence.runs {
            versions.push(run.version, count(run.span.as_ref()?)?);
        }
        versions.runs.iter().try_fold(0_u64, |sum, (rows, _)| sum.checked_add(*rows))?;
        Some(versions)
    }

    /// The encoded sequence.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let mut start = 0_u64;
        let mut runs = Vec::with_capacity(self.runs.len());
        for (rows, version) in &self.runs {
            let end = start.saturating_add(*rows);
            runs.push(RowDatasetVersionRun { span: Some(range(start, end)), version: *version });
            start = end;
        }
        Bytes::from(RowDatasetVersionSequence { runs }.encode_to_vec())
    }

    /// Puts rows of one version at the end.
    pub fn push(&mut self, version: u64, rows: u64) {
        if rows == 0 {
            return;
        }
        match self.runs.last_mut() {
            Some((count, last)) if *last == version => *count = count.saturating_add(rows),
            Some(_) | None => self.runs.push((rows, version)),
        }
    }

    /// The version of the row at this place.
    #[must_use]
    pub fn at(&self, row: u64) -> Option<u64> {
        let mut end = 0_u64;
        for (rows, version) in &self.runs {
            end = end.saturating_add(*rows);
            if row < end {
                return Some(*version);
            }
        }
        None
    }

    /// The same with another version for these rows.
    #[must_use]
    pub fn with(&self, changed: &RoaringBitmap, version: u64) -> Self {
        let mut after = Self::default();
        let mut start = 0_u64;
        for (rows, before) in &self.runs {
            let end = start.saturating_add(*rows);
            let first = u32::try_from(start).unwrap_or(u32::MAX);
            let last = u32::try_from(end.saturating_sub(1)).unwrap_or(u32::MAX);
            let mut at = start;
            for row in changed.range(first..=last).map(u64::from) {
                after.push(*before, row.saturating_sub(at));
                after.push(version, 1);
                at = row.saturating_add(1);
            }
            after.push(*before, end.saturating_sub(at));
            start = end;
        }
        after
    }
}

/// How many elements a span has.
fn count(span: &U64Segment) -> Option<u64> {
    match span.segment.as_ref()? {
        Segment::Range(range) => range.end.checked_sub(range.start),
        Segment::RangeWithHoles(range) => {
            range.end.checked_sub(range.start)?.checked_sub(array_len(range.holes.as_ref()?)?)
        }
        Segment::RangeWithBitmap(range) => Some(range.bitmap.iter().map(|byte| u64::from(byte.count_ones())).sum()),
        Segment::SortedArray(array) | Segment::Array(array) => array_len(array),
    }
}

fn array_len(array: &EncodedU64Array) -> Option<u64> {
    Some(match array.array.as_ref()? {
        Array::U16Array(array) => array.offsets.len() as u64 / 2,
        Array::U32Array(array) => array.offsets.len() as u64 / 4,
        Array::U64Array(array) => array.values.len() as u64 / 8,
    })
}
