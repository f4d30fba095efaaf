//! The conditions of the table, each with its sentence.
//!
//! A check whose verdict is *compatible* is a caution: pylance accepts the pair, and so does this policy, but what the
//! two leave behind is not what running them one after the other would give. The sentence says what goes wrong.

pub(super) mod config;
pub(super) mod fragments;
pub(super) mod indices;
pub(super) mod keys;
pub(super) mod schema;
pub(super) mod shards;

use crate::lance::LanceFacts;
use lakebed_transaction::{Evidence, Reason, UnitId, UnitSet};

/// How many fragments an evidence names.
const EVIDENCE_UNITS_MAX: usize = 5;

/// A reason outside Delta, so without an error class.
pub(super) const fn reason(check: &'static str, sentence: &'static str, advice: &'static str) -> Reason {
    Reason { check, sentence, advice, error_class: None }
}

/// Declares one check: documentation, constant, verdict, name, sentence, advice, what it needs (nothing where that is left
/// out), condition.
macro_rules! check {
    ($(#[$doc:meta])* $constant:ident, $verdict:ident, $name:literal, $sentence:literal, $advice:expr, needs $needs:expr, $fires:expr $(,)?) => {
        $(#[$doc])*
        pub(in crate::lance) static $constant: $crate::Check<$crate::lance::LanceFacts> = $crate::Check {
            reason: $crate::lance::checks::reason($name, $sentence, $advice),
            verdict: lakebed_transaction::Verdict::$verdict,
            needs: $needs,
            fires: $fires,
        };
    };
    ($(#[$doc:meta])* $constant:ident, $verdict:ident, $name:literal, $sentence:literal, $advice:expr, $fires:expr $(,)?) => {
        $crate::lance::checks::check! {
            $(#[$doc])* $constant, $verdict, $name, $sentence, $advice, needs $crate::Marks::NONE, $fires
        }
    };
}
pub(in crate::lance) use check;

/// Advice that fits most retryable conflicts.
pub(super) const PLAN_AGAIN: &str = "read the newest version and plan the operation again";

/// The first fragments that stand in both sets of a pair, each once, if there is one.
fn in_both<const N: usize>(pairs: [(&UnitSet, &UnitSet); N]) -> Option<Evidence> {
    let mut found: Vec<UnitId> = Vec::new();
    for (ours, landed) in pairs {
        let enough = found.len() + EVIDENCE_UNITS_MAX;
        ours.every_common(landed, |unit| {
            if found.is_empty() {
                // Most meet in one fragment.
                found = vec![unit.clone()];
            } else {
                found.push(unit.clone());
            }
            found.len() < enough
        });
    }
    if found.len() > 1 {
        found.sort_unstable();
        found.dedup();
    }
    (!found.is_empty()).then_some(Evidence::Units(found))
}

/// Fragments that both sides update or remove.
fn shared_fragments(ours: &LanceFacts, landed: &LanceFacts) -> Option<Evidence> {
    let (a, b) = (&ours.footprint, &landed.footprint);
    if a.removed_units.is_empty() && b.removed_units.is_empty() {
        return in_both([(&a.updated_units, &b.updated_units)]);
    }
    in_both([
        (&a.updated_units, &b.updated_units),
        (&a.updated_units, &b.removed_units),
        (&a.removed_units, &b.updated_units),
        (&a.removed_units, &b.removed_units),
    ])
}

/// Fragments that ours updates or removes and landed removed.
fn gone_fragments(ours: &LanceFacts, landed: &LanceFacts) -> Option<Evidence> {
    let (a, gone) = (&ours.footprint, &landed.footprint.removed_units);
    in_both([(&a.updated_units, gone), (&a.removed_units, gone)])
}

/// Fields that are in both lists.
fn shared_fields(a: &[i64], b: &[i64]) -> Option<Evidence> {
    let found: Vec<i64> = a.iter().copied().filter(|field| b.contains(field)).collect();
    (!found.is_empty()).then_some(Evidence::Fields(found))
}
