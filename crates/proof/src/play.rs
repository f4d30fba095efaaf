//! Any number of programs, on handles that see the log as they last looked at it.

use crate::contender::{Answer, Contender, Entry, Look};
use crate::effect::{Effect, Scope};
use crate::pairs::commit;
use crate::program::Program;
use crate::table::{Bag, File, Table};
use crate::universe::{Axis, Universe};

/// One program of one handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Act {
    /// The number of the handle.
    pub handle: usize,
    /// Whether it looks for the newest version before.
    pub refreshes: bool,
    /// The program.
    pub program: Program,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// What the policy said; `None` where there was nothing to do.
    pub answer: Option<Answer>,
    /// What the table holds now.
    pub bag: Bag,
}

/// Runs programs one after the other, each on the version that its handle knows, under a policy. A handle knows version 0 to begin
/// with, and its own commits.
#[must_use]
pub fn play<C: Contender>(universe: &Universe, contender: &C, table: &Table, acts: &[Act]) -> Vec<Ending> {
    let mut game = Game { universe, contender, table, log: Vec::new(), seen: Vec::new() };
    acts.iter().map(|act| Ending { answer: game.act(*act), bag: game.version(game.log.len()).bag() }).collect()
}

struct Game<'a, C> {
    universe: &'a Universe,
    contender: &'a C,
    table: &'a Table,
    log: Vec<Entry>,
    /// How much of the log each handle knows.
    seen: Vec<usize>,
}

impl<C: Contender> Game<'_, C> {
    fn version(&self, number: usize) -> &Table {
        let entry = number.checked_sub(1).and_then(|at| self.log.get(at));
        entry.map_or(self.table, |entry| &entry.after)
    }

    fn act(&mut self, act: Act) -> Option<Answer> {
        if self.seen.len() <= act.handle {
            self.seen.resize(act.handle + 1, 0);
        }
        let newest = self.log.len();
        let seen = self.seen.get_mut(act.handle)?;
        if act.refreshes {
            *seen = newest;
        }
        let seen = *seen;
        let read = self.version(seen);
        let effect = effect_of(self.universe, act.program, read);
        if is_empty(&effect) {
            return None;
        }
        let mut ours = self.contender.ours(self.universe, &effect, read);
        let mut answer = Answer::Follows;
        for entry in self.log.iter().skip(seen) {
            let landed = self.contender.landed(self.universe, entry);
            match self.contender.judge(&mut ours, &landed, Look { filter: act.program.looks_for(), entry }) {
                Answer::Refused => return Some(Answer::Refused),
                Answer::GoesBefore => answer = Answer::GoesBefore,
                Answer::Follows => {}
            }
        }
        let (writing, now) = (self.contender.writing(self.universe), self.version(newest));
        let versions = (seen as u64, newest as u64 + 1);
        let entry = commit(self.universe, &effect, (read, now), self.contender.carried(&ours), writing, versions);
        self.log.push(entry);
        if let Some(seen) = self.seen.get_mut(act.handle) {
            *seen = newest + 1;
        }
        Some(answer)
    }
}

/// What a program does on a version. A compaction writes the files of a partition anew where there are several, or one of which rows are
/// deleted.
fn effect_of(universe: &Universe, program: Program, read: &Table) -> Effect {
    let mut effect = Effect::of(program, read);
    if program == Program::Compact {
        let partitioned = universe.has(Axis::Partitions);
        let partition = |file: &File| file.rows.first().filter(|_| partitioned).map(|row| row.k);
        let beside = |file: &File| read.files.iter().filter(|other| partition(other) == partition(file)).count();
        let worth = |file: &&File| file.dead != 0 || beside(file) > 1;
        effect.inputs = read.files.iter().filter(worth).map(|file| file.id).collect();
    }
    effect
}

fn is_empty(effect: &Effect) -> bool {
    let writes = effect.schema.is_some() || effect.batch.is_some() || !effect.inputs.is_empty();
    let replaces = matches!(effect.scope, Scope::Rows(_)) && !effect.dead.is_empty();
    !writes && !replaces && effect.dead.is_empty() && effect.born.is_empty()
}

#[cfg(test)]
mod tests {
    use super::{Act, play};
    use crate::contender::{Answer, Precise};
    use crate::program::{Filter, Program, Set};
    use crate::universe::Universe;
    use lakebed_conflict::precise::{PRECISE, PRECISE_REORDER};

    #[test]
    fn a_handle_is_judged_by_what_it_has_not_seen() {
        let universe = Universe::new(0, &[]);
        let table = universe.tables.first().cloned().unwrap_or_default();
        let flip = Program::Update(Filter::All, Set::Flipped);
        let act = |handle, refreshes, program| Act { handle, refreshes, program };
        let acts = [
            act(0, false, Program::Insert(0, 0)),
            act(1, false, flip),
            act(2, false, Program::Merge(0, 1)),
            act(2, true, flip),
            act(2, false, Program::Compact),
        ];
        let answers = |table_of_rules| -> Vec<Option<Answer>> {
            play(&universe, &Precise::shipped(table_of_rules), &table, &acts).iter().map(|end| end.answer).collect()
        };
        let (follows, refused) = (Some(Answer::Follows), Some(Answer::Refused));
        // Nothing was there to flip; the key was not there to merge with, and is now.
        assert_eq!(answers(&PRECISE), [follows, None, refused, follows, None]);
        assert_eq!(answers(&PRECISE_REORDER), [follows, None, Some(Answer::GoesBefore), follows, None]);
    }
}
