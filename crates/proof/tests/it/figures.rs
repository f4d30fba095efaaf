//! The reference's figures, on its own tables and programs.

use lakebed_conflict::delta::DeltaPolicy;
use lakebed_conflict::precise::{PRECISE, PRECISE_REORDER};
use lakebed_proof::contender::{Contender, Delta, MaxCompute, Precise};
use lakebed_proof::pairs::{Pairs, every_pair};
use lakebed_proof::program::Program;
use lakebed_proof::universe::Universe;
use lakebed_transaction::MaxComputeKind;

const ALL: fn(Program) -> bool = |_| true;
const NOT_SELF_READING: fn(Program) -> bool = |program| !program.reads_itself();

/// In hundredths of a percent: accepted; of these not in log order, in no order; of what is possible in log order, in any.
type Figures = [u64; 5];

/// So that a tenth of a point is 10.
fn share(part: u64, whole: u64) -> u64 {
    part * 10_000 / whole
}

fn figures(pairs: &Pairs) -> Figures {
    [
        share(pairs.accepted, pairs.total),
        share(pairs.out_of_log_order_count(), pairs.accepted),
        share(pairs.unsound_count(), pairs.accepted),
        share(pairs.in_log_order, pairs.possible_in_log_order),
        share(pairs.in_any_order, pairs.possible_in_any_order),
    ]
}

/// Whether all are within a tenth of a point of what the reference prints.
fn assert_reference<C: Contender>(contender: &C, counts: fn(Program) -> bool, reference: Figures) {
    let universe = Universe::new(3, &[]);
    let found = figures(&every_pair(&universe, contender, counts));
    let near = found.iter().zip(&reference).all(|(found, reference)| found.abs_diff(*reference) <= 10);
    assert!(near, "{}: {found:?}, and the reference has {reference:?}", contender.name());
}

#[test]
fn the_bounds_are_those_of_the_reference() {
    let minor = MaxCompute { compaction: MaxComputeKind::MinorCompact };
    let pairs = every_pair(&Universe::new(3, &[]), &minor, ALL);
    assert_eq!(pairs.total, 114_345);
    assert_eq!(share(pairs.possible_in_log_order, pairs.total) / 10, 636);
    assert_eq!(share(pairs.possible_in_any_order, pairs.total) / 10, 740);
    let pairs = every_pair(&Universe::new(3, &[]), &minor, NOT_SELF_READING);
    assert_eq!(pairs.total, 82_320);
}

#[test]
fn the_matrix_of_maxcompute_is_as_the_reference_has_it() {
    let minor = MaxCompute { compaction: MaxComputeKind::MinorCompact };
    let major = MaxCompute { compaction: MaxComputeKind::MajorCompact };
    assert_reference(&minor, ALL, [2870, 2057, 1675, 3580, 3220]);
    assert_reference(&major, ALL, [2640, 2229, 1815, 3230, 2920]);
    assert_reference(&minor, NOT_SELF_READING, [2350, 0, 0, 3470, 3050]);
    assert_reference(&major, NOT_SELF_READING, [2070, 0, 0, 3050, 2680]);
}

#[test]
fn the_levels_of_delta_are_as_the_reference_has_them() {
    let level = |policy| Delta { policy, with_application: true };
    assert_reference(&level(DeltaPolicy::Serializable), ALL, [2420, 0, 0, 3810, 3270]);
    assert_reference(&level(DeltaPolicy::Serializable), NOT_SELF_READING, [2660, 0, 0, 3930, 3450]);
    assert_reference(&level(DeltaPolicy::WriteSerializable), ALL, [3450, 1727, 0, 4490, 4660]);
    assert_reference(&level(DeltaPolicy::WriteSerializable), NOT_SELF_READING, [3830, 1760, 0, 4670, 4980]);
}

/// Where no row is looked at, the shares are the reference's; looking finds rows that were only carried over, which the
/// reference's bound does not follow, so that it is passed. Nothing unsound is accepted.
#[test]
fn precise_accepts_what_it_should_and_nothing_else() {
    let unlooking = |table| Precise { looks: false, ..Precise::shipped(table) };
    assert_reference(&unlooking(&PRECISE), ALL, [5780, 0, 0, 9090, 7800]);
    assert_reference(&unlooking(&PRECISE_REORDER), ALL, [6180, 550, 0, 9190, 8350]);
    let universe = Universe::new(3, &[]);
    for (table, counts, least) in [
        (&PRECISE, ALL, 9_090),
        (&PRECISE, NOT_SELF_READING, 9_680),
        (&PRECISE_REORDER, ALL, 9_190),
        (&PRECISE_REORDER, NOT_SELF_READING, 9_810),
    ] {
        let pairs = every_pair(&universe, &Precise::shipped(table), counts);
        let found = share(pairs.in_log_order, pairs.possible_in_log_order);
        assert!(found >= least, "{}: {found} of 10000, not {least}", table.name);
        assert_eq!(pairs.unsound_count() + pairs.wrongly_reordered, 0, "{}: {:?}", table.name, pairs.unsound);
        assert_eq!(pairs.out_of_log_order_count() == 0, table.name == PRECISE.name, "{}", table.name);
    }
}
