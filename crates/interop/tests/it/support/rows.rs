//! Rows of the histories: `id`, `s`, and `w`, the writer.

use super::Random;
use std::collections::BTreeMap;

/// Rows by id.
pub(crate) type Rows = BTreeMap<i64, (Option<String>, Option<i32>)>;

/// Rows with texts of all kinds and some nulls.
pub(crate) fn odd_rows(ids: impl IntoIterator<Item = i64>, random: &mut Random) -> Rows {
    ids.into_iter()
        .map(|id| {
            let s = match random.below(6) {
                0 => None,
                1 => Some(format!("ж{id} \"quoted\" \\ 'x'\n")),
                2 => Some(String::new()),
                _ => Some(format!("s{id}")),
            };
            let w = i32::try_from(random.below(4)).unwrap();
            // A null of the partition column has a folder of its own.
            (id, (s, (w < 3).then_some(w)))
        })
        .collect()
}
