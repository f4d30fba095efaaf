//! The matrix of MaxCompute.

use super::{Answer, Contender, Entry, Look};
use crate::effect::Effect;
use crate::program::{Filter, Program, Statement};
use crate::rebase::{Carried, Writing};
use crate::table::Table;
use crate::universe::{Axis, Universe};
use lakebed_conflict::maxcompute::{MaxComputeFacts, PartitionSet, judge};
use lakebed_transaction::{MaxComputeKind, Scalar};
use std::sync::Arc;

/// The matrix, with compactions of one kind.
#[derive(Clone, Copy, Debug)]
pub struct MaxCompute {
    /// [`MaxComputeKind::MinorCompact`] or [`MaxComputeKind::MajorCompact`].
    pub compaction: MaxComputeKind,
}

impl MaxCompute {
    fn facts(self, universe: &Universe, effect: &Effect) -> MaxComputeFacts {
        let kind = match effect.program.statement() {
            Statement::Insert | Statement::InsertSelf => MaxComputeKind::Insert,
            Statement::Update | Statement::Delete | Statement::Merge => MaxComputeKind::Update,
            Statement::Overwrite | Statement::OverwriteSelf => MaxComputeKind::Overwrite,
            Statement::Compact => self.compaction,
            Statement::Alter => MaxComputeKind::Unspecified,
        };
        let mut facts = MaxComputeFacts::new(kind, partitions(universe, effect.program));
        facts.reads_target = effect.program.looks_for().is_some();
        facts
    }
}

/// Where it writes, or might have: a statement that looks for rows may meet them in any partition.
fn partitions(universe: &Universe, program: Program) -> PartitionSet {
    match only_partition(program).filter(|_| universe.has(Axis::Partitions)) {
        Some(k) => PartitionSet::of(vec![vec![(Arc::from("k"), Scalar::Int(i64::from(k)))]]),
        None => PartitionSet::whole_table(),
    }
}

const fn only_partition(program: Program) -> Option<u8> {
    match program {
        Program::OverwritePartition(k, _)
        | Program::Insert(k, _)
        | Program::Merge(k, _)
        | Program::Stream(k, _)
        | Program::StreamUpdate(k, _)
        | Program::InsertAfterBatch(k, _)
        | Program::Update(Filter::K(k), _)
        | Program::Delete(Filter::K(k)) => Some(k),
        Program::InsertSelf(_)
        | Program::Update(Filter::All | Filter::V(_), _)
        | Program::Delete(Filter::All | Filter::V(_))
        | Program::Overwrite(_)
        | Program::OverwriteByPart(_)
        | Program::OverwriteFlipped
        | Program::Compact
        | Program::Alter
        | Program::AlterUnless(_) => None,
    }
}

impl Contender for MaxCompute {
    type Ours = MaxComputeFacts;
    type Landed = MaxComputeFacts;

    fn name(&self) -> String {
        let kind = if self.compaction == MaxComputeKind::MajorCompact { "major" } else { "minor" };
        format!("maxcompute, compact = {kind}")
    }

    fn writing(&self, universe: &Universe) -> Writing {
        Writing::by_rows(universe)
    }

    fn ours(&self, universe: &Universe, effect: &Effect, _: &Table) -> MaxComputeFacts {
        self.facts(universe, effect)
    }

    fn landed(&self, universe: &Universe, entry: &Entry) -> MaxComputeFacts {
        self.facts(universe, &entry.effect)
    }

    fn judge(&self, ours: &mut MaxComputeFacts, landed: &MaxComputeFacts, _: Look<'_>) -> Answer {
        if judge(ours, landed).verdict.accepts() { Answer::Follows } else { Answer::Refused }
    }

    fn carried<'a>(&self, _: &'a MaxComputeFacts) -> &'a [Carried] {
        &[]
    }
}
