//! Stable row ids and row versions.
//!
//! A fragment of a table with stable row ids carries three encoded sequences, one entry for each physical row: the row's id,
//! the version that created the row and the version that last changed it.

mod ids;
mod versions;

pub use ids::RowIds;
pub use versions::RowVersions;

use crate::proto::table::U64Segment;
use crate::proto::table::u64_segment::{Range, Segment};
use bytes::Bytes;

/// The encoded ids `first`, `first + 1`, … of `rows` rows; `None` when the last would not fit.
#[must_use]
pub fn consecutive(first: u64, rows: u64) -> Option<Bytes> {
    let mut ids = RowIds::default();
    ids.extend(first, rows)?;
    Some(ids.encode())
}

/// The encoded versions of `rows` rows that all belong to one version.
#[must_use]
pub fn one_version(version: u64, rows: u64) -> Bytes {
    RowVersions::of(version, rows).encode()
}

fn range(start: u64, end: u64) -> U64Segment {
    U64Segment { segment: Some(Segment::Range(Range { start, end })) }
}
