//! Compactions change nothing, and who accepts less accepts a part of it.

use lakebed_conflict::delta::DeltaPolicy;
use lakebed_conflict::precise::{PRECISE, PRECISE_REORDER, PreciseTable};
use lakebed_proof::contender::{Answer, Contender, Delta, Entry, Look, Precise};
use lakebed_proof::effect::Effect;
use lakebed_proof::program::Program;
use lakebed_proof::rebase::put_on;
use lakebed_proof::table::{Bag, Table};
use lakebed_proof::universe::Universe;

/// The log entry of a program that ran on `read`, on top of `now`.
fn entry(
    universe: &Universe,
    policy: &Precise,
    program: Program,
    (read, now): (&Table, &Table),
    version: u64,
) -> Entry {
    let effect = Effect::of(program, read);
    let after = put_on(universe, &effect, (read, now), &[], policy.writing(universe));
    let (first_unread_file, before) = (read.next_file, now.clone());
    Entry { effect, read_version: version - 1, version, first_unread_file, before, after }
}

/// What ours, done on `read`, comes to after the entries; `None` where it is refused.
fn outcome(universe: &Universe, policy: &Precise, program: Program, read: &Table, log: &[&Entry]) -> Option<Bag> {
    let effect = Effect::of(program, read);
    let mut ours = policy.ours(universe, &effect, read);
    for entry in log {
        let look = Look { filter: program.looks_for(), entry };
        if policy.judge(&mut ours, &policy.landed(universe, entry), look) == Answer::Refused {
            return None;
        }
    }
    let now = log.last().map_or(read, |entry| &entry.after);
    Some(put_on(universe, &effect, (read, now), policy.carried(&ours), policy.writing(universe)).bag())
}

/// Properties 5 and 9: a compaction with an address map, before or after another entry, changes neither the verdict nor the rows; so
/// the rows that ours takes out and brings in are the same before and after their addresses are translated.
#[test]
fn compactions_change_no_verdict_and_no_row() {
    let universe = Universe::new(2, &[]);
    let (mut compared, mut moved) = (0, 0);
    for shipped in [&PRECISE, &PRECISE_REORDER] as [&'static PreciseTable; 2] {
        let policy = Precise::shipped(shipped);
        for table in &universe.tables {
            for first in universe.programs.iter().copied() {
                let plain = entry(&universe, &policy, first, (table, table), 1);
                let then = entry(&universe, &policy, Program::Compact, (&plain.after, &plain.after), 2);
                let before = entry(&universe, &policy, Program::Compact, (table, table), 1);
                let after = entry(&universe, &policy, first, (&before.after, &before.after), 2);
                moved += usize::from(then.before != then.after);
                for second in universe.programs.iter().copied() {
                    let alone = outcome(&universe, &policy, second, table, &[&plain]);
                    let names = format!("{} {table:?} {first:?} {second:?}", shipped.name);
                    assert_eq!(
                        outcome(&universe, &policy, second, table, &[&plain, &then]),
                        alone,
                        "{names}, then compacted"
                    );
                    assert_eq!(
                        outcome(&universe, &policy, second, table, &[&before, &after]),
                        alone,
                        "{names}, compacted before"
                    );
                    compared += 1;
                }
            }
        }
    }
    assert!(compared > 50_000 && moved > 500, "{compared} {moved}");
}

/// Property 12: what Delta accepts at Serializable, `precise` accepts, and what that accepts, `precise-reorder` does.
#[test]
fn stricter_policies_accept_a_part_of_what_others_do() {
    let universe = Universe::new(2, &[]);
    let level = Delta { policy: DeltaPolicy::Serializable, with_application: true };
    let (mut by_delta, mut by_precise) = (0, 0);
    for table in &universe.tables {
        for first in universe.programs.iter().copied() {
            let rows = entry(&universe, &Precise::shipped(&PRECISE), first, (table, table), 1);
            let effect = Effect::of(first, table);
            let after = put_on(&universe, &effect, (table, table), &[], level.writing(&universe));
            let files = Entry { after, ..rows.clone() };
            for second in universe.programs.iter().copied() {
                let strict = outcome(&universe, &Precise::shipped(&PRECISE), second, table, &[&rows]).is_some();
                let loose = outcome(&universe, &Precise::shipped(&PRECISE_REORDER), second, table, &[&rows]).is_some();
                let mut ours = level.ours(&universe, &Effect::of(second, table), table);
                let look = Look { filter: second.looks_for(), entry: &files };
                let delta = level.judge(&mut ours, &level.landed(&universe, &files), look) != Answer::Refused;
                assert!(strict || !delta, "{table:?} {first:?} {second:?}");
                assert!(loose || !strict, "{table:?} {first:?} {second:?}");
                by_delta += usize::from(delta);
                by_precise += usize::from(strict);
            }
        }
    }
    assert!(by_delta > 5_000 && by_precise > 2 * by_delta, "{by_delta} {by_precise}");
}
