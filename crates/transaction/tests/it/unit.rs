//! Sets of units.

use lakebed_transaction::{UnitId, UnitSet};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn unit() -> impl Strategy<Value = UnitId> {
    prop_oneof![(0_u64..200).prop_map(UnitId::Fragment), (0_u64..200).prop_map(|n| UnitId::file(&format!("f{n}")))]
}

proptest! {
    /// What two sets share, small or large, is what a plain search finds, in order and up to the limit.
    #[test]
    fn common_units(
        a in prop::collection::vec(unit(), 0..150), b in prop::collection::vec(unit(), 0..5), c in prop::collection::vec(unit(), 0..150),
        limit in 0_usize..8,
    ) {
        for (left, right) in [(&a, &b), (&b, &a), (&a, &c), (&c, &a)] {
            let (one, other): (UnitSet, UnitSet) = (left.iter().cloned().collect(), right.iter().cloned().collect());
            let shared: BTreeSet<&UnitId> = left.iter().filter(|unit| right.contains(unit)).collect();
            let expected: Vec<UnitId> = shared.into_iter().take(limit).cloned().collect();
            prop_assert_eq!(one.common(&other, limit), expected.clone());
            prop_assert_eq!(one.intersects(&other), left.iter().any(|unit| right.contains(unit)));
        }
    }
}
