//! Rules broken on purpose. A proof that could not tell a broken rule from a sound one would prove nothing.

use crate::contender::{Entry, Precise};
use crate::pairs::every_pair;
use crate::triples::{Schedule, every_triple};
use crate::universe::{Axis, Universe};
use lakebed_conflict::Cell;
use lakebed_conflict::precise::rules::{
    INPUT_CHANGED, ORDERED_BEFORE_A_READER, REGISTER_WRITTEN, ROWS_MEET, ROWS_MOVED, ROWS_NOT_SHOWN, ROWS_WANTED,
    UNIT_CHANGED,
};
use lakebed_conflict::precise::{PRECISE, PRECISE_REORDER, PreciseFacts, PreciseTable, Rule};
use lakebed_transaction::{PreciseKind, UnitId};

/// Where a broken rule shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// In pairs.
    Pairs,
    /// Only in triples.
    Triples,
}

/// One rule broken on purpose.
#[derive(Clone, Copy, Debug)]
pub struct Mutation {
    /// The broken policy.
    pub broken: Precise,
    /// The axes along which it shows; empty: on the base set.
    pub axes: &'static [Axis],
    /// Rows of the largest table over which it shows.
    pub rows: usize,
    /// In which schedules.
    pub shows: Shows,
    /// Whether the policy promises log order; else some order.
    pub log_order: bool,
}

impl Mutation {
    fn of(shipped: &'static PreciseTable, name: &'static str, table: &'static PreciseTable) -> Self {
        Self {
            broken: Precise { name, table, ..Precise::shipped(table) },
            axes: &[],
            rows: 2,
            shows: Shows::Pairs,
            log_order: std::ptr::eq(shipped, &PRECISE),
        }
    }

    fn along(self, axes: &'static [Axis]) -> Self {
        Self { axes, ..self }
    }

    fn over(self, rows: usize) -> Self {
        Self { rows, ..self }
    }

    fn in_triples(self) -> Self {
        Self { shows: Shows::Triples, rows: 1, ..self }
    }

    fn ours(self, bend_ours: fn(&mut PreciseFacts)) -> Self {
        Self { broken: Precise { bend_ours, ..self.broken }, ..self }
    }

    fn landed(self, bend_landed: fn(&mut PreciseFacts, &Entry)) -> Self {
        Self { broken: Precise { bend_landed, ..self.broken }, ..self }
    }

    fn unlooking(self) -> Self {
        Self { broken: Precise { looks: false, ..self.broken }, ..self }
    }

    fn forgetful(self) -> Self {
        Self { broken: Precise { follows_carried: false, ..self.broken }, ..self }
    }

    /// How many accepted cases have a result that the policy does not allow.
    #[must_use]
    pub fn wrong(&self) -> u64 {
        let universe = Universe::new(self.rows, self.axes);
        match self.shows {
            Shows::Pairs => {
                let pairs = every_pair(&universe, &self.broken, |_| true);
                let wrong = if self.log_order { pairs.out_of_log_order_count() } else { pairs.unsound_count() };
                wrong + pairs.wrongly_reordered
            }
            Shows::Triples => {
                let triples = Schedule::ALL.map(|schedule| every_triple(&universe, &self.broken, schedule));
                triples.iter().map(|one| if self.log_order { one.out_of_log_order } else { one.unsound }).sum()
            }
        }
    }
}

/// A copy of a table without one check.
fn without(table: &'static PreciseTable, check: &'static Rule) -> &'static PreciseTable {
    let mut broken = *table;
    broken.first = others(table.first, check);
    for cell in broken.rows.iter_mut().flat_map(|row| &mut row.cells) {
        *cell = match *cell {
            Cell::If(checks) => Cell::If(others(checks, check)),
            Cell::Else(checks, verdict, reason) => Cell::Else(others(checks, check), verdict, reason),
            fixed @ (Cell::Clear | Cell::Always(..) | Cell::Unspecified) => fixed,
        };
    }
    Box::leak(Box::new(broken))
}

fn others(checks: &'static [&'static Rule], check: &'static Rule) -> &'static [&'static Rule] {
    let left: Vec<&'static Rule> = checks.iter().copied().filter(|one| !std::ptr::eq(*one, check)).collect();
    Box::leak(left.into_boxed_slice())
}

/// A copy of a table with one cell exchanged.
fn with_cell(
    table: &'static PreciseTable,
    ours: PreciseKind,
    landed: PreciseKind,
    cell: Cell<PreciseFacts>,
) -> &'static PreciseTable {
    let mut broken = *table;
    broken.rows[ours.at()].cells[landed.at()] = cell;
    Box::leak(Box::new(broken))
}

/// A copy of a table in which ours of one kind meets landed of some without any check.
fn cleared(table: &'static PreciseTable, ours: PreciseKind, landed: &[PreciseKind]) -> &'static PreciseTable {
    landed.iter().fold(table, |table, landed| with_cell(table, ours, *landed, Cell::Clear))
}

/// What `precise-reorder` says of an update over an insert.
fn goes_first() -> Cell<PreciseFacts> {
    PRECISE_REORDER.rows[PreciseKind::Change.at()].cells[PreciseKind::Insert.at()]
}

/// Every mutation.
#[must_use]
pub fn every_mutation() -> Vec<Mutation> {
    let mut all = broken_tables();
    all.extend(broken_facts());
    all
}

/// Checks and cells of the shipped tables, taken out or exchanged.
fn broken_tables() -> Vec<Mutation> {
    const SHRUNK: &[PreciseKind] = &[PreciseKind::Delete, PreciseKind::Change];
    vec![
        Mutation::of(&PRECISE, "without rows-meet", without(&PRECISE, &ROWS_MEET)),
        Mutation::of(&PRECISE, "without rows-wanted", without(&PRECISE, &ROWS_WANTED)),
        Mutation::of(&PRECISE, "without rows-not-shown, nobody looks", without(&PRECISE, &ROWS_NOT_SHOWN)).unlooking(),
        Mutation::of(&PRECISE, "without rows-moved, copies", without(&PRECISE, &ROWS_MOVED))
            .along(&[Axis::Copies, Axis::NoMaps]),
        Mutation::of(&PRECISE, "without unit-changed, copies", without(&PRECISE, &UNIT_CHANGED))
            .along(&[Axis::Mixed, Axis::NoMaps])
            .over(3),
        Mutation::of(&PRECISE, "without input-changed, no maps", without(&PRECISE, &INPUT_CHANGED))
            .along(&[Axis::NoMaps])
            .over(3),
        Mutation::of(&PRECISE, "without register-written, schema", without(&PRECISE, &REGISTER_WRITTEN))
            .along(&[Axis::Schema]),
        Mutation::of(&PRECISE, "without register-written, application", without(&PRECISE, &REGISTER_WRITTEN))
            .along(&[Axis::Application]),
        Mutation::of(&PRECISE, "an insert never looks back", cleared(&PRECISE, PreciseKind::Insert, SHRUNK)),
        Mutation::of(&PRECISE, "an update never minds an update", cleared(&PRECISE, PreciseKind::Change, SHRUNK)),
        Mutation::of(
            &PRECISE,
            "an overwrite never looks back",
            cleared(&PRECISE, PreciseKind::Overwrite, &[PreciseKind::Insert]),
        ),
        Mutation::of(
            &PRECISE_REORDER,
            "an overwrite may go before an insert",
            with_cell(&PRECISE_REORDER, PreciseKind::Overwrite, PreciseKind::Insert, goes_first()),
        ),
        Mutation::of(
            &PRECISE_REORDER,
            "without ordered-before-a-reader",
            without(&PRECISE_REORDER, &ORDERED_BEFORE_A_READER),
        )
        .in_triples(),
    ]
}

/// Facts that say less, or something else, than they should.
fn broken_facts() -> Vec<Mutation> {
    vec![
        Mutation::of(&PRECISE, "probed keys are forgotten", &PRECISE).ours(|ours| ours.footprint.keys.clear()),
        Mutation::of(&PRECISE, "a delete is judged as if born rows did not count", &PRECISE).landed(|landed, _| {
            if landed.kind != PreciseKind::Overwrite {
                landed.footprint.added_units.clear();
            }
        }),
        Mutation::of(&PRECISE, "any change is judged by born rows", &PRECISE).ours(|ours| {
            if ours.kind == PreciseKind::Change {
                ours.kind = PreciseKind::Delete;
            }
        }),
        Mutation::of(&PRECISE, "an overwrite took out what it saw", &PRECISE).landed(as_at_its_snapshot).in_triples(),
        Mutation::of(&PRECISE, "statistics are narrower than the rows", &PRECISE).landed(|landed, _| {
            for unit in &mut landed.footprint.added_units {
                unit.bounds.iter_mut().for_each(|(_, bounds)| bounds.max.clone_from(&bounds.min));
            }
        }),
        Mutation::of(&PRECISE, "carried rows are not followed", &PRECISE).forgetful(),
        Mutation::of(&PRECISE, "what takes out no row is said to follow carried ones", &PRECISE)
            .ours(|ours| ours.follows_met_rows = true)
            .along(&[Axis::Application]),
        Mutation::of(&PRECISE_REORDER, "every insert is called blind", &PRECISE_REORDER)
            .landed(|landed, _| landed.footprint.blind = true),
    ]
}

/// A later overwrite as if it had removed only what it saw.
fn as_at_its_snapshot(landed: &mut PreciseFacts, entry: &Entry) {
    let is_overwrite = landed.kind == PreciseKind::Overwrite;
    if is_overwrite {
        let seen = |unit: &UnitId| matches!(unit, UnitId::Fragment(id) if *id < u64::from(entry.first_unread_file));
        let kept = landed.footprint.removed_units.as_slice().iter().filter(|unit| seen(unit)).cloned().collect();
        landed.footprint.removed_units = kept;
    }
}
