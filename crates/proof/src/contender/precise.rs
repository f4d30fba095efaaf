//! The `precise` tables.

use super::delta::condition;
use super::{Answer, Contender, Entry, Look};
use crate::effect::{Effect, Scope};
use crate::program::{Filter, Program, Statement};
use crate::rebase::{Carried, Writing};
use crate::table::{File, Row, Table};
use crate::universe::{Axis, Universe};
use lakebed_conflict::precise::{PreciseFacts, PreciseTable, judge, wanted};
use lakebed_transaction::{
    Access, ColumnBounds, KeyProbe, PreciseKind, ReadPredicate, Register, RowSet, RowsFound, RowsSeen, RowsWanted,
    Scalar, Unit, UnitId, Verdict, Version,
};
use std::sync::{Arc, LazyLock};

/// A table of the family, fed with footprints.
#[derive(Clone, Copy, Debug)]
pub struct Precise {
    /// Its name in reports.
    pub name: &'static str,
    /// The table.
    pub table: &'static PreciseTable,
    /// Whether rows are looked at where the table asks for them; else they are refused.
    pub looks: bool,
    /// Whether rows that looks found carried over are followed, as the rebase has to.
    pub follows_carried: bool,
    /// What is done to the facts of ours before they are judged; breaks a rule on purpose.
    pub bend_ours: fn(&mut PreciseFacts),
    /// The same for an entry's facts.
    pub bend_landed: fn(&mut PreciseFacts, &Entry),
}

impl Precise {
    /// A table as it is shipped.
    #[must_use]
    pub const fn shipped(table: &'static PreciseTable) -> Self {
        Self { name: table.name, table, looks: true, follows_carried: true, bend_ours: |_| {}, bend_landed: |_, _| {} }
    }
}

static COLUMN_K: LazyLock<Arc<str>> = LazyLock::new(|| Arc::from("k"));
static COLUMN_V: LazyLock<Arc<str>> = LazyLock::new(|| Arc::from("v"));
static APPLICATION: LazyLock<Arc<str>> = LazyLock::new(|| Arc::from("stream"));

const fn kind_of(program: Program) -> PreciseKind {
    match program.statement() {
        Statement::Insert | Statement::InsertSelf => PreciseKind::Insert,
        Statement::Update | Statement::Merge => PreciseKind::Change,
        Statement::Delete => PreciseKind::Delete,
        Statement::Overwrite | Statement::OverwriteSelf => PreciseKind::Overwrite,
        Statement::Compact => PreciseKind::Layout,
        Statement::Alter => PreciseKind::Note,
    }
}

fn id(file: u32) -> UnitId {
    UnitId::Fragment(u64::from(file))
}

fn registers(effect: &Effect) -> Vec<(Register, Access)> {
    let mut registers = Vec::new();
    let application = || Register::Application(Arc::clone(&APPLICATION));
    let looks_up_batch =
        matches!(effect.program, Program::Stream(..) | Program::StreamUpdate(..) | Program::InsertAfterBatch(..));
    if looks_up_batch {
        registers.push((application(), Access::Read));
    }
    if !matches!(effect.program, Program::AlterUnless(_)) {
        registers.push((Register::Schema, Access::Read));
    }
    if effect.batch.is_some() {
        registers.push((application(), Access::Write));
    }
    if effect.schema.is_some() {
        registers.push((Register::Schema, Access::Write));
    }
    registers
}

fn filters(universe: &Universe, filter: Filter) -> ReadPredicate {
    match filter {
        Filter::All => ReadPredicate::everything(),
        Filter::K(_) if universe.has(Axis::Partitions) => {
            ReadPredicate { partition: vec![condition(filter)], data: Vec::new() }
        }
        Filter::K(_) | Filter::V(_) => ReadPredicate { partition: Vec::new(), data: vec![condition(filter)] },
    }
}

/// A file with what its log entry would say of it; statistics may count deleted rows.
fn unit(universe: &Universe, file: &File, data_change: bool) -> Unit {
    let wide = universe.has(Axis::WideStatistics);
    let bounds = |values: &dyn Fn(&Row) -> u8| {
        let int = |value: u8| Scalar::Int(i64::from(value));
        let (min, max) = (file.rows.iter().map(values).min(), file.rows.iter().map(values).max());
        ColumnBounds { min: min.map(int), max: max.map(int), null_count: Some(0) }
    };
    let (mut partition, mut known) = (Vec::new(), Vec::new());
    if universe.has(Axis::Partitions) {
        partition.extend(file.rows.first().map(|row| (Arc::clone(&COLUMN_K), Scalar::Int(i64::from(row.k)))));
    } else if wide {
        let all = ColumnBounds { min: Some(Scalar::Int(-1)), max: Some(Scalar::Int(2)), null_count: None };
        known.push((Arc::clone(&COLUMN_K), all));
    } else {
        known.push((Arc::clone(&COLUMN_K), bounds(&|row| row.k)));
    }
    if !wide {
        known.push((Arc::clone(&COLUMN_V), bounds(&|row| row.v)));
    }
    let row_count = u64::try_from(file.rows.len()).ok();
    Unit { id: id(file.id), row_count, partition, bounds: known, data_change }
}

/// Ours under a table of the family.
#[derive(Clone, Debug)]
pub struct PreciseOurs {
    facts: PreciseFacts,
    carried: Vec<Carried>,
}

impl Contender for Precise {
    type Ours = PreciseOurs;
    type Landed = PreciseFacts;

    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn writing(&self, universe: &Universe) -> Writing {
        Writing::by_rows(universe)
    }

    fn ours(&self, universe: &Universe, effect: &Effect, read: &Table) -> PreciseOurs {
        let mut ours = PreciseFacts { kind: kind_of(effect.program), ..PreciseFacts::default() };
        ours.footprint.registers = registers(effect);
        ours.footprint.data_change = effect.program != Program::Compact;
        ours.footprint.blind = effect.program.looks_for().is_none();
        match (effect.program, effect.program.looks_for()) {
            (Program::Merge(k, _), _) => {
                let columns = vec![Arc::clone(&COLUMN_K)];
                ours.footprint.keys = vec![KeyProbe { columns, matches: condition(Filter::K(k)) }];
            }
            (_, Some(filter)) => ours.footprint.predicates = vec![filters(universe, filter)],
            (_, None) => {}
        }
        ours.matched = Some(rows_of(read, &effect.found));
        let touched = effect.touched_files(read).into_iter().map(id);
        match effect.scope {
            Scope::Rows(_) => ours.footprint.removed_units = touched.collect(),
            Scope::Nothing if effect.program == Program::Compact => {
                ours.footprint.removed_units = effect.inputs.iter().map(|file| id(*file)).collect();
            }
            Scope::Nothing if universe.copies(effect.program) => {
                ours.footprint.removed_units = touched.collect();
                // Where no row of them lives on, files that go are not copied.
                if lives_on(effect, read) {
                    ours.copied_units = ours.footprint.removed_units.clone();
                }
            }
            Scope::Nothing => {
                ours.footprint.updated_units = touched.collect();
                ours.footprint.rows = rows_of(read, &effect.dead);
            }
        }
        if !universe.has(Axis::NoMaps) {
            ours.mapped_units = ours.footprint.removed_units.clone();
        }
        // Without vectors and maps, rows of a file that somebody else wrote cannot be deleted.
        let in_place = !(universe.copies(effect.program) && universe.has(Axis::NoMaps));
        let takes_all = !effect.dead.is_empty() && effect.dead == effect.found && effect.scope == Scope::Nothing;
        ours.follows_met_rows = in_place && takes_all;
        (self.bend_ours)(&mut ours);
        PreciseOurs { facts: ours, carried: Vec::new() }
    }

    fn landed(&self, universe: &Universe, entry: &Entry) -> PreciseFacts {
        let kind = kind_of(entry.effect.program);
        let mut landed = PreciseFacts { kind, ..PreciseFacts::default() };
        let changes_rows = kind != PreciseKind::Layout;
        landed.footprint.data_change = changes_rows;
        landed.footprint.blind = kind == PreciseKind::Insert && entry.effect.program.looks_for().is_none();
        landed.footprint.registers = registers(&entry.effect);
        landed.read_version = Some(Version::new(entry.read_version));
        landed.version = Some(Version::new(entry.version));
        for old in &entry.before.files {
            match entry.after.file(old.id) {
                None => landed.footprint.removed_units.insert(id(old.id)),
                Some(new) if new.dead != old.dead => {
                    landed.footprint.updated_units.insert(id(old.id));
                    let lost = (0..32).filter(|at| (new.dead & !old.dead) >> at & 1 == 1).collect();
                    landed.footprint.rows.push((id(old.id), lost));
                }
                Some(_) => continue,
            }
            landed.known_units.push(unit(universe, old, changes_rows));
        }
        let new = entry.after.files.iter().filter(|file| entry.before.file(file.id).is_none());
        landed.footprint.added_units = new.map(|file| unit(universe, file, changes_rows)).collect();
        if entry.effect.scope == Scope::Nothing && !universe.has(Axis::NoMaps) {
            landed.mapped_units = landed.footprint.removed_units.clone();
        }
        (self.bend_landed)(&mut landed, entry);
        landed
    }

    fn judge(&self, ours: &mut PreciseOurs, landed: &PreciseFacts, look: Look<'_>) -> Answer {
        let facts = &mut ours.facts;
        let mut verdict = judge(self.table, facts, landed).verdict;
        let mut looked = None;
        if verdict == Verdict::NeedFacts
            && let Some(wanted) = wanted(facts, landed)
        {
            let seen = if self.looks { RowsSeen::Looked(found(&wanted, look)) } else { RowsSeen::Refused };
            let landed = looked.insert(PreciseFacts { seen, ..landed.clone() });
            verdict = judge(self.table, facts, landed).verdict;
        }
        if !verdict.accepts() {
            return Answer::Refused;
        }
        let known = facts.followed.carried.len();
        facts.follow(looked.as_ref().unwrap_or(landed), verdict == Verdict::Reordered);
        let carried = facts.followed.carried.iter().skip(known).filter(|_| self.follows_carried);
        ours.carried.extend(carried.flat_map(|(unit, rows)| rows_at(&look.entry.after, unit, rows)));
        if verdict == Verdict::Reordered { Answer::GoesBefore } else { Answer::Follows }
    }

    fn carried<'a>(&self, ours: &'a PreciseOurs) -> &'a [Carried] {
        &ours.carried
    }
}

/// Whether a file out of which it takes rows has others, too.
fn lives_on(effect: &Effect, read: &Table) -> bool {
    let touched = effect.touched_files(read);
    read.live().any(|(file, _, row)| touched.contains(&file) && !effect.dead.contains(&row.id))
}

fn rows_at(table: &Table, unit: &UnitId, rows: &RowSet) -> Vec<Carried> {
    let stand = table.live().filter(|(file, at, _)| id(*file) == *unit && rows.contains(*at));
    stand.map(|(file, _, row)| Carried { file, row }).collect()
}

/// Where rows of these identities stand, by file.
fn rows_of(table: &Table, ids: &[u32]) -> Vec<(UnitId, RowSet)> {
    let in_file = |file: &File| file.live().filter(|(_, row)| ids.contains(&row.id)).map(|(at, _)| at).collect();
    let sets = table.files.iter().map(|file| (id(file.id), in_file(file)));
    sets.filter(|(_, rows): &(UnitId, RowSet)| !rows.is_empty()).collect()
}

/// Looks at the rows of an entry, as [`RowsWanted`] says, by the program's own filter.
fn found(wanted: &RowsWanted, look: Look<'_>) -> RowsFound {
    let (before, after) = (&look.entry.before, &look.entry.after);
    let counts = |row: &Row| look.filter.is_some_and(|filter| filter.holds(row.k, row.v));
    let is_dead = |file: u32, at: u64| after.file(file).is_none_or(|new| new.dead >> at & 1 == 1);
    let mut went: Vec<(u32, Row)> = before
        .live()
        .filter(|(file, at, row)| {
            let shrunk = wanted.shrunk.contains(&id(*file)) && is_dead(*file, *at);
            counts(row) && (shrunk || wanted.removed.contains(&id(*file)))
        })
        .map(|(file, _, row)| (file, row))
        .collect();
    let mut found = RowsFound::default();
    for (file, at, row) in after.live().filter(|(file, _, row)| wanted.added.contains(&id(*file)) && counts(row)) {
        match went.iter().position(|(_, old)| (old.k, old.v) == (row.k, row.v)) {
            Some(place) => {
                went.remove(place);
                found.carried.push((id(file), RowSet::from_iter([at])));
            }
            None => {
                found.born.get_or_insert_with(|| id(file));
            }
        }
    }
    found.removed = went.first().map(|(file, _)| id(*file));
    found
}
