//! Policies that judge rows: what decides, what is looked at, and what a rebase does to ours.
//!
//! What a landed version changed is told by the manifests before and after it, whoever wrote them: fragments that came, went, lost
//! rows or got other columns. Ours is a set of rows that go, each at a place, and fragments that come. [`decide`] asks the rules;
//! [`follow`] carries the places over to where the rows stand after a landed version; [`settle`] writes the message anew once the
//! whole window was accepted.

mod follow;
mod images;
mod judge;
mod layout;
mod look;
mod moves;
mod ours;
mod settle;

pub(crate) use follow::follow;
pub use judge::judge_unseen;
pub(crate) use judge::{Decided, decide};
pub use look::{FragmentSeen, LookAtRows};
pub use moves::CLUSTERED_BY;
pub use ours::{BLIND, Reads};
pub(crate) use settle::settle;

use crate::pending::Merged;
use crate::proto::table::DataFragment;
use crate::proto::table::transaction::Rewrite;
use crate::{LanceError, Snapshot, deletion};
use lakebed_commit::{Fetched, ObjectName};
use lakebed_conflict::precise::PreciseFacts;
use lakebed_naming::Version;
use lakebed_transaction::{Judgement, RowSet};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

/// The rows of ours, for policies that judge them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    /// What the rules know of ours: made when something landed, since most commits meet nobody.
    facts: OnceLock<PreciseFacts>,
    /// Rows that go, by the fragment in which they stand now; `None` until something landed. Of a compaction: rows that were deleted
    /// since it read, by the fragment in which they stood.
    marks: Option<BTreeMap<u64, RowSet>>,
    /// Fragments whose part in ours must be written anew.
    dirty: BTreeSet<u64>,
    /// Deletion files that ours writes instead of its own, by fragment; of a compaction by the numbers of those that it makes.
    merged: BTreeMap<u64, Merged>,
    /// A compaction as it was planned, without what was left out since.
    planned: Option<Rewrite>,
    /// Ours cannot follow after all.
    obstacle: Option<Obstacle>,
}

/// Why ours cannot follow although the rules accepted.
#[derive(Clone, Debug)]
struct Obstacle {
    with: Version,
    landed: String,
    why: Judgement,
}

/// The rows that a version deletes of a fragment.
enum DeletedRows {
    /// These.
    Known(RowSet),
    /// Told by this object, which was not read yet.
    In(ObjectName),
    /// Nobody can tell any more.
    Lost,
}

fn deleted_rows(version: &Snapshot, fragment: &DataFragment, fetched: &Fetched) -> DeletedRows {
    let (object, file) = match (version.deletion_object(fragment), &fragment.deletion_file) {
        (Ok(Some(object)), Some(file)) => (object, file),
        (Ok(_), _) => return DeletedRows::Known(RowSet::new()),
        (Err(_), _) => return DeletedRows::Lost,
    };
    let Some(answer) = fetched.get(&object) else { return DeletedRows::In(object) };
    let physical_rows = (fragment.physical_rows > 0).then_some(fragment.physical_rows);
    let decode = |bytes| -> Result<RowSet, LanceError> {
        deletion::decode(object.as_str(), deletion::kind_of(object.as_str(), file)?, bytes, physical_rows)
    };
    answer.and_then(|bytes| decode(bytes).ok()).map_or(DeletedRows::Lost, DeletedRows::Known)
}

/// The same, where the object is at hand.
fn at_hand(version: &Snapshot, fragment: &DataFragment, fetched: &Fetched) -> Option<RowSet> {
    match deleted_rows(version, fragment, fetched) {
        DeletedRows::Known(rows) => Some(rows),
        DeletedRows::In(_) | DeletedRows::Lost => None,
    }
}

/// The objects of deletion files that were not read yet.
fn unread<'a>(
    fragments: impl IntoIterator<Item = (&'a Snapshot, &'a DataFragment)>,
    fetched: &Fetched,
) -> Vec<ObjectName> {
    let mut names = Vec::new();
    for (version, fragment) in fragments {
        if let DeletedRows::In(name) = deleted_rows(version, fragment, fetched)
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}

/// Whether a fragment holds the same values in the same files.
fn same_values(a: &DataFragment, b: &DataFragment) -> bool {
    a.files == b.files && a.overlays == b.overlays
}
