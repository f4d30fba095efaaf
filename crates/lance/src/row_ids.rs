//! Stable row ids and row versions of new fragments.
//!
//! A fragment of a table with stable row ids carries three encoded sequences, one entry for each physical row: the row's id,
//! the version that created the row and the version that last changed it.

use crate::proto::table::u64_segment::{Range, Segment};
use crate::proto::table::{RowDatasetVersionRun, RowDatasetVersionSequence, RowIdSequence, U64Segment};
use bytes::Bytes;
use prost::Message;

/// The encoded ids `first`, `first + 1`, … of `rows` rows; `None` when the last would not fit.
#[must_use]
pub fn consecutive(first: u64, rows: u64) -> Option<Bytes> {
    let sequence = RowIdSequence { segments: vec![range(first, first.checked_add(rows)?)] };
    Some(Bytes::from(sequence.encode_to_vec()))
}

/// The encoded versions of `rows` rows that all belong to one version.
#[must_use]
pub fn one_version(version: u64, rows: u64) -> Bytes {
    let runs = vec![RowDatasetVersionRun { span: Some(range(0, rows)), version }];
    Bytes::from(RowDatasetVersionSequence { runs }.encode_to_vec())
}

fn range(start: u64, end: u64) -> U64Segment {
    U64Segment { segment: Some(Segment::Range(Range { start, end })) }
}
