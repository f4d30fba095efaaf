//! Policies that judge rows: what decides, what is looked at, and what a rebase does to ours.
//!
//! Ours is a set of rows that go, each at a place, and files that come. [`decide`] asks the rules; [`follow`] carries the places over
//! to where the rows stand after a landed commit; [`settle`] rewrites the actions of ours once the whole window was accepted.

mod follow;
mod judge;
mod look;
mod matrix;
mod places;
mod recount;
mod settle;

pub(super) use follow::follow;
pub(super) use judge::{Decided, decide};
pub use look::{FileSeen, LookAtRows};
pub(super) use settle::{Settled, settle};

use super::pending::Transaction;
use super::vectors::Obstacle;
use crate::Snapshot;
use crate::action::{Action, DeletionVector};
use lakebed_commit::Fetched;
use lakebed_conflict::precise::PreciseFacts;
use lakebed_transaction::RowSet;
use places::Places;
use std::sync::{Arc, OnceLock};

/// The rows of ours, for policies that judge them.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    /// The version that ours read.
    table: Option<Arc<Snapshot>>,
    /// What the rules know of ours: made when something landed, since most commits meet nobody.
    facts: OnceLock<PreciseFacts>,
    /// Where the rows stand that ours takes out.
    places: Places,
    /// Ours cannot follow after all.
    obstacle: Option<Obstacle>,
}

impl Rows {
    /// The rows of a transaction that read this version.
    pub(super) fn read_from(table: Arc<Snapshot>) -> Self {
        Self { table: Some(table), ..Self::default() }
    }

    pub(super) const fn obstacle(&self) -> Option<&Obstacle> {
        self.obstacle.as_ref()
    }

    fn facts(&self, transaction: &Transaction) -> &PreciseFacts {
        self.facts.get_or_init(|| transaction.images(self.table.as_deref(), &super::images::inline_rows))
    }
}

/// The rows of a vector, where its object was fetched.
fn at_hand(vector: &DeletionVector, fetched: &Fetched) -> Option<RowSet> {
    super::vectors::rows_of(Some(vector), fetched).ok().and_then(Result::ok)
}

fn adds(actions: &[Action]) -> impl Iterator<Item = &crate::action::Add> {
    actions.iter().filter_map(Action::as_add)
}

fn removes(actions: &[Action]) -> impl Iterator<Item = &crate::action::Remove> {
    actions.iter().filter_map(Action::as_remove)
}
