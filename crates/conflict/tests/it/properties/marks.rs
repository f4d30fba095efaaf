//! What a policy passes over because a pair does not have what the check needs would not have fired.

use super::lance::{plain, spec};
use crate::delta::properties::facts;
use lakebed_conflict::Policy;
use lakebed_conflict::delta::{IsolationLevel, table_of};
use lakebed_conflict::lance::LANCE;
use lakebed_transaction::{Judgement, Kind};
use proptest::prelude::*;

/// The first check that fires, each asked.
fn asking_all<F, const N: usize>(policy: &Policy<F, N>, ours: (usize, &F), landed: (usize, &F)) -> Option<Judgement> {
    let checks = policy.first.iter().chain(policy.rows[ours.0].cells[landed.0].checks());
    checks.into_iter().find_map(|check| {
        (check.fires)(ours.1, landed.1).map(|evidence| Judgement::by(check.verdict, check.reason, Some(evidence)))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn delta_passes_over_nothing(ours in facts(), landed in facts()) {
        for level in [IsolationLevel::Serializable, IsolationLevel::WriteSerializable, IsolationLevel::SnapshotIsolation] {
            let pair = ((ours.kind.index(), &ours), (landed.kind.index(), &landed));
            let all = asking_all(table_of(level), pair.0, pair.1).unwrap_or_else(Judgement::clear);
            prop_assert_eq!(table_of(level).judge(pair.0, pair.1), all);
        }
    }

    #[test]
    fn lance_passes_over_nothing(ours in spec(), landed in spec()) {
        let (ours, landed) = (plain(&ours), plain(&landed));
        let pair = ((ours.0.at(), &ours.1), (landed.0.at(), &landed.1));
        if let Some(fired) = asking_all(&LANCE, pair.0, pair.1) {
            prop_assert_eq!(LANCE.judge(pair.0, pair.1), fired);
        } else {
            let reason = LANCE.judge(pair.0, pair.1).reason.map(|reason| reason.check);
            prop_assert!(reason.is_none_or(|check| LANCE.first.iter().all(|first| first.reason.check != check)));
        }
    }
}
