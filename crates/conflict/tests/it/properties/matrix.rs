//! The matrix of MaxCompute.

use super::premise::holds;
use lakebed_conflict::maxcompute::{MaxComputeFacts, Partition, PartitionSet, judge};
use lakebed_transaction::{Evidence, Kind, MaxComputeKind, Scalar, Verdict};
use proptest::prelude::*;
use std::sync::Arc;

/// Partitions of a table with columns `p` and `q`, as numbers; a `q` of `None` leaves the column out.
type Spec = (MaxComputeKind, Vec<(i64, Option<i64>)>, bool);

fn spec() -> impl Strategy<Value = Spec> {
    let partition = (0_i64..4, prop::option::weighted(0.8, 0_i64..3));
    (prop::sample::select(MaxComputeKind::ALL.to_vec()), prop::collection::vec(partition, 0..4), any::<bool>())
}

/// The facts, with names and values moved by a bijection.
fn facts((kind, partitions, reads_target): &Spec, names: [&str; 2], shift: i64) -> MaxComputeFacts {
    let one = |(p, q): &(i64, Option<i64>)| -> Partition {
        let value = |number: i64| Scalar::Int(number * (1 + shift) + shift);
        let mut partition = vec![(Arc::from(names[0]), value(*p))];
        partition.extend(q.map(|q| (Arc::from(names[1]), value(q))));
        partition
    };
    let partitions = PartitionSet::of(partitions.iter().map(one).collect());
    MaxComputeFacts { kind: *kind, partitions, reads_target: *reads_target }
}

fn plain(spec: &Spec) -> MaxComputeFacts {
    facts(spec, ["p", "q"], 0)
}

/// Whether some partition may be one of both, computed pair by pair.
fn meet(a: &Spec, b: &Spec) -> bool {
    a.1.iter().any(|(p, q)| b.1.iter().any(|(r, s)| p == r && (q.is_none() || s.is_none() || q == s)))
}

fn known(ours: &Spec, landed: &Spec) -> bool {
    ours.0 != MaxComputeKind::Unspecified && landed.0 != MaxComputeKind::Unspecified
}

/// Property 7, and the cell alone where they meet.
#[test]
fn disjoint_partitions_are_compatible() {
    holds(2_000, 200, &(spec(), spec()), |(ours, landed)| {
        let answer = judge(&plain(&ours), &plain(&landed)).verdict;
        let apart = known(&ours, &landed) && !meet(&ours, &landed);
        if apart {
            prop_assert_eq!(answer, Verdict::Compatible);
        } else {
            let whole = |spec: &Spec| MaxComputeFacts { partitions: PartitionSet::whole_table(), ..plain(spec) };
            prop_assert_eq!(answer, judge(&whole(&ours), &whole(&landed)).verdict);
        }
        Ok(apart && !ours.1.is_empty() && !landed.1.is_empty())
    });
}

/// Properties 3 and 4: more partitions, partitions with fewer columns, or partitions that are not known, never turn a refusal
/// into acceptance.
#[test]
fn touching_more_refuses_more() {
    let more = (0_i64..4, prop::option::of(0_i64..3));
    holds(4_000, 200, &(spec(), spec(), more), |(ours, landed, more)| {
        let refused = !judge(&plain(&ours), &plain(&landed)).verdict.accepts();
        let wider = |spec: &Spec| {
            let mut spec = spec.clone();
            spec.1.push(more);
            plain(&spec)
        };
        let coarser = |spec: &Spec| plain(&(spec.0, spec.1.iter().map(|(p, _)| (*p, None)).collect(), spec.2));
        let whole = |spec: &Spec| MaxComputeFacts { partitions: PartitionSet::whole_table(), ..plain(spec) };
        for change in [&wider as &dyn Fn(&Spec) -> MaxComputeFacts, &coarser, &whole] {
            for (a, b) in [(change(&ours), plain(&landed)), (plain(&ours), change(&landed))] {
                prop_assert!(!refused || !judge(&a, &b).verdict.accepts(), "{a:?} over {b:?}");
            }
        }
        Ok(refused && known(&ours, &landed))
    });
}

/// The other half: what touches more is refused where what touches less was not.
#[test]
fn partitions_matter() {
    let whole = |spec: &Spec| MaxComputeFacts { partitions: PartitionSet::whole_table(), ..plain(spec) };
    holds(2_000, 200, &(spec(), spec()), |(ours, landed)| {
        Ok(judge(&plain(&ours), &plain(&landed)).verdict.accepts()
            && !judge(&whole(&ours), &plain(&landed)).verdict.accepts())
    });
}

/// Property 5: a minor compaction stands in the way of no change of rows, and they not in its; and of two compactions of one
/// partition, the later is refused, but for a major one, which takes in what the minor one left.
#[test]
fn minor_compactions_are_neutral() {
    let partitions = prop::collection::vec((0_i64..4, Just(None)), 0..3);
    holds(2_000, 200, &(spec(), partitions), |(ours, partitions)| {
        let compaction = (MaxComputeKind::MinorCompact, partitions, false);
        let (change, minor) = (plain(&ours), plain(&compaction));
        let over = judge(&change, &minor).verdict;
        match change.kind {
            MaxComputeKind::Insert | MaxComputeKind::Update => {
                prop_assert_eq!(over, Verdict::Compatible);
                prop_assert_eq!(judge(&minor, &change).verdict, Verdict::Compatible);
            }
            MaxComputeKind::MajorCompact => prop_assert_eq!(over, Verdict::Compatible),
            MaxComputeKind::MinorCompact => prop_assert_eq!(over.accepts(), !meet(&ours, &compaction)),
            MaxComputeKind::Overwrite | MaxComputeKind::Unspecified => {}
        }
        Ok(known(&ours, &compaction) && change.kind != MaxComputeKind::Overwrite && meet(&ours, &compaction))
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// Property 2: what was accepted before changes nothing for what comes after, so a window is judged entry by entry.
    #[test]
    fn a_window_is_the_sum_of_its_entries(ours in spec(), window in prop::collection::vec(spec(), 0..4), cut in 0_usize..4) {
        let accepts = |entries: &[Spec]| entries.iter().all(|landed| judge(&plain(&ours), &plain(landed)).verdict.accepts());
        let (before, after) = window.split_at(cut.min(window.len()));
        prop_assert_eq!(accepts(&window), accepts(before) && accepts(after));
        let reversed: Vec<Spec> = window.iter().rev().cloned().collect();
        prop_assert_eq!(accepts(&window), accepts(&reversed));
    }

    /// Property 8: other names and other values, as long as they tell the same apart.
    #[test]
    fn renaming_changes_nothing(ours in spec(), landed in spec(), shift in 1_i64..50) {
        let renamed = |spec: &Spec| facts(spec, ["tag", "Day"], shift);
        let (before, after) = (judge(&plain(&ours), &plain(&landed)), judge(&renamed(&ours), &renamed(&landed)));
        prop_assert_eq!(before.verdict, after.verdict);
        prop_assert_eq!(before.reason, after.reason);
    }

    /// Property 11: without the partition that is named the rule no longer fires there.
    #[test]
    fn evidence_is_necessary(ours in spec(), landed in spec()) {
        let mut ours = ours;
        loop {
            let answer = judge(&plain(&ours), &plain(&landed));
            let Some(Evidence::Partition(shared)) = answer.evidence else { break };
            let before = ours.1.len();
            let is_shared = |spec: &(i64, Option<i64>)| {
                facts(&(ours.0, vec![*spec], false), ["p", "q"], 0).partitions.first_shared(&PartitionSet::of(vec![shared.clone()])).is_some()
                    && shared.len() == 1 + usize::from(spec.1.is_some())
            };
            let kept: Vec<_> = ours.1.iter().filter(|spec| !is_shared(spec)).copied().collect();
            ours.1 = kept;
            prop_assert!(ours.1.len() < before, "{shared:?} is none of ours");
        }
        if ours.0 != MaxComputeKind::Unspecified && landed.0 != MaxComputeKind::Unspecified {
            prop_assert_eq!(judge(&plain(&ours), &plain(&landed)).verdict, Verdict::Compatible);
        }
    }
}
