//! What the `precise` policies need of one transaction.

use lakebed_transaction::{Footprint, PreciseKind, RowSet, RowsSeen, Unit, UnitId, UnitSet, Version};

/// What the `precise` policies need of one transaction, ours or landed.
///
/// What is not known keeps its default, and the default never accepts: a landed entry of another client, which records no read
/// set, fills what its files say, and nothing else is asked of it.
///
/// In [`PreciseFacts::footprint`], whole units that are taken out stand in `removed_units`; units that stay and lose rows in
/// `updated_units`, with the lost rows in `rows` where they are known; units put in, with what is known of their rows, in
/// `added_units`. Columns rewritten in place stand in `columns`, their units in `updated_units`. An overwrite that landed names
/// what it took out *when it committed*. A row program reads [`Register::Schema`](lakebed_transaction::Register::Schema).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PreciseFacts {
    /// What it does.
    pub kind: PreciseKind,
    /// What it reads and writes.
    pub footprint: Footprint,
    /// Landed: partition values and statistics of units that it took out or that lost rows. A unit that is absent is not known.
    pub known_units: Vec<Unit>,
    /// Ours: in each unit of the version that was read, exactly the rows that predicates and probes met; a unit that is absent
    /// held none. `None`: not known.
    pub matched: Option<Vec<(UnitId, RowSet)>>,
    /// Ours: the columns, by field id, that its predicates mention and that it reads or writes. `None`: all of them.
    pub columns_touched: Option<Vec<i64>>,
    /// Units that it took out and of whose rows each new address is known, so that deletions and updates of them can follow.
    pub mapped_units: UnitSet,
    /// Ours: units that it takes out although rows of them live on, copied to what it adds.
    pub copied_units: UnitSet,
    /// Ours: whether it takes out every row that it met, and can delete rows of any file in place, so that rows which a look finds
    /// carried over can be followed.
    pub follows_met_rows: bool,
    /// Landed: the version that it read, where its entry says so.
    pub read_version: Option<Version>,
    /// Landed: its version.
    pub version: Option<Version>,
    /// Landed: what a look at its rows, for ours, answered.
    pub seen: RowsSeen,
    /// Ours: what it follows by now.
    pub followed: Followed,
}

/// What ours has to remember of the landed transactions that it follows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Followed {
    /// Units that were put in since ours read.
    pub added: UnitSet,
    /// Units to which rows that ours deletes or changes were moved.
    pub moved_to: UnitSet,
    /// Rows that ours takes out and that looks found carried over: where they stood when it followed. A rebase deletes those that
    /// still stand.
    pub carried: Vec<(UnitId, RowSet)>,
    /// The earliest landed transaction before which ours was ordered.
    pub ordered_before: Option<OrderedBefore>,
}

/// A landed transaction before which ours was ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderedBefore {
    /// Its version; `None`: not known.
    pub version: Option<Version>,
}

impl PreciseFacts {
    /// Whether it only inserts and read nothing, as it says itself and as its entry shows.
    #[must_use]
    pub fn is_blind_insert(&self) -> bool {
        self.kind == PreciseKind::Insert
            && self.footprint.blind
            && !self.footprint.reads_rows()
            && self.footprint.removed_units.is_empty()
            && self.footprint.updated_units.is_empty()
    }

    /// Whether rows of the table come or go by it.
    #[must_use]
    pub const fn changes_rows(&self) -> bool {
        match self.kind {
            PreciseKind::Note | PreciseKind::Layout => false,
            PreciseKind::Insert
            | PreciseKind::Delete
            | PreciseKind::Change
            | PreciseKind::Overwrite
            | PreciseKind::Unknown
            | PreciseKind::Hole => true,
        }
    }

    /// Takes over what later judgements need of a landed transaction that was accepted; `reordered`: because ours goes before it.
    pub fn follow(&mut self, landed: &Self, reordered: bool) {
        let moves_ours = self.modified().intersects(&landed.footprint.removed_units);
        for unit in landed.footprint.added_units.iter().filter(|_| moves_ours) {
            self.followed.moved_to.insert(unit.id.clone());
        }
        if let RowsSeen::Looked(found) = &landed.seen
            && self.follows_met_rows
        {
            self.followed.carried.extend(found.carried.iter().cloned());
            found.carried.iter().for_each(|(unit, _)| self.followed.moved_to.insert(unit.clone()));
        }
        for unit in &landed.footprint.added_units {
            self.followed.added.insert(unit.id.clone());
        }
        if reordered {
            let earliest = OrderedBefore { version: landed.version };
            self.followed.ordered_before.get_or_insert(earliest);
        }
    }

    /// Every unit in which it takes rows out, by their addresses of now.
    pub(super) fn modified(&self) -> UnitSet {
        let mut modified = self.footprint.modified_units();
        for unit in self.followed.moved_to.as_slice() {
            modified.insert(unit.clone());
        }
        modified
    }

    /// The rows that ours met in a unit; `None` where that is not known, as for every unit put in since it read.
    pub(super) fn met_in(&self, unit: &UnitId) -> Option<Met<'_>> {
        let matched = self.matched.as_ref().filter(|_| !self.followed.added.contains(unit))?;
        let rows = matched.iter().find(|(id, _)| id == unit).map(|(_, rows)| rows);
        Some(rows.filter(|rows| !rows.is_empty()).map_or(Met::Nothing, Met::Rows))
    }
}

/// What ours met in a unit that it could read.
#[derive(Clone, Copy, Debug)]
pub(super) enum Met<'a> {
    Nothing,
    Rows(&'a RowSet),
}
