//! Every deliberate fault in the machine is found.

use lakebed_sim::{Format, Mutation, Setup, check, run};
use std::collections::BTreeSet;

/// Within so many seeds.
const SEEDS_MAX: u64 = 10_000;

/// The first seed that finds it, in a world of either format.
fn caught(mutation: Mutation) -> Option<(u64, Format, &'static str)> {
    (0..SEEDS_MAX).find_map(|seed| {
        Format::ALL.into_iter().find_map(|format| {
            let violation = run(format, &Setup::of(seed, Some(mutation)), false).violation?;
            Some((seed, format, violation.rule))
        })
    })
}

#[test]
fn every_mutation_is_caught() {
    for mutation in Mutation::ALL {
        let found = caught(mutation);
        println!("{mutation:?}: {found:?}");
        assert!(found.is_some(), "{mutation:?} was not caught in {SEEDS_MAX} seeds");
    }
}

#[test]
fn a_failure_shrinks_and_replays() {
    let mutation = Some(Mutation::UnknownIsSuccess);
    let failure = (0..SEEDS_MAX).find_map(|seed| check(Format::Delta, seed, mutation).err()).expect("a failing seed");
    let whole = run(Format::Delta, &Setup::of(failure.setup.seed, mutation), false);
    assert!(failure.faults.len() < whole.fired.len().max(2), "{failure}");
    let rule = |report: &lakebed_sim::Report| report.violation.as_ref().map(|violation| violation.rule);
    assert_eq!(rule(&failure.report), rule(&whole));
    let again = run(Format::Delta, &failure.setup, true);
    assert_eq!(again.trace, failure.report.trace);
    let numbers: BTreeSet<u64> = failure.faults.iter().map(|(number, _)| *number).collect();
    let replayed = run(Format::Delta, &Setup { only: Some(numbers), ..failure.setup.clone() }, false);
    assert_eq!(rule(&replayed), rule(&whole));
    assert!(failure.to_string().ends_with(&format!("replay with LAKEBED_SIM_SEED=delta:{}", failure.setup.seed)));
}
