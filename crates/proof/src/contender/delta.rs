//! Delta's levels, over files that are replaced by copies, unpartitioned.

use super::{Answer, Contender, Entry, Look};
use crate::effect::{Effect, Scope};
use crate::program::{Filter, Program, Statement};
use crate::rebase::{Carried, Writing};
use crate::table::Table;
use crate::universe::Universe;
use lakebed_conflict::delta::{DeltaFacts, DeltaFile, DeltaPolicy};
use lakebed_transaction::{BinaryOp, DeltaKind, Expr, ReadPredicate, Scalar, UnitId};
use std::sync::Arc;

/// One of Delta's policies.
#[derive(Clone, Copy, Debug)]
pub struct Delta {
    /// Which one.
    pub policy: DeltaPolicy,
    /// Whether every statement that changes data commits an application's transaction beside its files. A statement that found
    /// nothing then still counts as one that changes data; without it, it is judged a level down.
    pub with_application: bool,
}

/// Ours, or an entry.
fn facts(effect: &Effect) -> DeltaFacts {
    let (operation, kind) = match effect.program.statement() {
        Statement::Insert => ("WRITE", DeltaKind::Append),
        Statement::InsertSelf => ("WRITE", DeltaKind::AppendWithReads),
        Statement::Update => ("UPDATE", DeltaKind::Update),
        Statement::Delete => ("DELETE", DeltaKind::Delete),
        Statement::Merge => ("MERGE", DeltaKind::Merge),
        Statement::Overwrite | Statement::OverwriteSelf => ("WRITE", DeltaKind::Overwrite),
        Statement::Compact => ("OPTIMIZE", DeltaKind::Compact),
        Statement::Alter => ("SET TBLPROPERTIES", DeltaKind::Metadata),
    };
    DeltaFacts { operation: Arc::from(operation), kind, ..DeltaFacts::default() }
}

fn unit(file: u32) -> UnitId {
    UnitId::Fragment(u64::from(file))
}

fn file(file: u32, data_change: bool) -> DeltaFile {
    DeltaFile { unit: unit(file), partition: None, data_change }
}

fn changes_data(effect: &Effect) -> bool {
    effect.program != Program::Compact
}

/// What it looked for; an overwrite reads everything, as Spark records it.
fn looks_for(effect: &Effect) -> Option<Filter> {
    match effect.scope {
        Scope::Rows(_) => Some(Filter::All),
        Scope::Nothing if effect.program == Program::Compact => Some(Filter::All),
        Scope::Nothing => effect.program.looks_for(),
    }
}

/// The filter as a predicate.
pub(super) fn condition(filter: Filter) -> Expr {
    let equals = |column: &str, value: u8| {
        Expr::column(column).binary(BinaryOp::Equal, Expr::Literal(Scalar::Int(i64::from(value))))
    };
    match filter {
        Filter::All => Expr::always(),
        Filter::K(k) => equals("k", k),
        Filter::V(v) => equals("v", v),
    }
}

impl Contender for Delta {
    type Ours = DeltaFacts;
    type Landed = DeltaFacts;

    fn name(&self) -> String {
        let suffix = if self.with_application { "" } else { ", empty commits a level down" };
        format!("{}{suffix}", self.policy.name())
    }

    fn writing(&self, _: &Universe) -> Writing {
        Writing::BY_FILES
    }

    fn ours(&self, _: &Universe, effect: &Effect, read: &Table) -> DeltaFacts {
        let mut ours = facts(effect);
        let changes_data = changes_data(effect);
        ours.changes_data = changes_data;
        if changes_data && self.with_application {
            ours.app_ids_written.insert(Arc::from("ours"));
        }
        let removed = if changes_data { effect.touched_files(read) } else { effect.inputs.clone() };
        ours.footprint.removed_units = removed.iter().map(|id| unit(*id)).collect();
        ours.removed = removed.iter().map(|id| file(*id, changes_data)).collect();
        let adds = !effect.born.is_empty() || !removed.is_empty();
        ours.added = adds.then(|| file(u32::MAX, changes_data)).into_iter().collect();
        ours.data_change = changes_data && adds;
        if let Some(filter) = looks_for(effect) {
            ours.footprint.predicates = vec![ReadPredicate { partition: Vec::new(), data: vec![condition(filter)] }];
            let met = read.live().filter(|(_, _, row)| filter.holds(row.k, row.v));
            ours.footprint.read_units = met.map(|(id, _, _)| unit(id)).collect();
        }
        ours
    }

    fn landed(&self, _: &Universe, entry: &Entry) -> DeltaFacts {
        let mut landed = facts(&entry.effect);
        let changes_data = changes_data(&entry.effect);
        let gone = entry.before.files.iter().filter(|old| entry.after.file(old.id).is_none());
        landed.removed = gone.map(|old| file(old.id, changes_data)).collect();
        landed.footprint.removed_units = landed.removed.iter().map(|file| file.unit.clone()).collect();
        let new = entry.after.files.iter().filter(|new| entry.before.file(new.id).is_none());
        landed.added = new.map(|new| file(new.id, changes_data)).collect();
        landed.data_change = changes_data && !(landed.added.is_empty() && landed.removed.is_empty());
        landed.declared_blind = Some(entry.effect.program.statement() == Statement::Insert);
        landed
    }

    fn judge(&self, ours: &mut DeltaFacts, landed: &DeltaFacts, _: Look<'_>) -> Answer {
        if !self.policy.judge(ours, landed).verdict.accepts() {
            return Answer::Refused;
        }
        ours.follow(landed);
        Answer::Follows
    }

    fn carried<'a>(&self, _: &'a DeltaFacts) -> &'a [Carried] {
        &[]
    }
}
