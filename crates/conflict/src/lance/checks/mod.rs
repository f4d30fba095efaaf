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
use lakebed_transaction::{Evidence, Reason, UnitSet};

/// How many fragments an evidence names.
const EVIDENCE_UNITS_MAX: usize = 5;

/// A reason outside Delta, so without an error class.
pub(super) const fn reason(check: &'static str, sentence: &'static str, advice: &'static str) -> Reason {
    Reason { check, sentence, advice, error_class: None }
}

/// Declares one check: documentation, constant, verdict, name, sentence, advice, condition.
macro_rules! check {
    ($(#[$doc:meta])* $constant:ident, $verdict:ident, $name:literal, $sentence:literal, $advice:expr, $fires:expr $(,)?) => {
        $(#[$doc])*
        pub(in crate::lance) static $constant: $crate::Check<$crate::lance::LanceFacts> = $crate::Check {
            reason: $crate::lance::checks::reason($name, $sentence, $advice),
            verdict: lakebed_transaction::Verdict::$verdict,
            fires: $fires,
        };
    };
}
pub(in crate::lance) use check;

/// Advice that fits most retryable conflicts.
pub(super) const PLAN_AGAIN: &str = "read the newest version and plan the operation again";

/// The fragments, if there is one.
fn units(sets: [(&UnitSet, &UnitSet); 4]) -> Option<Evidence> {
    let mut found = UnitSet::default();
    for (ours, landed) in sets {
        for unit in ours.common(landed, EVIDENCE_UNITS_MAX) {
            found.insert(unit);
        }
    }
    (!found.is_empty()).then(|| Evidence::Units(found.as_slice().to_vec()))
}

/// Fragments that both sides update or remove.
fn shared_fragments(ours: &LanceFacts, landed: &LanceFacts) -> Option<Evidence> {
    let (a, b) = (&ours.footprint, &landed.footprint);
    units([
        (&a.updated_units, &b.updated_units),
        (&a.updated_units, &b.removed_units),
        (&a.removed_units, &b.updated_units),
        (&a.removed_units, &b.removed_units),
    ])
}

/// Fragments that ours updates or removes and landed removed.
fn gone_fragments(ours: &LanceFacts, landed: &LanceFacts) -> Option<Evidence> {
    let found = ours
        .footprint
        .updated_units
        .common(&landed.footprint.removed_units, EVIDENCE_UNITS_MAX)
        .into_iter()
        .chain(ours.footprint.removed_units.common(&landed.footprint.removed_units, EVIDENCE_UNITS_MAX))
        .collect::<Vec<_>>();
    (!found.is_empty()).then_some(Evidence::Units(found))
}

/// Fields that are in both lists.
fn shared_fields(a: &[i64], b: &[i64]) -> Option<Evidence> {
    let found: Vec<i64> = a.iter().copied().filter(|field| b.contains(field)).collect();
    (!found.is_empty()).then_some(Evidence::Fields(found))
}
