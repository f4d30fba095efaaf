//! Rows that a rule wants looked at before it decides, and what the look answered.
//!
//! Rules do no I/O. Where partition values, statistics and row positions leave the question open, the verdict is *need facts*, and
//! [`RowsWanted`] says which rows decide. Whoever has the data answers with [`RowsSeen`] and asks the rule again.

use crate::{Expr, RowSet, UnitId};
use std::collections::{BTreeMap, HashMap};

/// Rows of one landed transaction that could not be ruled out without reading them.
///
/// To answer, take the rows that went, of `removed` every row that stood just before landed and of `shrunk` the rows that landed deleted
/// and no others, and the rows that came, of `added` every row that stands right after it. Keep those for which one of `filters` may be
/// TRUE. Then pair rows that went with rows that came and have the same values in every column, one for one: landed only carried
/// them over. What is left went or was born.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowsWanted {
    /// A row counts where one of these may be TRUE for it; what cannot be evaluated is TRUE.
    pub filters: Vec<Expr>,
    /// Files or fragments that landed took out.
    pub removed: Vec<UnitId>,
    /// Files or fragments that stayed, and in which landed deleted rows.
    pub shrunk: Vec<UnitId>,
    /// Files or fragments that landed put in, or of which it rewrote columns in place (these stand in `removed` as well).
    pub added: Vec<UnitId>,
}

/// What came of a look at the rows of one landed transaction.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum RowsSeen {
    /// Nobody has looked.
    #[default]
    NotLooked,
    /// Nobody will: the rows cannot be read, or not within what is allowed. Counts as a match.
    Refused,
    /// The rows were looked at.
    Looked(RowsFound),
}

/// Where such rows stand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowsFound {
    /// A file or fragment out of which landed took such a row for good.
    pub removed: Option<UnitId>,
    /// A file or fragment into which landed brought such a row, new or changed.
    pub born: Option<UnitId>,
    /// Such rows that landed only carried over: where all of them stand now.
    pub carried: Vec<(UnitId, RowSet)>,
}

/// One row that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenRow {
    /// Its physical position in the file or fragment.
    pub position: u64,
    /// Its values, in a form that is the same exactly for equal rows; empty where they were not asked for.
    pub values: Box<[u8]>,
}

impl RowsFound {
    /// Pairs rows that went with rows that came and have the same values, one for one.
    #[must_use]
    pub fn paired(went: Vec<(&UnitId, SeenRow)>, came: Vec<(&UnitId, SeenRow)>) -> Self {
        let mut found = Self::default();
        let mut open: HashMap<Box<[u8]>, Vec<&UnitId>> = HashMap::new();
        for (unit, row) in went {
            open.entry(row.values).or_default().push(unit);
        }
        let mut carried: BTreeMap<&UnitId, RowSet> = BTreeMap::new();
        for (unit, row) in came {
            if open.get_mut(&row.values).and_then(Vec::pop).is_some() {
                carried.entry(unit).or_default().insert(row.position);
            } else {
                found.born.get_or_insert_with(|| unit.clone());
            }
        }
        found.removed = open.into_values().flatten().min().cloned();
        found.carried = carried.into_iter().map(|(unit, rows)| (unit.clone(), rows)).collect();
        found
    }
}
