//! The steps of a history, and what they make of the rows.

use super::predicate::{Predicate, writer};
use super::statement::{Assignment, Matched};
use crate::support::Random;
use crate::support::rows::{Rows, odd_rows};

/// What a step does.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Append(Rows),
    Overwrite(Rows),
    OverwriteWhere(Predicate, Rows),
    Delete(Predicate),
    Update(Assignment, Predicate),
    Merge(Rows, Matched, bool),
    Set(String, String),
    /// The rows of an earlier version come back.
    Restore(u64),
    Checkpoint,
    Optimize,
    Compact(Compacting),
    Vacuum,
}

/// How we join files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compacting {
    /// Rows keep their order, deleted ones stay deleted.
    Minor,
    /// Deleted rows go.
    Major,
    /// Into so many bytes at most.
    Into(u64),
    /// In the order of one column, or of a curve over two.
    Sorted(&'static [&'static str]),
    /// One partition's.
    Of(i32),
}

/// What the choice of a step may use.
#[derive(Debug)]
pub(crate) struct Choice<'a> {
    pub(crate) rows: &'a Rows,
    /// Versions whose files are all there.
    pub(crate) restorable: std::ops::Range<u64>,
    pub(crate) next_id: &'a mut i64,
    pub(crate) number: u64,
}

impl Choice<'_> {
    fn fresh(&mut self, random: &mut Random, count: u64) -> Rows {
        let first = *self.next_id;
        *self.next_id += i64::try_from(count).unwrap();
        odd_rows(first..*self.next_id, random)
    }

    /// Chooses a step.
    pub(crate) fn step(&mut self, random: &mut Random) -> Step {
        let count = 1 + random.below(7);
        match random.below(34) {
            0..6 => Step::Append(self.fresh(random, count)),
            6 => Step::Overwrite(self.fresh(random, count)),
            7..10 => self.overwrite_where(random, count),
            10..14 => Step::Delete(Predicate::random(random, self.rows)),
            14..17 => {
                let assignment = Assignment::random(random, self.number);
                Step::Update(assignment, Predicate::random(random, self.rows))
            }
            17..21 => self.merge(random, count),
            21..23 => Step::Set(format!("interop.key{}", random.below(3)), self.number.to_string()),
            23..25 => Step::Checkpoint,
            25..27 => {
                let back = random.below(self.restorable.end - self.restorable.start);
                Step::Restore(self.restorable.start + back)
            }
            27..29 => Step::Optimize,
            29..33 => Step::Compact(match random.below(6) {
                0 | 1 => Compacting::Minor,
                2 => Compacting::Major,
                3 => Compacting::Into(400 + random.below(2_000)),
                4 => Compacting::Sorted(random.one::<&[&str]>(&[&["id"], &["s"], &["id", "s"]])),
                _ => Compacting::Of(writer(random)),
            }),
            _ => Step::Vacuum,
        }
    }

    fn overwrite_where(&mut self, random: &mut Random, count: u64) -> Step {
        let ids: Vec<i64> = self.rows.keys().copied().collect();
        let from = if ids.is_empty() { 0 } else { *random.one(&ids) };
        let mut rows = self.fresh(random, count);
        let w = writer(random);
        let by_range = random.below(3);
        if by_range > 0 {
            rows.values_mut().for_each(|(_, writer)| *writer = Some(w));
        }
        let predicate = match by_range {
            0 => Predicate::From(from),
            1 => Predicate::Writer(w),
            _ => Predicate::And(Box::new(Predicate::Writer(w)), Box::new(Predicate::From(from))),
        };
        Step::OverwriteWhere(predicate, rows)
    }

    fn merge(&mut self, random: &mut Random, count: u64) -> Step {
        let ids: Vec<i64> = self.rows.keys().copied().collect();
        let mut rows = self.fresh(random, count);
        rows.extend(odd_rows(random.some(&ids, 3), random));
        let matched = *random.one(&[Matched::Update, Matched::Update, Matched::Delete, Matched::Ignore]);
        // A merge that does nothing at all is no merge.
        let insert = matched == Matched::Ignore || random.below(4) > 0;
        Step::Merge(rows, matched, insert)
    }
}

impl Step {
    /// The rows that it leaves; `states` are those of every version.
    pub(crate) fn apply(&self, rows: &Rows, states: &[Rows]) -> Rows {
        let mut left = rows.clone();
        match self {
            Self::Append(more) => left.extend(more.clone()),
            Self::Overwrite(more) => left.clone_from(more),
            Self::OverwriteWhere(predicate, more) => {
                left.retain(|id, row| !predicate.holds(*id, row));
                left.extend(more.clone());
            }
            Self::Delete(predicate) => left.retain(|id, row| !predicate.holds(*id, row)),
            Self::Update(assignment, predicate) => {
                for (id, row) in &mut left {
                    if predicate.holds(*id, row) {
                        assignment.apply(row);
                    }
                }
            }
            Self::Merge(source, matched, insert) => {
                for (id, row) in source {
                    match (rows.contains_key(id), matched) {
                        (true, Matched::Update) => drop(left.insert(*id, row.clone())),
                        (true, Matched::Delete) => drop(left.remove(id)),
                        (true, Matched::Ignore) => {}
                        (false, _) if *insert => drop(left.insert(*id, row.clone())),
                        (false, _) => {}
                    }
                }
            }
            Self::Restore(version) => left.clone_from(&states[usize::try_from(*version).unwrap()]),
            Self::Set(..) | Self::Checkpoint | Self::Optimize | Self::Compact(_) | Self::Vacuum => {}
        }
        left
    }
}
