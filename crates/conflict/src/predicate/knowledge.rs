//! Where knowledge of columns comes from.

use super::Possible;
use lakebed_transaction::Unit;
use std::sync::Arc;

/// What is known of the columns of some rows.
pub trait Knowledge {
    /// The values that the column of this path may have. A column that is not known is [`Possible::unknown`].
    fn column(&self, path: &[Arc<str>]) -> Possible;
}

impl<F: Fn(&[Arc<str>]) -> Possible> Knowledge for F {
    fn column(&self, path: &[Arc<str>]) -> Possible {
        self(path)
    }
}

impl Knowledge for Unit {
    /// A partition value, else bounds. Nested fields, and names that match more than one column, are not known.
    fn column(&self, path: &[Arc<str>]) -> Possible {
        let [name] = path else { return Possible::unknown() };
        let mut values = self.partition.iter().filter(|(column, _)| column.eq_ignore_ascii_case(name));
        let mut bounds = self.bounds.iter().filter(|(column, _)| column.eq_ignore_ascii_case(name));
        match (values.next(), values.next(), bounds.next(), bounds.next()) {
            (Some((_, value)), None, _, _) => Possible::constant(value.clone()),
            (None, None, Some((_, bounds)), None) => Possible::from_bounds(bounds, self.row_count),
            _ => Possible::unknown(),
        }
    }
}
