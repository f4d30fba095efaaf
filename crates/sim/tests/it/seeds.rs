//! No seed breaks a rule.

use lakebed_sim::{Format, Setup, Stats, check, run};

/// Seeds in every test run, over both formats.
const SEEDS: u64 = 20_000;

#[expect(clippy::panic, reason = "a failing seed is told whole, with its trace")]
fn seeds(format: Format, from: u64, count: u64) -> Stats {
    let mut stats = Stats::default();
    for seed in from..from + count {
        match check(format, seed, None) {
            Ok(report) => {
                assert!(report.stats.commits >= 10, "{format}:{seed} had too few commits");
                stats.add(&report.stats);
            }
            Err(failure) => panic!("{failure}"),
        }
    }
    stats
}

/// The world must be as bad as it is meant to be, or a green run says little.
fn is_hard(stats: &Stats, count: u64) {
    let least = [
        ("faults", stats.faults, count * 5),
        ("conflicts", stats.conflicts, count),
        ("unknowns", stats.unknowns, count / 20),
        ("searches", stats.searches, count / 40),
        ("strays", stats.strays, count / 500),
        ("cleaned", stats.cleaned, count * 3),
        ("reads", stats.reads, count),
    ];
    for (what, found, least) in least {
        assert!(found >= least, "only {found} {what} in {count} seeds: {stats:?}");
    }
}

#[test]
fn delta_first_half() {
    is_hard(&seeds(Format::Delta, 0, SEEDS / 4), SEEDS / 4);
}

#[test]
fn delta_second_half() {
    let stats = seeds(Format::Delta, SEEDS / 4, SEEDS / 4);
    assert!(stats.checkpoints > SEEDS / 8, "{stats:?}");
}

#[test]
fn lance_first_half() {
    is_hard(&seeds(Format::Lance, 0, SEEDS / 4), SEEDS / 4);
}

#[test]
fn lance_second_half() {
    is_hard(&seeds(Format::Lance, SEEDS / 4, SEEDS / 4), SEEDS / 4);
}

#[test]
fn a_seed_from_the_environment_is_replayed() {
    let Ok(text) = std::env::var("LAKEBED_SIM_SEED") else { return };
    let (format, seed) = text.split_once(':').expect("LAKEBED_SIM_SEED=delta:17");
    if let Err(failure) = check(format.parse().unwrap(), seed.parse().unwrap(), None) {
        panic!("{failure}");
    }
}

#[test]
fn equal_seeds_give_equal_worlds() {
    for (format, seed) in [(Format::Delta, 3), (Format::Lance, 3), (Format::Delta, 11), (Format::Lance, 11)] {
        let setup = Setup::of(seed, None);
        let (one, other) = (run(format, &setup, true), run(format, &setup, true));
        assert_eq!(one.trace, other.trace);
        assert_eq!(one.stats, other.stats);
        assert_eq!(one.fired, other.fired);
    }
}
