//! Two programs that read one version; the first commits, the second is judged against it.

use crate::contender::{Answer, Contender, Entry, Look};
use crate::effect::Effect;
use crate::program::Program;
use crate::rebase::{Carried, Copies, Writing, put_on};
use crate::table::Table;
use crate::universe::Universe;

/// What came of all pairs.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    /// All of them.
    pub total: u64,
    /// Pairs for which some rebase without reading again gives the result of log order.
    pub possible_in_log_order: u64,
    /// Pairs for which some gives the result of some order.
    pub possible_in_any_order: u64,
    /// Accepted.
    pub accepted: u64,
    /// Accepted, with the result of log order.
    pub in_log_order: u64,
    /// Accepted, with the result of some order.
    pub in_any_order: u64,
    /// Said to go before the first, without the result of that order.
    pub wrongly_reordered: u64,
    /// The first accepted pair that is in no order.
    pub unsound: Option<Pair>,
    /// The first accepted pair that is not in log order.
    pub out_of_log_order: Option<Pair>,
}

/// One pair.
#[derive(Clone, Debug)]
pub struct Pair {
    /// The table that both read.
    pub table: Table,
    /// The first and the second program.
    pub programs: [Program; 2],
}

impl Pairs {
    /// Adds what was counted elsewhere.
    pub fn add(&mut self, other: Self) {
        self.total += other.total;
        self.possible_in_log_order += other.possible_in_log_order;
        self.possible_in_any_order += other.possible_in_any_order;
        self.accepted += other.accepted;
        self.in_log_order += other.in_log_order;
        self.in_any_order += other.in_any_order;
        self.wrongly_reordered += other.wrongly_reordered;
        self.unsound = self.unsound.take().or(other.unsound);
        self.out_of_log_order = self.out_of_log_order.take().or(other.out_of_log_order);
    }

    /// Accepted pairs that are in no order.
    #[must_use]
    pub const fn unsound_count(&self) -> u64 {
        self.accepted - self.in_any_order
    }

    /// Accepted pairs that are not in log order.
    #[must_use]
    pub const fn out_of_log_order_count(&self) -> u64 {
        self.accepted - self.in_log_order
    }
}

/// Every pair of programs over every table; `counts` leaves programs out.
#[must_use]
pub fn every_pair<C: Contender>(universe: &Universe, contender: &C, counts: fn(Program) -> bool) -> Pairs {
    let programs: Vec<Program> = universe.programs.iter().copied().filter(|program| counts(*program)).collect();
    in_two_threads(&universe.tables, |tables| {
        let mut pairs = Pairs::default();
        for table in tables {
            over_table(universe, contender, &programs, table, &mut pairs);
        }
        pairs
    })
    .into_iter()
    .fold(Pairs::default(), |mut sum, part| {
        sum.add(part);
        sum
    })
}

/// Splits the tables over two threads.
pub(crate) fn in_two_threads<T: Send>(tables: &[Table], work: impl Fn(Vec<&Table>) -> T + Sync) -> Vec<T> {
    let half = |first: bool| tables.iter().enumerate().filter(move |(at, _)| (at % 2 == 0) == first).map(|(_, t)| t);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| work(half(false).collect()));
        let mine = work(half(true).collect());
        vec![mine, other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))]
    })
}

fn over_table<C: Contender>(
    universe: &Universe,
    contender: &C,
    programs: &[Program],
    table: &Table,
    pairs: &mut Pairs,
) {
    let writing = contender.writing(universe);
    let effects: Vec<Effect> = programs.iter().map(|program| Effect::of(*program, table)).collect();
    let ours: Vec<C::Ours> = effects.iter().map(|effect| contender.ours(universe, effect, table)).collect();
    for first in &effects {
        let entry = commit(universe, first, (table, table), &[], writing, (0, 1));
        let landed = contender.landed(universe, &entry);
        let ideal = put_on(universe, first, (table, table), &[], IDEAL);
        for (second, ours) in effects.iter().zip(&ours) {
            let log_order = second.program.alone(first.program.alone(table.bag()));
            let other_order = first.program.alone(second.program.alone(table.bag()));
            let possible =
                [IDEAL, AS_SEEN].map(|writing| put_on(universe, second, (table, &ideal), &[], writing).bag());
            let in_log_order = possible.contains(&log_order);
            let mut ours = ours.clone();
            pairs.total += 1;
            pairs.possible_in_log_order += u64::from(in_log_order);
            pairs.possible_in_any_order += u64::from(in_log_order || possible.contains(&other_order));
            let answer =
                contender.judge(&mut ours, &landed, Look { filter: second.program.looks_for(), entry: &entry });
            if answer == Answer::Refused {
                continue;
            }
            let result = put_on(universe, second, (table, &entry.after), contender.carried(&ours), writing).bag();
            pairs.accepted += 1;
            pairs.in_log_order += u64::from(result == log_order);
            pairs.in_any_order += u64::from(result == log_order || result == other_order);
            pairs.wrongly_reordered += u64::from(answer == Answer::GoesBefore && result != other_order);
            let pair = || Pair { table: table.clone(), programs: [first.program, second.program] };
            if result != log_order {
                pairs.out_of_log_order.get_or_insert_with(pair);
            }
            if result != log_order && result != other_order {
                pairs.unsound.get_or_insert_with(pair);
            }
        }
    }
}

/// The best that any rebase without reading again can do.
const IDEAL: Writing = Writing { copies: Copies::Never, maps: true, leaves_out: true, takes_scope_anew: true };
/// The same, where an overwrite takes out what it saw.
const AS_SEEN: Writing = Writing { takes_scope_anew: false, ..IDEAL };

/// Puts work on a version, as a log entry: `versions` are the one that was read and the new one.
pub(crate) fn commit(
    universe: &Universe,
    effect: &Effect,
    (read, now): (&Table, &Table),
    carried: &[Carried],
    writing: Writing,
    versions: (u64, u64),
) -> Entry {
    let after = put_on(universe, effect, (read, now), carried, writing);
    Entry {
        effect: effect.clone(),
        read_version: versions.0,
        version: versions.1,
        first_unread_file: read.next_file,
        before: now.clone(),
        after,
    }
}
