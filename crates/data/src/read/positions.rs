//! Physical positions of the rows that are not deleted.

use lakebed_transaction::RowSet;
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};

/// Hands out the positions of live rows, ascending.
#[derive(Debug)]
pub(super) struct Positions {
    /// Ranges of live rows, in order, none empty.
    live: Vec<std::ops::Range<u64>>,
    at: usize,
    all_live: bool,
    num_rows: u64,
}

impl Positions {
    /// The rows of a file that has `num_rows`, without the deleted ones. Deleted positions beyond the file say nothing.
    #[must_use]
    pub(super) fn new(num_rows: u64, deleted: Option<&RowSet>) -> Self {
        let mut live = Vec::new();
        let mut from = 0;
        for row in deleted.into_iter().flat_map(RowSet::iter).take_while(|row| *row < num_rows) {
            if row > from {
                live.push(from..row);
            }
            from = row + 1;
        }
        let all_live = from == 0;
        if from < num_rows {
            live.push(from..num_rows);
        }
        Self { live, at: 0, all_live, num_rows }
    }

    /// Some of the rows of a file that has `num_rows`, without the deleted ones.
    #[must_use]
    pub(super) fn only(num_rows: u64, only: &RowSet, deleted: Option<&RowSet>) -> Self {
        let mut live: Vec<std::ops::Range<u64>> = Vec::new();
        let is_live = |row: &u64| deleted.is_none_or(|deleted| !deleted.contains(*row));
        for row in only.iter().take_while(|row| *row < num_rows).filter(is_live) {
            match live.last_mut() {
                Some(last) if last.end == row => last.end = row + 1,
                Some(_) | None => live.push(row..row + 1),
            }
        }
        Self { live, at: 0, all_live: false, num_rows }
    }

    /// The next `count` positions, fewer at the end.
    pub(super) fn take(&mut self, count: usize) -> Vec<u64> {
        let mut out = Vec::with_capacity(count);
        while out.len() < count
            && let Some(range) = self.live.get_mut(self.at)
        {
            let wanted = (count - out.len()) as u64;
            let end = range.end.min(range.start.saturating_add(wanted));
            out.extend(range.start..end);
            range.start = end;
            if range.is_empty() {
                self.at += 1;
            }
        }
        out
    }

    /// The next positions that lie below `end`.
    pub(super) fn take_below(&mut self, end: u64) -> Vec<u64> {
        let mut out = Vec::new();
        while let Some(range) = self.live.get_mut(self.at) {
            let upto = range.end.min(end);
            out.extend(range.start..upto);
            range.start = range.start.max(upto);
            if !range.is_empty() {
                break;
            }
            self.at += 1;
        }
        out
    }

    /// What the decoder is to read; `None` for everything.
    pub(super) fn selection(&self) -> Option<RowSelection> {
        if self.all_live {
            return None;
        }
        let count = |rows: u64| usize::try_from(rows).unwrap_or(usize::MAX);
        let mut selectors = Vec::with_capacity(2 * self.live.len() + 1);
        let mut from = 0;
        for range in &self.live {
            if range.start > from {
                selectors.push(RowSelector::skip(count(range.start - from)));
            }
            selectors.push(RowSelector::select(count(range.end - range.start)));
            from = range.end;
        }
        if from < self.num_rows {
            selectors.push(RowSelector::skip(count(self.num_rows - from)));
        }
        Some(selectors.into())
    }
}
