//! Nothing unsound is accepted.

use lakebed_conflict::precise::{PRECISE, PRECISE_REORDER};
use lakebed_proof::contender::Precise;
use lakebed_proof::pairs::every_pair;
use lakebed_proof::triples::{Schedule, every_triple};
use lakebed_proof::universe::{Axis, Universe};

#[test]
fn every_triple_over_one_row() {
    let universe = Universe::new(1, &[]);
    for schedule in Schedule::ALL {
        let log_order = every_triple(&universe, &Precise::shipped(&PRECISE), schedule);
        assert_eq!(log_order.out_of_log_order, 0, "{}: {:?}", schedule.name, log_order.example);
        let some_order = every_triple(&universe, &Precise::shipped(&PRECISE_REORDER), schedule);
        assert_eq!(some_order.unsound, 0, "{}: {:?}", schedule.name, some_order.example);
        assert!(some_order.out_of_log_order > 0 && some_order.accepted > log_order.accepted);
    }
}

#[test]
fn every_pair_along_every_axis() {
    for axis in Axis::ALL {
        let universe = Universe::new(2, &[axis]);
        let log_order = every_pair(&universe, &Precise::shipped(&PRECISE), |_| true);
        assert_eq!(log_order.out_of_log_order_count(), 0, "{universe}: {:?}", log_order.out_of_log_order);
        let some_order = every_pair(&universe, &Precise::shipped(&PRECISE_REORDER), |_| true);
        assert_eq!(
            some_order.unsound_count() + some_order.wrongly_reordered,
            0,
            "{universe}: {:?}",
            some_order.unsound
        );
        assert!(log_order.accepted > log_order.total / 2, "{universe}");
    }
}
