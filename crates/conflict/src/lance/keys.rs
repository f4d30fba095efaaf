//! Filters over keys that a writer inserted.

use std::sync::Arc;

/// The keys that an Update may have inserted, as hashes.
///
/// Two writers that insert the same key meet here, since neither row is in a fragment that the other could see.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyFilter {
    /// The key's fields, in order.
    pub field_ids: Vec<i64>,
    /// The hashes.
    pub keys: KeySet,
}

/// Hashes of keys.
#[derive(Clone, Debug, PartialEq)]
pub enum KeySet {
    /// Every hash, ascending.
    Exact(Arc<[u64]>),
    /// A split-block Bloom filter.
    Bloom {
        /// The blocks: 8 little-endian 32-bit words each.
        blocks: Arc<[u8]>,
        /// Items that it was sized for.
        items: u64,
        /// Rate of false positives that it was sized for.
        probability: f64,
    },
    /// A filter that says nothing that can be read; it may hold any key.
    Unknown,
}

/// What a writer means that leaves the number of items 0.
const ITEMS_DEFAULT: u64 = 8192;
/// What a writer means that leaves the rate 0.
const PROBABILITY_DEFAULT: f64 = 0.00057;

impl KeySet {
    /// Every hash, in any order.
    #[must_use]
    pub fn exact(mut hashes: Vec<u64>) -> Self {
        hashes.sort_unstable();
        Self::Exact(hashes.into())
    }

    /// A Bloom filter as it stands in a message, where 0 means the default.
    #[must_use]
    pub fn bloom(blocks: &[u8], items: u64, probability: f64) -> Self {
        Self::Bloom {
            blocks: Arc::from(blocks),
            items: if items == 0 { ITEMS_DEFAULT } else { items },
            probability: if probability == 0.0 { PROBABILITY_DEFAULT } else { probability },
        }
    }
}

impl KeyFilter {
    /// The first hash that both name exactly, over the same fields.
    #[must_use]
    pub fn common_hash(&self, other: &Self) -> Option<u64> {
        let (KeySet::Exact(a), KeySet::Exact(b)) = (&self.keys, &other.keys) else { return None };
        if self.field_ids != other.field_ids {
            return None;
        }
        let (small, large) = if a.len() <= b.len() { (a, b) } else { (b, a) };
        small.iter().find(|hash| large.binary_search(hash).is_ok()).copied()
    }

    /// Whether the two may name the same key, or cannot be compared at all (other fields, another configuration, one
    /// exact and one not).
    #[must_use]
    pub fn may_meet(&self, other: &Self) -> bool {
        if self.field_ids != other.field_ids {
            return true;
        }
        match (&self.keys, &other.keys) {
            (KeySet::Exact(_), KeySet::Exact(_)) => self.common_hash(other).is_some(),
            (
                KeySet::Bloom { blocks: a, items, probability },
                KeySet::Bloom { blocks: b, items: other_items, probability: other_probability },
            ) => {
                items != other_items
                    || probability.to_bits() != other_probability.to_bits()
                    || a.len() != b.len()
                    || blooms_meet(a, b)
            }
            (KeySet::Exact(_), KeySet::Bloom { .. })
            | (KeySet::Bloom { .. }, KeySet::Exact(_))
            | (KeySet::Unknown, _)
            | (_, KeySet::Unknown) => true,
        }
    }
}

/// Any common bit counts, as in pylance. A key sets eight bits of one block, so this refuses more than it must and never
/// less.
fn blooms_meet(a: &[u8], b: &[u8]) -> bool {
    a.iter().zip(b).any(|(x, y)| x & y != 0)
}
