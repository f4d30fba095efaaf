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
            let meet = left.iter().any(|unit| right.contains(unit));
            prop_assert_eq!(one.intersects(&other), meet);
            prop_assert!(one.may_meet(&other) || !meet);
            let mut seen = Vec::new();
            let all = one.every_common(&other, |unit| {
                seen.push(unit.clone());
                seen.len() < limit
            });
            prop_assert_eq!(all, seen.len() < limit || seen.is_empty());
            prop_assert!(seen.iter().eq(one.common(&other, limit.max(1)).iter()));
            prop_assert!(left.iter().all(|unit| one.contains(unit)));
            prop_assert!(right.iter().all(|unit| one.contains(unit) == left.contains(unit)));
            let mut grown = UnitSet::default();
            left.iter().for_each(|unit| grown.insert(unit.clone()));
            prop_assert_eq!(grown, one);
        }
    }
}
