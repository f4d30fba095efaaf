//! Which fragments which indices cover, and what that means for rows that move.
//!
//! Fragments that are written anew together must be covered by the same indices. Where rows keep their ids, indices of ids follow them
//! by themselves. An index of addresses follows by the record of fragment reuse, as long as rows keep their order.

use lakebed_lance::proto::table::IndexMetadata;
use lakebed_lance::{Snapshot, index, reuse};
use roaring::RoaringBitmap;

/// The index whose entries cannot be led to new addresses by a record.
const UNABLE: &str = "NGramIndexDetails";

/// The coverage of every index of a version.
pub(super) struct Covering {
    /// By index; `None` where the entry does not say.
    all: Vec<(Option<RoaringBitmap>, Follows)>,
}

/// How an index follows rows to another place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Follows {
    /// It holds ids that stay, or gives up fragments whose rows moved.
    ByItself,
    /// By the record of fragment reuse.
    ByRecord,
    /// Not at all.
    Never,
}

impl Covering {
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let can_record = reuse::can_be_extended(snapshot);
        let follows = |entry: &IndexMetadata| {
            if snapshot.has_stable_row_ids() {
                Follows::ByItself
            } else if can_record && index::details_type(entry) != UNABLE {
                Follows::ByRecord
            } else {
                Follows::Never
            }
        };
        let entries = snapshot.indices().iter().filter(|entry| !index::is_system(entry));
        Self { all: entries.map(|entry| (reuse::coverage(snapshot, entry), follows(entry))).collect() }
    }

    /// The indices that cover the fragment, by place.
    pub(super) fn class(&self, fragment: u64) -> Vec<usize> {
        let covers = |(_, (covered, _)): &(usize, &(Option<RoaringBitmap>, Follows))| holds(covered.as_ref(), fragment);
        self.all.iter().enumerate().filter(covers).map(|(place, _)| place).collect()
    }

    /// Whether an index loses sight of the fragment's rows when they move; `in_order`: they keep their order.
    pub(super) fn blocks(&self, fragment: u64, in_order: bool) -> bool {
        self.all.iter().any(|(covered, follows)| {
            holds(covered.as_ref(), fragment)
                && match follows {
                    Follows::ByItself => false,
                    Follows::ByRecord => !in_order || covered.is_none(),
                    Follows::Never => true,
                }
        })
    }

    /// Whether an index that follows by the record covers the fragment.
    pub(super) fn holds_addresses_of(&self, fragment: u64) -> bool {
        let by_record = self.all.iter().filter(|(_, follows)| *follows == Follows::ByRecord);
        by_record.into_iter().any(|(covered, _)| holds(covered.as_ref(), fragment))
    }
}

/// An index that does not say what it covers may cover everything.
fn holds(covered: Option<&RoaringBitmap>, fragment: u64) -> bool {
    covered.is_none_or(|covered| u32::try_from(fragment).is_ok_and(|id| covered.contains(id)))
}
