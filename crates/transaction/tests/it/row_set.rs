//! Sets of rows.

use lakebed_transaction::RowSet;
use roaring::{RoaringBitmap, RoaringTreemap};

/// A part of a wire form without rows makes no set another one.
#[test]
fn sets_of_rows_are_equal_when_their_rows_are() {
    let hollow = RoaringTreemap::from_bitmaps([(0, RoaringBitmap::new()), (2, [7].into_iter().collect())]);
    assert_eq!(RowSet::from(hollow), [(2 << 32) + 7].into_iter().collect());
    assert_eq!(RowSet::from(RoaringTreemap::from_bitmaps([(0, RoaringBitmap::new())])), RowSet::new());
}
