//! The policies, each fed with the footprints of its format.

mod delta;
mod lance;
mod maxcompute;
mod precise;

pub use delta::Delta;
pub use lance::Lance;
pub use maxcompute::MaxCompute;
pub use precise::Precise;

use crate::effect::Effect;
use crate::program::Filter;
use crate::rebase::{Carried, Writing};
use crate::table::Table;
use crate::universe::Universe;

/// A log entry.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What was done.
    pub effect: Effect,
    /// The version on which it was done.
    pub read_version: u64,
    /// Its version.
    pub version: u64,
    /// The first file name that was free in the version on which it was done.
    pub first_unread_file: u32,
    /// The table before it.
    pub before: Table,
    /// The table after it.
    pub after: Table,
}

/// What a policy says of ours after one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Ours follows.
    Follows,
    /// Ours goes before.
    GoesBefore,
    /// Ours is refused.
    Refused,
}

/// Someone who can look at the rows of an entry.
#[derive(Clone, Copy, Debug)]
pub struct Look<'a> {
    /// What ours looked for.
    pub filter: Option<Filter>,
    /// The entry.
    pub entry: &'a Entry,
}

/// A policy under proof.
pub trait Contender: Sync {
    /// What it needs of ours.
    type Ours: Clone;
    /// What it needs of an entry.
    type Landed;

    /// Its name in reports.
    fn name(&self) -> String;

    /// How its writers write in this universe.
    fn writing(&self, universe: &Universe) -> Writing;

    /// Ours, done on a version.
    fn ours(&self, universe: &Universe, effect: &Effect, read: &Table) -> Self::Ours;

    /// An entry.
    fn landed(&self, universe: &Universe, entry: &Entry) -> Self::Landed;

    /// Judges ours against an entry, and takes over what ours needs of it where it may go on.
    fn judge(&self, ours: &mut Self::Ours, landed: &Self::Landed, look: Look<'_>) -> Answer;

    /// Rows that ours must delete beside those that it found.
    fn carried<'a>(&self, ours: &'a Self::Ours) -> &'a [Carried];
}
