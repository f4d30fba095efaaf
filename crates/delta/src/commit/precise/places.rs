//! Where the rows stand that ours takes out.

use super::{adds, removes};
use crate::action::{Action, Add};
use crate::commit::moves::Moves;
use crate::path;
use lakebed_conflict::precise::PreciseFacts;
use lakebed_transaction::{RowSet, UnitId};
use std::collections::{BTreeMap, BTreeSet};

/// Where the rows stand that ours takes out, file by file; files by the identity of their paths.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    /// Whether the actions of ours were taken in.
    started: bool,
    /// Files that came, changed or went since ours read: as they stand now.
    standing: BTreeMap<String, Option<Add>>,
    /// Rows that go from files that stay.
    pub(super) marks: BTreeMap<String, RowSet>,
    /// Files that go.
    pub(super) wholes: BTreeSet<String>,
    /// Rows of the files that ours adds that are not to come: they went where a compaction of ours took them from.
    pub(super) withheld: BTreeMap<String, RowSet>,
    /// Files of the table whose part in ours must be written anew.
    pub(super) dirty: BTreeSet<String>,
    /// The same for the files that ours adds.
    pub(super) dirty_own: BTreeSet<String>,
}

impl Places {
    /// Takes in what ours does, once.
    pub(super) fn start(&mut self, ours: &PreciseFacts) {
        if std::mem::replace(&mut self.started, true) {
            return;
        }
        for (unit, rows) in &ours.footprint.rows {
            if let UnitId::File { path, .. } = unit {
                self.marks.insert(path::identity(path).into_owned(), rows.clone());
            }
        }
        for unit in ours.footprint.removed_units.as_slice() {
            if let UnitId::File { path, .. } = unit {
                self.wholes.insert(path::identity(path).into_owned());
            }
        }
    }

    /// A file as it stands now, where it came, changed or went since ours read.
    pub(super) fn standing(&self, identity: &str) -> Option<Option<&Add>> {
        self.standing.get(identity).map(Option::as_ref)
    }

    /// Takes in which files landed added and removed.
    pub(super) fn stand(&mut self, landed: &[Action]) {
        for remove in removes(landed) {
            self.standing.insert(path::identity(&remove.path).into_owned(), None);
        }
        for add in adds(landed) {
            self.standing.insert(path::identity(&add.path).into_owned(), Some(add.clone()));
        }
    }

    /// Rows of ours now go from this file, too.
    pub(super) fn mark(&mut self, raw: &str, rows: &RowSet) {
        let identity = path::identity(raw).into_owned();
        if rows.is_empty() || self.wholes.contains(&identity) {
            return;
        }
        let marked = self.marks.entry(identity.clone()).or_default();
        *marked = marked.union(rows);
        self.dirty.insert(identity);
    }

    /// A file of the table is gone; `moves` tells where its rows went, if they live on, and `own` where ours took them to.
    pub(super) fn gone(&mut self, identity: &str, moves: &Moves, own: Option<&Moves>) -> Result<(), ()> {
        if let Some(rows) = self.marks.remove(identity) {
            self.dirty.insert(identity.to_owned());
            if let Some(moved) = moves.of_source(identity) {
                self.mark(&moved.target, &moved.places(&rows));
            }
        }
        if self.wholes.remove(identity) {
            self.dirty.insert(identity.to_owned());
            match own {
                Some(own) => {
                    let moved = own.of_source(identity).ok_or(())?;
                    self.withhold(&moved.target, &moved.places(&(0..moved.rows()).collect()));
                }
                None => {
                    if let Some(moved) = moves.of_source(identity) {
                        self.mark(&moved.target, &moved.places(&(0..moved.rows()).collect()));
                    }
                }
            }
        }
        Ok(())
    }

    /// Rows of a file that a compaction of ours took in went meanwhile.
    pub(super) fn lost(&mut self, identity: &str, rows: &RowSet, own: &Moves) -> Result<(), ()> {
        if !rows.is_empty() {
            let moved = own.of_source(identity).ok_or(())?;
            self.withhold(&moved.target, &moved.places(rows));
        }
        Ok(())
    }

    fn withhold(&mut self, raw: &str, rows: &RowSet) {
        let identity = path::identity(raw).into_owned();
        let withheld = self.withheld.entry(identity.clone()).or_default();
        *withheld = withheld.union(rows);
        self.dirty_own.insert(identity);
    }
}
