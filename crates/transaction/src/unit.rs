//! Units: the files (Delta) or fragments (Lance) that hold rows.

use crate::Scalar;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What names a unit: a Lance fragment's number, or a Delta file's path as the log spells it.
#[derive(Clone, Debug)]
pub enum UnitId {
    /// A Lance fragment.
    Fragment(u64),
    /// A Delta data file. The hash stands first in the order so that large sets compare integers, not text.
    File {
        /// Hash of `path`.
        hash: u64,
        /// The path, byte for byte as in the log.
        path: Arc<str>,
    },
}

impl UnitId {
    /// The unit of this path.
    #[must_use]
    pub fn file(path: &str) -> Self {
        Self::File { hash: hash_of(path), path: Arc::from(path) }
    }

    /// What stands first in the order.
    #[inline]
    const fn number(&self) -> u64 {
        match self {
            Self::Fragment(id) => *id,
            Self::File { hash, .. } => *hash,
        }
    }

    #[inline]
    fn path(&self) -> Option<&str> {
        match self {
            Self::Fragment(_) => None,
            Self::File { path, .. } => Some(path),
        }
    }
}

/// FNV-1a; any well-spread function would do, since equal hashes are followed by the text.
fn hash_of(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

impl PartialEq for UnitId {
    fn eq(&self, other: &Self) -> bool {
        self.number() == other.number() && self.path() == other.path()
    }
}

impl Eq for UnitId {}

impl PartialOrd for UnitId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for UnitId {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.number().cmp(&other.number()).then_with(|| self.path().cmp(&other.path()))
    }
}

impl Hash for UnitId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number().hash(state);
    }
}

impl fmt::Display for UnitId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fragment(id) => write!(f, "fragment {id}"),
            Self::File { path, .. } => f.write_str(path),
        }
    }
}

/// A set that is this many times smaller than the other is looked up in it unit by unit.
const SEARCH_FACTOR: usize = 32;

/// Sets of up to so many units are compared in no time.
const SMALL: usize = 32;

/// A set of units, kept sorted so that two sets meet in one pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnitSet {
    ids: Vec<UnitId>,
    /// What stands first in the order of each, close together: a walk over a million of them reads a third of the memory.
    numbers: Vec<u64>,
}

impl UnitSet {
    /// The units, ascending.
    #[must_use]
    #[inline]
    pub fn as_slice(&self) -> &[UnitId] {
        &self.ids
    }

    /// How many units.
    #[must_use]
    #[inline]
    pub const fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether there is none.
    #[must_use]
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Whether the unit is in the set.
    #[must_use]
    #[inline]
    pub fn contains(&self, id: &UnitId) -> bool {
        let (Some(first), Some(last)) = (self.numbers.first(), self.numbers.last()) else { return false };
        let number = id.number();
        *first <= number && number <= *last && self.finds(id)
    }

    fn finds(&self, id: &UnitId) -> bool {
        let number = id.number();
        let from = if self.numbers.len() <= SMALL {
            self.numbers.iter().take_while(|known| **known < number).count()
        } else {
            self.numbers.partition_point(|known| *known < number)
        };
        let alike = self.numbers[from..].iter().take_while(|known| **known == number).count();
        self.ids[from..from + alike].contains(id)
    }

    /// Adds a unit.
    pub fn insert(&mut self, id: UnitId) {
        if let Err(at) = self.ids.binary_search(&id) {
            self.numbers.insert(at, id.number());
            self.ids.insert(at, id);
        }
    }

    /// The first units that are in both sets, at most `limit` of them.
    #[must_use]
    #[inline]
    pub fn common(&self, other: &Self, limit: usize) -> Vec<UnitId> {
        let mut found = Vec::new();
        if limit > 0 && !self.is_apart(other) {
            self.meet(other, |id| {
                if found.is_empty() {
                    found.reserve_exact(limit.min(self.len()).min(other.len()));
                }
                found.push(id.clone());
                found.len() >= limit
            });
        }
        found
    }

    /// Whether the sets may share a unit, by a look that never takes long: small sets are compared, large ones by their
    /// ends.
    #[must_use]
    #[inline]
    pub fn may_meet(&self, other: &Self) -> bool {
        if self.is_apart(other) {
            return false;
        }
        self.len().max(other.len()) > SMALL || self.intersects(other)
    }

    /// Whether the ends of the two alone tell that they share nothing.
    #[inline]
    fn is_apart(&self, other: &Self) -> bool {
        let ends = |set: &Self| Some((*set.numbers.first()?, *set.numbers.last()?));
        let (Some((first, last)), Some((other_first, other_last))) = (ends(self), ends(other)) else { return true };
        last < other_first || other_last < first
    }

    /// Shows the units of both, ascending, until it is answered that this is enough.
    fn meet<'a>(&'a self, other: &'a Self, mut is_enough: impl FnMut(&'a UnitId) -> bool) {
        let (small, large) = if self.len() <= other.len() { (self, other) } else { (other, self) };
        if small.len().saturating_mul(SEARCH_FACTOR) < large.len() {
            let _ = small.ids.iter().filter(|id| large.finds(id)).any(is_enough);
            return;
        }
        let (a, b) = (self.numbers.as_slice(), other.numbers.as_slice());
        let (mut i, mut j) = (0, 0);
        while i < a.len() && j < b.len() {
            let (m, n) = (a[i], b[j]);
            if m == n {
                let order = self.ids[i].cmp(&other.ids[j]);
                if order.is_eq() && is_enough(&self.ids[i]) {
                    return;
                }
                (i, j) = (i + usize::from(order.is_le()), j + usize::from(order.is_ge()));
            } else {
                // Which side is behind is a coin toss, so it is added up rather than branched on.
                (i, j) = (i + usize::from(m < n), j + usize::from(n < m));
            }
        }
    }

    /// Whether the condition holds for every unit that is in both sets, ascending, up to the first for which it does not.
    #[inline]
    pub fn every_common(&self, other: &Self, mut holds: impl FnMut(&UnitId) -> bool) -> bool {
        let mut all = true;
        if !self.is_apart(other) {
            self.meet(other, |id| {
                all = holds(id);
                !all
            });
        }
        all
    }

    /// Whether the sets share a unit.
    #[must_use]
    #[inline]
    pub fn intersects(&self, other: &Self) -> bool {
        !self.every_common(other, |_| false)
    }
}

impl FromIterator<UnitId> for UnitSet {
    fn from_iter<I: IntoIterator<Item = UnitId>>(ids: I) -> Self {
        let mut ids: Vec<_> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        let numbers = ids.iter().map(UnitId::number).collect();
        Self { ids, numbers }
    }
}

/// What is known of one column of a unit without opening it.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnBounds {
    /// No value is smaller. `None`: not known.
    pub min: Option<Scalar>,
    /// No value is greater. `None`: not known.
    pub max: Option<Scalar>,
    /// How many values are NULL. `None`: not known.
    pub null_count: Option<u64>,
}

/// A unit that a transaction adds, with what is known of its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// Its name.
    pub id: UnitId,
    /// Physical rows, where known.
    pub row_count: Option<u64>,
    /// Partition values by logical column name; one value for every row.
    pub partition: Vec<(Arc<str>, Scalar)>,
    /// Bounds by column name. A column that is absent is not known.
    pub bounds: Vec<(Arc<str>, ColumnBounds)>,
    /// Whether the rows are new to the table (false for the output of a compaction).
    pub data_change: bool,
}

impl Unit {
    /// A unit of which nothing is known but its name.
    #[must_use]
    pub const fn named(id: UnitId) -> Self {
        Self { id, row_count: None, partition: Vec::new(), bounds: Vec::new(), data_change: true }
    }
}
