//! Partitions by value.

use lakebed_transaction::Scalar;
use std::sync::Arc;

/// A partition: names and values of its columns. A partition that leaves columns out stands for every partition with the
/// values that it names, and one without any column for the whole table.
pub type Partition = Vec<(Arc<str>, Scalar)>;

/// The partitions that a transaction touches.
///
/// Values must have the column's type on both sides: a text that is not read as its type may be spelled in two ways, and
/// where the type is not known [`PartitionSet::whole_table`] is the answer that refuses more. Numbers are compared by value,
/// an empty text counts as NULL, and NULL is a value like any other. Column names match without regard to case.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionSet {
    /// Ascending by key where all name the same columns.
    entries: Vec<Entry>,
    /// Whether every entry names the columns of the first.
    regular: bool,
}

#[derive(Clone, Debug, PartialEq)]
struct Entry {
    /// Column names in lower case and canonical values, ascending by name.
    key: Vec<(String, String)>,
    partition: Partition,
}

impl PartitionSet {
    /// The whole table: the one partition of a table without partition columns, and what stands for partitions that are
    /// not known.
    #[must_use]
    pub fn whole_table() -> Self {
        Self::of(vec![Partition::new()])
    }

    /// No partition: what touches no row at all.
    #[must_use]
    pub fn none() -> Self {
        Self::of(Vec::new())
    }

    /// These partitions.
    #[must_use]
    pub fn of(partitions: Vec<Partition>) -> Self {
        let mut entries: Vec<Entry> = partitions.into_iter().map(Entry::of).collect();
        entries.sort_by(|a, b| a.key.cmp(&b.key));
        entries.dedup_by(|a, b| a.key == b.key);
        let regular = entries.windows(2).all(|pair| matches!(pair, [a, b] if same_columns(&a.key, &b.key)));
        Self { entries, regular }
    }

    /// Whether no partition is touched.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The first partition of ours that the other side may touch as well.
    #[must_use]
    pub fn first_shared(&self, other: &Self) -> Option<Partition> {
        self.shared(other).cloned()
    }

    /// Whether the other side may touch a partition of ours.
    #[must_use]
    pub fn meets(&self, other: &Self) -> bool {
        self.shared(other).is_some()
    }

    fn shared(&self, other: &Self) -> Option<&Partition> {
        let (first, theirs) = (self.entries.first()?, other.entries.first()?);
        let shared = |mine: &&Entry| {
            if self.regular && other.regular && same_columns(&first.key, &theirs.key) {
                return other.entries.binary_search_by(|entry| entry.key.cmp(&mine.key)).is_ok();
            }
            other.entries.iter().any(|entry| may_be_one(&entry.key, &mine.key))
        };
        self.entries.iter().find(shared).map(|entry| &entry.partition)
    }
}

impl Entry {
    fn of(partition: Partition) -> Self {
        let mut key: Vec<_> =
            partition.iter().map(|(name, value)| (name.to_ascii_lowercase(), canonical(value))).collect();
        key.sort();
        Self { key, partition }
    }
}

fn same_columns(a: &[(String, String)], b: &[(String, String)]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|((x, _), (y, _))| x == y)
}

/// Whether no column that both name tells the two apart.
fn may_be_one(a: &[(String, String)], b: &[(String, String)]) -> bool {
    a.iter().all(|(name, value)| b.iter().all(|(other, theirs)| name != other || value == theirs))
}

/// One text for each value of a column, however it was held.
fn canonical(value: &Scalar) -> String {
    match value {
        Scalar::String(text) if text.is_empty() => Scalar::Null.to_string(),
        Scalar::Float(float) if *float == 0.0 => Scalar::Int(0).to_string(),
        Scalar::Decimal { scale, .. } if *scale > 0 => {
            value.to_string().trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        Scalar::Null
        | Scalar::Boolean(_)
        | Scalar::Int(_)
        | Scalar::Float(_)
        | Scalar::Decimal { .. }
        | Scalar::Date(_)
        | Scalar::Timestamp(_)
        | Scalar::TimestampNtz(_)
        | Scalar::String(_)
        | Scalar::Binary(_) => value.to_string(),
    }
}
