//! Where the rows of a unit stand after an ordered compaction.

use crate::RowSet;

/// The place of one source's rows in the output of a compaction that keeps the order of rows: behind each other, without those that
/// were deleted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shift {
    /// Where its first row stands.
    pub offset: u64,
    /// Its physical rows.
    pub rows: u64,
    /// Rows of it that did not come along.
    pub dropped: RowSet,
}

impl Shift {
    /// Where rows of the source stand in the output; those that were dropped stand nowhere.
    ///
    /// ```
    /// use lakebed_transaction::{RowSet, Shift};
    ///
    /// let shift = Shift { offset: 10, rows: 4, dropped: [1].into_iter().collect() };
    /// let places = shift.places(&[0, 1, 2, 3].into_iter().collect());
    /// assert_eq!(places.iter().collect::<Vec<_>>(), [10, 11, 12]);
    /// ```
    #[must_use]
    pub fn places(&self, rows: &RowSet) -> RowSet {
        let mut dropped = self.dropped.iter().peekable();
        let (mut before, mut places) = (0, RowSet::new());
        for row in rows.iter().take_while(|row| *row < self.rows) {
            while dropped.peek().is_some_and(|gone| *gone < row) {
                dropped.next();
                before += 1;
            }
            if dropped.peek() != Some(&row) {
                places.insert(self.offset.saturating_add(row - before));
            }
        }
        places
    }

    /// Where the rows of the next source begin; `None` where the numbers do not add up.
    #[must_use]
    pub fn end(&self) -> Option<u64> {
        self.offset.checked_add(self.rows.checked_sub(self.dropped.len())?)
    }
}
