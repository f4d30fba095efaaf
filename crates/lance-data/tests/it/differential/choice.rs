//! The choice of steps.

use super::lines::Lines;
use super::predicate::Predicate;
use super::state::{Fill, MAPS, State};
use super::statement::{Assignment, Matched};
use super::step::Step;
use crate::support::rows::odd_rows;
use crate::support::{Random, Rows};
use serde_json::{Value, json};

/// Columns beside the first three.
const ADDED_MAX: usize = 3;
/// Branches at one time.
const BRANCHES_MAX: usize = 2;

/// What the choice of a step may use.
#[derive(Debug)]
pub(crate) struct Choice<'a> {
    pub(crate) state: &'a State,
    pub(crate) lines: &'a Lines,
    /// The versions so far begin with 1.
    pub(crate) newest: u64,
    pub(crate) next_id: &'a mut i64,
    pub(crate) number: u64,
}

impl Choice<'_> {
    /// Chooses a step.
    pub(crate) fn step(&mut self, random: &mut Random) -> Step {
        match random.below(64) {
            0..10 => Step::Append(self.fresh(self.state, random)),
            10..12 => Step::Overwrite(self.fresh(self.state, random)),
            12..20 => Step::Delete(self.predicate(random)),
            20 => Step::Truncate,
            21..28 => Step::Update(Assignment::random(random, self.number), self.predicate(random)),
            28..35 => self.merge(random),
            35..39 => Step::Compact(if random.below(3) == 0 { 8 } else { 1_000 }),
            39..46 => self.columns(random),
            46..50 => self.map(random),
            50..55 => self.index(random),
            55..58 => Step::Restore(1 + random.below(self.newest)),
            58..60 => self.tag(random),
            _ => self.branch(random),
        }
    }

    fn predicate(&self, random: &mut Random) -> Predicate {
        Predicate::random(random, &self.state.base())
    }

    /// Rows with new ids, for a table of these columns.
    fn fresh(&mut self, state: &State, random: &mut Random) -> Rows {
        let first = *self.next_id;
        *self.next_id += 1 + i64::try_from(random.below(7)).unwrap();
        rows(state, first..*self.next_id, random)
    }

    fn merge(&mut self, random: &mut Random) -> Step {
        let ids: Vec<i64> = self.state.rows.keys().copied().collect();
        let mut source = self.fresh(self.state, random);
        source.extend(rows(self.state, random.some(&ids, 3), random));
        let matched = *random.one(&[Matched::Update, Matched::Update, Matched::Delete, Matched::Ignore]);
        // A merge that does nothing at all is no merge.
        let insert = matched == Matched::Ignore || random.below(4) > 0;
        // Pylance fails where a merge takes rows out in both ways and puts none in.
        let known = insert || matched == Matched::Update;
        let gone = (random.below(3) == 0 && known).then(|| self.predicate(random));
        Step::Merge(source, matched, insert, gone)
    }

    fn columns(&self, random: &mut Random) -> Step {
        let names: Vec<String> = self.state.added.keys().cloned().collect();
        let fresh = format!("c{}", self.number);
        match random.below(5) {
            0 | 1 if !names.is_empty() => Step::DropColumn(random.one(&names).clone()),
            2 if !names.is_empty() => Step::RenameColumn(random.one(&names).clone(), fresh),
            _ if names.len() < ADDED_MAX => {
                let by = 1 + i64::try_from(self.number).unwrap();
                Step::AddColumn(fresh, *random.one(&[Fill::Times(by), Fill::Copy, Fill::NoNumber, Fill::NoText]))
            }
            _ => Step::Describe(random.one(&names).clone(), self.number.to_string()),
        }
    }

    fn map(&self, random: &mut Random) -> Step {
        let map = *random.one(&MAPS);
        let there: Vec<String> = self.state.maps.get(map).into_iter().flat_map(|map| map.keys().cloned()).collect();
        if random.below(4) == 0 {
            return Step::Describe("s".to_owned(), self.number.to_string());
        }
        if !there.is_empty() && random.below(3) == 0 {
            return Step::Set(map, random.one(&there).clone(), None);
        }
        Step::Set(map, format!("interop.key{}", random.below(3)), Some(format!("ж{}", self.number)))
    }

    fn index(&self, random: &mut Random) -> Step {
        let names: Vec<String> = self.state.indices.keys().cloned().collect();
        match random.below(4) {
            0 if !names.is_empty() => Step::DropIndex(random.one(&names).clone()),
            1 if !names.is_empty() => Step::OptimizeIndices,
            _ => {
                let mut columns = vec!["id".to_owned(), "s".to_owned(), "w".to_owned()];
                columns.extend(self.state.added.keys().cloned());
                Step::CreateIndex(format!("i{}", self.number), random.one(&columns).clone())
            }
        }
    }

    fn version(&self, random: &mut Random) -> u64 {
        1 + random.below(self.newest)
    }

    fn tag(&self, random: &mut Random) -> Step {
        let name = format!("tag{}", random.below(3));
        if self.lines.tags.contains_key(&name) && random.below(2) == 0 {
            return Step::Untag(name);
        }
        Step::Tag(name, self.version(random))
    }

    fn branch(&mut self, random: &mut Random) -> Step {
        let names: Vec<String> = self.lines.branches.keys().cloned().collect();
        if names.is_empty() || (names.len() < BRANCHES_MAX && random.below(4) == 0) {
            return Step::Branch(format!("dev/b{}", self.number), self.version(random));
        }
        let name = random.one(&names).clone();
        let state = self.lines.branches[&name].state.clone();
        match random.below(5) {
            0 => Step::Unbranch(name),
            1 | 2 => Step::BranchDelete(name, Predicate::random(random, &state.base())),
            _ => Step::BranchAppend(name, self.fresh(&state, random)),
        }
    }
}

/// Rows with these ids, with a value for every column.
pub(super) fn rows(state: &State, ids: impl IntoIterator<Item = i64>, random: &mut Random) -> Rows {
    let rows = odd_rows(ids, random).into_iter().map(|(id, (s, w))| {
        let mut row = json!({"id": id, "s": s, "w": w});
        for (name, text) in &state.added {
            row[name] = match (random.below(4), text) {
                (0, _) => Value::Null,
                (_, true) => json!(format!("{name}.{id}")),
                (_, false) => json!(id % 5),
            };
        }
        (id, row)
    });
    rows.collect()
}
