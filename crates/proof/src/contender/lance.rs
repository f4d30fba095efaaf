//! Lance's own rules, over fragments from which rows are deleted in place.

use super::{Answer, Contender, Entry, Look};
use crate::effect::Effect;
use crate::program::{Program, Statement};
use crate::rebase::{Carried, Copies, Writing};
use crate::table::Table;
use crate::universe::Universe;
use lakebed_conflict::lance::{
    FileList, LANCE, LanceFacts, RewriteFacts, RewriteGroup, SchemaChange, SchemaOrigin, UpdateFacts, judge,
};
use lakebed_transaction::{Access, LanceKind, Register, RowSet, Unit, UnitId, Verdict};

/// Lance's policy.
#[derive(Clone, Copy, Debug)]
pub struct Lance;

const fn kind_of(program: Program) -> LanceKind {
    match program.statement() {
        Statement::Insert | Statement::InsertSelf => LanceKind::Append,
        Statement::Update | Statement::Merge => LanceKind::Update,
        Statement::Delete => LanceKind::Delete,
        Statement::Overwrite | Statement::OverwriteSelf => LanceKind::Overwrite,
        Statement::Compact => LanceKind::Rewrite,
        Statement::Alter => LanceKind::Project,
    }
}

fn unit(file: u32) -> UnitId {
    UnitId::Fragment(u64::from(file))
}

/// Data files never change here, so that a fragment's files are told by its number.
fn files(file: u32) -> (u64, FileList) {
    (u64::from(file), FileList::of(&file.to_be_bytes()))
}

/// What a message says, given where its rows stood and which of its fragments have no row left.
fn facts(effect: &Effect, taken: &[(u32, RowSet, bool)]) -> LanceFacts {
    let mut facts = LanceFacts::default();
    let kind = kind_of(effect.program);
    facts.footprint.data_change = kind != LanceKind::Rewrite;
    facts.relies_on_nullability = matches!(kind, LanceKind::Append | LanceKind::Update);
    if !effect.born.is_empty() {
        facts.footprint.added_units = vec![Unit::named(unit(u32::MAX))];
    }
    match kind {
        LanceKind::Overwrite => {
            facts.footprint.registers = vec![(Register::Schema, Access::Write)];
            let remaining = vec![0, 1, 2];
            facts.schema = Some(SchemaChange {
                origin: SchemaOrigin::Overwrite,
                remaining,
                lost: Vec::new(),
                preserves_nullability: true,
            });
        }
        LanceKind::Rewrite => {
            let old = effect.inputs.iter().map(|input| u64::from(*input)).collect();
            let group = RewriteGroup { old, new: vec![u64::from(u32::MAX)], ..RewriteGroup::default() };
            facts.footprint.removed_units = effect.inputs.iter().map(|input| unit(*input)).collect();
            facts.rewrite = Some(RewriteFacts { groups: vec![group], ..RewriteFacts::default() });
        }
        LanceKind::Append
        | LanceKind::Delete
        | LanceKind::Update
        | LanceKind::CreateIndex
        | LanceKind::DataReplacement
        | LanceKind::DataOverlay
        | LanceKind::Merge
        | LanceKind::Restore
        | LanceKind::ReserveFragments
        | LanceKind::Project
        | LanceKind::UpdateConfig
        | LanceKind::UpdateMemWalState
        | LanceKind::UpdateBases
        | LanceKind::Clone
        | LanceKind::Unknown => {
            let of =
                |gone: bool| taken.iter().filter(move |(_, _, is_gone)| *is_gone == gone).map(|(file, _, _)| *file);
            facts.footprint.updated_units = of(false).map(unit).collect();
            facts.footprint.removed_units = of(true).map(unit).collect();
            facts.files_written = of(false).map(files).collect();
        }
    }
    if kind == LanceKind::Update {
        facts.update = Some(UpdateFacts::default());
    }
    facts
}

/// The rows that an effect takes out of each file of a version, and whether none is left.
fn taken(effect: &Effect, table: &Table) -> Vec<(u32, RowSet, bool)> {
    let mut taken = Vec::new();
    for file in &table.files {
        let dead = |id: &u32| effect.dead.contains(id);
        let rows: RowSet = file.live().filter(|(_, row)| dead(&row.id)).map(|(at, _)| at).collect();
        if !rows.is_empty() {
            taken.push((file.id, rows, file.live().all(|(_, row)| dead(&row.id))));
        }
    }
    taken
}

/// Ours, with the rows that it takes out.
#[derive(Clone, Debug)]
pub struct LanceOurs {
    kind: LanceKind,
    facts: LanceFacts,
}

/// An entry, with the rows that it took out.
#[derive(Clone, Debug)]
pub struct LanceLanded {
    kind: LanceKind,
    facts: LanceFacts,
    rows: Vec<(u32, RowSet, bool)>,
}

impl Contender for Lance {
    type Ours = LanceOurs;
    type Landed = LanceLanded;

    fn name(&self) -> String {
        LANCE.name.to_owned()
    }

    fn writing(&self, _: &Universe) -> Writing {
        Writing { copies: Copies::Never, maps: false, leaves_out: false, takes_scope_anew: true }
    }

    fn ours(&self, _: &Universe, effect: &Effect, read: &Table) -> LanceOurs {
        let taken = taken(effect, read);
        let mut facts = facts(effect, &taken);
        if !matches!(kind_of(effect.program), LanceKind::Overwrite | LanceKind::Rewrite) {
            facts.affected_rows_known = !facts.footprint.updated_units.is_empty();
            facts.files_read = taken.iter().map(|(file, _, _)| files(*file)).collect();
            facts.footprint.rows = taken.into_iter().map(|(file, rows, _)| (unit(file), rows)).collect();
        }
        LanceOurs { kind: kind_of(effect.program), facts }
    }

    fn landed(&self, _: &Universe, entry: &Entry) -> LanceLanded {
        let rows = taken(&entry.effect, &entry.before);
        LanceLanded { kind: kind_of(entry.effect.program), facts: facts(&entry.effect, &rows), rows }
    }

    fn judge(&self, ours: &mut LanceOurs, landed: &LanceLanded, _: Look<'_>) -> Answer {
        let verdict = judge((ours.kind, &ours.facts), (landed.kind, &landed.facts)).verdict;
        // Deletions of one fragment are united where no row is in both.
        let common = |(file, rows, _): &(u32, RowSet, bool)| {
            let mine = ours.facts.footprint.rows.iter().find(|(id, _)| *id == unit(*file));
            mine.is_some_and(|(_, mine)| mine.iter().any(|row| rows.contains(row)))
        };
        let meets = verdict == Verdict::Rebase && landed.rows.iter().any(common);
        if verdict.accepts() && !meets { Answer::Follows } else { Answer::Refused }
    }

    fn carried<'a>(&self, _: &'a LanceOurs) -> &'a [Carried] {
        &[]
    }
}
