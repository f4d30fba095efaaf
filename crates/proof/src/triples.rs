//! Three programs, in the three schedules that are more than pairs.

use crate::contender::{Answer, Contender, Entry, Look};
use crate::effect::Effect;
use crate::pairs::{commit, in_two_threads};
use crate::program::Program;
use crate::rebase::put_on;
use crate::table::{Bag, Table};
use crate::universe::Universe;

/// Which version the second and the third to commit have read; the first read version 0 and is version 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Its name in reports.
    pub name: &'static str,
    /// Whether the second read what the first had committed.
    pub second_saw_first: bool,
    /// Whether the third did.
    pub third_saw_first: bool,
}

impl Schedule {
    /// All three read version 0.
    pub const TOGETHER: Self = Self { name: "all three together", second_saw_first: false, third_saw_first: false };
    /// The third started after the first had committed; the second runs beside both.
    pub const LATE_THIRD: Self =
        Self { name: "the last saw the first", second_saw_first: false, third_saw_first: true };
    /// The second started after the first had committed, and the third runs beside both.
    pub const LATE_SECOND: Self =
        Self { name: "the middle one saw the first", second_saw_first: true, third_saw_first: false };
    /// All of them.
    pub const ALL: [Self; 3] = [Self::TOGETHER, Self::LATE_THIRD, Self::LATE_SECOND];

    /// Whether an order of the three, given as places in the log, keeps what started after something had committed after it.
    fn keeps_real_time(self, order: [usize; 3]) -> bool {
        let before = |a: usize, b: usize| {
            let place = |wanted: usize| order.iter().position(|one| *one == wanted);
            place(a) < place(b)
        };
        (!self.second_saw_first || before(0, 1)) && (!self.third_saw_first || before(0, 2))
    }
}

/// What came of all triples.
#[derive(Clone, Debug, Default)]
pub struct Triples {
    /// All of them.
    pub total: u64,
    /// Accepted, both the second and the third.
    pub accepted: u64,
    /// Accepted, without the result of log order.
    pub out_of_log_order: u64,
    /// Accepted, without the result of any order that keeps real time.
    pub unsound: u64,
    /// The first of those.
    pub example: Option<Triple>,
}

/// One triple.
#[derive(Clone, Debug)]
pub struct Triple {
    /// The table to begin with.
    pub table: Table,
    /// The programs in the order of the log.
    pub programs: [Program; 3],
}

impl Triples {
    fn add(&mut self, other: Self) {
        self.total += other.total;
        self.accepted += other.accepted;
        self.out_of_log_order += other.out_of_log_order;
        self.unsound += other.unsound;
        self.example = self.example.take().or(other.example);
    }
}

/// Every three programs over every table, in one schedule.
#[must_use]
pub fn every_triple<C: Contender>(universe: &Universe, contender: &C, schedule: Schedule) -> Triples {
    let parts = in_two_threads(&universe.tables, |tables| {
        let mut triples = Triples::default();
        for table in tables {
            Walk { universe, contender, schedule, table, triples: &mut triples }.run();
        }
        triples
    });
    parts.into_iter().fold(Triples::default(), |mut sum, part| {
        sum.add(part);
        sum
    })
}

struct Walk<'a, C> {
    universe: &'a Universe,
    contender: &'a C,
    schedule: Schedule,
    table: &'a Table,
    triples: &'a mut Triples,
}

/// Work that is done, and what the policy needs of it.
struct Done<O> {
    effect: Effect,
    ours: O,
    /// What was said of it after the first entry; [`Answer::Follows`] where it saw that.
    answer: Answer,
}

impl<C: Contender> Walk<'_, C> {
    fn run(&mut self) {
        let writing = self.contender.writing(self.universe);
        let on_first_version = self.done_on(self.table);
        for first in &on_first_version {
            let entry = commit(self.universe, &first.effect, (self.table, self.table), &[], writing, (0, 1));
            let landed = self.contender.landed(self.universe, &entry);
            let beside: Vec<_> = on_first_version.iter().map(|done| self.after(done, &landed, &entry)).collect();
            let later = self.done_on(&entry.after);
            let pick = |saw: bool| if saw { (&later, &entry.after, 1) } else { (&beside, self.table, 0) };
            let (seconds, second_read, read_version) = pick(self.schedule.second_saw_first);
            let (thirds, third_read, _) = pick(self.schedule.third_saw_first);
            for second in seconds {
                let total = u64::try_from(thirds.len()).unwrap_or_default();
                self.triples.total += total;
                if second.answer == Answer::Refused {
                    continue;
                }
                let (versions, carried) = ((read_version, 2), self.contender.carried(&second.ours));
                let tables = (second_read, &entry.after);
                let next = commit(self.universe, &second.effect, tables, carried, writing, versions);
                self.thirds(&[&entry, &next], thirds, third_read);
            }
        }
    }

    fn done_on(&self, table: &Table) -> Vec<Done<C::Ours>> {
        let done = |program: &Program| {
            let effect = Effect::of(*program, table);
            let ours = self.contender.ours(self.universe, &effect, table);
            Done { effect, ours, answer: Answer::Follows }
        };
        self.universe.programs.iter().map(done).collect()
    }

    fn after(&self, done: &Done<C::Ours>, landed: &C::Landed, entry: &Entry) -> Done<C::Ours> {
        let look = Look { filter: done.effect.program.looks_for(), entry };
        let mut ours = done.ours.clone();
        let answer = self.contender.judge(&mut ours, landed, look);
        Done { effect: done.effect.clone(), ours, answer }
    }

    fn thirds(&mut self, log: &[&Entry; 2], thirds: &[Done<C::Ours>], read: &Table) {
        let writing = self.contender.writing(self.universe);
        let landed = self.contender.landed(self.universe, log[1]);
        for third in thirds.iter().filter(|third| third.answer != Answer::Refused) {
            let look = Look { filter: third.effect.program.looks_for(), entry: log[1] };
            let mut ours = third.ours.clone();
            if self.contender.judge(&mut ours, &landed, look) == Answer::Refused {
                continue;
            }
            let carried = self.contender.carried(&ours);
            let result = put_on(self.universe, &third.effect, (read, &log[1].after), carried, writing).bag();
            let programs = [log[0].effect.program, log[1].effect.program, third.effect.program];
            self.count(programs, result);
        }
    }

    fn count(&mut self, programs: [Program; 3], result: Bag) {
        let in_order = |order: [usize; 3]| {
            let run = |bag: Bag, at: usize| programs.get(at).map_or(bag, |program| program.alone(bag));
            order.into_iter().fold(self.table.bag(), run) == result
        };
        self.triples.accepted += 1;
        if in_order([0, 1, 2]) {
            return;
        }
        self.triples.out_of_log_order += 1;
        const OTHER_ORDERS: [[usize; 3]; 5] = [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        if !OTHER_ORDERS.into_iter().any(|order| self.schedule.keeps_real_time(order) && in_order(order)) {
            self.triples.unsound += 1;
            self.triples.example.get_or_insert_with(|| Triple { table: self.table.clone(), programs });
        }
    }
}
