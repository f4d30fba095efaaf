//! Sets of rows inside one file or fragment.

use roaring::RoaringTreemap;

/// Physical row positions inside one unit, counted from 0 in file order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowSet(RoaringTreemap);

impl RowSet {
    /// No rows.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many rows.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.0.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the row is in the set.
    #[must_use]
    pub fn contains(&self, row: u64) -> bool {
        self.0.contains(row)
    }

    /// Adds a row; whether it was new.
    pub fn insert(&mut self, row: u64) -> bool {
        self.0.insert(row)
    }

    /// The rows in both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self(&self.0 & &other.0)
    }

    /// The rows in either.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self(&self.0 | &other.0)
    }

    /// The rows here that are not in `other`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        Self(&self.0 - &other.0)
    }

    /// Whether no row is in both.
    #[must_use]
    pub fn is_disjoint(&self, other: &Self) -> bool {
        self.0.is_disjoint(&other.0)
    }

    /// The rows, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.0.iter()
    }

    /// The bitmap itself, for wire forms.
    #[must_use]
    pub const fn bitmap(&self) -> &RoaringTreemap {
        &self.0
    }
}

impl From<RoaringTreemap> for RowSet {
    fn from(bitmap: RoaringTreemap) -> Self {
        // A file may hold a part without rows; of two equal sets neither may have it.
        if bitmap.bitmaps().all(|(_, part)| !part.is_empty()) {
            return Self(bitmap);
        }
        let parts = bitmap.bitmaps().filter(|(_, part)| !part.is_empty());
        Self(RoaringTreemap::from_bitmaps(parts.map(|(high, part)| (high, part.clone()))))
    }
}

impl FromIterator<u64> for RowSet {
    fn from_iter<I: IntoIterator<Item = u64>>(rows: I) -> Self {
        Self(rows.into_iter().collect())
    }
}
