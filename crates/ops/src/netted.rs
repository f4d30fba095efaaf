//! Rows that went and came back equal in one version: they did not change.

use crate::{Change, OpsError};
use arrow_array::{BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;
use lakebed_data::json_row;
use std::collections::HashMap;

/// Counts what went and what of it came back; every row that went is shown before the first one that came.
#[derive(Debug, Default)]
pub(crate) struct Netting {
    gone: HashMap<String, u64>,
    back: HashMap<String, u64>,
}

impl Netting {
    /// Counts rows.
    pub(crate) fn see(&mut self, change: Change, batch: &RecordBatch) -> Result<(), OpsError> {
        for row in 0..batch.num_rows() {
            let text = json_row(batch, row)?;
            match change {
                Change::Delete => *self.gone.entry(text).or_default() += 1,
                Change::Insert => {
                    if let Some(left) = self.gone.get_mut(&text).filter(|left| **left > 0) {
                        *left -= 1;
                        *self.back.entry(text).or_default() += 1;
                    }
                }
            }
        }
        Ok(())
    }

    /// What to leave out on a second look.
    pub(crate) fn unchanged(self) -> Unchanged {
        Unchanged { went: self.back.clone(), came: self.back }
    }
}

/// How many rows of each text are still to be left out, among those that went and those that came.
#[derive(Debug)]
pub(crate) struct Unchanged {
    went: HashMap<String, u64>,
    came: HashMap<String, u64>,
}

impl Unchanged {
    /// The rows that did change.
    pub(crate) fn leave_out(&mut self, change: Change, batch: &RecordBatch) -> Result<RecordBatch, OpsError> {
        let counts = match change {
            Change::Delete => &mut self.went,
            Change::Insert => &mut self.came,
        };
        let mut mask = Vec::with_capacity(batch.num_rows());
        for row in 0..batch.num_rows() {
            let left = counts.get_mut(&json_row(batch, row)?).filter(|left| **left > 0);
            mask.push(left.is_none());
            if let Some(left) = left {
                *left -= 1;
            }
        }
        filter_record_batch(batch, &BooleanArray::from(mask)).map_err(OpsError::rows("changed rows"))
    }
}
